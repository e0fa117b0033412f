#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""How many requests of one 100-byte record does a second of the server's CPU answer, and how soon is each answered?

bench_load keeps one request in flight on each connection and is the client of both. First turn: warming.
"""
import os

from figures import Figures, load, nodes, rounds

REQUESTS = int(os.environ.get("BENCH_REQUESTS", 20000))

figures = Figures("small requests")
running = nodes()
for node in running.values():
    node.create_topic("small")
for turn in range(rounds(4) + 1):
    for connections in (1, 16):
        for verb in ("produce", "fetch"):
            for kind, node in running.items():
                answer = load(verb, node, "small", requests=REQUESTS, connections=connections)
                if turn:
                    name = f"{verb}, {connections} connection{'s' if connections > 1 else ''}"
                    figures.add(f"{name}, per CPU second", kind, answer["per_cpu_second"])
                    figures.add(f"{name}, p50", kind, answer["p50_us"])
                    figures.add(f"{name}, p99", kind, answer["p99_us"])
figures.report({q: "/CPU s" if "per CPU" in q else "us" for q in figures.order}, {q: "more" if "per CPU" in q else "less" for q in figures.order},
               {q: 3 for q in figures.order if "per CPU" in q})
