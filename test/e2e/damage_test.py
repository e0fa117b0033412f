# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""Files that were torn, flipped, emptied or lost while the node was down, and what must come of each.

Nothing acknowledged is dropped in silence; one bad partition does not stop the node; every refusal names the file.
Each test damages one thing of a node that had three partitions, of which "other" must always be served whole.
"""
import shutil
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import wire  # noqa: E402
from lib.node import Node, wait_until  # noqa: E402
from lib.paths import sanitized, skip, system_under_test  # noqa: E402

SEGMENT = "00000000000000000000.log"
ROW = 300  # records of a partition, three to a batch
CORRUPT_MESSAGE = 2


def setUpModule():
    if system_under_test() != "castellan":
        skip("these are promises of ours; Apache Kafka does otherwise")


def values(partition):
    return [b"%s-%d-" % (partition.encode(), i) + b"x" * 5000 for i in range(ROW)]


class Damage(unittest.TestCase):
    def setUp(self):
        self.node = self.enterContext(Node(properties={"metadata.log.max.record.bytes.between.snapshots": "2000"}))

    def fill(self, *topics):
        """Each topic gets ROW records, in segments of 1 MiB: a first full one and a second."""
        for topic in topics or ("victim", "other"):
            self.node.create_topic(topic, segment_bytes=1 << 20)
            rows = values(topic)
            with self.node.connect() as connection:
                for first in range(0, ROW, 3):
                    error, _ = connection.produce(topic, 0, wire.record_batch([(None, v) for v in rows[first:first + 3]]))
                    self.assertEqual(error, 0)
        self.victim = self.node.data / "victim-0"

    def down(self, kill):
        if kill:
            self.node.kill()
        else:
            self.assertEqual(self.node.stop(), 0)

    def up(self):
        self.log_before = len(self.node.log_text())
        self.node.start()

    def said(self):
        return self.node.log_text()[self.log_before:]

    def read(self, topic, start=0):
        """(values up to the first error or the end, the error)."""
        found = []
        with self.node.connect() as connection:
            wait_until(lambda: connection.list_offset(topic, 0)[0] not in wire.NO_LEADER_YET, 20, "the partition answers") if start == 0 else None
            while True:
                error, high_watermark, data = connection.fetch(topic, 0, start, max_wait_ms=0)
                if error:
                    return found, error
                records = [r for r in wire.read_batches(data) if r[0] >= start]
                found += [value for _, _, value in records]
                if not records:
                    return found, 0 if start >= high_watermark else "nothing below the high watermark"
                start = records[-1][0] + 1

    def assert_whole(self, topic):
        self.assertEqual(self.read(topic), (values(topic), 0), self.node.log_tail())

    def assert_offline_or_whole(self, topic):
        """Served whole, or refused: never an empty or a shorter partition."""
        found, error = self.read(topic)
        if error == 0:
            self.assertEqual(found, values(topic))
        else:
            self.assertEqual(found, [])
            self.assertIn(f"{topic}-0", self.said())

    def assert_never_starts(self, *words):
        self.log_before = len(self.node.log_text())
        self.node.start(wait=False)
        code = self.node.process.wait(20)
        self.assertEqual(code, 1, self.said())
        for word in words:
            self.assertIn(str(word), self.said())
        self.assertNotRegex(self.said(), "terminate called|Aborted")

    def flip(self, path, position):
        with open(path, "r+b") as file:
            file.seek(position)
            byte = file.read(1)
            file.seek(position)
            file.write(bytes([byte[0] ^ 0x40]))

    def checkpoints(self):
        """The metadata snapshots that the node made, oldest first, without the one of the format."""
        return [p for p in sorted((self.node.data / "__cluster_metadata-0").glob("*.checkpoint")) if not p.name.startswith("0" * 20 + "-")]

    # -- segments

    def test_torn_tail_after_a_crash_is_cut_and_named(self):
        self.fill()
        self.down(kill=True)
        last = sorted(self.victim.glob("*.log"))[-1]
        whole = last.read_bytes()
        torn = wire.record_batch([(None, b"never acknowledged")])[:-5]
        last.write_bytes(whole + struct.pack(">q", ROW) + torn[8:])
        self.up()
        self.assert_whole("victim")
        self.assert_whole("other")
        self.assertRegex(self.said(), rf"{last.name}.*\b{len(torn)}\b|\b{len(torn)}\b.*{last.name}")

    def test_flipped_byte_in_an_old_segment_after_a_crash_drops_nothing(self):
        self.fill()
        self.down(kill=True)
        self.flip(self.victim / SEGMENT, 500000)
        self.up()
        self.assert_damaged_middle_is_refused()

    def test_flipped_byte_in_an_old_segment_after_a_clean_stop_is_found_before_it_is_served(self):
        self.fill()
        self.down(kill=False)
        self.flip(self.victim / SEGMENT, 500000)
        self.up()
        self.assert_damaged_middle_is_refused()

    def assert_damaged_middle_is_refused(self):
        """What is whole is served, the damage never; the partition's end is where it was; the file is named."""
        self.assert_whole("other")
        found, error = self.read("victim")
        self.assertNotEqual(error, 0, "the reader is told")
        self.assertEqual(found, values("victim")[:len(found)])
        with self.node.connect() as connection:
            self.assertEqual(connection.list_offset("victim", 0), (0, ROW))
        wait_until(lambda: SEGMENT in self.said() and "victim-0" in self.said(), 10, self.said)
        second = int(sorted(self.victim.glob("*.log"))[1].stem)
        self.assertEqual(self.read("victim", start=second), (values("victim")[second:], 0), "what is whole behind it is served")

    def test_zeros_at_the_tail_beside_a_clean_marker_stop_one_partition_at_most(self):
        self.fill()
        self.down(kill=False)
        last = sorted(self.victim.glob("*.log"))[-1]
        with open(last, "ab") as file:
            file.write(b"\0" * 4096)
        self.up()
        self.assert_whole("other")
        self.assert_offline_or_whole("victim")

    # -- what lies beside the segments

    def test_garbage_in_the_indexes_after_a_clean_stop_is_rebuilt(self):
        self.fill()
        self.down(kill=False)
        for path in [*self.victim.glob("*.index"), *self.victim.glob("*.timeindex")]:
            path.write_bytes(b"\xa5" * 1999)
        self.up()
        self.assert_whole("victim")
        self.assert_whole("other")

    def test_lost_producer_snapshots_are_rebuilt_so_that_a_batch_sent_again_is_known(self):
        self.fill()
        producer = self.node.producer_id()
        batch = wire.record_batch([(b"k", b"once")], *producer, base_sequence=0)
        offset = self.node.produce("victim", 0, batch)
        self.down(kill=False)
        for path in self.victim.glob("*.snapshot"):
            path.unlink()
        self.up()
        wait_until(lambda: self.read("victim")[1] == 0, 20, self.said)
        with self.node.connect() as connection:
            error, again = connection.produce("victim", 0, batch)
            self.assertIn((error, again), [(0, offset), (46, -1)])
            self.assertEqual(connection.list_offset("victim", 0), (0, ROW + 1))

    def test_garbage_in_partition_metadata_harms_one_partition_at_most(self):
        self.fill()
        self.down(kill=False)
        (self.victim / "partition.metadata").write_bytes(b"garbage\n")
        self.up()
        self.assert_whole("other")
        self.assert_offline_or_whole("victim")

    def test_garbage_in_the_leader_epoch_checkpoint_harms_one_partition_at_most(self):
        self.fill()
        self.down(kill=False)
        (self.victim / "leader-epoch-checkpoint").write_bytes(b"garbage\n")
        self.up()
        self.assert_whole("other")
        self.assert_offline_or_whole("victim")

    def test_lost_partition_metadata_never_gives_an_empty_partition(self):
        self.fill()
        self.down(kill=False)
        (self.victim / "partition.metadata").unlink()
        self.up()
        self.assert_whole("other")
        self.assert_offline_or_whole("victim")

    def test_another_topics_id_takes_only_that_partition_offline(self):
        self.fill()
        self.down(kill=False)
        path = self.victim / "partition.metadata"
        path.write_text(path.read_text().splitlines()[0] + "\ntopic_id: AAAAAAAAAAAAAAAAAAAAzg\n")
        self.up()
        self.assert_whole("other")
        found, error = self.read("victim")
        self.assertNotEqual((found, error), ([], 0), "never an empty partition in silence")
        self.assertIn("victim-0", self.said())

    def test_lost_partition_folder_is_offline_and_not_empty(self):
        self.fill()
        self.down(kill=False)
        shutil.rmtree(self.victim)
        self.up()
        self.assert_whole("other")
        found, error = self.read("victim")
        self.assertNotEqual(error, 0)
        self.assertIn("victim-0", self.said())
        with self.node.connect() as connection:
            self.assertNotEqual(connection.produce("victim", 0, wire.record_batch([(b"k", b"v")]))[0], 0)
            self.assertEqual(connection.delete_topic("victim"), 0, "the operator can decide")

    def test_start_of_the_log_stays_where_delete_records_put_it(self):
        self.fill()
        with self.node.connect() as connection:
            self.assertEqual(connection.delete_records("victim", 0, 77), (0, 77))
        self.down(kill=True)
        self.up()
        with self.node.connect() as connection:
            wait_until(lambda: connection.list_offset("victim", 0, -2)[0] == 0, 20, self.said)
            self.assertEqual(connection.list_offset("victim", 0, -2), (0, 77))
        self.assertEqual(self.read("victim", start=77), (values("victim")[77:], 0))

    def test_lost_and_found_is_ignored(self):
        self.fill()
        self.down(kill=False)
        (self.node.data / "lost+found").mkdir()
        self.up()
        self.assert_whole("victim")
        self.assertTrue((self.node.data / "lost+found").exists())

    # -- the metadata

    def many_topics(self):
        for i in range(60):
            self.node.create_topic(f"t{i}")

    def assert_topics(self):
        with self.node.connect() as connection:
            topics = connection.metadata(None)[1]
        self.assertEqual([f"t{i}" for i in range(60) if f"t{i}" not in topics], [])

    def test_empty_newest_checkpoint_falls_back_to_an_older_one(self):
        self.many_topics()
        self.down(kill=True)
        self.assertTrue(self.checkpoints())
        newest = self.checkpoints()[-1]
        newest.write_bytes(b"")
        self.starts_whole_or_refuses(newest)

    def test_cut_newest_checkpoint_falls_back_or_is_named(self):
        self.many_topics()
        self.down(kill=False)
        newest = self.checkpoints()[-1]
        newest.write_bytes(newest.read_bytes()[:-20])
        self.starts_whole_or_refuses(newest)

    def test_flipped_newest_checkpoint_falls_back_or_is_named(self):
        self.many_topics()
        self.down(kill=False)
        newest = self.checkpoints()[-1]
        self.flip(newest, newest.stat().st_size // 2)
        self.starts_whole_or_refuses(newest)

    def starts_whole_or_refuses(self, path):
        self.log_before = len(self.node.log_text())
        self.node.start(wait=False)
        wait_until(lambda: not self.node.running() or self.node.ready(), 20, self.said)
        self.assertIn(path.name, self.said())
        if self.node.running():
            self.assert_topics()
        else:
            self.assertEqual(self.node.process.returncode, 1, self.said())

    def test_lost_metadata_log_is_refused_and_named(self):
        self.many_topics()
        self.down(kill=False)
        shutil.rmtree(self.node.data / "__cluster_metadata-0")
        self.assert_never_starts("__cluster_metadata-0")

    def test_lost_directory_id_is_refused_and_named(self):
        self.down(kill=False)
        path = self.node.data / "meta.properties"
        path.write_text("".join(line for line in path.read_text().splitlines(True) if "directory.id" not in line))
        self.assert_never_starts("meta.properties")

    def test_flipped_byte_in_the_metadata_log_is_refused_with_file_and_offset(self):
        node = self.node
        node.restart(properties={"metadata.log.max.record.bytes.between.snapshots": str(1 << 30)})
        self.many_topics()
        self.down(kill=False)
        log = sorted((node.data / "__cluster_metadata-0").glob("*.log"))[-1]
        size = len(log.read_bytes().rstrip(b"\0"))
        self.flip(log, size // 2)
        self.assert_never_starts(log.name)

    def test_bad_quorum_state_is_refused_and_named(self):
        self.down(kill=False)
        path = self.node.data / "__cluster_metadata-0" / "quorum-state"
        good = path.read_bytes()
        for bad in (b"", good[:len(good) // 2], b"\xff\x00garbage"):
            path.write_bytes(bad)
            self.assert_never_starts("quorum-state")
        path.write_bytes(good)
        self.up()

    def test_stopped_cleanly_it_registers_again_at_once(self):
        self.fill("other")
        self.down(kill=False)
        self.up()
        self.assertLess(self.node.seconds_to_ready, 30 if sanitized() else 3)
        self.assert_whole("other")


if __name__ == "__main__":
    unittest.main()
