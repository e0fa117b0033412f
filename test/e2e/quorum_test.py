# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""Three controllers elect, replicate and lose their leader under load; a broker beside them goes on.

KILLS sets how often the leader is killed.
"""
import os
import statistics
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import wire  # noqa: E402
from lib.node import wait_until  # noqa: E402
from lib.quorum import Quorum  # noqa: E402

KILLS = int(os.environ.get("KILLS", 10))


class Creator(threading.Thread):
    """Creates topics through the broker, one after the other."""

    def __init__(self, quorum):
        super().__init__(daemon=True)
        self.quorum, self.acknowledged, self.going, self.problem = quorum, [], True, None

    def run(self):
        number = 0
        try:
            with self.quorum.broker.connect(timeout=60) as connection:
                while self.going:
                    number += 1
                    error = connection.create_topic(f"t{number:05d}")
                    if error == 0:
                        self.acknowledged.append(f"t{number:05d}")
                    elif error != wire.TOPIC_ALREADY_EXISTS:  # its first attempt was committed and its answer lost
                        raise AssertionError(f"t{number:05d}: error {error}")
        except Exception as problem:  # reported by the main thread
            self.problem = problem

    def end(self):
        self.going = False
        self.join(60)


class QuorumTest(unittest.TestCase):
    def test_three_controllers_elect_and_a_broker_serves_beside_them(self):
        with Quorum() as quorum:
            quorum.broker.create_topic("orders", 3)
            quorum.broker.produce("orders", 1, wire.record_batch([(None, b"value")]))
            _, seconds = quorum.create("direct")
            self.assertLess(seconds, 30)
            quorum.wait_for_topics(["orders", "direct"])
            status = quorum.status()
            self.assertEqual(status["MaxFollowerLagTimeMs"].lstrip("-").isdigit(), True)
            self.assertEqual(status["CurrentVoters"].count('"id"'), 3)
            wait_until(lambda: '"id": 101' in quorum.status()["CurrentObservers"], 10, "the broker is an observer")
            table = quorum.describe("--replication", by_broker=True)
            self.assertEqual([row.split("\t")[-2].strip() for row in table.splitlines()][:4], ["Status", "Leader", "Follower", "Follower"])

    def test_what_was_acknowledged_outlives_every_kill_of_the_leader(self):
        with Quorum() as quorum:
            creator = Creator(quorum)
            creator.start()
            times = []
            direct = []
            for number in range(KILLS):
                leader = quorum.leader()
                leader.kill()
                name = f"after-kill-{number}"
                new, seconds = quorum.create(name)
                times.append(seconds)
                direct.append(name)
                self.assertIsNot(new, leader)
                leader.start()
                # The clients of the broker go on, too, before the next one is killed.
                before = len(creator.acknowledged)
                wait_until(lambda: len(creator.acknowledged) > before or creator.problem, 60, "a topic made through the broker")
            creator.end()
            self.assertIsNone(creator.problem)
            quorum.wait_for_topics([*creator.acknowledged, *direct])
            print(f"kill -9: median {1000 * statistics.median(times):.0f} ms, worst {1000 * max(times):.0f} ms, {len(creator.acknowledged)} topics")

    def test_a_leader_that_is_stopped_hands_over(self):
        with Quorum() as quorum:
            for number in range(3):
                leader = quorum.leader()
                ending = threading.Thread(target=lambda node=leader: self.assertEqual(node.stop(), 0))
                ending.start()
                new = leader
                while new is leader:
                    new, _ = quorum.create(f"after-stop-{number}-{time.monotonic_ns()}")
                ending.join()
                leader.start()

    def test_a_restarted_follower_catches_up(self):
        with Quorum() as quorum:
            leader = quorum.leader()
            follower = next(c for c in quorum.controllers if c is not leader)
            follower.kill()
            for number in range(20):
                quorum.create(f"meanwhile-{number}")
            follower.start()

            def caught_up():
                rows = [row.split("\t") for row in quorum.describe("--replication").splitlines()[1:]]
                return all(int(row[3]) <= 5 for row in rows if int(row[0]) <= 3)
            wait_until(caught_up, 20, "every voter is near the end", interval=0.2)

    def test_voters_are_added_and_removed_while_topics_are_made(self):
        with Quorum() as quorum:
            creator = Creator(quorum)
            creator.start()
            new = [quorum.new_controller(node_id) for node_id in (4, 5)]
            for controller in new:
                self.assertIn(f"Added controller {controller.node_id} with directory id", quorum.add_voter(controller))
            self.assertEqual(quorum.voter_ids(), [1, 2, 3, 4, 5])
            # The original ones go, the leader among them.
            for controller in quorum.controllers[:3]:
                self.assertIn(f"Removed KRaft controller {controller.node_id}", quorum.remove_voter(controller))
                quorum.create(f"without-{controller.node_id}")
            self.assertEqual(quorum.voter_ids(), [4, 5])
            for controller in quorum.controllers[:3]:
                self.assertEqual(controller.stop(), 0)
            quorum.bootstrap_controllers = ",".join(f"127.0.0.1:{c.controller_port}" for c in new)
            quorum.create("by-the-new-ones")
            creator.end()
            self.assertIsNone(creator.problem)
            quorum.wait_for_topics([*creator.acknowledged, "by-the-new-ones"])

    def test_without_a_majority_nothing_is_acknowledged(self):
        with Quorum() as quorum:
            leader = quorum.leader()
            for controller in quorum.controllers:
                if controller is not leader:
                    controller.kill()
            with self.assertRaises((OSError, AssertionError)):
                quorum.create("never", timeout=3)
            for controller in quorum.controllers:
                if not controller.running():
                    controller.start()
            quorum.create("again")


if __name__ == "__main__":
    unittest.main()
