# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""aiokafka behind the common command line of the interoperability tests (see README.md)."""
import asyncio
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor

from common import arguments, assigned, consumed, read_records, record, stop_requested, write_records

options = arguments()


async def produce():
    producer = AIOKafkaProducer(bootstrap_servers=options.bootstrap, compression_type=None if options.codec == "none" else options.codec,
                                acks="all", enable_idempotence=True, linger_ms=20, max_batch_size=65536, max_request_size=4 << 20)
    await producer.start()
    futures = [await producer.send(options.topic, value, key, 0, timestamp, [(name.decode(), content) for name, content in headers])
               for timestamp, key, value, headers in read_records(options.records)]
    await asyncio.gather(*futures)
    await producer.stop()


async def consume():
    consumer = AIOKafkaConsumer(bootstrap_servers=options.bootstrap, enable_auto_commit=False)
    await consumer.start()
    partition = TopicPartition(options.topic, 0)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    got = []
    while len(got) < options.count:
        found = await consumer.getmany(timeout_ms=30000)
        if not found:
            sys.exit(f"{len(got)} of {options.count} read")
        for message in found[partition]:
            consumed(message.offset, len(got))
            got.append((message.timestamp, message.key, message.value, [(name.encode(), content) for name, content in message.headers]))
    await consumer.stop()
    write_records(options.out, got)


class Listener(ConsumerRebalanceListener):
    async def on_partitions_assigned(self, partitions):
        assigned(p.partition for p in partitions)

    async def on_partitions_revoked(self, _):
        assigned([])


async def group():
    consumer = AIOKafkaConsumer(bootstrap_servers=options.bootstrap, group_id=options.group, auto_offset_reset="earliest",
                                enable_auto_commit=False, session_timeout_ms=10000, heartbeat_interval_ms=1000,
                                group_instance_id=options.instance, partition_assignment_strategy=[RangePartitionAssignor])
    consumer.subscribe([options.topic], listener=Listener())
    await consumer.start()
    while not stop_requested():
        found = await consumer.getmany(timeout_ms=100)
        for messages in found.values():
            for message in messages:
                record(message.partition, message.offset, message.key)
        if found:
            await consumer.commit()
    await consumer.stop()


asyncio.run({"produce": produce, "consume": consume, "group": group}[options.verb]())
