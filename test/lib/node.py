# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""One server process, controller and broker together, of either kind ("castellan", "kafka", or "kafka-VERSION") from one server.properties.

    with Node() as node:              # kind from SUT, default castellan; formatted, started, ready
        node.bootstrap                # "127.0.0.1:PORT"
        node.kill(); node.start()     # kill -9, restart on the same directories

Everything lies in one temporary folder, which goes with the node unless KEEP is set. Processes are ended by their own pid.
"""
import atexit
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from lib import maven, wire
from lib.paths import castellan_binary, system_under_test

CLUSTER_ID = "castellanTestCluster01"  # 22 characters of base64url, 16 bytes
_open = []


# A test run that is told to end takes its nodes along.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


@atexit.register
def _end_all():
    for node in list(_open):
        node.close()


# Below the ports that the system gives to outgoing connections (32768 and up): no client of another test can take one between
# the look here and the node's bind. Each run begins elsewhere, and no run gives one port twice.
PORTS = range(12000, 32000)
_next_port = random.randrange(len(PORTS))


def free_ports(count):
    """Distinct ports that are free, and that this run has not given before."""
    global _next_port
    found = []
    while len(found) < count:
        port = PORTS[_next_port % len(PORTS)]
        _next_port += 1
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
    return found


def wait_until(condition, timeout, what, interval=0.02):
    """The condition's first true value; fails with `what` after timeout seconds."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s: {what() if callable(what) else what}")
        time.sleep(interval)


class Node:
    def __init__(self, kind=None, properties=None, folder=None, start=True, full_speed=False):
        self.kind = kind or system_under_test()
        self.full_speed = full_speed  # Apache Kafka as its own script runs it, for benchmarks; else what starts quickly and stays small
        self.owns_folder = folder is None
        self.folder = Path(folder or tempfile.mkdtemp(prefix="castellan-node-"))
        self.data = self.folder / "data"
        self.port, self.controller_port = free_ports(2)
        self.process = None
        self.properties = {
            "process.roles": "broker,controller", "node.id": "1", "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{self.controller_port}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller_port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT", "log.dirs": str(self.data),
            "offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "5", "group.initial.rebalance.delay.ms": "0",
            "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1", "share.coordinator.state.topic.min.isr": "1",
            **(properties or {})}
        _open.append(self)
        if start:
            self.format()
            self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def bootstrap(self):
        return f"127.0.0.1:{self.port}"

    @property
    def log_path(self):
        return self.folder / "server.log"

    def write_properties(self):
        path = self.folder / "server.properties"
        path.write_text("".join(f"{k}={v}\n" for k, v in self.properties.items() if v is not None))
        return path

    # -- commands

    def kafka_version(self):
        """Of a kind like "kafka-4.0.0"."""
        return self.kind.removeprefix("kafka").lstrip("-") or maven.VERSION

    def format_command(self):
        arguments = ["format", "-t", CLUSTER_ID, "-c", str(self.write_properties()), "--standalone"]
        if self.kind != "castellan":
            return maven.java("kafka.tools.StorageTool", *arguments, version=self.kafka_version())
        return [str(castellan_binary()), "storage", *arguments]

    def server_command(self):
        path = str(self.write_properties())
        if self.kind != "castellan":
            return maven.java("kafka.Kafka", path, heap="1g" if self.full_speed else "512m", quick=not self.full_speed, version=self.kafka_version())
        return [str(castellan_binary()), "server", path]

    def format(self):
        run = subprocess.run(self.format_command(), capture_output=True, text=True, timeout=60)
        if run.returncode:
            raise AssertionError(f"format -> {run.returncode}\n{run.stdout}{run.stderr}")
        return run.stdout

    # -- life

    def start(self, wait=True, timeout=60, prefix=()):
        """prefix: words before the command, such as a limiter's."""
        assert not self.running(), "started twice"
        with open(self.log_path, "ab") as log:
            self.started_at = time.monotonic()
            self.process = subprocess.Popen([*prefix, *self.server_command()], stdout=log, stderr=subprocess.STDOUT, cwd=self.folder,
                                            stdin=subprocess.DEVNULL, start_new_session=True)
        if wait:
            self.wait_ready(timeout)
        return self

    def running(self):
        return self.process is not None and self.process.poll() is None

    def ready(self):
        """It serves: its own Metadata answer names it as a broker."""
        try:
            with self.connect(timeout=2) as connection:
                return int(self.properties["node.id"]) in connection.metadata()[0]
        except (OSError, ValueError):
            return False

    def wait_ready(self, timeout=60):
        def state():
            if not self.running():
                raise AssertionError(f"{self.kind} ended with {self.process.returncode}:\n{self.log_tail()}")
            return self.ready()
        wait_until(state, timeout, lambda: f"{self.kind} is ready\n{self.log_tail()}", interval=0.002)
        self.seconds_to_ready = time.monotonic() - self.started_at
        return self

    def stop(self, timeout=60):
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self, kind=None, properties=None):
        if self.running():
            self.stop()
        self.kind = kind or self.kind
        self.properties.update(properties or {})
        return self.start()

    def close(self):
        if self.running():
            self.kill()
        if self in _open:
            _open.remove(self)
        if self.owns_folder and not os.environ.get("KEEP"):
            shutil.rmtree(self.folder, ignore_errors=True)

    # -- looking at it

    def connect(self, timeout=10):
        return wire.Connection(self.port, timeout=timeout)

    def create_topic(self, name, partitions=1, **configs):
        with self.connect(timeout=30) as connection:
            error = connection.create_topic(name, partitions, {k.replace("_", "."): str(v) for k, v in configs.items()})
            if error:
                raise AssertionError(f"CreateTopics {name}: error {error}")
            wait_until(lambda: all(connection.list_offset(name, p)[0] == 0 for p in range(partitions)), 30, f"topic {name} has leaders")
        return name

    def producer_id(self, timeout=30):
        """(producer id, epoch), once the node has ids to give."""
        with self.connect() as connection:
            def attempt():
                try:
                    return connection.init_producer_id()
                except ValueError:
                    return None
            return wait_until(attempt, timeout, "a producer id")

    def produce(self, topic, partition, batch, timeout=30):
        """The base offset. Asks again while the partition has no leader yet."""
        with self.connect() as connection:
            def attempt():
                answer = connection.produce(topic, partition, batch)
                if answer[0] not in (0, *wire.NO_LEADER_YET):
                    raise AssertionError(f"Produce to {topic}-{partition}: error {answer[0]}")
                return answer if answer[0] == 0 else None
            return wait_until(attempt, timeout, f"{topic}-{partition} takes records")[1]

    def log_text(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def log_tail(self, lines=30):
        return "\n".join(self.log_text().splitlines()[-lines:])

    def resident_kib(self):
        return self._status("VmRSS")

    def resident_peak_kib(self):
        return self._status("VmHWM")

    def _status(self, key):
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(key + ":"):
                return int(line.split()[1])
        raise AssertionError(f"no {key} of process {self.process.pid}")

    def cpu_seconds(self):
        """User and system time of the process so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
