# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""Apache Kafka's kafka-dump-log reads every file that a node writes, and finds no fault in any."""
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import kafka_tools, maven, records, wire  # noqa: E402
from lib.clients import client  # noqa: E402
from lib.node import Node, wait_until  # noqa: E402

FAULTS = re.compile(r"mismatch|isvalid: false|Found \d+ invalid|Exception|non-consecutive|out of order|should be sorted|isn't the same", re.IGNORECASE)
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
COUNT = 20000


def setUpModule():
    """One node with something of everything, stopped cleanly."""
    global node, folder
    maven.libraries()
    folder = tempfile.TemporaryDirectory(prefix="castellan-dump-")
    path = Path(folder.name) / "records"
    path.write_bytes(records.full(COUNT, seed=12))
    node = Node(properties={"metadata.log.max.record.bytes.between.snapshots": "2000", "log.index.interval.bytes": "512"})
    for codec in CODECS:
        node.create_topic(f"dump-{codec}", segment_bytes=1048576)
        client("java").produce(node.bootstrap, f"dump-{codec}", codec, path)
    for i in range(40):
        node.create_topic(f"many-{i}")
    node.create_topic("grouped")
    node.produce("grouped", 0, wire.record_batch([(b"k", b"v")] * 10))
    member = client("java").member(node.bootstrap, "grouped", "dumped-group")
    try:
        wait_until(lambda: len(member.look().records) == 10, 60, "the group has read everything")
        member.leave()
    finally:
        member.end()
    producer_id, epoch = node.producer_id()
    for sequence in range(3):
        node.produce("many-0", 0, wire.record_batch([(b"k", b"v")], producer_id, epoch, sequence))
    node.stop()


def tearDownModule():
    node.close()
    folder.cleanup()


def files(pattern):
    found = sorted(node.data.glob(pattern))
    assert found, f"no {pattern} in {node.data}"
    return found


def dump(paths, *arguments):
    return kafka_tools.run("kafka-dump-log", "--files", ",".join(map(str, paths)), *arguments, timeout=120)


class Dump(unittest.TestCase):
    def assert_sound(self, output):
        # Its deep iteration starts at offset -1, so it takes the start of every later segment for a hole.
        errors = re.sub(r"Non-consecutive offsets in .*\n  -1 is followed by \d+\n(?!  )", "", output.errors)
        faults = [line for line in (output + errors).splitlines() if FAULTS.search(line)]
        self.assertEqual(faults[:5], [])

    def test_segments(self):
        output = dump(files("dump-*/*.log") + files("many-*/*.log"), "--deep-iteration")
        self.assert_sound(output)
        self.assertEqual(len(re.findall(r"^\| offset: ", output, re.M)), COUNT * len(CODECS) + 3)
        for codec in CODECS:
            self.assertRegex(output, f"compresscodec: {codec}\\b")
        self.assertGreater(len(files("dump-none-0/*.log")), 1, "rolled")

    def test_indexes_agree_with_their_segments(self):
        for kind in ("index", "timeindex"):
            paths = files(f"dump-*/*.{kind}")
            self.assert_sound(dump(paths, "--verify-index-only"))
            self.assertEqual(dump(paths, "--index-sanity-check").count("passed sanity check"), len(paths))
            self.assertGreater(sum(path.stat().st_size for path in paths), 0)

    def test_producer_snapshots(self):
        output = dump(files("many-0-0/*.snapshot"))
        self.assert_sound(output)
        self.assertRegex(output, r"producerId: \d+ producerEpoch: 0 .*lastTimestamp.*lastSequence: 2")

    def test_consumer_offsets(self):
        output = dump(files("__consumer_offsets-*/*.log"), "--offsets-decoder")
        self.assert_sound(output)
        self.assertIn('"group":"dumped-group"', output)
        self.assertIn('"topic":"grouped"', output)

    def test_metadata_log_and_snapshots(self):
        log = dump(files("__cluster_metadata-0/*.log"), "--cluster-metadata-decoder")
        self.assert_sound(log)
        for record in ("REGISTER_BROKER_RECORD", "TOPIC_RECORD", "PARTITION_RECORD", "FEATURE_LEVEL_RECORD"):
            self.assertIn(f'"type":"{record}"', log)
        self.assertIn("LeaderChange", log)
        snapshots = files("__cluster_metadata-0/*.checkpoint")
        self.assertGreater(len(snapshots), 1, "the bootstrap one and one made later")
        for path in snapshots:
            output = dump([path], "--cluster-metadata-decoder")
            self.assert_sound(output)
            self.assertIn("SnapshotHeader", output)
            self.assertIn("SnapshotFooter", output)
        self.assertIn('"name":"many-3"', output)


if __name__ == "__main__":
    unittest.main()
