# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""Apache Kafka 4.4's own command-line tools against a node: what they print is what they print of Apache Kafka."""
import json
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import kafka_tools, maven  # noqa: E402
from lib.clients import client  # noqa: E402
from lib.node import CLUSTER_ID, Node, wait_until  # noqa: E402


def setUpModule():
    global node
    maven.libraries()
    node = Node()


def tearDownModule():
    node.close()


def tool(name, *arguments, **options):
    return kafka_tools.run(name, *arguments, "--bootstrap-server", node.bootstrap, **options)


def produce_lines(topic, *lines, **options):
    return tool("kafka-console-producer", "--topic", topic, *options.pop("arguments", ()), input="".join(line + "\n" for line in lines), **options)


class Topics(unittest.TestCase):
    def test_create_describe_alter_list_delete(self):
        created = tool("kafka-topics", "--create", "--topic", "life", "--partitions", 3, "--replication-factor", 1, "--config", "retention.ms=1000000")
        self.assertEqual(created, "Created topic life.\n")
        described = tool("kafka-topics", "--describe", "--topic", "life")
        head, *partitions = described.splitlines()
        self.assertRegex(head, r"^Topic: life\tTopicId: [\w-]{22}\tPartitionCount: 3\tReplicationFactor: 1\tConfigs: .*\bretention\.ms=1000000")
        self.assertEqual(partitions, [f"\tTopic: life\tPartition: {p}\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: " for p in range(3)])
        tool("kafka-topics", "--alter", "--topic", "life", "--partitions", 5)
        self.assertIn("PartitionCount: 5\t", tool("kafka-topics", "--describe", "--topic", "life"))
        self.assertIn("life\n", tool("kafka-topics", "--list"))
        self.assertEqual(tool("kafka-topics", "--describe", "--under-replicated-partitions"), "")
        self.assertEqual(tool("kafka-topics", "--describe", "--unavailable-partitions"), "")
        tool("kafka-topics", "--delete", "--topic", "life")
        wait_until(lambda: "life" not in tool("kafka-topics", "--list").split(), 20, "life is gone from the list")
        self.assertIn("does not exist", tool("kafka-topics", "--describe", "--topic", "life", code=1))

    def test_refusals_say_why(self):
        tool("kafka-topics", "--create", "--topic", "here")
        self.assertIn("Topic 'here' already exists", tool("kafka-topics", "--create", "--topic", "here", code=1))
        tool("kafka-topics", "--create", "--topic", "here", "--if-not-exists")
        answer = tool("kafka-topics", "--create", "--topic", "wide", "--replication-factor", 2, code=1)
        self.assertIn("The target replication factor of 2 cannot be reached because only 1 broker(s) are registered", answer)
        answer = tool("kafka-topics", "--alter", "--topic", "here", "--partitions", 1, code=1)
        self.assertRegex(answer + answer.errors, "InvalidPartitions|already has 1 partition")
        answer = tool("kafka-topics", "--create", "--topic", "odd", "--config", "retention.ms=much", code=1)
        self.assertRegex(answer + answer.errors, "Invalid value much for configuration retention.ms")


class Console(unittest.TestCase):
    def test_keys_headers_and_offsets_come_back(self):
        node.create_topic("console")
        produce_lines("console", "h1:v1,h2:v2\tk1\tvalue one", "h:x\tk2\tvalue two",
                      arguments=("--reader-property", "parse.key=true", "--reader-property", "parse.headers=true"))
        read = tool("kafka-console-consumer", "--topic", "console", "--from-beginning", "--max-messages", 2, "--group", "console-group",
                    *(word for name in ("key", "headers", "offset", "partition") for word in ("--formatter-property", f"print.{name}=true")))
        self.assertEqual(read.splitlines(), ["Partition:0\tOffset:0\th1:v1,h2:v2\tk1\tvalue one", "Partition:0\tOffset:1\th:x\tk2\tvalue two"])
        produce_lines("console", "value three")
        on = tool("kafka-console-consumer", "--topic", "console", "--max-messages", 1, "--group", "console-group", "--timeout-ms", 20000)
        self.assertEqual(on, "value three\n", "the group goes on where it was")

    def test_topic_is_made_by_the_first_producer(self):
        produce_lines("made-by-use", "first")
        self.assertEqual(tool("kafka-console-consumer", "--topic", "made-by-use", "--from-beginning", "--max-messages", 1, "--timeout-ms", 20000), "first\n")

    def test_one_partition_from_a_given_offset(self):
        node.create_topic("from-offset")
        produce_lines("from-offset", *map(str, range(10)))
        read = tool("kafka-console-consumer", "--topic", "from-offset", "--partition", 0, "--offset", 7, "--max-messages", 3, "--timeout-ms", 20000)
        self.assertEqual(read.split(), ["7", "8", "9"])


