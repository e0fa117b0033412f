# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""What the benchmarks share: a node of each kind side by side, rounds that take turns, ratios of medians.

Both kinds run on the same machine in the same minutes, and a round measures first one and then the other, so that what
disturbs the machine disturbs both. Apache Kafka runs as its own script runs it (1 GiB heap, G1) and is warmed first.
BENCH_KINDS=kafka measures one kind alone; BENCH_ROUNDS sets the rounds.
"""
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test"))
from lib.node import Node, wait_until  # noqa: E402, F401

KINDS = tuple(os.environ.get("BENCH_KINDS", "kafka,castellan").split(","))
PRESET = os.environ.get("BENCH_PRESET", "release")
os.environ.setdefault("CASTELLAN_BIN", str(ROOT / "build" / PRESET / "castellan"))


def rounds(default):
    return int(os.environ.get("BENCH_ROUNDS", default))


def nodes(**properties):
    """{kind: a running node}"""
    return {kind: Node(kind=kind, full_speed=True, properties={k.replace("_", "."): str(v) for k, v in properties.items()}) for kind in KINDS}


def load(verb, node, topic, **options):
    """One run of bench_load; its figures, and what it cost the server as requests per CPU second."""
    program = ROOT / "build" / PRESET / "bench_load"
    words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
    before = node.cpu_seconds()
    run = subprocess.run([program, verb, "--port", str(node.port), "--topic", topic, *words], capture_output=True, text=True, timeout=600)
    if run.returncode:
        sys.exit(f"bench_load against {node.kind}: {run.stderr}{node.log_tail(10)}")
    figures = json.loads(run.stdout)
    figures["per_cpu_second"] = figures["requests"] / max(node.cpu_seconds() - before, 0.01)
    return figures


class Figures:
    """Collects values by question and kind; prints each question with its medians and their ratio."""

    def __init__(self, title):
        self.title, self.values, self.order = title, {}, []

    def add(self, question, kind, value):
        if question not in self.order:
            self.order.append(question)
        self.values.setdefault((question, kind), []).append(value)

    def median(self, question, kind):
        return statistics.median(self.values[question, kind])

    def report(self, units, better, aims=None):
        """better: question -> "more" or "less". aims: question -> the ratio that we want at least (how many times better)."""
        aims, result = aims or {}, []
        print(f"\n{self.title}")
        for question in self.order:
            medians = {kind: self.median(question, kind) for kind in KINDS}
            line = f"  {question:44}" + "".join(f" {kind} {medians[kind]:10.3f}" for kind in KINDS) + f" {units[question]:9}"
            entry = {"question": question, "unit": units[question], **{kind: self.values[question, kind] for kind in KINDS}}
            if len(KINDS) == 2:
                ours, theirs = medians["castellan"], medians["kafka"]
                ratio = (ours / theirs if better[question] == "more" else theirs / ours) if ours and theirs else float("inf")
                entry["times_better"] = ratio
                line += f" {ratio:8.2f} times better"
                if question in aims:
                    line += f" (aim {aims[question]}: {'met' if ratio >= aims[question] else 'MISSED'})"
            print(line, flush=True)
            result.append(entry)
        out = ROOT / "build" / "bench"
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{Path(sys.argv[0]).stem}.json").write_text(json.dumps(result, indent=1))
