# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""A clean stop under load: what was written is also told, so that no client has to send it again; and who does send it again, since
its answer was lost all the same, is not written twice.

STOPS sets how often the node is stopped.
"""
import os
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import wire  # noqa: E402
from lib.node import Node, wait_until  # noqa: E402

STOPS = int(os.environ.get("STOPS", 5))
IN_FLIGHT = 5


class Flood(threading.Thread):
    """One connection with five batches of one record on their way. The values count up; `acknowledged` answers have come."""

    def __init__(self, node, topic, first=0, producer=()):
        super().__init__(daemon=True)
        self.node, self.topic, self.first, self.producer = node, topic, first, producer
        self.sent = self.acknowledged = self.refused = 0
        self.problem = None

    def run(self):
        try:
            with self.node.connect(timeout=30) as connection:
                self.flood(connection)
        except Exception as problem:  # reported by the main thread
            self.problem = problem

    def flood(self, connection):
        sending, waiting = True, []
        while True:
            while sending and self.sent - self.acknowledged < IN_FLIGHT:
                number = self.first + self.sent
                sequence = {"base_sequence": number} if self.producer else {}
                try:
                    connection.send_produce(self.topic, 0, wire.record_batch([(None, b"%d" % number)], *self.producer, **sequence), 1)
                    self.sent += 1
                    waiting.append(connection.correlation)
                except OSError:
                    sending = False
            if not waiting:
                return
            try:
                error, _ = connection.produce_answer(waiting.pop(0))
            except wire.Closed:
                return
            if error in wire.NO_LEADER_YET:  # the node is leaving: not written, and said so
                sending, self.refused = False, self.refused + 1
                continue
            assert error == 0 and not self.refused, f"error {error} for number {self.first + self.acknowledged}"
            self.acknowledged += 1


class CleanStopTest(unittest.TestCase):
    def stop_under_load(self, node, floods):
        for flood in floods:
            flood.start()
        wait_until(lambda: all(flood.acknowledged > 50 or flood.problem for flood in floods), 30, "the load runs")
        self.assertEqual(node.stop(), 0)
        for flood in floods:
            flood.join(30)
            self.assertIsNone(flood.problem, node.log_tail())

    def test_what_was_written_was_also_answered(self):
        node = self.enterContext(Node())
        topics = [f"t{i}" for i in range(4)]
        for topic in topics:
            node.create_topic(topic)
        there = dict.fromkeys(topics, 0)
        for round_number in range(STOPS):
            floods = [Flood(node, topic) for topic in topics]
            self.stop_under_load(node, floods)
            node.start()
            with node.connect() as connection:
                for flood in floods:
                    there[flood.topic] += flood.acknowledged
                    end = connection.list_offset(flood.topic, 0)[1]
                    self.assertEqual(end, there[flood.topic], f"round {round_number}: records of {flood.topic}, of which {flood.sent} were sent\n{node.log_tail()}")

    def test_what_is_sent_again_is_there_once(self):
        node = self.enterContext(Node())
        node.create_topic("t")
        producer = node.producer_id()
        first = 0
        for _ in range(STOPS):
            flood = Flood(node, "t", first, producer)
            self.stop_under_load(node, [flood])
            node.start()
            # As if the last answers had not come: the five that a producer may have on their way, and all that had not been answered.
            again = max(0, flood.first + flood.acknowledged - IN_FLIGHT)
            with node.connect() as connection:
                for number in range(again, flood.first + flood.sent):
                    error, _ = connection.produce("t", 0, wire.record_batch([(None, b"%d" % number)], *producer, base_sequence=number))
                    self.assertEqual(error, 0, f"number {number} of {flood.first + flood.sent}")
            first = flood.first + flood.sent
        with node.connect() as connection:
            self.assertEqual([int(value) for _, _, value in connection.read_all("t", 0)], list(range(first)))


if __name__ == "__main__":
    unittest.main()
