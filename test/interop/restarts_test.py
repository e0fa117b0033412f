# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""Idempotent producers go on over kill -9 of the node, and every record is there once and in order.

Not over a clean stop: a producer snapshot holds each producer's newest batch only (Apache Kafka's format), so a client that
lost the answers of two batches in flight is told that the first is out of order, and writes both again under a new epoch.
"""
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import records  # noqa: E402
from lib.clients import client  # noqa: E402
from lib.node import Node, wait_until  # noqa: E402

COUNT = 200000


class Restarts(unittest.TestCase):
    def producer_over_restarts(self, name, codec):
        producer, consumer = client(name), client("librdkafka")
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="castellan-restarts-")))
        # Timestamps of today: a producer whose newest record is older than a day is forgotten over a restart.
        expected = records.full(COUNT, seed=21, start=int(time.time() * 1000) - COUNT)
        (folder / "records").write_bytes(expected)
        node = self.enterContext(Node())
        node.create_topic("t")
        failed = []

        def produce():
            try:
                producer.produce(node.bootstrap, "t", codec, folder / "records")
            except Exception as problem:  # reported below
                failed.append(problem)
        thread = threading.Thread(target=produce)
        thread.start()

        def end():
            with node.connect() as connection:
                error, offset = connection.list_offset("t", 0)
                return offset if error == 0 else 0
        restarts = 0
        for part in (0.02, 0.3, 0.6):
            wait_until(lambda: end() >= part * COUNT or not thread.is_alive(), 60, lambda: f"{end()} records written {failed} {node.log_tail()}", interval=0.001)
            restarts += thread.is_alive()
            node.kill()
            node.start()
        thread.join(180)
        self.assertFalse(thread.is_alive(), "the producer comes to its end")
        self.assertEqual(failed, [])
        self.assertGreater(restarts, 0, "the node went away while the producer worked")
        got = consumer.consume(node.bootstrap, "t", COUNT, folder / "got")
        self.assertIsNone(records.first_difference(expected, got))
        self.assertEqual(end(), COUNT)

    def test_java(self):
        self.producer_over_restarts("java", "lz4")

    def test_librdkafka(self):
        self.producer_over_restarts("librdkafka", "none")

    def test_franz(self):
        self.producer_over_restarts("franz", "zstd")

    def test_confluent(self):
        self.producer_over_restarts("confluent", "snappy")


if __name__ == "__main__":
    unittest.main()
