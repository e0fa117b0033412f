# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""kraft.version raised by Apache Kafka's own tool, in quorums of ours, of both kinds, and led by either."""
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import maven  # noqa: E402
from lib.node import wait_until  # noqa: E402
from lib.static_quorum import static_quorum  # noqa: E402


class KRaftUpgradeTest(unittest.TestCase):
    def raised(self, kinds, leader_kind=None):
        with static_quorum(kinds) as quorum:
            quorum.create("before")
            for _ in range(20):
                leader = quorum.leader()
                if leader.kind == (leader_kind or leader.kind):
                    break
                leader.kill()
                quorum.leader()
                leader.start()
            command = maven.java("org.apache.kafka.tools.FeatureCommand", "--bootstrap-server", quorum.broker.bootstrap, "upgrade", "--feature", "kraft.version=1")
            said = []

            def upgraded():
                run = subprocess.run(command, capture_output=True, text=True, timeout=90)
                said.append(run.stdout + run.stderr)
                return run.returncode == 0
            wait_until(upgraded, 90, lambda: f"kraft.version is raised: {said[-1]}")
            self.assertEqual(quorum.status()["CurrentVoters"].count("directoryId"), 3)
            # Every kind has it in its log: each leads, and is removed and added.
            for controller in quorum.controllers:
                controller.kill()
                quorum.create(f"without-{controller.node_id}", timeout=60)
                controller.start()
            quorum.remove_voter(quorum.controllers[1])
            self.assertEqual(quorum.voter_ids(), [1, 3])
            quorum.create("by-two")

    def test_of_ours(self):
        self.raised(["castellan"] * 3)

    def test_of_both_kinds_led_by_ours(self):
        self.raised(["castellan", "kafka", "castellan"], "castellan")

    def test_of_both_kinds_led_by_theirs(self):
        self.raised(["castellan", "kafka", "castellan"], "kafka")


if __name__ == "__main__":
    unittest.main()
