# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""Three controllers and a broker beside them, each a process of its own.

    with Quorum() as quorum:            # kinds: one of "castellan", "kafka" for each controller
        quorum.create("a")              # at whichever controller is active, tried until it is acknowledged
        leader = quorum.leader()        # the node that acknowledges
        leader.kill(); leader.start()
        quorum.broker.create_topic("b") # through the broker
"""
import base64
import json
import os
import re
import struct
import subprocess
import threading
import time

from lib import maven, wire
from lib.node import CLUSTER_ID, Node, wait_until
from lib.paths import castellan_binary, system_under_test

NOT_CONTROLLER = 41
NO_BROKER_YET = 38  # INVALID_REPLICATION_FACTOR


class Controller(Node):
    def __init__(self, kind, node_id, folder=None):
        super().__init__(kind, folder=folder, start=False)
        self.node_id = node_id
        self.directory_id = base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=").replace("-", "A")
        self.properties.update({"process.roles": "controller", "node.id": str(node_id),
                                "listeners": f"CONTROLLER://127.0.0.1:{self.controller_port}",
                                "advertised.listeners": f"CONTROLLER://127.0.0.1:{self.controller_port}"})
        self.initial = []  # arguments that name the first voters

    def format_command(self):
        command = super().format_command()
        return [*command[:command.index("--standalone")], *self.initial]

    def ready(self):
        try:
            with wire.Connection(self.controller_port, timeout=2) as connection:
                return bool(connection.api_versions())
        except (OSError, ValueError):
            return False

    def connect_controller(self, timeout=10):
        return wire.Connection(self.controller_port, timeout=timeout)

    @property
    def metadata_log(self):
        return self.data / "__cluster_metadata-0"

    def newest_epoch(self):
        """The newest epoch of which it said that somebody leads in it."""
        return max((int(epoch) for epoch in re.findall(r"leads the quorum in epoch (\d+)", self.log_text())), default=0)

    def acknowledged_offset(self):
        """How far its castellan.acknowledged says that it has acknowledged; 0 when there is none."""
        path = self.data / "castellan.acknowledged"
        places = path.read_text().splitlines() if path.exists() else []
        return max((int(words[3]) for words in map(str.split, places) if len(words) == 7), default=0)

    def written_directory_id(self):
        lines = (self.data / "meta.properties").read_text().splitlines()
        return next(line.split("=", 1)[1] for line in lines if line.startswith("directory.id="))


class Broker(Node):
    def __init__(self, kind, node_id):
        super().__init__(kind, start=False)
        self.properties.update({"process.roles": "broker", "node.id": str(node_id), "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
                                "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}"})

    def format_command(self):
        command = super().format_command()
        return command[:command.index("--standalone")]


class Quorum:
    def __init__(self, kinds=None, broker_kind=None, start=True, properties=None):
        """properties: of every controller."""
        kinds = kinds or [system_under_test()] * 3
        self.controllers = [Controller(kind, i + 1) for i, kind in enumerate(kinds)]
        self.broker = Broker(broker_kind or kinds[0], 101)
        servers = ",".join(f"127.0.0.1:{c.controller_port}" for c in self.controllers)
        voters = ",".join(f"{c.node_id}@127.0.0.1:{c.controller_port}:{c.directory_id}" for c in self.controllers)
        self.bootstrap_controllers = servers
        for node in self.nodes():
            node.properties["controller.quorum.bootstrap.servers"] = servers
        for controller in self.controllers:
            controller.initial = ["--initial-controllers", voters]
            controller.properties.update(properties or {})
        if start:
            self.start()

    def start(self):
        for node in self.nodes():
            node.format()
            node.start(wait=False)
        for node in self.nodes():
            node.wait_ready()

    def nodes(self):
        return [*self.controllers, self.broker]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes():
            node.close()

    def create(self, name, timeout=30):
        """Creates a topic straight at the active controller; (that controller, seconds it took). Known answers only: an attempt whose
        answer was lost, or that outlived its leader, may have succeeded, which TOPIC_ALREADY_EXISTS then says."""
        return self.create_at(self.controllers, name, timeout)

    def create_at(self, controllers, name, timeout=30):
        """The same, asking those only."""
        begun = time.monotonic()
        doubtful = False
        while time.monotonic() < begun + timeout:
            for controller in controllers:
                if not controller.running():
                    continue
                try:
                    with controller.connect_controller(timeout=5) as connection:
                        error = connection.create_topic(name)
                except OSError:
                    doubtful = True
                    continue
                if error == 0 or (doubtful and error == wire.TOPIC_ALREADY_EXISTS):
                    return controller, time.monotonic() - begun
                if error not in (NOT_CONTROLLER, NO_BROKER_YET):
                    raise AssertionError(f"CreateTopics {name} at {controller.node_id}: error {error}")
                # A leader that ends says NOT_CONTROLLER for what it has appended and cannot see committed: the next one may commit it.
                doubtful |= error == NOT_CONTROLLER
            time.sleep(0.002)
        raise AssertionError(f"no controller created {name} in {timeout} s")

    def leader(self):
        """The node that acknowledges a write."""
        return self.create(f"probe-{time.monotonic_ns()}")[0]

    def lead(self, wanted, timeout=60):
        """Makes that controller lead, by stopping whoever does until it is its turn."""
        deadline = time.monotonic() + timeout
        while (leader := self.leader()) is not wanted:
            assert time.monotonic() < deadline, f"controller {wanted.node_id} does not come to lead"
            leader.stop()
            leader.start()

    def assert_no_leader(self, seconds=6):
        """Nobody is elected and nobody acknowledges a write for that long: several election timeouts."""
        running = [controller for controller in self.controllers if controller.running()]
        epochs = [controller.newest_epoch() for controller in running]
        name = f"never-{time.monotonic_ns()}"
        try:
            leader, _ = self.create(name, timeout=seconds)
        except AssertionError as error:
            if "no controller created" not in str(error):
                raise
        else:
            raise AssertionError(f"controller {leader.node_id} acknowledged {name} without a majority that has all")
        for controller, epoch in zip(running, epochs):
            assert controller.newest_epoch() == epoch, f"a leader was elected without a majority that has all:\n{controller.log_tail()}"

    def assert_one_leader_per_epoch(self):
        leaders = {}
        for controller in self.controllers:
            for leader, epoch in re.findall(r"node (\d+) leads the quorum in epoch (\d+)", controller.log_text()):
                assert leaders.setdefault(epoch, leader) == leader, f"epoch {epoch} is led by {leaders[epoch]} and by {leader}"

    def batches(self, controller):
        """{base offset: bytes} of every batch in its metadata log. Voters have equal ones, whatever their kind."""
        found = {}
        for segment in sorted(controller.metadata_log.glob("*.log")):
            data, position = segment.read_bytes(), 0
            while position + 12 <= len(data):
                base, size = struct.unpack_from(">qi", data, position)
                if size <= 0 or position + 12 + size > len(data):
                    break
                found[base] = data[position:position + 12 + size]
                position += 12 + size
        return found

    def assert_logs_agree(self, *controllers):
        """Where two logs have the same offset they have the same bytes, and both reach where the shorter one ends."""
        logs = {c.node_id: self.batches(c) for c in controllers or self.controllers}
        (first, reference), *others = logs.items()
        for node_id, log in others:
            both = range(max(min(reference), min(log)), min(max(reference), max(log)) + 1)
            assert len(both) > 0, f"the logs of {first} and {node_id} have no offset in common"
            for base in both:
                assert reference.get(base) == log.get(base), f"the logs of {first} and {node_id} differ at offset {base}"

    def log_ends(self):
        """{controller: end of its metadata log}, of those that the leader hears of."""
        rows = [row.split("\t") for row in self.describe("--replication").splitlines()[1:]]
        ends = {int(row[0]): int(row[2]) for row in rows}
        return {controller: ends[controller.node_id] for controller in self.controllers if controller.node_id in ends}

    def wait_caught_up(self, *controllers, timeout=30):
        """The logs of those (default: all that run) reach where the leader's is now."""
        end = max(self.log_ends().values())

        def state():
            ends = self.log_ends()
            return all(ends.get(c, -1) >= end for c in controllers or [c for c in self.controllers if c.running()])
        wait_until(state, timeout, lambda: f"every log reaches {end}: {[(c.node_id, e) for c, e in self.log_ends().items()]}", interval=0.1)

    def topics(self):
        with self.broker.connect() as connection:
            return connection.metadata(None)[1]

    def tool(self, *arguments, kind="castellan", by_broker=False):
        """What kafka-metadata-quorum prints."""
        where = ["--bootstrap-server", self.broker.bootstrap] if by_broker else ["--bootstrap-controller", self.bootstrap_controllers]
        if kind == "kafka":
            command = maven.java("org.apache.kafka.tools.MetadataQuorumCommand", *where, *arguments)
        else:
            command = [str(castellan_binary()), "quorum", *where, *arguments]
        run = subprocess.run(command, capture_output=True, text=True, timeout=90)
        if run.returncode:
            raise AssertionError(f"{' '.join(arguments)} -> {run.returncode}\n{run.stdout}{run.stderr}")
        return run.stdout

    def describe(self, *arguments, **how):
        return self.tool("describe", *arguments, **how)

    def new_controller(self, node_id, kind=None, properties=None):
        """One more, started as an observer of the quorum."""
        controller = Controller(kind or self.controllers[0].kind, node_id)
        controller.properties.update(properties or {})
        controller.properties["controller.quorum.bootstrap.servers"] = self.bootstrap_controllers
        controller.initial = ["--no-initial-controllers"]
        controller.format()
        controller.start()
        self.controllers.append(controller)

        def has_caught_up():
            rows = [row.split("\t") for row in self.describe("--replication").splitlines()[1:]]
            return any(int(row[0]) == node_id and int(row[5]) > 0 for row in rows)
        wait_until(has_caught_up, 20, f"controller {node_id} has caught up once")
        return controller

    def add_voter(self, controller, **how):
        return self.tool("--command-config", str(controller.write_properties()), "add-controller", **how)

    def remove_voter(self, controller, **how):
        return self.tool("remove-controller", "--controller-id", str(controller.node_id), "--controller-directory-id",
                         controller.written_directory_id(), **how)

    def voter_ids(self):
        voters = json.loads(self.status()["CurrentVoters"])
        return sorted(voter["id"] for voter in voters)

    def status(self):
        """{label: value} of describe --status."""
        return dict((line.split(":", 1)[0], line.split(":", 1)[1].strip()) for line in self.describe("--status").splitlines())

    def wait_for_topics(self, names, timeout=30):
        wait_until(lambda: set(names) <= set(self.topics()), timeout, lambda: f"the broker has {sorted(set(names) - set(self.topics()))[:5]}")


class Creator(threading.Thread):
    """Creates topics through the broker, one after the other, while it is entered. Fails at its end when one was refused."""

    def __init__(self, quorum):
        super().__init__(daemon=True)
        self.quorum, self.acknowledged, self.going, self.problem = quorum, [], True, None

    def run(self):
        number = 0
        try:
            with self.quorum.broker.connect(timeout=60) as connection:
                while self.going:
                    number += 1
                    error = connection.create_topic(f"load-{number:05d}")
                    if error not in (0, wire.TOPIC_ALREADY_EXISTS):  # the latter: its first attempt was committed and its answer lost
                        raise AssertionError(f"load-{number:05d}: error {error}")
                    self.acknowledged.append(f"load-{number:05d}")
        except Exception as problem:  # reported by the main thread
            self.problem = problem

    def wait_for_more(self, timeout=60):
        before = len(self.acknowledged)
        wait_until(lambda: len(self.acknowledged) > before or self.problem, timeout, "a topic made through the broker")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.going = False
        self.join(60)
        if self.problem:
            raise self.problem
