# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""kill -9, again and again, while one client produces with acks=all and another makes topics.

What was acknowledged is there after every restart, once and in order. CRASH_ROUNDS sets how often, CRASH_SEED when.
"""
import os
import random
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import wire  # noqa: E402
from lib.node import Node, wait_until  # noqa: E402
from lib.paths import sanitized, system_under_test  # noqa: E402

ROUNDS = int(os.environ.get("CRASH_ROUNDS", 50))
SEED = int(os.environ.get("CRASH_SEED", time.time_ns() % 1000000))
START_LIMIT = 60 if system_under_test() == "kafka" or sanitized() else 5
DUPLICATE_SEQUENCE_NUMBER = 46


class Client(threading.Thread):
    """Works until the node dies under it; `problem` is what it saw that must not be."""

    def __init__(self, node):
        super().__init__(daemon=True)
        self.node, self.problem = node, None

    def run(self):
        try:
            with self.node.connect(timeout=10) as connection:
                while True:
                    self.step(connection)
        except OSError:
            pass
        except Exception as problem:  # reported by the main thread
            self.problem = problem


class Producer(Client):
    """One idempotent producer over all rounds: a batch whose answer was lost is sent again under the same sequence."""

    def __init__(self, node, topic, state):
        super().__init__(node)
        self.topic, self.state = topic, state

    def step(self, connection):
        first = self.state["next"]
        batch = wire.record_batch([(None, b"%d" % (first + i)) for i in range(3)], *self.state["producer"], base_sequence=first)
        error, _ = connection.produce(self.topic, 0, batch)
        if error in wire.NO_LEADER_YET:
            time.sleep(0.01)
        elif error in (0, DUPLICATE_SEQUENCE_NUMBER):
            self.state["next"] = first + 3
        else:
            raise AssertionError(f"Produce of sequence {first}: error {error}")


class Creator(Client):
    """Makes topics, and deletes the oldest when there are many. One whose answer was lost may be there or not."""

    def __init__(self, node, state):
        super().__init__(node)
        self.state = state

    def step(self, connection):
        name = f"made-{self.state['tried']}"
        self.state["tried"] += 1
        error = connection.create_topic(name, 2)
        if error:
            raise AssertionError(f"CreateTopics {name}: error {error}")
        self.state["there"].append(name)
        if len(self.state["there"]) > 30:
            name = self.state["there"].pop(0)
            error = connection.delete_topic(name)
            if error:
                raise AssertionError(f"DeleteTopics {name}: error {error}")
            self.state["gone"].append(name)


class Crash(unittest.TestCase):
    def test_everything_acknowledged_survives_every_kill_once_and_in_order(self):
        generator = random.Random(SEED)
        node = self.enterContext(Node(properties={"log.segment.bytes": str(1 << 20)}))
        node.create_topic("log")
        produced, created = {"next": 0, "producer": node.producer_id()}, {"tried": 0, "there": [], "gone": []}
        starts = []
        for round_number in range(ROUNDS):
            clients = [Producer(node, "log", produced), Creator(node, created)]
            for client in clients:
                client.start()
            time.sleep(generator.uniform(0.02, 0.4))
            node.kill()
            for client in clients:
                client.join(20)
                self.assertIsNone(client.problem, f"round {round_number}, seed {SEED}\n{node.log_tail()}")
            node.start()
            starts.append(node.seconds_to_ready)
            with node.connect() as connection:
                topics = connection.metadata(None)[1]
                missing = [name for name in created["there"] if name not in topics or len(topics[name][1]) != 2]
                self.assertEqual(missing, [], f"acknowledged topics, round {round_number}, seed {SEED}\n{node.log_tail()}")
                back = [name for name in created["gone"] if name in topics]
                self.assertEqual(back, [], f"acknowledged deletions, round {round_number}, seed {SEED}\n{node.log_tail()}")
                end = wait_until(lambda: (answer := connection.list_offset("log", 0))[0] == 0 and answer, 30, "the partition serves")[1]
                self.assertGreaterEqual(end, produced["next"], f"acknowledged records, round {round_number}, seed {SEED}\n{node.log_tail()}")
        with node.connect() as connection:
            values = [int(value) for _, _, value in connection.read_all("log", 0)]
        # at most the last batch was written without its answer having come
        self.assertEqual(values[:produced["next"]], list(range(produced["next"])), f"seed {SEED}")
        self.assertLessEqual(len(values), produced["next"] + 3)
        self.assertEqual(values, list(range(len(values))), f"seed {SEED}")
        self.assertGreater(produced["next"], ROUNDS)
        self.assertGreater(created["tried"], ROUNDS)
        self.assertLess(max(starts), START_LIMIT, f"seconds to ready after a kill: {starts}")


if __name__ == "__main__":
    unittest.main()
