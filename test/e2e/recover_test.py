# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""A quorum that has lost two of its three voters for ever goes on from the third: castellan quorum compare and recover."""
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib.node import wait_until  # noqa: E402
from lib.paths import castellan_binary  # noqa: E402
from lib.quorum import Quorum  # noqa: E402
from lib.static_quorum import static_quorum  # noqa: E402


def tool(*arguments):
    return subprocess.run([str(castellan_binary()), "quorum", *map(str, arguments)], capture_output=True, text=True, timeout=60)


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock"}


class RecoverTest(unittest.TestCase):
    def recover(self, quorum):
        quorum.create("before")
        quorum.wait_for_topics(["before"])
        survivor, other, gone = quorum.controllers
        file = survivor.write_properties()

        running = tool("recover", "--config", file, "--yes")
        self.assertEqual(running.returncode, 1)
        self.assertIn("another process", running.stderr)
        survivor.kill()
        quorum.create("by-the-two-others")
        led = tool("recover", "--config", file, "--yes")
        self.assertEqual(led.returncode, 1)
        self.assertIn("leads the quorum", led.stderr)

        # One disk turns up later, the other one never does.
        other.kill()
        gone.kill()
        compared = tool("compare", survivor.data, other.data, gone.data)
        self.assertEqual(compared.returncode, 0, compared.stderr)
        longest = re.search(r"The longest log: (.*) \(ends", compared.stdout).group(1).split(", ")
        self.assertNotIn(str(survivor.data), longest)
        self.assertEqual(set(longest) & {str(other.data), str(gone.data)}, set(longest))
        survivor, other = (other, survivor) if str(other.data) in longest else (gone, survivor)
        gone = next(c for c in quorum.controllers if c not in (survivor, other))
        shutil.rmtree(gone.data)
        file = survivor.write_properties()

        before = content(survivor.data)
        asked = tool("recover", "--config", file)
        self.assertEqual(asked.returncode, 1)
        self.assertIn("--yes", asked.stderr)
        tried = tool("recover", "--config", file, "--dry-run")
        self.assertEqual(tried.returncode, 0, tried.stderr)
        self.assertIn("DRY RUN", tried.stdout)
        self.assertEqual(content(survivor.data), before)
        done = tool("recover", "--config", file, "--yes")
        self.assertEqual(done.returncode, 0, done.stderr)
        copies = Path(re.search(r"is kept in (\S+)\.\n", done.stdout).group(1))
        self.assertEqual((copies / "quorum-state").read_bytes(), before["__cluster_metadata-0/quorum-state"])

        # The broker that ran all the time goes on, and so do its topics.
        survivor.start()
        quorum.create("after")
        quorum.wait_for_topics(["before", "by-the-two-others", "after"])
        quorum.broker.create_topic("through-the-broker")
        self.assertEqual(quorum.voter_ids(), [survivor.node_id])
        return survivor, other

    def go_on(self, quorum, survivor, other):
        # The old survivor comes back with its old epoch and voters: it is fenced, follows, and says so.
        other.start()
        wait_until(lambda: "is no voter" in other.log_path.read_text(), 20, lambda: other.log_path.read_text())
        self.assertIn("add-controller", other.log_path.read_text())
        quorum.create("beside-the-old-one")
        self.assertEqual(quorum.voter_ids(), [survivor.node_id])
        # New voters join, and the old one again under its own directory id.
        new = quorum.new_controller(4)
        quorum.add_voter(new)

        def added():
            try:
                return quorum.add_voter(other)
            except AssertionError as refused:
                if "REQUEST_TIMED_OUT" in str(refused):
                    return None
                raise
        wait_until(added, 20, "the old voter has caught up and is added")
        self.assertEqual(quorum.voter_ids(), sorted([survivor.node_id, other.node_id, 4]))
        quorum.leader().kill()
        quorum.create("by-two-of-three")
        quorum.wait_for_topics(["before", "by-the-two-others", "after", "beside-the-old-one", "by-two-of-three"])

    def test_the_last_voter_recovers_the_quorum_and_new_voters_join(self):
        with Quorum() as quorum:
            survivor, other = self.recover(quorum)
            self.go_on(quorum, survivor, other)

    def test_recovery_takes_a_quorum_of_kraft_version_0_to_1(self):
        with static_quorum() as quorum:
            survivor, other = self.recover(quorum)
            self.go_on(quorum, survivor, other)

    def test_all_addresses_changed(self):
        with Quorum() as quorum:
            quorum.create("before")
            for node in quorum.nodes():
                node.kill()
            survivor = quorum.controllers[0]
            old = survivor.controller_port
            survivor.controller_port = survivor.port  # a free port of its own
            for node in quorum.nodes():
                node.properties["controller.quorum.bootstrap.servers"] = f"127.0.0.1:{survivor.controller_port}"
            for key in ("listeners", "advertised.listeners"):
                survivor.properties[key] = f"CONTROLLER://127.0.0.1:{survivor.controller_port}"
            self.assertNotEqual(old, survivor.controller_port)
            done = tool("recover", "--config", survivor.write_properties(), "--yes")
            self.assertEqual(done.returncode, 0, done.stderr)
            quorum.bootstrap_controllers = f"127.0.0.1:{survivor.controller_port}"
            survivor.start(wait=False)
            quorum.broker.start(wait=False)
            survivor.wait_ready()
            quorum.broker.wait_ready()
            quorum.create("after")
            quorum.wait_for_topics(["before", "after"])


if __name__ == "__main__":
    unittest.main()
