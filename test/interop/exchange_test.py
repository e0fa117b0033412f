# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""100,000 records per codec, written by one client and read back identical by another: keys, values, headers, timestamps, order.

The pairs make a ring, so that each client writes once and reads once, and each codec is there. EXCHANGE_COUNT makes it shorter.
"""
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import records  # noqa: E402
from lib.clients import client  # noqa: E402
from lib.node import Node  # noqa: E402

COUNT = int(os.environ.get("EXCHANGE_COUNT", 100000))
RING = [("java", "kcat", "zstd"), ("kcat", "kafka_python", "gzip"), ("kafka_python", "franz", "snappy"), ("franz", "kafkajs", "lz4"),
        ("kafkajs", "aiokafka", "zstd"), ("aiokafka", "librdkafka", "snappy"), ("librdkafka", "confluent", "none"), ("confluent", "java", "gzip"),
        ("franz", "java", "snappy"), ("java", "librdkafka", "lz4")]
PROFILES = {"kcat": "plain", "kafka_python": "common", "aiokafka": "common", "kafkajs": "common"}  # what they can write; all read all


def setUpModule():
    global node, files, folder
    folder = tempfile.TemporaryDirectory(prefix="castellan-exchange-")
    files = {"full": records.full(COUNT, seed=3), "common": records.full(COUNT, seed=4, common=True), "plain": records.plain(COUNT, seed=5)}
    for profile, data in files.items():
        (Path(folder.name) / profile).write_bytes(data)
    node = Node()


def tearDownModule():
    node.close()
    folder.cleanup()


def exchange(test, producer, consumer, codec):
    writer, reader = client(producer), client(consumer)
    profile = PROFILES.get(producer, "full")
    topic = node.create_topic(f"{producer}-{consumer}-{codec}".replace("_", "-"))
    writer.produce(node.bootstrap, topic, codec, Path(folder.name) / profile)
    got = reader.consume(node.bootstrap, topic, COUNT, Path(folder.name) / topic)
    if profile == "plain":
        got = records.without_timestamps(got)
    test.assertIsNone(records.first_difference(files[profile], got))
    with node.connect() as connection:
        test.assertEqual(connection.list_offset(topic, 0), (0, COUNT))


class Exchange(unittest.TestCase):
    pass


for _producer, _consumer, _codec in RING:
    setattr(Exchange, f"test_{_producer}_to_{_consumer}_{_codec}",
            lambda self, names=(_producer, _consumer, _codec): exchange(self, *names))

if __name__ == "__main__":
    unittest.main()
