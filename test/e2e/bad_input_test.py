# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""What should never come over a connection: it is answered or closed as Kafka does, and other clients notice nothing."""
import random
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import wire  # noqa: E402
from lib.node import Node, wait_until  # noqa: E402
from lib.paths import sanitized, skip, system_under_test  # noqa: E402

MAX_BYTES = 1 << 20
UNSUPPORTED_VERSION, CORRUPT_MESSAGE, INVALID_REQUIRED_ACKS = 35, 2, 21
TLS_HELLO = bytes.fromhex("160301020001fc0303") + bytes(range(256))


def setUpModule():
    global node
    node = Node(properties={"socket.request.max.bytes": str(MAX_BYTES)})
    node.create_topic("steady")


def tearDownModule():
    node.close()


class BadInput(unittest.TestCase):
    def setUp(self):
        self.other = self.enterContext(node.connect())
        self.assertIn(wire.METADATA, self.other.api_versions())

    def tearDown(self):
        """The node runs, and a client that was there before is served as before."""
        self.assertTrue(node.running(), node.log_tail())
        self.assertIn(1, self.other.metadata()[0])
        error, _ = self.other.produce("steady", 0, wire.record_batch([(b"k", b"v")]))
        self.assertEqual(error, 0)

    def assert_closed(self, connection, within=5):
        connection.socket.settimeout(within)
        try:
            data = connection.socket.recv(1)
        except ConnectionResetError:
            return
        self.assertEqual(data, b"", "the node closes the connection")

    def send_and_be_closed(self, data):
        with node.connect() as connection:
            connection.send_raw(data)
            self.assert_closed(connection)
            return connection.socket

    def test_unknown_api_key_closes_the_connection(self):
        with node.connect() as connection:
            connection.send(9999, 0, b"")
            self.assert_closed(connection)

    def test_unknown_version_of_api_versions_is_answered_with_the_known_ones(self):
        with node.connect() as connection:
            connection.send(wire.API_VERSIONS, 99, b"\0")  # the flexible header's tags
            answer = connection.receive()
            self.assertEqual(answer.int16(), UNSUPPORTED_VERSION)
            ranges = {key: (low, high) for key, low, high in answer.array(lambda: (answer.int16(), answer.int16(), answer.int16()))}
            self.assertEqual(ranges[wire.API_VERSIONS], (0, 5))
            self.assertIn(wire.METADATA, connection.api_versions(), "the same connection goes on")

    def test_unknown_version_of_another_api_closes_the_connection(self):
        with node.connect() as connection:
            connection.send(wire.METADATA, 99, b"\0")
            self.assert_closed(connection)

    def test_controller_api_on_the_broker_listener_closes_the_connection(self):
        with node.connect() as connection:
            connection.send(52, 0, b"\0" * 8)  # Vote
            self.assert_closed(connection)

    def test_frame_above_the_limit_closes_before_it_is_read(self):
        self.send_and_be_closed(struct.pack(">i", MAX_BYTES + 1))

    def test_negative_size_closes(self):
        self.send_and_be_closed(struct.pack(">i", -5) + b"xxxx")

    def test_frame_too_short_for_a_header_closes(self):
        for size in (0, 1, 7):
            self.send_and_be_closed(struct.pack(">i", size) + b"\0" * size)

    def test_body_that_ends_early_closes(self):
        with node.connect() as connection:
            connection.send(wire.METADATA, 1, struct.pack(">i", 1000))
            self.assert_closed(connection)

    def test_array_of_two_billion_closes_and_takes_no_memory(self):
        before = node.resident_kib()
        for _ in range(10):
            with node.connect() as connection:
                connection.send(wire.METADATA, 1, struct.pack(">i", 0x7FFFFFFF))
                self.assert_closed(connection)
        if system_under_test() == "castellan" and not sanitized():
            self.assertLess(node.resident_kib() - before, 8 * 1024)

    def test_half_a_frame_then_silence_holds_up_nobody(self):
        waiting = [self.enterContext(node.connect()) for _ in range(50)]
        for connection in waiting:
            connection.send_raw(struct.pack(">i", MAX_BYTES) + b"half of it")
        for _ in range(20):
            self.assertIn(1, self.other.metadata()[0])
        connection = waiting[0]  # it may still come
        connection.socket.setblocking(False)
        self.assertRaises(BlockingIOError, connection.socket.recv, 1)

    def test_announced_frames_that_never_come_take_no_memory(self):
        if system_under_test() != "castellan":
            skip("Apache Kafka reserves the announced size at once")
        if sanitized():
            skip("a sanitizer's memory says nothing")
        before = node.resident_kib()
        waiting = [self.enterContext(node.connect()) for _ in range(100)]
        for connection in waiting:
            connection.send_raw(struct.pack(">i", MAX_BYTES))
        self.assertIn(1, self.other.metadata()[0])
        self.assertLess(node.resident_kib() - before, 20 * 1024)

    def test_tls_hello_on_a_plain_port_closes(self):
        self.send_and_be_closed(TLS_HELLO)

    def test_http_request_closes(self):
        self.send_and_be_closed(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")

    def test_garbage_closes_or_waits_and_harms_nobody(self):
        generator = random.Random(7)
        for _ in range(200):
            try:
                with node.connect(timeout=2) as connection:
                    connection.send_raw(generator.randbytes(generator.randrange(1, 300)))
            except OSError:
                pass

    def test_garbage_in_a_good_frame_harms_nobody(self):
        generator = random.Random(8)
        for key in range(0, 95):
            for version in (0, 3, 9):
                body = generator.randbytes(generator.randrange(0, 60))
                try:
                    with node.connect(timeout=0.05) as connection:
                        connection.send(key, version, body)
                        connection.receive()
                except (OSError, ValueError):
                    pass

    def test_wrong_checksum_is_an_error_of_its_partition(self):
        batch = bytearray(wire.record_batch([(b"k", b"v")]))
        batch[-1] ^= 1
        with node.connect() as connection:
            end = connection.list_offset("steady", 0)
            self.assertEqual(connection.produce("steady", 0, bytes(batch))[0], CORRUPT_MESSAGE)
            self.assertEqual(connection.list_offset("steady", 0), end)

    def test_unknown_acks_are_refused(self):
        with node.connect() as connection:
            self.assertEqual(connection.produce("steady", 0, wire.record_batch([(b"k", b"v")]), acks=5)[0], INVALID_REQUIRED_ACKS)

    def test_client_that_does_not_read_takes_bounded_memory(self):
        value = b"x" * 400000
        node.create_topic("large")
        for _ in range(10):
            node.produce("large", 0, wire.record_batch([(None, value)]))
        before = node.resident_kib()
        slow = self.enterContext(node.connect(timeout=1))
        body = struct.pack(">iiiib", -1, 0, 1, 1 << 24, 0) + wire.array([wire.string("large") + wire.array([struct.pack(">iqi", 0, 0, 1 << 24)])])
        try:
            for _ in range(5000):
                slow.send(wire.FETCH, 4, body)
        except OSError:
            pass  # the node has stopped reading, too
        for _ in range(20):
            self.assertIn(1, self.other.metadata()[0])
        if system_under_test() == "castellan" and not sanitized():
            self.assertLess(node.resident_kib() - before, 32 * 1024)

    def test_log_says_who_and_why_at_a_bounded_rate(self):
        if system_under_test() != "castellan":
            skip("what Apache Kafka logs is its own")
        before = len(node.log_text())

        def stranger_is_named():
            with node.connect() as connection:
                port = connection.socket.getsockname()[1]
                connection.send_raw(TLS_HELLO)
                self.assert_closed(connection)
            return f"127.0.0.1:{port}" in node.log_text()[before:]

        # Those of the tests before may have used up what this second has room for.
        wait_until(stranger_is_named, 10, lambda: f"a stranger is named\n{node.log_text()[before:]}", interval=0.1)
        for _ in range(1000):
            with node.connect() as connection:
                connection.send_raw(TLS_HELLO)
        lines = node.log_text()[before:].count("\n")
        self.assertLess(lines, 500, "lines for 1,000 bad connections")


if __name__ == "__main__":
    unittest.main()
