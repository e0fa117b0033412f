# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""A controller with controller.quorum.auto.join.enable becomes a voter by itself, also after its disk was replaced (KIP-853, KIP-1186)."""
import json
import shutil
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib.node import wait_until  # noqa: E402
from lib.quorum import Controller, Quorum  # noqa: E402


class AutoJoinTest(unittest.TestCase):
    def voters(self, quorum):
        return {voter["id"]: voter["directoryId"] for voter in json.loads(quorum.status()["CurrentVoters"])}

    def test_a_new_controller_joins_and_one_with_a_new_disk_replaces_its_old_self(self):
        with Quorum() as quorum:
            controller = Controller("castellan", 4)
            controller.properties.update({"controller.quorum.bootstrap.servers": quorum.bootstrap_controllers, "controller.quorum.auto.join.enable": "true"})
            controller.initial = ["--no-initial-controllers"]
            controller.format()
            controller.start()
            quorum.controllers.append(controller)
            first = controller.written_directory_id()
            wait_until(lambda: self.voters(quorum).get(4) == first, 40, lambda: f"4 is a voter: {quorum.status()}", interval=0.2)

            controller.kill()
            shutil.rmtree(controller.data)
            controller.format()
            second = controller.written_directory_id()
            self.assertNotEqual(first, second)
            controller.start()
            wait_until(lambda: self.voters(quorum).get(4) == second, 60, lambda: f"4 is a voter anew: {quorum.status()}", interval=0.2)
            self.assertEqual(sorted(self.voters(quorum)), [1, 2, 3, 4])
            quorum.create("with-four")
            # What it was in between it has told.
            self.assertIn(f"names directory id {first}", controller.log_text())


if __name__ == "__main__":
    unittest.main()
