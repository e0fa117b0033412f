# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""confluent-kafka behind the common command line of the interoperability tests (see README.md)."""
import sys

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from common import arguments, assigned, consumed, read_records, record, stop_requested, write_records

options = arguments()


def produce():
    failed = []
    producer = Producer({"bootstrap.servers": options.bootstrap, "compression.type": options.codec, "enable.idempotence": True,
                         "linger.ms": 20, "queue.buffering.max.messages": 200000})
    for timestamp, key, value, headers in read_records(options.records):
        while True:
            try:
                producer.produce(options.topic, value, key, 0, lambda error, _: error and failed.append(error), timestamp=max(timestamp, 0),
                                 headers=[(name.decode(), content) for name, content in headers])
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    left = producer.flush(120)
    if failed or left:
        sys.exit(f"{len(failed)} failed, {left} left: {failed[:1]}")


def consume():
    consumer = Consumer({"bootstrap.servers": options.bootstrap, "group.id": "unused", "enable.auto.commit": False, "check.crcs": True})
    consumer.assign([TopicPartition(options.topic, 0, 0)])
    got = []
    while len(got) < options.count:
        for message in consumer.consume(1000, 30) or sys.exit(f"{len(got)} of {options.count} read"):
            if message.error():
                raise KafkaException(message.error())
            consumed(message.offset(), len(got))
            got.append((message.timestamp()[1], message.key(), message.value(),
                        [(name.encode(), content) for name, content in message.headers() or []]))
    consumer.close()
    write_records(options.out, got)


def group():
    settings = {"bootstrap.servers": options.bootstrap, "group.id": options.group, "auto.offset.reset": "earliest",
                "partition.assignment.strategy": options.assignor, "session.timeout.ms": 10000, "enable.auto.commit": False}
    if options.instance:
        settings["group.instance.id"] = options.instance
    consumer = Consumer(settings)
    owned = set()

    def gained(consumer, partitions):
        if options.assignor == "cooperative-sticky":
            consumer.incremental_assign(partitions)
        owned.update(p.partition for p in partitions)
        assigned(owned)

    def lost(consumer, partitions):
        if options.assignor == "cooperative-sticky":
            consumer.incremental_unassign(partitions)
        owned.difference_update(p.partition for p in partitions)
        assigned(owned)

    consumer.subscribe([options.topic], on_assign=gained, on_revoke=lost)
    while not stop_requested():
        message = consumer.poll(0.1)
        if message is not None and not message.error():
            record(message.partition(), message.offset(), message.key())
            consumer.commit(message, asynchronous=False)
    consumer.close()


{"produce": produce, "consume": consume, "group": group}[options.verb]()