class Performance(unittest.TestCase):
    def test_producer_and_consumer_performance_count_every_record(self):
        node.create_topic("perf", 3)
        for acks, codec in (("1", "none"), ("all", "zstd")):
            sent = kafka_tools.run("kafka-producer-perf-test", "--topic", "perf", "--num-records", 50000, "--record-size", 200, "--throughput", -1,
                                   "--command-property", f"bootstrap.servers={node.bootstrap}", f"acks={acks}", f"compression.type={codec}")
            self.assertRegex(sent.splitlines()[-1], r"^50000 records sent, .* ms 99th")
        read = tool("kafka-consumer-perf-test", "--topic", "perf", "--num-records", 100000)
        self.assertEqual(read.splitlines()[-1].split(", ")[4], "100000")


class ConsumerGroups(unittest.TestCase):
    def groups(self, *arguments, **options):
        return tool("kafka-consumer-groups", *arguments, **options)

    def test_life_of_a_group(self):
        node.create_topic("grouped", 2)
        produce_lines("grouped", *map(str, range(10)))
        tool("kafka-console-consumer", "--topic", "grouped", "--from-beginning", "--max-messages", 10, "--group", "watched", "--timeout-ms", 20000)
        self.assertIn("watched\n", self.groups("--list"))
        self.assertIn(["watched", "Empty"], self.groups("--list", "--state").rows())
        self.assertIn(["watched", "Classic", "Consumer"] if "PROTOCOL" in (types := self.groups("--list", "--type")) else ["watched", "Classic"], types.rows())
        rows = [row for row in self.groups("--describe", "--group", "watched").rows() if row[0] == "watched"]
        self.assertEqual(sorted(row[2] for row in rows), ["0", "1"])
        self.assertEqual(sum(int(row[3]) for row in rows), 10, "committed")
        self.assertEqual([row[5] for row in rows], ["0", "0"], "lag")
        state = self.groups("--describe", "--group", "watched", "--state").rows()[-1]
        self.assertEqual((state[:3], state[-2:]), (["watched", node.bootstrap, "(1)"], ["Empty", "0"]))

        reset = self.groups("--reset-offsets", "--group", "watched", "--topic", "grouped", "--to-earliest", "--execute")
        self.assertEqual(sorted(row for row in reset.rows()[1:]), [["watched", "grouped", "0", "0"], ["watched", "grouped", "1", "0"]])
        self.assertEqual(sum(int(row[5]) for row in self.groups("--describe", "--group", "watched").rows() if row[0] == "watched"), 10, "lag")
        self.assertIn("Successful", self.groups("--delete-offsets", "--group", "watched", "--topic", "grouped"))
        self.assertNotIn("grouped", self.groups("--describe", "--group", "watched"))
        deleted = self.groups("--delete", "--group", "watched")
        self.assertIn("Deletion of requested consumer groups ('watched') was successful.", deleted)
        self.assertNotIn("watched", self.groups("--list").split())

    def test_running_members_are_shown_and_keep_the_group(self):
        node.create_topic("busy", 2)
        member = client("java").member(node.bootstrap, "busy", "busy-group")
        try:
            wait_until(lambda: member.look().assigned == [0, 1], 40, "the member owns both partitions")
            rows = self.groups("--describe", "--group", "busy-group", "--members", "--verbose").rows()
            self.assertEqual((rows[1][0], rows[1][2], rows[1][4]), ("busy-group", "/127.0.0.1", "2"))
            self.assertIn("Stable", self.groups("--describe", "--group", "busy-group", "--state"))
            refused = self.groups("--delete", "--group", "busy-group")
            self.assertIn("GroupNotEmptyException", refused + refused.errors)
            refused = self.groups("--reset-offsets", "--group", "busy-group", "--topic", "busy", "--to-earliest", "--execute")
            self.assertIn("can only be reset if the group 'busy-group' is inactive, but the current state is Stable", refused + refused.errors)
        finally:
            member.end()

    def test_unknown_group_is_named(self):
        answer = self.groups("--describe", "--group", "nowhere")
        self.assertIn("GroupIdNotFoundException: Group nowhere not found.", answer + answer.errors)

    def test_offsets_of_a_group_that_never_ran(self):
        node.create_topic("early")
        produce_lines("early", "a", "b", "c")
        self.groups("--reset-offsets", "--group", "prepared", "--topic", "early", "--to-latest", "--execute")
        row = next(row for row in self.groups("--describe", "--group", "prepared").rows() if row[0] == "prepared")
        self.assertEqual(row[1:6], ["early", "0", "3", "3", "0"])


