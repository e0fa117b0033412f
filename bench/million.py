#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""A controller of a cluster with a million partitions: how long from its start to the first write, how long does a snapshot take,
how long until a new follower that has nothing has it all, and what memory do they need?

BENCH_PARTITIONS sets the number. Apache Kafka gets a heap of 8 GiB, which a million partitions need.
"""
import os
import struct
import subprocess
import time

from figures import KINDS, PRESET, ROOT, Figures, rounds
from lib import maven, wire
from lib.node import Node, wait_until

PARTITIONS = int(os.environ.get("BENCH_PARTITIONS", 1_000_000))
INCREMENTAL_ALTER_CONFIGS, CLUSTER_DEFAULT, SET = 44, 4, 0


class Controller(Node):
    """One voter of a quorum whose voters are in its configuration."""

    def __init__(self, kind, node_id):
        super().__init__(kind, start=False, full_speed=True)
        address = f"CONTROLLER://127.0.0.1:{self.controller_port}"
        self.voter = f"{node_id}@127.0.0.1:{self.controller_port}"
        self.properties.update({"process.roles": "controller", "node.id": str(node_id), "listeners": address, "advertised.listeners": address,
                                "controller.quorum.bootstrap.servers": None, "metadata.log.max.snapshot.interval.ms": "5000"})

    def format_command(self):
        return [word for word in super().format_command() if word != "--standalone"]

    def server_command(self):
        path = str(self.write_properties())
        return maven.java("kafka.Kafka", path, heap="8g", quick=False) if self.kind == "kafka" else super().server_command()

    def ready(self):
        try:
            with wire.Connection(self.controller_port, timeout=2) as connection:
                return bool(connection.api_versions())
        except (OSError, ValueError):
            return False

    def fill(self):
        """The snapshot of a large cluster, as the newest in its directory."""
        folder = self.data / "__cluster_metadata-0"
        subprocess.run([ROOT / "build" / PRESET / "bench_checkpoint", folder, str(PARTITIONS)], check=True, stdout=subprocess.DEVNULL)

    def checkpoints(self):
        return sorted(path.name for path in (self.data / "__cluster_metadata-0").glob("*.checkpoint"))

    def write(self, value, timeout):
        """A cluster-wide setting, acknowledged; as often as it takes."""
        body = (wire.array([struct.pack(">b", CLUSTER_DEFAULT) + wire.string("") +
                            wire.array([wire.string("log.cleaner.threads") + struct.pack(">b", SET) + wire.nullable_string(str(value))])]) + b"\0")

        def attempt():
            try:
                with wire.Connection(self.controller_port, timeout=timeout) as connection:
                    reader = connection.call(INCREMENTAL_ALTER_CONFIGS, 0, body)
                    reader.int32()  # throttle time
                    return reader.array(lambda: answer(reader)) == [0]
            except OSError:
                return False
        wait_until(attempt, timeout, lambda: f"a write is acknowledged\n{self.log_tail()}", interval=0.005)


def answer(reader):
    """The error code of one resource's answer."""
    error = reader.int16()
    reader.string(), reader.int8(), reader.string()
    return error


def quorum(kind, count):
    controllers = [Controller(kind, i + 1) for i in range(count)]
    for each in controllers:
        each.properties["controller.quorum.voters"] = ",".join(other.voter for other in controllers)
        each.format()
    controllers[0].fill()
    return controllers


figures = Figures(f"a controller with {PARTITIONS} partitions")
for _ in range(rounds(1)):
    for kind in KINDS:
        [alone] = quorum(kind, 1)
        with alone:
            before = alone.checkpoints()
            alone.start(wait=False)
            alone.write(1, 300)
            figures.add("start to the first write", kind, time.monotonic() - alone.started_at)
            loaded = alone.cpu_seconds()
            figures.add("start to the first write, CPU", kind, loaded)
            figures.add("resident memory", kind, alone.resident_kib() / 1024)
            # Time alone brings it on; an idle controller does nothing else that counts.
            wait_until(lambda: alone.checkpoints()[-1] > before[-1], 300, "a snapshot is written")
            figures.add("a snapshot, CPU", kind, alone.cpu_seconds() - loaded)
            figures.add("resident memory, highest", kind, alone.resident_peak_kib() / 1024)
        full, empty = quorum(kind, 2)
        with full, empty:
            full.start(wait=False)
            wait_until(full.ready, 300, "the first of two is up")
            time.sleep(1)
            empty.start(wait=False)
            # Neither has a majority alone: what is acknowledged is on the one that had nothing.
            full.write(1, 600)
            figures.add("a new follower's start to the first write", kind, time.monotonic() - empty.started_at)
            time.sleep(10)  # it has the snapshot; now it loads it
            figures.add("a new follower until it has loaded all, CPU", kind, empty.cpu_seconds())
            figures.add("resident memory of that follower", kind, empty.resident_kib() / 1024)
figures.report({**dict.fromkeys(figures.order, "s"), **{q: "MiB" for q in figures.order if "memory" in q}}, dict.fromkeys(figures.order, "less"))
