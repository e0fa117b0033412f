# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""kafka-python behind the common command line of the interoperability tests (see README.md)."""
import sys

from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor

from common import arguments, assigned, consumed, read_records, record, stop_requested, write_records

options = arguments()


def produce():
    producer = KafkaProducer(bootstrap_servers=options.bootstrap, compression_type=None if options.codec == "none" else options.codec,
                             acks="all", linger_ms=20, batch_size=65536)
    futures = [producer.send(options.topic, value, key, [(name.decode(), content) for name, content in headers], 0, timestamp)
               for timestamp, key, value, headers in read_records(options.records)]
    producer.flush(120)
    for future in futures:
        future.get(10)
    producer.close()


def consume():
    consumer = KafkaConsumer(bootstrap_servers=options.bootstrap, enable_auto_commit=False, consumer_timeout_ms=30000)
    partition = TopicPartition(options.topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    got = []
    for message in consumer:
        consumed(message.offset, len(got))
        got.append((message.timestamp, message.key, message.value, [(name.encode(), content) for name, content in message.headers]))
        if len(got) == options.count:
            break
    else:
        sys.exit(f"{len(got)} of {options.count} read")
    consumer.close()
    write_records(options.out, got)


class Listener(ConsumerRebalanceListener):
    def __init__(self):
        self.owned = set()

    def on_partitions_assigned(self, partitions):
        self.owned |= {p.partition for p in partitions}
        assigned(self.owned)

    def on_partitions_revoked(self, partitions):
        self.owned -= {p.partition for p in partitions}
        assigned(self.owned)


def group():
    consumer = KafkaConsumer(bootstrap_servers=options.bootstrap, group_id=options.group, auto_offset_reset="earliest",
                             enable_auto_commit=False, session_timeout_ms=10000, heartbeat_interval_ms=1000,
                             group_instance_id=options.instance,
                             partition_assignment_strategy=[RangePartitionAssignor if options.assignor == "range"
                                                            else CooperativeStickyAssignor])
    consumer.subscribe([options.topic], listener=Listener())
    while not stop_requested():
        found = consumer.poll(100)
        for messages in found.values():
            for message in messages:
                record(message.partition, message.offset, message.key)
        if found:
            consumer.commit()
    consumer.close()


{"produce": produce, "consume": consume, "group": group}[options.verb]()
