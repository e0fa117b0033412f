# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""Old segments go, compaction keeps the last value of each key, and kill -9 in the middle of either harms nothing."""
import os
import random
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import wire  # noqa: E402
from lib.node import Node, wait_until  # noqa: E402

SEED = int(os.environ.get("CRASH_SEED", time.time_ns() % 1000000))
KEYS = 50


class Retention(unittest.TestCase):
    def setUp(self):
        self.node = self.enterContext(Node(properties={
            "log.retention.check.interval.ms": "200", "log.segment.delete.delay.ms": "100", "log.cleaner.backoff.ms": "100",
            "log.initial.task.delay.ms": "200", "log.cleaner.dedupe.buffer.size": str(8 << 20)}))

    def fill(self, topic, megabytes=4, timestamp=None):
        """Values of 10,000 bytes."""
        for i in range(megabytes * 10):
            self.node.produce(topic, 0, wire.record_batch([(None, b"%d" % i + b"x" * 10000)] * 10, timestamp=timestamp))

    def start_of(self, topic):
        with self.node.connect() as connection:
            error, offset = connection.list_offset(topic, 0, -2)
            return offset if error == 0 else 0

    def segments(self, topic):
        return sorted(p.name for p in (self.node.data / f"{topic}-0").glob("*.log"))

    def test_segments_older_than_the_time_go_and_the_active_one_too(self):
        topic = self.node.create_topic("aged", segment_bytes=1 << 20, retention_ms=3600000)
        self.fill(topic, timestamp=int(time.time() * 1000) - 7200000)
        wait_until(lambda: self.start_of(topic) == 400, 30, lambda: f"{self.start_of(topic)} {self.segments(topic)} {self.node.log_tail()}")
        wait_until(lambda: len(self.segments(topic)) == 1, 30, lambda: self.segments(topic))
        self.node.restart()
        wait_until(lambda: self.start_of(topic) == 400, 30, "the start stays")
        self.assertEqual(self.node.produce(topic, 0, wire.record_batch([(None, b"new")])), 400)

    def test_segments_beyond_the_size_go_from_the_oldest(self):
        topic = self.node.create_topic("sized", segment_bytes=1 << 20, retention_bytes=2 << 20)
        self.fill(topic, 5)
        wait_until(lambda: self.start_of(topic) > 100, 30, lambda: f"{self.start_of(topic)} {self.segments(topic)} {self.node.log_tail()}")
        start = self.start_of(topic)
        with self.node.connect() as connection:
            records = connection.read_all(topic, 0, start)
            self.assertEqual([offset for offset, _, _ in records], list(range(start, 500)))
            self.assertEqual(connection.fetch(topic, 0, 0)[0], 1, "OFFSET_OUT_OF_RANGE")
        self.assertGreaterEqual(sum(len(value) for _, _, value in records), 2 << 20)

    def compacted(self, name):
        return self.node.create_topic(name, cleanup_policy="compact", segment_bytes=1 << 20, min_cleanable_dirty_ratio="0.01", segment_ms="60000",
                                      delete_retention_ms="100")

    def write(self, topic, first, count, last):
        """count records over KEYS keys, big enough to roll a segment now and then; `last` learns each key's newest (offset, value)."""
        for i in range(first, first + count, 10):
            rows = [(b"key-%d" % ((i + j) % KEYS), b"%d-" % (i + j) + b"y" * 3000) for j in range(10)]
            base = self.node.produce(topic, 0, wire.record_batch(rows))
            for j, (key, value) in enumerate(rows):
                last[key] = (base + j, value)

    def assert_newest_values(self, topic, last):
        with self.node.connect() as connection:
            wait_until(lambda: connection.list_offset(topic, 0)[0] == 0, 30, "the partition serves")
            records = connection.read_all(topic, 0)
        offsets = [offset for offset, _, _ in records]
        self.assertEqual(offsets, sorted(set(offsets)), "in order, once")
        newest = {key: (offset, value) for offset, key, value in records}
        self.assertEqual(newest, last)
        return records

    def test_compaction_keeps_the_newest_value_of_each_key_at_its_offset(self):
        topic, last = self.compacted("compacted"), {}
        self.write(topic, 0, 2000, last)

        def clean():
            records = self.assert_newest_values(topic, last)
            return len(records) < 1000 and records
        records = wait_until(clean, 60, lambda: f"compacted {self.segments(topic)}\n{self.node.log_tail()}", interval=0.5)
        self.assertEqual(len({key for _, key, _ in records}), KEYS)
        self.node.restart()
        self.assert_newest_values(topic, last)
        with self.node.connect() as connection:
            self.assertEqual(connection.list_offset(topic, 0), (0, 2000))

    def test_kill_in_the_middle_of_compaction_and_retention_loses_no_newest_value(self):
        generator = random.Random(SEED)
        topic, last = self.compacted("crashed"), {}
        sized = self.node.create_topic("crashed-sized", segment_bytes=1 << 20, retention_bytes=1 << 20)
        for round_number in range(int(os.environ.get("CRASH_ROUNDS", 12)) // 2 or 1):
            self.write(topic, round_number * 1000, 1000, last)
            self.fill(sized, 2)
            time.sleep(generator.uniform(0, 0.5))
            self.node.kill()
            self.node.start()
            self.assert_newest_values(topic, last)
            with self.node.connect() as connection:
                wait_until(lambda: connection.list_offset(sized, 0) == (0, 200 * (round_number + 1)), 30, lambda: f"seed {SEED} {self.node.log_tail()}")
        self.assertEqual([p.name for p in (self.node.data / f"{topic}-0").iterdir() if p.suffix in (".cleaned", ".swap")], [])


if __name__ == "__main__":
    unittest.main()
