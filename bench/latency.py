#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""When requests come at a steady rate, however long the last one took, how late are the answers at acks=1 and acks=all?

Latency counts from the moment at which a request was due, so a pause of the server is paid by all that came in it.
"""
import os

from figures import Figures, load, nodes, rounds

RATE, SECONDS = int(os.environ.get("BENCH_RATE", 2000)), 5

figures = Figures(f"latency at {RATE} produce requests a second, 8 connections")
running = nodes()
for node in running.values():
    node.create_topic("latency")
for turn in range(rounds(5) + 1):
    for acks in (1, -1):
        for kind, node in running.items():
            answer = load("produce", node, "latency", requests=RATE * SECONDS, connections=8, acks=acks, rate=RATE)
            if turn:
                for key in ("p50", "p99", "p999"):
                    figures.add(f"acks={'all' if acks < 0 else acks}, {key}", kind, answer[key + "_us"])
figures.report(dict.fromkeys(figures.order, "us"), dict.fromkeys(figures.order, "less"), {q: 2 for q in figures.order if q.endswith("p99")})
