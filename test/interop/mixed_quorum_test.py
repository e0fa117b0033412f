# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""Castellan and Apache Kafka as voters of one quorum, and each one's broker beside the other's controllers."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import wire  # noqa: E402
from lib.quorum import Quorum  # noqa: E402


class MixedQuorumTest(unittest.TestCase):
    def lead_in_turn(self, kinds, broker_kind):
        with Quorum(kinds, broker_kind) as quorum:
            led = set()
            for number in range(30):  # until each kind has led; most often three rounds do
                leader, _ = quorum.create(f"topic-{number}", timeout=60)
                led.add(leader.kind)
                leader.kill()
                quorum.create(f"after-{number}", timeout=60)
                leader.start()
                if led == set(kinds) and number >= 2:
                    break
            self.assertEqual(led, set(kinds), "each kind has led")
            quorum.wait_for_topics([f"{name}-{n}" for n in range(number + 1) for name in ("topic", "after")], timeout=60)
            quorum.broker.create_topic("through-the-broker")
            quorum.broker.produce("through-the-broker", 0, wire.record_batch([(None, b"value")]))
            ours, theirs = quorum.describe("--status"), quorum.describe("--status", kind="kafka")
            self.assertEqual(voters_of(ours), voters_of(theirs))

    def test_two_of_ours_and_one_of_theirs(self):
        self.lead_in_turn(["castellan", "kafka", "castellan"], "castellan")

    def test_two_of_theirs_and_one_of_ours(self):
        self.lead_in_turn(["kafka", "castellan", "kafka"], "castellan")

    def test_voters_of_either_kind_are_changed_by_either_tool(self):
        with Quorum(["castellan"] * 3, "castellan") as quorum:
            theirs, ours = quorum.new_controller(4, "kafka"), quorum.new_controller(5, "castellan")
            for controller, how in ((theirs, {"kind": "castellan"}), (ours, {"kind": "kafka", "by_broker": True})):
                self.assertIn(f"Added controller {controller.node_id}", quorum.add_voter(controller, **how))
            self.assertEqual(quorum.voter_ids(), [1, 2, 3, 4, 5])
            leader = quorum.leader()
            for controller, how in ((leader, {"kind": "kafka"}), (theirs, {"by_broker": True})):
                self.assertIn(f"Removed KRaft controller {controller.node_id}", quorum.remove_voter(controller, **how))
                quorum.create(f"without-{controller.node_id}")
            self.assertEqual(len(quorum.voter_ids()), 3)

    def test_their_broker_beside_our_controllers(self):
        with Quorum(["castellan"] * 3, "kafka") as quorum:
            quorum.broker.create_topic("orders", 3)
            quorum.broker.produce("orders", 1, wire.record_batch([(None, b"value")]))
            leader = quorum.leader()
            leader.kill()
            quorum.create("after", timeout=60)
            quorum.wait_for_topics(["orders", "after"], timeout=60)
            self.assertEqual(quorum.broker.stop(), 143)

    def test_our_broker_beside_their_controllers(self):
        with Quorum(["kafka"] * 3, "castellan") as quorum:
            quorum.broker.create_topic("orders", 3)
            quorum.broker.produce("orders", 1, wire.record_batch([(None, b"value")]))
            leader = quorum.leader()
            leader.kill()
            quorum.create("after", timeout=60)
            quorum.broker.create_topic("through-the-new-leader")
            quorum.wait_for_topics(["orders", "after"], timeout=60)
            self.assertEqual(quorum.broker.stop(), 0)


def voters_of(status):
    return next(line for line in status.splitlines() if line.startswith("CurrentVoters:"))


if __name__ == "__main__":
    unittest.main()
