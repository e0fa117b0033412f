# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""A voter that moved to another port tells the leader, which writes the new address down once it has answered there (KIP-853, raft.md P63)."""
import json
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib.node import free_ports, wait_until  # noqa: E402
from lib.quorum import Quorum  # noqa: E402


class VoterAddressTest(unittest.TestCase):
    def endpoints(self, quorum):
        return {voter["id"]: voter["endpoints"] for voter in json.loads(quorum.status()["CurrentVoters"])}

    def test_an_address_enters_the_voters_once_it_answers(self):
        with Quorum() as quorum:
            leader = quorum.leader()
            mover = next(c for c in quorum.controllers if c is not leader)
            before = self.endpoints(quorum)[mover.node_id]
            new, closed = free_ports(2)

            # It tells others an address at which nobody answers: the entry stays as it is.
            mover.kill()
            mover.controller_port = new
            mover.properties["listeners"] = f"CONTROLLER://127.0.0.1:{new}"
            mover.properties["advertised.listeners"] = f"CONTROLLER://127.0.0.1:{closed}"
            mover.start()
            until = time.monotonic() + 5  # it tells every two fetch timeouts, 4 s
            while time.monotonic() < until:
                self.assertEqual(self.endpoints(quorum)[mover.node_id], before)
                time.sleep(0.2)

            mover.kill()
            mover.properties["advertised.listeners"] = f"CONTROLLER://127.0.0.1:{new}"
            mover.start()
            wanted = [f"CONTROLLER://127.0.0.1:{new}"]
            wait_until(lambda: self.endpoints(quorum)[mover.node_id] == wanted, 40, lambda: f"the new address: {quorum.status()}", interval=0.2)
            # There it votes.
            other = next(c for c in quorum.controllers if c not in (leader, mover))
            other.kill()
            quorum.create("by-the-leader-and-the-moved-one")


if __name__ == "__main__":
    unittest.main()
