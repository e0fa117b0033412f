# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""Older releases of Apache Kafka as voters and brokers beside ours: requests go in the versions that the peer knows.

OLDER_KAFKA names the releases (default: 4.0.0, which lacks Fetch 18 and AddRaftVoter 1).
"""
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import wire  # noqa: E402
from lib.quorum import Quorum  # noqa: E402

RELEASES = os.environ.get("OLDER_KAFKA", "4.0.0").split(",")
# The metadata.version that the oldest of them knows as its newest production level.
RELEASE_VERSION = {"4.0": "4.0", "4.1": "4.1", "4.2": "4.2", "4.3": "4.3"}


class OlderPeersTest(unittest.TestCase):
    def quorum(self, kinds, broker_kind, release):
        quorum = Quorum(kinds, broker_kind, start=False)
        for controller in quorum.controllers:
            controller.initial += ["--release-version", RELEASE_VERSION[release.rpartition(".")[0]]]
        for node in quorum.nodes():
            node.format()
            node.start(wait=False)
        for node in quorum.nodes():
            node.wait_ready()
        return quorum

    def test_an_older_voter_and_broker_beside_two_of_ours(self):
        for release in RELEASES:
            older = f"kafka-{release}"
            with self.subTest(release), self.quorum(["castellan", older, "castellan"], older, release) as quorum:
                led = set()
                for number in range(30):  # until each kind has led
                    leader, _ = quorum.create(f"topic-{number}", timeout=60)
                    led.add(leader.kind)
                    leader.kill()
                    quorum.create(f"after-{number}", timeout=60)
                    leader.start()
                    if led == {"castellan", older} and number >= 2:
                        break
                self.assertEqual(led, {"castellan", older}, "each kind has led")
                quorum.wait_for_topics([f"{name}-{n}" for n in range(number + 1) for name in ("topic", "after")], timeout=60)
                quorum.broker.create_topic("through-the-broker")
                quorum.broker.produce("through-the-broker", 0, wire.record_batch([(None, b"value")]))
                # One of theirs and one of ours are the majority.
                ours = quorum.controllers[2] if leader is not quorum.controllers[2] else quorum.controllers[0]
                ours.kill()
                quorum.create("by-one-of-each", timeout=60)
                new = ours.start() and quorum.new_controller(4, "castellan")
                quorum.add_voter(new)
                self.assertEqual(quorum.voter_ids(), [1, 2, 3, 4])

    def test_our_broker_beside_older_controllers(self):
        for release in RELEASES:
            with self.subTest(release), self.quorum([f"kafka-{release}"] * 3, "castellan", release) as quorum:
                quorum.broker.create_topic("orders", 3)
                quorum.broker.produce("orders", 1, wire.record_batch([(None, b"value")]))
                leader = quorum.leader()
                leader.kill()
                quorum.create("after", timeout=60)
                quorum.wait_for_topics(["orders", "after"], timeout=60)
                quorum.broker.create_topic("through-the-next-leader")


if __name__ == "__main__":
    unittest.main()
