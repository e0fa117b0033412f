# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""A small raw client of Kafka's protocol, for tests that must control every byte.

It speaks only versions without tagged fields, each request encoded by hand below. `Connection` is one blocking TCP
connection; nothing is retried, every wait has a deadline. Record batches are magic 2, uncompressed.
"""
import socket
import struct
import time

PRODUCE, FETCH, LIST_OFFSETS, METADATA, API_VERSIONS = 0, 1, 2, 3, 18
CREATE_TOPICS, DELETE_TOPICS, DELETE_RECORDS, INIT_PRODUCER_ID = 19, 20, 21, 22
TOPIC_ALREADY_EXISTS, COORDINATOR_LOAD_IN_PROGRESS = 36, 14
NO_LEADER_YET = (3, 5, 6)  # UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER: for a moment after a start


class Closed(ConnectionError):
    """The node closed the connection."""


def string(text):
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def nullable_string(text):
    return struct.pack(">h", -1) if text is None else string(text)


def array(items):
    items = list(items)
    return struct.pack(">i", len(items)) + b"".join(items)


class Reader:
    """Takes values off the front of an answer."""

    def __init__(self, data):
        self.data, self.position = data, 0

    def raw(self, size):
        if size < 0 or self.position + size > len(self.data):
            raise ValueError(f"answer ends early: {size} bytes wanted at {self.position} of {len(self.data)}")
        self.position += size
        return self.data[self.position - size:self.position]

    def number(self, form):
        return struct.unpack(">" + form, self.raw(struct.calcsize(">" + form)))[0]

    def int8(self):
        return self.number("b")

    def int16(self):
        return self.number("h")

    def int32(self):
        return self.number("i")

    def int64(self):
        return self.number("q")

    def string(self):
        size = self.int16()
        return None if size < 0 else self.raw(size).decode()

    def bytes(self):
        size = self.int32()
        return b"" if size < 0 else self.raw(size)

    def array(self, item):
        return [item() for _ in range(max(self.int32(), 0))]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.raw(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)


class Connection:
    def __init__(self, port, host="127.0.0.1", timeout=10, client_id="raw"):
        self.socket = socket.create_connection((host, port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client_id, self.correlation = client_id, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send_raw(self, data):
        self.socket.sendall(data)

    def send_frame(self, payload):
        self.send_raw(struct.pack(">i", len(payload)) + payload)

    def send(self, key, version, body):
        self.correlation += 1
        self.send_frame(struct.pack(">hhi", key, version, self.correlation) + string(self.client_id) + body)

    def receive_exactly(self, size):
        parts = []
        while size:
            part = self.socket.recv(min(size, 1 << 20))
            if not part:
                raise Closed("closed by the node")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def receive(self, correlation=None):
        """The body behind one answer's header, whose correlation id must be this one: the last one sent when none is named."""
        expected = self.correlation if correlation is None else correlation
        size = struct.unpack(">i", self.receive_exactly(4))[0]
        reader = Reader(self.receive_exactly(size))
        got = reader.int32()
        if got != expected:
            raise ValueError(f"answer to {got}, expected {expected}")
        return reader

    def call(self, key, version, body):
        self.send(key, version, body)
        return self.receive()

    # -- the requests

    def api_versions(self):
        """{api key: (lowest, highest)}"""
        reader = self.call(API_VERSIONS, 0, b"")
        error = reader.int16()
        if error:
            raise ValueError(f"ApiVersions: error {error}")
        return {key: (low, high) for key, low, high in reader.array(lambda: (reader.int16(), reader.int16(), reader.int16()))}

    def metadata(self, topics=()):
        """(broker ids, {topic: (error, {partition: (error, leader)})}). topics=None asks for all."""
        body = struct.pack(">i", -1) if topics is None else array(map(string, topics))
        reader = self.call(METADATA, 1, body)
        brokers = [b[0] for b in reader.array(lambda: (reader.int32(), reader.string(), reader.int32(), reader.string()))]
        reader.int32()  # the controller

        def partition():
            error, index, leader = reader.int16(), reader.int32(), reader.int32()
            reader.array(reader.int32)
            reader.array(reader.int32)
            return index, (error, leader)

        def topic():
            error, name, _ = reader.int16(), reader.string(), reader.int8()
            return name, (error, dict(reader.array(partition)))
        return brokers, dict(reader.array(topic))

    def create_topic(self, name, partitions=1, configs=None, timeout_ms=30000):
        """The error code."""
        pairs = array(string(k) + nullable_string(v) for k, v in (configs or {}).items())
        reader = self.call(CREATE_TOPICS, 2, array([string(name) + struct.pack(">ih", partitions, 1) + array([]) + pairs]) +
                           struct.pack(">ib", timeout_ms, 0))
        reader.int32()
        return reader.array(lambda: (reader.string(), reader.int16(), reader.string()))[0][1]

    def delete_topic(self, name, timeout_ms=30000):
        reader = self.call(DELETE_TOPICS, 1, array([string(name)]) + struct.pack(">i", timeout_ms))
        reader.int32()
        return reader.array(lambda: (reader.string(), reader.int16()))[0][1]

    def delete_records(self, topic, partition, offset):
        """(error, low watermark)"""
        reader = self.call(DELETE_RECORDS, 0, array([string(topic) + array([struct.pack(">iq", partition, offset)])]) + struct.pack(">i", 30000))
        reader.int32()
        answers = reader.array(lambda: (reader.string(), reader.array(lambda: (reader.int32(), reader.int64(), reader.int16()))))
        _, low_watermark, error = answers[0][1][0]
        return error, low_watermark

    def init_producer_id(self):
        """(producer id, epoch) for an idempotent producer."""
        reader = self.call(INIT_PRODUCER_ID, 0, nullable_string(None) + struct.pack(">i", 60000))
        reader.int32()
        error, producer_id, epoch = reader.int16(), reader.int64(), reader.int16()
        if error:
            raise ValueError(f"InitProducerId: error {error}")
        return producer_id, epoch

    def send_produce(self, topic, partition, batch, acks=-1, timeout_ms=30000):
        body = nullable_string(None) + struct.pack(">hi", acks, timeout_ms)
        body += array([string(topic) + array([struct.pack(">ii", partition, len(batch)) + batch])])
        self.send(PRODUCE, 3, body)

    def produce(self, topic, partition, batch, acks=-1):
        """(error, base offset)"""
        self.send_produce(topic, partition, batch, acks)
        return self.produce_answer()

    def produce_answer(self, correlation=None):
        """(error, base offset) of a send_produce: the last one, or the one that was sent as `correlation`."""
        reader = self.receive(correlation)
        answers = reader.array(lambda: (reader.string(), reader.array(
            lambda: (reader.int32(), reader.int16(), reader.int64(), reader.int64()))))
        _, error, base, _ = answers[0][1][0]
        return error, base

    def fetch(self, topic, partition, offset, max_bytes=1 << 20, max_wait_ms=500, min_bytes=1):
        """(error, high watermark, raw batches)"""
        body = struct.pack(">iiiib", -1, max_wait_ms, min_bytes, max_bytes, 0)
        body += array([string(topic) + array([struct.pack(">iqi", partition, offset, max_bytes)])])
        reader = self.call(FETCH, 4, body)
        reader.int32()

        def one():
            reader.int32()
            error, high_watermark, _ = reader.int16(), reader.int64(), reader.int64()
            reader.array(lambda: (reader.int64(), reader.int64()))
            return error, high_watermark, reader.bytes()
        return reader.array(lambda: (reader.string(), reader.array(one)))[0][1][0]

    def list_offset(self, topic, partition, timestamp=-1):
        """(error, offset); timestamp -1 is the end, -2 the start."""
        reader = self.call(LIST_OFFSETS, 1, struct.pack(">i", -1) + array([string(topic) + array([struct.pack(">iq", partition, timestamp)])]))
        answers = reader.array(lambda: (reader.string(), reader.array(
            lambda: (reader.int32(), reader.int16(), reader.int64(), reader.int64()))))
        _, error, _, offset = answers[0][1][0]
        return error, offset

    def read_all(self, topic, partition, start=0):
        """Every record [(offset, key, value)] from start up to the high watermark."""
        records = []
        while True:
            error, high_watermark, data = self.fetch(topic, partition, start, max_wait_ms=0)
            if error:
                raise ValueError(f"Fetch of {topic}-{partition} at {start}: error {error}")
            found = [r for r in read_batches(data) if r[0] >= start]
            records += found
            if found:
                start = found[-1][0] + 1
            if start >= high_watermark:
                return records


