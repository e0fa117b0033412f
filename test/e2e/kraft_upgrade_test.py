# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""kraft.version 0 to 1: the voters move from the configuration into the log, and can be changed from then on (KIP-853)."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib.node import wait_until  # noqa: E402
from lib.static_quorum import static_quorum, upgrade  # noqa: E402

INVALID_UPDATE_VERSION = 95


class KRaftUpgradeTest(unittest.TestCase):
    def test_a_static_quorum_becomes_one_whose_voters_can_be_changed(self):
        with static_quorum() as quorum:
            quorum.create("before")
            with self.assertRaisesRegex(AssertionError, "kraft.version 0"):
                quorum.remove_voter(quorum.controllers[0])

            # Each voter tells the leader who it is, within two fetch timeouts.
            def accepted():
                error, message = upgrade(quorum, 1, validate_only=True)
                self.assertIn(error, (0, INVALID_UPDATE_VERSION), message)
                return error == 0
            wait_until(accepted, 30, "every voter has told its directory id", interval=0.2)
            self.assertEqual(upgrade(quorum, 1)[0], 0)
            self.assertEqual(quorum.status()["CurrentVoters"].count("directoryId"), 3)
            self.assertEqual(upgrade(quorum, 1)[0], 0, "nothing new")
            self.assertEqual(upgrade(quorum, 0)[0], INVALID_UPDATE_VERSION)

            # From now on as any other quorum, with the old configuration.
            leader = quorum.leader()
            leader.kill()
            quorum.create("by-the-next-leader")
            leader.start()
            quorum.bootstrap_controllers = ",".join(f"127.0.0.1:{c.controller_port}" for c in quorum.controllers)
            new = quorum.new_controller(4)
            quorum.add_voter(new)
            quorum.remove_voter(quorum.controllers[0])
            self.assertEqual(quorum.voter_ids(), [2, 3, 4])
            for node in quorum.nodes():
                node.kill()
            for node in quorum.nodes():
                node.start(wait=False)
            for node in quorum.nodes():
                node.wait_ready()
            quorum.create("after-all-started-again")
            self.assertEqual(quorum.voter_ids(), [2, 3, 4])
            quorum.wait_for_topics(["before", "by-the-next-leader", "after-all-started-again"])


if __name__ == "__main__":
    unittest.main()
