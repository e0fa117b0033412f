#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""How many MB does a second of the server's CPU take in and give out, and what memory does it need for that?

Apache Kafka's own performance tools are the clients of both. The first turn of each kind warms and is not counted.
"""
import os

from figures import KINDS, Figures, nodes, rounds
from lib import kafka_tools

RECORDS, SIZE = int(os.environ.get("BENCH_RECORDS", 300000)), 1000

figures = Figures("throughput, records of 1,000 bytes")
running = nodes()
for node in running.values():
    node.create_topic("bench", 6)
written = dict.fromkeys(KINDS, 0)


def produce(node, acks):
    before = node.cpu_seconds()
    kafka_tools.performance("kafka-producer-perf-test", "--topic", "bench", "--num-records", RECORDS, "--record-size", SIZE, "--throughput", -1,
                    "--command-property", f"bootstrap.servers={node.bootstrap}", f"acks={acks}", "batch.size=65536", "linger.ms=5")
    written[node.kind] += RECORDS
    return RECORDS * SIZE / 1e6 / max(node.cpu_seconds() - before, 0.01)


def consume(node):
    before, count = node.cpu_seconds(), written[node.kind]
    kafka_tools.performance("kafka-consumer-perf-test", "--topic", "bench", "--num-records", count, "--bootstrap-server", node.bootstrap)
    return count * SIZE / 1e6 / max(node.cpu_seconds() - before, 0.01)


for turn in range(rounds(3) + 1):
    for acks in ("1", "all"):
        for kind, node in running.items():
            rate = produce(node, acks)
            if turn:
                figures.add(f"produced, acks={acks}", kind, rate)
for turn in range(rounds(3) + 1):
    for kind, node in running.items():
        rate = consume(node)
        if turn:
            figures.add("consumed", kind, rate)
for kind, node in running.items():
    figures.add("resident memory after it", kind, node.resident_kib() / 1024)
    figures.add("resident memory at its peak", kind, node.resident_peak_kib() / 1024)
units = {q: "MiB" if "memory" in q else "MB/CPU s" for q in figures.order}
figures.report(units, {q: "less" if "memory" in q else "more" for q in figures.order},
               {"produced, acks=1": 2, "produced, acks=all": 2, "consumed": 1, "resident memory after it": 8})
