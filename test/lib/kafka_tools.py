# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""Apache Kafka's command-line tools, run from its released jars against a node of either kind."""
import subprocess

from lib import maven

MAIN_CLASSES = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs": "org.apache.kafka.tools.ConfigCommand",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
}


class Output(str):
    """What a tool printed; its exit code and standard error beside it."""
    code, errors = 0, ""

    def rows(self):
        """Each line's words."""
        return [line.split() for line in self.splitlines() if line.strip()]


def run(tool, *arguments, code=0, input=None, timeout=90, heap="256m"):
    """Fails unless the tool ends with that exit code."""
    run = subprocess.run(maven.java(MAIN_CLASSES[tool], *arguments, heap=heap), capture_output=True, text=True, input=input, timeout=timeout)
    output = Output(run.stdout)
    output.code, output.errors = run.returncode, run.stderr
    if run.returncode != code:
        raise AssertionError(f"{tool} {' '.join(map(str, arguments))} -> {run.returncode}, expected {code}\n{run.stdout[-3000:]}{run.stderr[-3000:]}")
    return output
