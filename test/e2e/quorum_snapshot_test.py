# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""Snapshots of the metadata: byte-identical on every node, and what a controller that comes late or returns is brought up from."""
import itertools
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib.node import wait_until  # noqa: E402
from lib.paths import skip, system_under_test  # noqa: E402
from lib.quorum import Quorum  # noqa: E402

# Snapshots often, segments small, and little kept.
SMALL = {"metadata.log.max.record.bytes.between.snapshots": "3000", "internal.metadata.log.segment.bytes": "4096",
         "metadata.max.retention.bytes": "10000"}


def setUpModule():
    if system_under_test() != "castellan":
        skip("Apache Kafka's snapshots at one offset differ in their order of records")


def snapshots(controller):
    """{name: bytes} of those that the node made or fetched."""
    found = {}
    for path in controller.metadata_log.glob("*.checkpoint"):
        try:
            found[path.name] = path.read_bytes()
        except FileNotFoundError:  # cleaned just now
            pass
    return {name: data for name, data in found.items() if not name.startswith("0" * 20)}


class Snapshots(unittest.TestCase):
    def fill(self, quorum):
        """Topics until the log of every running controller begins at a snapshot; their names."""
        names = []

        def cleaned():
            made = [f"{len(names) + number}-" + "x" * 100 for number in range(20)]
            names.extend(made)
            for name in made:
                quorum.create(name)
            return all("before offset" in c.log_text() and "was deleted" in c.log_text() for c in quorum.controllers if c.running())
        wait_until(cleaned, 90, "every log was cleaned")
        return names

    def test_nodes_write_the_same_bytes_at_the_same_offset(self):
        with Quorum(properties={"metadata.log.max.record.bytes.between.snapshots": "3000"}) as quorum:
            numbers = itertools.count()

            def some_in_common():
                for _ in range(10):
                    quorum.create(f"topic-{next(numbers)}")
                made = [snapshots(c) for c in quorum.controllers]
                common = set(made[0]) & set(made[1]) & set(made[2])
                for name in common:
                    self.assertEqual(made[0][name], made[1][name], name)
                    self.assertEqual(made[0][name], made[2][name], name)
                return len(common) >= 3
            wait_until(some_in_common, 60, "three snapshots at the same offset on all")
            quorum.assert_logs_agree()

    def test_a_new_voter_and_one_that_was_away_are_brought_up_from_a_snapshot(self):
        with Quorum(properties=SMALL) as quorum:
            leader = quorum.leader()
            away = next(c for c in quorum.controllers if c is not leader)
            quorum.wait_caught_up(*quorum.controllers)
            away.kill()
            names = self.fill(quorum)
            away.start()
            new = quorum.new_controller(4, properties=SMALL)
            quorum.add_voter(new)
            quorum.wait_caught_up(*quorum.controllers)
            for controller in (away, new):
                self.assertIn("metadata log goes on from the leader's snapshot", controller.log_text())
                self.assertNotIn(0, quorum.batches(controller), "its log does not begin at 0")
            quorum.assert_logs_agree()
            # What came by the snapshot is whole: each of the two leads, and a broker that begins with nothing learns all of it.
            for controller in (away, new):
                quorum.lead(controller)
                quorum.create(f"led-by-{controller.node_id}")
            quorum.broker.stop()
            for path in (quorum.broker.data / "__cluster_metadata-0").iterdir():
                path.unlink()
            quorum.broker.start()
            quorum.wait_for_topics([*names, f"led-by-{away.node_id}", "led-by-4"])


if __name__ == "__main__":
    unittest.main()
