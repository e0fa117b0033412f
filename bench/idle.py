#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""What does a node cost that has nothing to do: resident memory, CPU, context switches?"""
import os
import time
from pathlib import Path

from figures import Figures, nodes, rounds

SETTLE, MEASURE = float(os.environ.get("BENCH_SETTLE", 10)), 15


def switches(pid):
    """Context switches of all threads so far."""
    total = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        total += sum(int(line.split()[1]) for line in status.read_text().splitlines() if "ctxt_switches" in line)
    return total


figures = Figures("a node without work")
running = nodes()
time.sleep(SETTLE)
for _ in range(rounds(3)):
    before = {kind: (node.cpu_seconds(), switches(node.process.pid)) for kind, node in running.items()}
    started = time.monotonic()
    time.sleep(MEASURE)
    seconds = time.monotonic() - started
    for kind, node in running.items():
        cpu, count = before[kind]
        figures.add("CPU of one core", kind, 100 * (node.cpu_seconds() - cpu) / seconds)
        figures.add("context switches", kind, (switches(node.process.pid) - count) / seconds)
        figures.add("resident memory", kind, node.resident_kib() / 1024)
figures.report({"CPU of one core": "%", "context switches": "per s", "resident memory": "MiB"}, dict.fromkeys(figures.order, "less"),
               {"resident memory": 15})
