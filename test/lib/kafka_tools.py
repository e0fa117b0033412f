# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""Apache Kafka's command-line tools, run from its released jars against a node of either kind."""
import atexit
import os
import struct
import subprocess
import threading
from pathlib import Path

from lib import maven
from lib.paths import INTEROP, need_program

MAIN_CLASSES = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs": "org.apache.kafka.tools.ConfigCommand",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
}


class Output(str):
    """What a tool printed; its exit code and standard error beside it."""
    code, errors = 0, ""

    def rows(self):
        """Each line's words."""
        return [line.split() for line in self.splitlines() if line.strip()]


def run(tool, *arguments, code=0, input="", timeout=90):
    """Fails unless the tool ends with that exit code."""
    words = [MAIN_CLASSES[tool], *map(str, arguments)]
    if os.environ.get("TOOLS_ALONE"):  # each in a process of its own, as its script would run it
        process = subprocess.run(maven.java(*words), capture_output=True, text=True, input=input, timeout=timeout)
        answer = process.returncode, process.stdout, process.stderr
    else:
        answer = _toolbox().run(words, input, timeout)
    output = Output(answer[1])
    output.code, _, output.errors = answer
    if output.code != code:
        raise AssertionError(f"{tool} {' '.join(words[1:])} -> {output.code}, expected {code}\n{output[-3000:]}{output.errors[-3000:]}")
    return output


def performance(tool, *arguments, timeout=300):
    """A performance tool in a process of its own and at full speed; its standard output."""
    return subprocess.run(maven.java(MAIN_CLASSES[tool], *arguments, heap="512m", quick=False), stdout=subprocess.PIPE, text=True, timeout=timeout,
                          check=True).stdout


_running = None


def _toolbox():
    global _running
    if _running is None or _running.process.poll() is not None:
        _running = _ToolBox()
    return _running


class _ToolBox:
    """One virtual machine that runs tool after tool (lib/java/ToolBox.java). It ends with this process."""

    def __init__(self):
        source = Path(__file__).resolve().parent / "java" / "ToolBox.java"
        folder = INTEROP / "toolbox"
        compiled = folder / "ToolBox.class"
        if not compiled.exists() or compiled.stat().st_mtime < source.stat().st_mtime:
            subprocess.run([need_program("javac"), "-d", folder, "-cp", maven.class_path(), source], check=True, timeout=120)
        command = maven.java("ToolBox", heap="384m")
        place = command.index("-cp") + 1
        command[place] = f"{folder}:{command[place]}"
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        atexit.register(self.end)

    def end(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def run(self, words, input, timeout):
        """(exit code, standard output, standard error)"""
        watch = threading.Timer(timeout, self.process.kill)
        watch.start()
        try:
            send = struct.pack(">i", len(words)) + b"".join(map(_sized, [*words, input]))
            self.process.stdin.write(send)
            self.process.stdin.flush()
            code = self._number()
            return code, self._text(), self._text()
        except EOFError:
            raise AssertionError(f"no end within {timeout} s: {' '.join(words)}") from None
        finally:
            watch.cancel()

    def _exactly(self, size):
        data = self.process.stdout.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def _number(self):
        return struct.unpack(">i", self._exactly(4))[0]

    def _text(self):
        return self._exactly(self._number()).decode(errors="replace")


def _sized(text):
    data = text.encode()
    return struct.pack(">i", len(data)) + data
