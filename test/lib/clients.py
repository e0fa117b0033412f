# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""The common Kafka clients, each a program with the same command line (test/interop/clients/README.md).

`client("franz")` builds or installs what it needs under build/interop, once, and skips with the reason where that cannot be.
"""
import fcntl
import functools
import hashlib
import json
import queue
import shutil
import subprocess
import sys
import threading
import unittest
from pathlib import Path

from lib import maven
from lib.paths import INTEROP, ROOT, need_program, skip

SOURCES = ROOT / "test" / "interop" / "clients"
PYTHON_PACKAGES = ["confluent-kafka==2.16.1", "kafka-python==3.0.12", "aiokafka==0.14.0", "cramjam==2.14.0", "python-snappy==0.7.3",
                   "lz4==4.4.5", "zstandard==0.25.0"]


def _once(name, key, work):
    """Runs work(folder) unless it was done with the same key. A failure is a skip: the registry or compiler is not there."""
    folder = INTEROP / name
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / ".done"
        if not done.exists() or done.read_text() != key:
            work(folder)
            done.write_text(key)
    return folder


def _run_or_skip(what, command, **options):
    run = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=900, **options)
    if run.returncode:
        lines = (run.stdout + run.stderr).strip().splitlines() or ["no reason given"]
        skip(f"needs {what}: {lines[-1][:200]}")


def _hash(*paths):
    return hashlib.sha256(b"".join(Path(p).read_bytes() for p in paths)).hexdigest()


def _python():
    def install(folder):
        _run_or_skip("python3-venv", [sys.executable, "-m", "venv", folder / "venv"])
        _run_or_skip("Python packages from PyPI", [folder / "venv/bin/pip", "install", "-q", *PYTHON_PACKAGES])
    return _once("python", " ".join([sys.version, *PYTHON_PACKAGES]), install) / "venv/bin/python"


def _java():
    source = SOURCES / "java" / "JavaClient.java"
    libraries = maven.class_path()
    folder = _once("java", _hash(source), lambda folder: _run_or_skip(
        "a JDK", [need_program("javac"), "-d", folder / "classes", "-cp", libraries, source]))
    command = maven.java("JavaClient", heap="512m")
    place = command.index("-cp") + 1
    command[place] = f"{folder}/classes:{command[place]}"
    return command


def _librdkafka():
    source = SOURCES / "librdkafka.cc"
    if not Path("/usr/include/librdkafka/rdkafkacpp.h").exists():
        skip("needs librdkafka-dev: not installed")
    return [_once("librdkafka", _hash(source), lambda folder: _run_or_skip(
        "g++", [need_program("g++"), "-std=c++20", "-O1", "-o", folder / "client", source, "-lrdkafka++"])) / "client"]


def _franz():
    go, source = need_program("go"), SOURCES / "franz"
    return [_once("franz", _hash(source / "main.go", source / "go.mod"), lambda folder: _run_or_skip(
        "Go modules or a newer Go", [go, "build", "-o", folder / "client", "."], cwd=source)) / "client"]


def _kafkajs():
    npm, node, source = need_program("npm"), need_program("node"), SOURCES / "kafkajs"

    def install(folder):
        shutil.copy(source / "package.json", folder)
        _run_or_skip("Node packages from npm", [npm, "install", "--no-package-lock", "--no-audit", "--no-fund"], cwd=folder)
    folder = _once("kafkajs", _hash(source / "package.json"), install)
    return ["env", f"NODE_PATH={folder}/node_modules", node, source / "main.js"]


def _kcat():
    need_program("kcat")
    return [sys.executable, SOURCES / "kcat.py"]


_COMMANDS = {
    "kcat": _kcat, "librdkafka": _librdkafka, "java": _java, "franz": _franz, "kafkajs": _kafkajs,
    "confluent": lambda: [_python(), SOURCES / "confluent.py"],
    "kafka_python": lambda: [_python(), SOURCES / "kafka_python.py"],
    "aiokafka": lambda: [_python(), SOURCES / "aio.py"],
}
NAMES = tuple(_COMMANDS)


_absent = {}  # name -> why: what could not be had once is not asked for again


@functools.cache
def client(name):
    if name in _absent:
        skip(_absent[name])
    try:
        return Client(name, [str(word) for word in _COMMANDS[name]()])
    except unittest.SkipTest as reason:
        _absent[name] = str(reason)
        raise


class Client:
    def __init__(self, name, command):
        self.name, self.command = name, command

    def _argv(self, verb, **options):
        return [*self.command, verb, *(word for key, value in options.items() if value is not None for word in ("--" + key, str(value)))]

    def _run(self, argv, timeout):
        run = subprocess.run(argv, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
        if run.returncode:
            raise AssertionError(f"{self.name} {argv[len(self.command)]} -> {run.returncode}\n{run.stdout[-2000:]}{run.stderr[-4000:]}")

    def produce(self, bootstrap, topic, codec, records_file, timeout=180):
        self._run(self._argv("produce", bootstrap=bootstrap, topic=topic, codec=codec, records=records_file), timeout)

    def consume(self, bootstrap, topic, count, out, timeout=180):
        """The record file's bytes."""
        self._run(self._argv("consume", bootstrap=bootstrap, topic=topic, count=count, out=out), timeout)
        return Path(out).read_bytes()

    def transact(self, bootstrap, topic, id, count, end):
        """Only the Java client's program: count records in one transaction that commits, aborts, or is left open ("none")."""
        self._run(self._argv("transact", bootstrap=bootstrap, topic=topic, id=id, count=count, end=end), 60)

    def member(self, bootstrap, topic, group, assignor="range", instance=None):
        return Member(self.name, self._argv("group", bootstrap=bootstrap, topic=topic, group=group, assignor=assignor, instance=instance))


class Member:
    """A running group member. `assigned` is its newest assignment, `records` all that it has read: [(partition, offset, key)]."""

    def __init__(self, name, argv):
        self.name, self.assigned, self.assignments, self.records = name, None, [], []
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.errors = []
        self._events = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read_events, daemon=True)
        self._reader.start()
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()

    def _read_events(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                self._events.put(json.loads(line))

    def look(self):
        """Takes in what the member has said since the last look; fails when it has died."""
        if self.process.poll():
            raise AssertionError(f"{self.name} member ended with {self.process.returncode}\n{''.join(self.errors)[-4000:]}")
        while not self._events.empty():
            event = self._events.get()
            if event["event"] == "assigned":
                self.assigned = event["partitions"]
                self.assignments.append(self.assigned)
            else:
                self.records.append((event["partition"], event["offset"], event["key"]))
        return self

    def leave(self, timeout=30):
        """Ends it in good order: it leaves its group."""
        self.process.stdin.write("q")
        self.process.stdin.close()
        self.process.wait(timeout)
        self._reader.join(timeout)  # it has taken the last lines
        self.look()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except OSError:
                pass
