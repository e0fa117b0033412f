# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""A disk that fills up or cannot be written. Uses small file systems in memory, so it needs the right to mount."""
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import wire  # noqa: E402
from lib.node import Node, wait_until  # noqa: E402
from lib.paths import skip, system_under_test  # noqa: E402

KAFKA_STORAGE_ERROR = 56


def setUpModule():
    if system_under_test() != "castellan":
        skip("these are promises of ours; Apache Kafka fails in its own ways")


class Disks(unittest.TestCase):
    def mount(self, folder, megabytes):
        folder.mkdir(parents=True)
        run = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "castellan-test", folder], capture_output=True, text=True)
        if run.returncode:
            skip(f"needs the right to mount: {run.stderr.strip()[:100]}")
        self.addCleanup(lambda: subprocess.run(["umount", "-l", folder], capture_output=True))

    def read_only(self, folder, on):
        run = subprocess.run(["mount", "-o", "remount,ro" if on else "remount,rw", folder], capture_output=True, text=True)
        if run.returncode:
            skip(f"needs the right to mount: {run.stderr.strip()[:100]}")

    def node(self, **options):
        node = Node(start=False, **options)
        self.addCleanup(node.close)
        return node

    def fill(self, node, topic):
        """Produces until it is refused or the node ends; the values that were acknowledged and the error."""
        acknowledged, error = [], None
        try:
            with node.connect() as connection:
                for i in range(200):
                    value = b"%05d" % i + os.urandom(200000)
                    error, _ = connection.produce(topic, 0, wire.record_batch([(None, value)]))
                    if error:
                        break
                    acknowledged.append(value)
        except OSError:
            error = "closed"
        return acknowledged, error

    def assert_all_there(self, node, topic, acknowledged):
        with node.connect() as connection:
            wait_until(lambda: connection.list_offset(topic, 0)[0] == 0, 20, node.log_tail)
            values = [value for _, _, value in connection.read_all(topic, 0)]
        self.assertEqual([v[:5] for v in values[:len(acknowledged)]], [v[:5] for v in acknowledged])
        self.assertEqual(values[:len(acknowledged)], acknowledged)

    def test_only_directory_full_ends_the_node_with_one_clear_line_and_loses_nothing(self):
        node = self.node()
        self.mount(node.data, 32)
        node.format()
        node.start()
        node.create_topic("t")
        acknowledged, error = self.fill(node, "t")
        self.assertTrue(acknowledged)
        self.assertIn(error, (KAFKA_STORAGE_ERROR, "closed"))
        self.assertEqual(node.process.wait(20), 1, node.log_tail())
        last = node.log_tail(5)
        self.assertIn(str(node.data), last)
        self.assertIn("No space left", last)
        subprocess.run(["mount", "-o", "remount,size=128m", node.data], check=True)
        node.start()
        self.assert_all_there(node, "t", acknowledged)

    def two_directories(self, megabytes):
        """A node with its metadata on the large disk and data on both; a topic on each."""
        node = self.node()
        small, large = node.folder / "small", node.folder / "large"
        self.mount(small, megabytes)
        node.properties.update({"log.dirs": f"{large},{small}", "metadata.log.dir": str(large)})
        node.format()
        node.start()
        on_small = on_large = None
        for i in range(8):
            topic = node.create_topic(f"t{i}")
            on_small, on_large = (topic, on_large) if (small / f"{topic}-0").exists() else (on_small, topic)
        self.assertTrue(on_small and on_large, "topics spread over both directories")
        return node, small, on_small, on_large

    def test_one_full_directory_of_two_goes_offline_and_the_other_serves(self):
        node, small, on_small, on_large = self.two_directories(16)
        acknowledged, error = self.fill(node, on_small)
        self.assertTrue(acknowledged)
        self.assertNotEqual(error, "closed", node.log_tail())
        self.assertTrue(node.running(), node.log_tail())
        node.produce(on_large, 0, wire.record_batch([(b"k", b"v")]))
        self.assertIn(str(small), node.log_tail(20))
        node.stop()
        subprocess.run(["mount", "-o", "remount,size=128m", small], check=True)
        node.start()
        self.assert_all_there(node, on_small, acknowledged)

    def test_one_directory_that_cannot_be_written_only_goes_offline(self):
        node, small, on_small, on_large = self.two_directories(16)
        node.produce(on_small, 0, wire.record_batch([(b"k", b"kept")]))
        node.stop()
        self.read_only(small, True)
        node.start()
        node.produce(on_large, 0, wire.record_batch([(b"k", b"v")]))
        self.assertIn(str(small), node.log_text())
        node.stop()
        self.read_only(small, False)
        node.start()
        self.assert_all_there(node, on_small, [b"kept"])

    def test_metadata_directory_that_cannot_be_written_refuses_to_start(self):
        node = self.node()
        metadata = node.folder / "metadata"
        self.mount(metadata, 16)
        node.properties["metadata.log.dir"] = str(metadata)
        node.format()
        self.read_only(metadata, True)
        node.start(wait=False)
        self.assertEqual(node.process.wait(20), 1, node.log_tail())
        self.assertIn(str(metadata), node.log_tail(3))
        self.read_only(metadata, False)
        node.start()


if __name__ == "__main__":
    unittest.main()