class Configs(unittest.TestCase):
    def configs(self, kind, name, *arguments, **options):
        entity = ["--entity-type", kind, *(["--entity-default"] if name is None else ["--entity-name", name])]
        return tool("kafka-configs", *entity, *arguments, **options)

    def value(self, kind, name, key):
        """(value, the sources that give it) of one configuration."""
        for line in self.configs(kind, name, "--describe", "--all").splitlines():
            found = re.match(rf"  {re.escape(key)}=(.*) sensitive=\w+ synonyms=\{{(.*)\}}", line)
            if found:
                return found[1], found[2]
        self.fail(f"{key} is not described")

    def test_topic(self):
        node.create_topic("configured")
        self.assertEqual(self.configs("topics", "configured", "--describe").splitlines(), ["Dynamic configs for topic configured are:"])
        altered = self.configs("topics", "configured", "--alter", "--add-config", "cleanup.policy=[compact,delete],max.message.bytes=2000000")
        self.assertEqual(altered, "Completed updating config for topic configured.\n")
        self.assertEqual(self.value("topics", "configured", "cleanup.policy"),
                         ("compact,delete", "DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete, DEFAULT_CONFIG:log.cleanup.policy=delete"))
        self.assertEqual(self.value("topics", "configured", "max.message.bytes")[0], "2000000")
        self.configs("topics", "configured", "--alter", "--delete-config", "cleanup.policy")
        self.assertEqual(self.value("topics", "configured", "cleanup.policy")[0], "delete")
        shown = self.configs("topics", "configured", "--describe")
        self.assertIn("max.message.bytes=2000000 sensitive=false", shown)
        self.assertNotIn("cleanup.policy", shown)

    def test_wrong_value_is_refused_with_the_reason(self):
        node.create_topic("strict")
        answer = self.configs("topics", "strict", "--alter", "--add-config", "retention.ms=rubbish", code=1)
        self.assertIn("Invalid value rubbish for configuration retention.ms", answer.errors)
        answer = self.configs("topics", "strict", "--alter", "--add-config", "no.such.key=1", code=1)
        self.assertIn("no.such.key", answer.errors)

    def test_broker_and_cluster_default(self):
        self.configs("brokers", "1", "--alter", "--add-config", "log.cleaner.threads=2")
        self.assertIn("DYNAMIC_BROKER_CONFIG:log.cleaner.threads=2", self.value("brokers", "1", "log.cleaner.threads")[1])
        self.configs("brokers", None, "--alter", "--add-config", "message.max.bytes=1234567")
        self.assertIn("message.max.bytes=1234567", self.configs("brokers", None, "--describe"))
        self.assertIn("DYNAMIC_DEFAULT_BROKER_CONFIG:message.max.bytes=1234567", self.value("brokers", "1", "message.max.bytes")[1])
        self.assertIn("STATIC_BROKER_CONFIG:node.id=1", self.value("brokers", "1", "node.id")[1])
        self.configs("brokers", None, "--alter", "--delete-config", "message.max.bytes")
        self.configs("brokers", "1", "--alter", "--delete-config", "log.cleaner.threads")

    def test_group_and_client_metrics(self):
        self.configs("groups", "tuned", "--alter", "--add-config", "consumer.session.timeout.ms=50000")
        self.assertIn("consumer.session.timeout.ms=50000", self.configs("groups", "tuned", "--describe"))
        self.configs("client-metrics", "sampled", "--alter", "--add-config", "metrics=*,interval.ms=1000")
        self.assertIn("interval.ms=1000", tool("kafka-configs", "--entity-type", "client-metrics", "--describe"))
        self.configs("client-metrics", "sampled", "--alter", "--delete-config", "metrics,interval.ms")


