# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""A voter whose metadata was damaged, cut or wiped while it was down, and what must come of each.

Each of the worst cases is the same story: one of three voters lags, the other two acknowledge, one of those two is damaged. It and
the lagging one are a majority that must not elect: what was acknowledged would be gone. Once the third is back, all is there.
"""
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib.node import wait_until  # noqa: E402
from lib.paths import skip, system_under_test  # noqa: E402
from lib.quorum import Quorum  # noqa: E402

TOPICS = 20
QUIET = {"metadata.max.idle.interval.ms": "0"}  # the log grows by what the test writes only
SMALL = {**QUIET, "metadata.log.max.record.bytes.between.snapshots": "2000", "internal.metadata.log.segment.bytes": "4096",
         "metadata.max.retention.bytes": "1000"}


def setUpModule():
    if system_under_test() != "castellan":
        skip("these are promises of ours; Apache Kafka loses what was acknowledged")


def flip(path, position):
    with open(path, "r+b") as file:
        file.seek(position)
        byte = file.read(1)
        file.seek(position)
        file.write(bytes([byte[0] ^ 0x40]))


def last_segment(controller):
    return sorted(controller.metadata_log.glob("*.log"))[-1]


class QuorumDamage(unittest.TestCase):
    def quorum(self, **options):
        return self.enterContext(Quorum(properties=QUIET, **options))

    def create(self, prefix, count=TOPICS):
        names = [f"{prefix}-{number}" for number in range(count)]
        for name in names:
            self.quorum_.create(name)
        return names

    def two_ahead_and_one_lagging(self):
        """(ahead, ahead, lagging), all stopped by kill -9, after the two have acknowledged what the third has not seen."""
        quorum = self.quorum_ = self.quorum()
        leader = quorum.leader()
        other, lagging = [c for c in quorum.controllers if c is not leader]
        self.names = self.create("everybody", 3)
        quorum.wait_caught_up(*quorum.controllers)
        lagging.kill()
        self.names += self.create("acknowledged")
        end = max(quorum.log_ends().values())
        wait_until(lambda: other.acknowledged_offset() >= end, 10, lambda: f"what {other.node_id} acknowledged is remembered")
        leader.kill()
        other.kill()
        return leader, other, lagging

    def assert_only_the_third_brings_it_back(self, whole, damaged, lagging):
        for controller in (damaged, lagging):
            controller.start()
        self.quorum_.assert_no_leader()
        whole.start()
        self.quorum_.create("all-are-there")
        self.quorum_.wait_for_topics([*self.names, "all-are-there"])
        # Healed: it is a voter like any other, also without the one that healed it.
        self.quorum_.wait_caught_up(whole, damaged, lagging)
        whole.kill()
        self.quorum_.create("without-the-one-that-healed", timeout=30)
        self.quorum_.wait_for_topics([*self.names, "without-the-one-that-healed"])

    def test_a_wiped_log_folder_under_the_same_directory_id_elects_nobody(self):
        whole, damaged, lagging = self.two_ahead_and_one_lagging()
        shutil.rmtree(damaged.metadata_log)
        self.assert_only_the_third_brings_it_back(whole, damaged, lagging)
        self.assertIn(str(damaged.metadata_log), damaged.log_text())

    def test_an_emptied_log_folder_under_the_same_directory_id_elects_nobody(self):
        whole, damaged, lagging = self.two_ahead_and_one_lagging()
        for path in damaged.metadata_log.iterdir():
            path.unlink()
        self.assert_only_the_third_brings_it_back(whole, damaged, lagging)

    def test_a_directory_formatted_anew_under_its_old_id_elects_nobody(self):
        whole, damaged, lagging = self.two_ahead_and_one_lagging()
        shutil.rmtree(damaged.data)
        damaged.format()
        self.assertEqual(damaged.written_directory_id(), damaged.directory_id)
        self.assert_only_the_third_brings_it_back(whole, damaged, lagging)

    def test_a_damaged_middle_is_named_and_elects_nobody(self):
        whole, damaged, lagging = self.two_ahead_and_one_lagging()
        segment = last_segment(damaged)
        flip(segment, segment.stat().st_size // 2)
        self.assert_only_the_third_brings_it_back(whole, damaged, lagging)
        self.assertRegex(damaged.log_text(), rf"{segment.name} is damaged at byte [0-9]+ .*fetched again from the leader before this node votes")

    def test_a_cut_tail_elects_nobody_when_what_is_gone_was_acknowledged(self):
        whole, damaged, lagging = self.two_ahead_and_one_lagging()
        segment = last_segment(damaged)
        with open(segment, "r+b") as file:
            file.truncate(segment.stat().st_size * 2 // 3)
        self.assert_only_the_third_brings_it_back(whole, damaged, lagging)

    def test_a_torn_last_write_that_nobody_acknowledged_is_cut_and_the_two_elect(self):
        _, torn, lagging = self.two_ahead_and_one_lagging()
        segment = last_segment(torn)
        with open(segment, "r+b") as file:
            begin = file.read(40)  # of some batch; never written to its end
            file.seek(0, 2)
            file.write(begin)
        torn.start()
        lagging.start()
        leader, _ = self.quorum_.create("by-the-two")
        self.assertIs(leader, torn, "whose log is the longer one")
        self.quorum_.wait_for_topics([*self.names, "by-the-two"])
        self.assertIn(segment.name, torn.log_text())

    def test_a_damaged_follower_heals_from_the_leader_while_the_others_go_on(self):
        quorum = self.quorum_ = self.quorum()
        names = self.create("before")
        leader = quorum.leader()
        damaged = next(c for c in quorum.controllers if c is not leader)
        damaged.stop()
        segment = last_segment(damaged)
        flip(segment, segment.stat().st_size // 2)
        names += self.create("meanwhile", 5)
        damaged.start()
        quorum.wait_caught_up(*quorum.controllers)
        quorum.lead(damaged)
        quorum.wait_for_topics(names)

    def test_a_missing_snapshot_is_named_and_nothing_is_led_without_it(self):
        quorum = self.quorum_ = self.enterContext(Quorum(properties=SMALL))
        names = self.create("topic", 80)
        victim = next(c for c in quorum.controllers if c is not quorum.leader())

        def cleaned():
            return not (victim.metadata_log / ("0" * 20 + ".log")).exists()
        wait_until(lambda: cleaned() or (names.extend(self.create(f"more-{len(names)}", 10)) and False), 90, "the log begins at a snapshot", interval=1)
        victim.kill()
        snapshots = [path for path in victim.metadata_log.glob("*.checkpoint") if not path.name.startswith("0" * 20 + "-")]
        self.assertTrue(snapshots)
        for path in snapshots:
            path.unlink()
        victim.start(wait=False)
        self.assertEqual(victim.process.wait(20), 1, victim.log_tail())
        self.assertIn(str(victim.metadata_log), victim.log_tail(2))
        self.assertIn("snapshot", victim.log_tail(2))
        quorum.create("by-the-other-two")
        # The way out: without its metadata it is filled by the leader.
        shutil.rmtree(victim.metadata_log)
        victim.start()
        quorum.wait_caught_up(*quorum.controllers)
        quorum.lead(victim)
        quorum.wait_for_topics([*names, "by-the-other-two"])


class QuorumDisks(unittest.TestCase):
    """File systems in memory, so these need the right to mount."""

    def mount(self, folder, megabytes):
        folder.mkdir(parents=True)
        run = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "castellan-test", folder], capture_output=True, text=True)
        if run.returncode:
            skip(f"needs the right to mount: {run.stderr.strip()[:100]}")
        self.addCleanup(lambda: subprocess.run(["umount", "-l", folder], capture_output=True))

    def remount(self, folder, option):
        subprocess.run(["mount", "-o", f"remount,{option}", folder], check=True, capture_output=True)

    def quorum_on_small_disks(self):
        quorum = self.enterContext(Quorum(start=False))
        for controller in quorum.controllers:
            self.mount(controller.data, 32)
        quorum.start()
        self.addCleanup(lambda: [controller.running() and controller.kill() for controller in quorum.controllers])
        return quorum

    def fill(self, folder):
        with self.assertRaises(OSError), open(folder / "filler", "wb", buffering=0) as file:
            while True:
                file.write(b"x" * 65536)

    def full(self, quorum, controller):
        """Fills its disk; topics are made meanwhile. The node ends, names the directory, and nothing is lost."""
        names = []
        self.fill(controller.data)
        deadline = 200
        while controller.running() and len(names) < deadline:
            names.append(f"while-full-{len(names)}")
            quorum.create(names[-1])
        self.assertEqual(controller.process.wait(20), 1, controller.log_tail())
        self.assertIn(str(controller.data), controller.log_tail(3))
        self.assertIn("No space left", controller.log_tail(3))
        quorum.create("by-the-other-two")
        (controller.data / "filler").unlink()
        controller.start()
        quorum.wait_caught_up(*quorum.controllers)
        quorum.lead(controller)
        quorum.wait_for_topics([*names, "by-the-other-two"])

    def test_a_full_disk_of_the_leader_costs_the_leader_only(self):
        quorum = self.quorum_on_small_disks()
        self.full(quorum, quorum.leader())

    def test_a_full_disk_of_a_follower_costs_that_follower_only(self):
        quorum = self.quorum_on_small_disks()
        self.full(quorum, next(c for c in quorum.controllers if c is not quorum.leader()))

    def test_a_disk_that_cannot_be_written_is_named_and_the_others_go_on(self):
        quorum = self.quorum_on_small_disks()
        leader = quorum.leader()
        leader.stop()
        self.remount(leader.data, "ro")
        leader.start(wait=False)
        self.assertEqual(leader.process.wait(20), 1, leader.log_tail())
        self.assertIn(str(leader.data), leader.log_tail(3))
        quorum.create("by-the-other-two")
        self.remount(leader.data, "rw")
        leader.start()
        quorum.wait_caught_up(*quorum.controllers)
        quorum.lead(leader)
        quorum.wait_for_topics(["by-the-other-two"])


if __name__ == "__main__":
    unittest.main()
