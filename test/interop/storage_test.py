# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""What kafka-storage writes and says, beside Apache Kafka's own: each reads the other's directories, and the values of all keys are judged alike."""
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import kafka_tools, maven  # noqa: E402
from lib.paths import castellan_binary  # noqa: E402

CLUSTER = "kXCzJ5T1Qy2nU0m8bW3vZg"
SALT = "MDEyMzQ1Njc4OWFiY2RlZmdoaWo="


def setUpModule():
    maven.libraries()


def run_ours(*arguments):
    return subprocess.run([castellan_binary(), "storage", *map(str, arguments)], capture_output=True, text=True, timeout=30)


def run_kafka(*arguments):
    return subprocess.run(maven.java("kafka.tools.StorageTool", *map(str, arguments)), capture_output=True, text=True, timeout=90)


def snapshot(directory):
    """The bootstrap snapshot's records, as Apache Kafka decodes them, without times."""
    path = directory / "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
    text = kafka_tools.run("kafka-dump-log", "--cluster-metadata-decoder", "--files", path)
    rows = [re.sub(r"CreateTime: \d+|(?<=\"lastContainedLogTimestamp\":)\d+", "T", row) for row in text.splitlines() if row.startswith("|")]
    assert "isvalid: false" not in text, text
    return rows


class Storage(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def properties(self, data):
        file = self.folder / f"{data}.properties"
        file.write_text("process.roles=broker,controller\nnode.id=1\nlisteners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
                        "controller.listener.names=CONTROLLER\ncontroller.quorum.bootstrap.servers=127.0.0.1:9093\n"
                        f"log.dirs={self.folder}/{data}\n")
        return file

    def test_both_write_the_same_bootstrap_snapshot(self):
        more = ["-I", "1@127.0.0.1:9093:3Db5QLSqSZieL3rJBUUegA,2@[::1]:9094:L3rJBUUegA3Db5QLSqSZiQ", "-f", "share.version=1",
                "-S", f"SCRAM-SHA-256=[name=alice,password=wonder,salt={SALT},iterations=8192]", "-S", f"SCRAM-SHA-512=[name=alice,password=wonder,salt={SALT}]"]
        for name, run in (("ours", run_ours), ("theirs", run_kafka)):
            done = run("format", "-t", CLUSTER, "-c", self.properties(name), *more)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(snapshot(self.folder / "ours"), snapshot(self.folder / "theirs"))

    def test_each_knows_the_others_directory_as_formatted(self):
        for name, run, other in (("ours", run_ours, run_kafka), ("theirs", run_kafka, run_ours)):
            file = self.properties(name)
            self.assertEqual(run("format", "-t", CLUSTER, "-c", file, "-s").returncode, 0)
            self.assertEqual(other("info", "-c", file).stdout, run("info", "-c", file).stdout)
            self.assertIn("already formatted", other("format", "-t", CLUSTER, "-c", file, "-s", "-g").stdout)


if __name__ == "__main__":
    unittest.main()
