# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""A node's directories are handed from one kind of server to the other while it is down, and back.

What one kind wrote the other serves the same: topics with their ids and settings, records, start and end offsets, groups
and what they committed; and what the other adds is there when the first comes back. After a clean stop and after kill -9.
"""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import kafka_tools, maven, records, wire  # noqa: E402
from lib.clients import client  # noqa: E402
from lib.node import Node, wait_until  # noqa: E402
from lib.paths import system_under_test  # noqa: E402

COUNT = 15000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def setUpModule():
    maven.libraries()


class Directories(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="castellan-directories-")))
        self.expected = records.full(COUNT, seed=9)
        (self.folder / "records").write_bytes(self.expected)

    def tool(self, name, *arguments):
        return kafka_tools.run(name, *arguments, "--bootstrap-server", self.node.bootstrap)

    def fill(self):
        """Topics of each codec, one with settings and a moved start, a deleted one, a group that has read."""
        java = client("java")
        for codec in CODECS:
            self.node.create_topic(f"codec-{codec}", segment_bytes=1048576)
            java.produce(self.node.bootstrap, f"codec-{codec}", codec, self.folder / "records")
        self.node.create_topic("settings", 3, retention_ms=123456789, cleanup_policy="compact,delete")
        self.node.create_topic("gone")
        with self.node.connect() as connection:
            self.assertEqual(connection.delete_topic("gone"), 0)
        self.node.create_topic("grouped")
        self.produce_and_read_with_group(200)

    def produce_and_read_with_group(self, count):
        self.node.produce("grouped", 0, wire.record_batch([(b"%d" % i, b"value") for i in range(count)]))
        member = client("java").member(self.node.bootstrap, "grouped", "carried")
        try:
            wait_until(lambda: len(member.look().records) >= count, 60, lambda: f"{len(member.records)} of {count} read")
            member.leave()
        finally:
            member.end()
        self.assertEqual(len(member.records), count, "the group goes on where it was")

    def picture(self):
        """What a client can tell of the node, as text: equal before and after."""
        offsets = [self.tool("kafka-get-offsets", "--time", time) for time in ("latest", "earliest")]
        group = [row[:5] for row in self.tool("kafka-consumer-groups", "--describe", "--group", "carried").rows()]
        return {"topics": sorted(self.tool("kafka-topics", "--describe").splitlines()), "ends": offsets[0], "starts": offsets[1], "group": group}

    def check_records(self):
        for codec in CODECS:
            got = client("librdkafka").consume(self.node.bootstrap, f"codec-{codec}", COUNT, self.folder / "got")
            self.assertIsNone(records.first_difference(self.expected, got), codec)

    def hand_over(self, kind, kill):
        (self.node.kill if kill else self.node.stop)()
        self.node.restart(kind=kind)

    def there_and_back(self, writer, reader, kill):
        self.node = self.enterContext(Node(kind=writer, properties={"group.initial.rebalance.delay.ms": "0"}))
        self.fill()
        before = self.picture()
        self.hand_over(reader, kill)
        self.assertEqual(self.picture(), before, f"written by {writer}, {'killed' if kill else 'stopped'}, served by {reader}")
        self.check_records()
        # what the second kind adds is there when the first comes back
        self.node.create_topic("added", 2)
        self.node.produce("added", 1, wire.record_batch([(b"k", b"added")]))
        end = self.node.produce("codec-zstd", 0, wire.record_batch([(b"%d" % i, b"more") for i in range(10)]))
        self.assertEqual(end, COUNT)
        self.produce_and_read_with_group(10)
        before = self.picture()
        self.hand_over(writer, kill)
        self.assertEqual(self.picture(), before, f"added to by {reader}, {'killed' if kill else 'stopped'}, served by {writer}")
        with self.node.connect() as connection:
            self.assertEqual([r[1:] for r in connection.read_all("added", 1)], [(b"k", b"added")])
            self.assertEqual([r[2] for r in connection.read_all("codec-zstd", 0, COUNT)], [b"more"] * 10)
        self.check_records()

    def test_ours_to_apache_kafka_and_back_after_a_clean_stop(self):
        self.there_and_back(system_under_test(), "kafka", kill=False)

    def test_ours_to_apache_kafka_and_back_after_kill(self):
        self.there_and_back(system_under_test(), "kafka", kill=True)

    def test_apache_kafkas_to_ours_and_back_after_kill(self):
        self.there_and_back("kafka", system_under_test(), kill=True)

    def test_open_transactions_and_consumer_groups_pass_through_ours_unchanged(self):
        self.node = self.enterContext(Node(kind="kafka"))
        java = client("java")
        self.node.create_topic("transacted")
        java.transact(self.node.bootstrap, "transacted", "finished", 5, "commit")
        java.transact(self.node.bootstrap, "transacted", "undone", 5, "abort")
        java.transact(self.node.bootstrap, "transacted", "left-open", 5, "none")
        self.node.create_topic("modern")
        self.node.produce("modern", 0, wire.record_batch([(b"%d" % i, b"v") for i in range(10)]))
        member = java.member(self.node.bootstrap, "modern", "modern-group", assignor="uniform")
        try:
            wait_until(lambda: len(member.look().records) == 10, 60, "the member has read all")
            member.leave()
        finally:
            member.end()

        def picture():
            transactions = kafka_tools.run("kafka-transactions", "--bootstrap-server", self.node.bootstrap, "list")  # it wants the server in front
            return (sorted((row[0], row[-1]) for row in transactions.rows()[1:]), self.tool("kafka-consumer-groups", "--list", "--type").rows(),
                    [row[:6] for row in self.tool("kafka-consumer-groups", "--describe", "--group", "modern-group").rows()])
        before = picture()
        self.assertIn(("left-open", "Ongoing"), before[0])
        for kill in (False, True):
            self.hand_over(system_under_test(), kill)
            with self.node.connect() as connection:
                wait_until(lambda: connection.list_offset("transacted", 0) == (0, 17), 30, "all records and both markers are there")
            self.hand_over("kafka", kill)
            wait_until(lambda: picture() == before, 30, lambda: f"{picture()} is {before}")  # the coordinators load for a moment
        committed = client("java").consume(self.node.bootstrap, "modern", 10, self.folder / "got")
        self.assertEqual(len(records.decode(committed)), 10)


if __name__ == "__main__":
    unittest.main()