# -- record batches

_CRC = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82F63B78 if _byte & 1 else 0)
    _CRC.append(_byte)


def crc32c(data):
    state = 0xFFFFFFFF
    for byte in data:
        state = _CRC[(state ^ byte) & 0xFF] ^ state >> 8
    return state ^ 0xFFFFFFFF


def varint(value):
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _varint_bytes(data):
    return varint(-1) if data is None else varint(len(data)) + data


def _read_varint_bytes(reader):
    size = reader.varint()
    return None if size < 0 else reader.raw(size)


def record_batch(records, producer_id=-1, producer_epoch=-1, base_sequence=-1, timestamp=None):
    """records: [(key, value)]. Encodes one batch as a producer sends it, at base offset 0."""
    timestamp = int(time.time() * 1000) if timestamp is None else timestamp
    body = b""
    for index, (key, value) in enumerate(records):
        record = b"\0" + varint(0) + varint(index) + _varint_bytes(key) + _varint_bytes(value) + varint(0)
        body += varint(len(record)) + record
    tail = struct.pack(">hiqqqhii", 0, len(records) - 1, timestamp, timestamp, producer_id, producer_epoch, base_sequence, len(records)) + body
    return struct.pack(">qiibI", 0, len(tail) + 9, -1, 2, crc32c(tail)) + tail


def read_batches(data):
    """[(offset, key, value)] of the whole uncompressed batches in fetched data; a cut last one is left out."""
    records, position = [], 0
    while position + 61 <= len(data):
        base, size = struct.unpack_from(">qi", data, position)
        if position + 12 + size > len(data):
            break
        count = struct.unpack_from(">i", data, position + 57)[0]
        reader = Reader(data[position + 61:position + 12 + size])
        for _ in range(count):
            reader.varint()
            reader.int8()
            reader.varint()
            offset = base + reader.varint()
            key, value = _read_varint_bytes(reader), _read_varint_bytes(reader)
            for _ in range(reader.varint()):
                _read_varint_bytes(reader)
                _read_varint_bytes(reader)
            records.append((offset, key, value))
        position += 12 + size
    return records