class Rest(unittest.TestCase):
    def test_get_offsets_by_every_kind_of_time(self):
        node.create_topic("offsets", 2)
        produce_lines("offsets", *map(str, range(10)))
        ends = [line.split(":") for line in tool("kafka-get-offsets", "--topic", "offsets").split()]
        self.assertEqual(sorted(row[1] for row in ends), ["0", "1"])
        self.assertEqual(sum(int(row[2]) for row in ends), 10)
        self.assertEqual(tool("kafka-get-offsets", "--topic-partitions", "offsets:0", "--time", "earliest"), "offsets:0:0\n")
        self.assertEqual(tool("kafka-get-offsets", "--topic-partitions", "offsets:0-2", "--time", "0").split(),
                         [f"offsets:{row[1]}:0" for row in ends if int(row[2])], "a partition without records is left out")
        self.assertRegex(tool("kafka-get-offsets", "--topic", "offsets", "--time", "max-timestamp"), r"(?m)^offsets:[01]:\d+$")

    def test_delete_records_moves_the_start(self):
        node.create_topic("trimmed")
        produce_lines("trimmed", *map(str, range(10)))
        path = node.folder / "delete-records.json"
        path.write_text(json.dumps({"version": 1, "partitions": [{"topic": "trimmed", "partition": 0, "offset": 6}]}))
        self.assertIn("partition: trimmed-0\tlow_watermark: 6", tool("kafka-delete-records", "--offset-json-file", path))
        self.assertEqual(tool("kafka-get-offsets", "--topic", "trimmed", "--time", "earliest"), "trimmed:0:6\n")
        self.assertEqual(tool("kafka-console-consumer", "--topic", "trimmed", "--from-beginning", "--max-messages", 4, "--timeout-ms", 20000).split(), ["6", "7", "8", "9"])

    def test_log_dirs_tell_each_partitions_size(self):
        node.create_topic("sized")
        produce_lines("sized", "some bytes")
        answer = json.loads(tool("kafka-log-dirs", "--describe", "--topic-list", "sized").splitlines()[-1])
        directory = answer["brokers"][0]["logDirs"][0]
        self.assertEqual((directory["error"], directory["logDir"]), (None, str(node.data)))
        partition = directory["partitions"][0]
        self.assertEqual(partition["partition"], "sized-0")
        self.assertEqual(partition["size"], (node.data / "sized-0" / "00000000000000000000.log").stat().st_size)

    def test_cluster(self):
        self.assertEqual(tool("kafka-cluster", "cluster-id"), f"Cluster ID: {CLUSTER_ID}\n")
        self.assertIn(["1", "127.0.0.1", str(node.port), "null", "unfenced", "broker"], tool("kafka-cluster", "list-endpoints").rows())

    def test_api_versions(self):
        shown = tool("kafka-broker-api-versions")
        self.assertIn(f"127.0.0.1:{node.port} (id: 1 rack: null isFenced: false) -> (", shown)
        for line in ("Produce(0): 0 to 13 [usable: 13]", "Fetch(1): 4 to 18 [usable: 18]", "Metadata(3): 0 to 13 [usable: 13]",
                     "JoinGroup(11): 0 to 9 [usable: 9]", "CreateTopics(19): 2 to 7 [usable: 7]"):
            self.assertIn(line, shown)

    def test_quorum_and_features(self):
        def quorum(*arguments):
            return kafka_tools.run("kafka-metadata-quorum", "--bootstrap-server", node.bootstrap, "describe", *arguments)
        status = quorum("--status")
        self.assertRegex(status, rf"ClusterId: +{CLUSTER_ID}\nLeaderId: +1\nLeaderEpoch: +\d+\nHighWatermark: +\d+\n")
        self.assertRegex(status, r'CurrentVoters: +\[\{"id": 1, "directoryId": "[\w-]{22}", "endpoints": \["CONTROLLER://127.0.0.1:\d+"\]\}\]')
        self.assertEqual(quorum("--replication").splitlines()[1].split()[-1], "Leader")
        features = {line.split()[1]: line for line in kafka_tools.run("kafka-features", "--bootstrap-server", node.bootstrap, "describe").splitlines()}
        self.assertRegex(features["metadata.version"], r"SupportedMinVersion: 3.3-IV3\s+SupportedMaxVersion: 4.4-IV2\s+FinalizedVersionLevel: 4.4-IV2")
        self.assertEqual(sorted(features), ["eligible.leader.replicas.version", "group.version", "kraft.version", "metadata.version", "share.version",
                                            "streams.version", "transaction.version"])


if __name__ == "__main__":
    unittest.main()
