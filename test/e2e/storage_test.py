# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""kafka-storage.sh as scripts run it: by its link, on real files and on disks that refuse."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib.paths import castellan_binary  # noqa: E402

CLUSTER = "kXCzJ5T1Qy2nU0m8bW3vZg"


class Storage(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.link = self.folder / "kafka-storage.sh"
        self.link.symlink_to(castellan_binary())
        self.configure(self.folder / "data")

    def configure(self, *directories, **more):
        self.properties = self.folder / "server.properties"
        self.properties.write_text("".join(f"{key}={value}\n" for key, value in {
            "process.roles": "broker,controller", "node.id": 1, "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
            "controller.listener.names": "CONTROLLER", "controller.quorum.bootstrap.servers": "127.0.0.1:9093",
            "log.dirs": ",".join(map(str, directories)), **{key.replace("_", "."): value for key, value in more.items()}}.items()))

    def run_tool(self, *arguments, code=0):
        done = subprocess.run([self.link, *map(str, arguments)], capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def format(self, *more, code=0):
        return self.run_tool("format", "-t", CLUSTER, "-c", self.properties, "-s", *more, code=code)

    def tree(self, folder="."):
        return sorted(str(path.relative_to(self.folder)) for path in (self.folder / folder).rglob("*"))

    def assert_refused(self, done, *words):
        """One clear line on standard error, nothing on standard output."""
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(str(word), done.stderr)

    def test_a_directory_is_formatted_once_and_described_by_info(self):
        done = self.format()
        self.assertIn(f"Formatting dynamic metadata voter directory {self.folder}/data with metadata.version 4.4-IV2.\n", done.stdout)
        self.assertEqual(self.tree("data"), ["data/__cluster_metadata-0", "data/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint", "data/meta.properties"])
        self.assert_refused(self.format(code=1), "already formatted", "--ignore-formatted")
        self.assertEqual(self.format("-g").stdout, "All of the log directories are already formatted.\n")
        self.assertRegex(self.run_tool("info", "-c", self.properties).stdout,
                         rf"^Found log directory:\n  {self.folder}/data\n\nFound metadata: {{cluster.id={CLUSTER}, directory.id=[\w]{{22}}, node.id=1, version=1}}\n\n$")

    def test_a_disk_that_refuses_leaves_nothing_behind_on_the_others(self):
        self.configure(self.folder / "a", "/proc/castellan", self.folder / "c/d")
        before = self.tree()
        self.assert_refused(self.format(code=1), "/proc/castellan")
        self.assertEqual(self.tree(), before)

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_directory_without_permission_is_named(self):
        (self.folder / "data").mkdir(mode=0o500)
        self.assert_refused(self.format(code=1), "data", "ermission")

    def test_a_full_disk_is_named_and_nothing_is_half_written(self):
        before = self.tree()
        limited = subprocess.run(["bash", "-c", 'ulimit -f 0; trap "" XFSZ; exec "$0" "$@"', self.link, "format", "-t", CLUSTER, "-c", self.properties, "-s"],
                                 capture_output=True, text=True, timeout=30)
        self.assertEqual(limited.returncode, 1, limited.stdout + limited.stderr)
        self.assert_refused(limited, "data")
        self.assertEqual(self.tree(), before)

    def test_the_arguments_of_a_script_may_come_from_a_file(self):
        (self.folder / "arguments").write_text(f"format\n-t\n{CLUSTER}\n-c\n{self.properties}\n--standalone\n")
        self.run_tool(f"@{self.folder}/arguments")

    def test_mistakes_show_the_usage_and_end_with_1(self):
        for arguments in ([], ["fly"], ["format"], ["format", "-c", self.properties], ["info"], ["random-uuid", "-x"]):
            done = self.run_tool(*arguments, code=1)
            self.assertTrue(done.stderr.startswith("usage: kafka-storage"), done.stderr)
        self.assertIn("--initial-controllers", self.run_tool("format", "--help").stdout)

    def test_random_ids_are_ids(self):
        ids = {self.run_tool("random-uuid").stdout for _ in range(20)}
        self.assertEqual(len(ids), 20)
        for one in ids:
            self.assertTrue(re.fullmatch(r"[A-Za-z0-9_]{22}\n", one), one)


class Program(unittest.TestCase):
    def test_every_script_name_is_answered_to(self):
        names = subprocess.run([castellan_binary(), "script-names"], capture_output=True, text=True, check=True).stdout.split()
        self.assertIn("kafka-storage.sh", names)
        self.assertIn("kafka-server-start.sh", names)
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                (Path(folder) / name).symlink_to(castellan_binary())
                done = subprocess.run([Path(folder) / name, "--help"], capture_output=True, text=True, timeout=30)
                self.assertIn(done.returncode, (0, 1))
                self.assertIn(name.removesuffix(".sh"), (done.stdout + done.stderr).lower())

    def test_the_page_of_keys_is_what_the_program_prints(self):
        page = subprocess.run([castellan_binary(), "config-doc"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(page, (Path(__file__).resolve().parents[2] / "doc/configuration.md").read_text(),
                         "doc/configuration.md is old: castellan config-doc > doc/configuration.md")


if __name__ == "__main__":
    unittest.main()
