# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""The first things that any client does with one node, byte by byte."""
import struct
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import wire  # noqa: E402
from lib.node import Node, wait_until  # noqa: E402
from lib.paths import system_under_test  # noqa: E402

UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC, OFFSET_OUT_OF_RANGE, INVALID_PARTITIONS = 3, 17, 1, 37


class Smoke(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = Node()

    @classmethod
    def tearDownClass(cls):
        cls.node.close()

    def setUp(self):
        self.connection = self.enterContext(self.node.connect(timeout=30))

    def test_what_is_produced_is_fetched_and_survives_a_restart(self):
        topic = self.node.create_topic("kept", 3)
        for partition in range(3):
            for i in range(10):
                self.assertEqual(self.node.produce(topic, partition, wire.record_batch([(b"%d" % i, b"a"), (None, b"b"), (b"", None)])), 3 * i)
        self.assertEqual([self.connection.list_offset(topic, p) for p in range(3)], [(0, 30)] * 3)
        expected = [record for i in range(10) for record in ((b"%d" % i, b"a"), (None, b"b"), (b"", None))]
        for kill in (False, True):
            if kill:
                self.node.kill()
            else:
                self.assertEqual(self.node.stop(), 143 if system_under_test() == "kafka" else 0)
            self.node.start()
            with self.node.connect() as connection:
                for partition in range(3):
                    wait_until(lambda: connection.list_offset(topic, partition)[0] == 0, 30, "the partition serves")
                    self.assertEqual([record[1:] for record in connection.read_all(topic, partition)], expected)
                    self.assertEqual([record[0] for record in connection.read_all(topic, partition)], list(range(30)))

    def test_several_batches_of_one_request_line_up_behind_each_other(self):
        topic = self.node.create_topic("pipelined")
        for i in range(50):  # sent before any answer was read
            self.connection.send_produce(topic, 0, wire.record_batch([(None, b"%d" % i)]))
        self.connection.correlation -= 50
        for _ in range(50):
            self.connection.correlation += 1
            self.connection.receive()
        self.assertEqual([value for _, _, value in self.connection.read_all(topic, 0)], [b"%d" % i for i in range(50)])

    def test_fetch_waits_for_records_and_answers_as_soon_as_they_come(self):
        topic = self.node.create_topic("awaited")
        threading.Timer(0.3, lambda: self.node.produce(topic, 0, wire.record_batch([(None, b"now")]))).start()
        started = time.monotonic()
        error, _, data = self.connection.fetch(topic, 0, 0, max_wait_ms=20000)
        took = time.monotonic() - started
        self.assertEqual((error, [value for _, _, value in wire.read_batches(data)]), (0, [b"now"]))
        self.assertTrue(0.25 < took < 5, took)

    def test_fetch_without_records_answers_when_its_time_is_up(self):
        topic = self.node.create_topic("empty")
        started = time.monotonic()
        self.assertEqual(self.connection.fetch(topic, 0, 0, max_wait_ms=400), (0, 0, b""))
        self.assertTrue(0.35 < time.monotonic() - started < 5)

    def test_fetch_gives_one_whole_batch_however_small_the_limit(self):
        topic = self.node.create_topic("batchy")
        for _ in range(3):
            self.node.produce(topic, 0, wire.record_batch([(None, b"x" * 5000)]))
        _, _, data = self.connection.fetch(topic, 0, 0, max_bytes=10)
        self.assertEqual([offset for offset, _, _ in wire.read_batches(data)], [0])

    def test_offsets_out_of_range_are_an_error(self):
        topic = self.node.create_topic("ranged")
        self.assertEqual(self.connection.fetch(topic, 0, 5)[0], OFFSET_OUT_OF_RANGE)
        self.assertEqual(self.connection.fetch(topic, 0, -3)[0], OFFSET_OUT_OF_RANGE)

    def test_acks_0_gets_no_answer_and_is_written(self):
        topic = self.node.create_topic("unanswered")
        self.connection.send_produce(topic, 0, wire.record_batch([(None, b"quiet")]), acks=0)
        self.assertIn(1, self.connection.metadata()[0], "the next answer is that of the next request")
        wait_until(lambda: self.connection.list_offset(topic, 0) == (0, 1), 10, "it is written")

    def test_batch_that_was_sent_twice_is_written_once(self):
        topic = self.node.create_topic("idempotent")
        producer = self.node.producer_id()
        batches = [wire.record_batch([(None, b"%d" % i)], *producer, base_sequence=i) for i in range(7)]
        for i, batch in enumerate(batches):
            self.assertEqual(self.node.produce(topic, 0, batch), i)
        self.assertEqual(self.connection.produce(topic, 0, batches[6]), (0, 6))
        self.assertEqual(self.connection.produce(topic, 0, batches[3]), (0, 3))
        self.assertEqual(self.connection.produce(topic, 0, wire.record_batch([(None, b"x")], *producer, base_sequence=9))[0], 45)  # OUT_OF_ORDER_SEQUENCE_NUMBER
        self.assertEqual(self.connection.list_offset(topic, 0), (0, 7))

    def test_topics_are_made_once_and_deleted(self):
        self.assertEqual(self.connection.create_topic("life", 2), 0)
        self.assertEqual(self.connection.create_topic("life", 2), wire.TOPIC_ALREADY_EXISTS)
        self.assertEqual(self.connection.create_topic("bad name"), INVALID_TOPIC)
        self.assertEqual(self.connection.create_topic("none", 0), INVALID_PARTITIONS)
        self.assertEqual(self.connection.delete_topic("life"), 0)
        self.assertEqual(self.connection.delete_topic("life"), UNKNOWN_TOPIC_OR_PARTITION)
        if system_under_test() == "castellan":
            self.assertNotIn("life", self.connection.metadata(None)[1], "gone from the very next answer")
        self.assertEqual(self.connection.create_topic("life", 1), 0)
        wait_until(lambda: self.connection.list_offset("life", 0) == (0, 0), 20, "the new one is empty")

    def test_what_was_made_is_in_the_next_answer(self):
        if system_under_test() != "castellan":
            self.skipTest("Apache Kafka does not promise it")
        for i in range(20):
            name = f"at-once-{i}"
            self.assertEqual(self.connection.create_topic(name, 3), 0)
            error, partitions = self.connection.metadata([name])[1][name]
            self.assertEqual((error, {p: v for p, v in partitions.items()}), (0, {p: (0, 1) for p in range(3)}))
            self.assertEqual(self.connection.produce(name, 2, wire.record_batch([(None, b"v")])), (0, 0))

    def test_many_connections_at_once(self):
        connections = [self.enterContext(self.node.connect(timeout=30)) for _ in range(300)]
        for connection in connections:
            connection.send(wire.METADATA, 1, struct.pack(">i", 0))
        for connection in connections:
            connection.receive()


if __name__ == "__main__":
    unittest.main()
