# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""Voters come and go under load: 1 to 3 to 5 and down to 1, every original one replaced, and the active controller removed again
and again.

REMOVALS sets how often the active controller is removed.
"""
import os
import statistics
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib.node import wait_until  # noqa: E402
from lib.quorum import Creator, Quorum  # noqa: E402

REMOVALS = int(os.environ.get("REMOVALS", 4))


class Membership(unittest.TestCase):
    def one_three_five_one(self, **how):
        """how: whose tool makes the changes."""
        with Quorum(["castellan"], "castellan") as quorum:
            first = quorum.controllers[0]
            with Creator(quorum) as creator:
                for ids in ((2, 3), (4, 5)):
                    for node_id in ids:
                        self.assertIn(f"Added controller {node_id}", quorum.add_voter(quorum.new_controller(node_id), **how))
                    creator.wait_for_more()
                self.assertEqual(quorum.voter_ids(), [1, 2, 3, 4, 5])
                last = quorum.controllers[-1]
                # Who stays is asked from here on, not one that is about to go: a tool keeps to the first that answers, leader known or not.
                quorum.bootstrap_controllers = f"127.0.0.1:{last.controller_port}"
                for controller in quorum.controllers[:-1]:
                    self.assertIn(f"Removed KRaft controller {controller.node_id}", quorum.remove_voter(controller, **how))
                    creator.wait_for_more()
                self.assertEqual(quorum.voter_ids(), [5])
                for controller in quorum.controllers[:-1]:
                    self.assertEqual(controller.stop(), 0)
                self.assertIs(quorum.leader(), last)
                creator.wait_for_more()
            self.assertFalse(first.running())
            quorum.wait_for_topics(creator.acknowledged)
            quorum.assert_one_leader_per_epoch()

    def test_one_to_three_to_five_to_one_by_our_tool(self):
        self.one_three_five_one(kind="castellan")

    def test_one_to_three_to_five_to_one_by_apache_kafkas_tool(self):
        self.one_three_five_one(kind="kafka")

    def test_the_active_controller_is_removed_again_and_again(self):
        with Quorum(["castellan"] * 3, "castellan") as quorum:
            times, names = [], []
            with Creator(quorum) as creator:
                for number in range(REMOVALS):
                    leader = quorum.leader()
                    removing = threading.Thread(target=quorum.remove_voter, args=(leader,))
                    epoch = leader.newest_epoch()
                    others = [c for c in quorum.controllers if c is not leader]
                    removing.start()
                    wait_until(lambda: any(c.newest_epoch() > epoch for c in others), 30, "somebody else leads", interval=0.001)
                    names.append(f"after-removal-{number}")
                    new, seconds = quorum.create(names[-1])
                    times.append(seconds)
                    self.assertIsNot(new, leader)
                    removing.join()
                    # It comes back as an observer that is added.
                    quorum.wait_caught_up(leader)
                    quorum.add_voter(leader)
                    creator.wait_for_more()
            self.assertEqual(quorum.voter_ids(), [1, 2, 3])
            quorum.wait_for_topics([*names, *creator.acknowledged])
            quorum.assert_one_leader_per_epoch()
            print(f"removal of the active controller: median {1000 * statistics.median(times):.0f} ms, worst {1000 * max(times):.0f} ms, "
                  f"{len(creator.acknowledged)} topics")


if __name__ == "__main__":
    unittest.main()
