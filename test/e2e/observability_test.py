# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""What a node tells those who watch it: its metrics, whether it is ready, that it lives."""
import signal
import sys
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import wire  # noqa: E402
from lib.node import Node, free_ports, wait_until  # noqa: E402
from lib.quorum import Quorum  # noqa: E402


def watched(node):
    """Gives a node, before its start, an address to be watched at."""
    node.http_port = free_ports(1)[0]
    node.properties["castellan.http.address"] = f"127.0.0.1:{node.http_port}"
    return node


def get(node, path):
    """Status and text; (0, "") when nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{node.http_port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode()
    except OSError:
        return 0, ""


def metrics(node):
    """Name with labels -> value."""
    status, text = get(node, "/metrics")
    assert status == 200, (status, text)
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if not line.startswith("#")}


def ready(node):
    return get(node, "/ready")[0] == 200


def says(node, part):
    status, text = get(node, "/ready")
    return text if status == 503 and part in text else None


class ObservabilityTest(unittest.TestCase):
    def test_a_node_counts_what_it_does_under_kafkas_names(self):
        node = watched(Node(start=False))
        with node:
            node.format()
            node.start()
            self.assertEqual(get(node, "/live"), (200, "live\n"))
            wait_until(lambda: ready(node), 10, lambda: get(node, "/ready"))
            self.assertEqual(get(node, "/ready?verbose"), (200, "ready\n"))
            self.assertEqual(get(node, "/")[0], 404)
            node.create_topic("orders", 3)
            node.produce("orders", 1, wire.record_batch([(None, b"one"), (None, b"two")]))
            values = metrics(node)
            expected = {
                "kafka_controller_kafkacontroller_activecontrollercount": 1,
                "kafka_controller_kafkacontroller_activebrokercount": 1,
                "kafka_controller_kafkacontroller_fencedbrokercount": 0,
                "kafka_controller_kafkacontroller_globaltopiccount": 1,
                "kafka_controller_kafkacontroller_globalpartitioncount": 3,
                "kafka_controller_kafkacontroller_offlinepartitionscount": 0,
                'kafka_server_raftmetrics_current_state{current_state="leader"}': 1,
                'kafka_server_raftmetrics_current_state{current_state="follower"}': 0,
                "kafka_server_raftmetrics_current_leader": 1,
                "kafka_server_raftmetrics_number_of_voters": 1,
                "kafka_server_replicamanager_partitioncount": 3,
                "kafka_server_replicamanager_leadercount": 3,
                "kafka_server_replicamanager_offlinereplicacount": 0,
                "kafka_log_logmanager_offlinelogdirectorycount": 0,
                "kafka_server_kafkaserver_brokerstate": 3,
                "kafka_server_brokertopicmetrics_messagesin_total": 2,
                'kafka_network_requestmetrics_requests_total{request="Produce",listener="PLAINTEXT"}': 1,
                'kafka_network_requestmetrics_totaltimems_count{request="Produce",listener="PLAINTEXT"}': 1,
                "castellan_damage_found_total": 0,
            }
            for name, value in expected.items():
                self.assertEqual(values.get(name), value, name)
            self.assertGreater(values["kafka_server_brokertopicmetrics_bytesin_total"], 60)
            self.assertGreater(values["process_resident_memory_bytes"], 1 << 20)
            self.assertLess(values["castellan_metadata_standstill_seconds"], 5)
            before = values["kafka_server_raftmetrics_high_watermark"]
            wait_until(lambda: metrics(node)["kafka_server_raftmetrics_high_watermark"] > before, 10, "the metadata advances")
            self.assertEqual(node.stop(), 0)
            self.assertEqual(get(node, "/live"), (0, ""))

    def test_every_line_of_a_page_is_well_formed_and_documented(self):
        node = watched(Node(start=False))
        document = (Path(__file__).resolve().parents[2] / "doc" / "metrics.md").read_text()
        with node:
            node.format()
            node.start()
            _, text = get(node, "/metrics")
            families = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
            self.assertEqual(len(families), len(set(families)))
            for name in families:
                self.assertIn(f"`{name}`", document)

    def test_without_the_key_nothing_listens(self):
        with Node() as node:
            self.assertNotIn("/metrics", node.log_path.read_text())

    def test_a_quorum_without_its_majority_is_live_and_not_ready_and_says_since_when(self):
        quorum = Quorum(start=False)
        with quorum:
            for node in quorum.nodes():
                watched(node)
                node.format()
                node.start(wait=False)
            for node in quorum.nodes():
                node.wait_ready()
                wait_until(lambda node=node: ready(node), 20, lambda node=node: get(node, "/ready"))
            leader = quorum.leader()
            self.assertEqual(sum(metrics(node)["kafka_controller_kafkacontroller_activecontrollercount"] for node in quorum.controllers), 1)
            others = [node for node in quorum.controllers if node is not leader]
            leader.kill()
            others[0].kill()
            left = others[1]
            text = wait_until(lambda: says(left, "no leader that this node knows of, since 20"), 20, lambda: get(left, "/ready"))
            self.assertIn("not ready: ", text)
            self.assertEqual(get(left, "/live")[0], 200)
            wait_until(lambda: says(quorum.broker, "has not advanced") or says(quorum.broker, "no leader"), 20, lambda: get(quorum.broker, "/ready"))
            self.assertEqual(metrics(left)["kafka_controller_kafkacontroller_activecontrollercount"], 0)
            others[0].start()
            for node in (left, others[0], quorum.broker):
                wait_until(lambda node=node: ready(node), 30, lambda node=node: get(node, "/ready"))

    def test_a_broker_that_no_controller_answers_says_that_it_is_not_registered(self):
        quorum = Quorum(start=False)
        with quorum:
            broker = watched(quorum.broker)
            broker.format()
            broker.start(wait=False)
            text = wait_until(lambda: says(broker, "not registered"), 20, lambda: get(broker, "/ready"))
            self.assertIn("no leader", text)

    def test_a_frozen_leader_does_not_make_the_others_unready_for_long(self):
        quorum = Quorum(start=False)
        with quorum:
            for node in quorum.nodes():
                watched(node)
                node.format()
                node.start(wait=False)
            for node in quorum.nodes():
                node.wait_ready()
            leader = quorum.leader()
            leader.process.send_signal(signal.SIGSTOP)
            try:
                others = [node for node in quorum.controllers if node is not leader]
                begun = time.monotonic()
                wait_until(lambda: any(metrics(node)["kafka_controller_kafkacontroller_activecontrollercount"] for node in others), 30, "another leads")
                for node in others:
                    wait_until(lambda node=node: ready(node), 30, lambda node=node: get(node, "/ready"))
                self.assertLess(time.monotonic() - begun, 60)
            finally:
                leader.process.send_signal(signal.SIGCONT)


if __name__ == "__main__":
    unittest.main()
