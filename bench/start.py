#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""How long from the process's start to an answer of Metadata that names the node, on an empty directory and on a used one?"""
from figures import KINDS, Figures, Node, rounds

figures = Figures("start to ready")
for _ in range(rounds(5)):
    for kind in KINDS:
        with Node(kind=kind, full_speed=True) as node:
            figures.add("first start", kind, node.seconds_to_ready)
            for topic in range(20):
                node.create_topic(f"t{topic}", 5)
            node.restart()
            figures.add("start after a clean stop, 100 partitions", kind, node.seconds_to_ready)
            node.kill()
            node.start()
            figures.add("start after kill -9, 100 partitions", kind, node.seconds_to_ready)
figures.report(dict.fromkeys(figures.order, "s"), dict.fromkeys(figures.order, "less"), {"first start": 30})
