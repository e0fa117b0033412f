# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""The records that one client writes and another must read back identical.

They are made here once and handed to every client program as a file, and come back as a file of the same form, so that
equality is equality of bytes. A file is records one after the other, big-endian:

    int64 timestamp, int32 key length (-1 null), key, int32 value length (-1 null), value,
    int32 header count, each: int32 name length, name, int32 value length (-1 null), value

Three profiles. `full`: null and empty keys and values, binary, headers with null, empty and binary values, repeated names,
chosen timestamps. `common` leaves out what some clients refuse to write: a record without key and value (aiokafka,
kafka-python), null header values and repeated names (kafkajs). `plain` is what a command line can write: text lines, no headers, the clock's timestamps; it is compared
without timestamps.
"""
import random
import struct

NO_TIMESTAMP = -1


def _bytes(data):
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def encode(timestamp, key, value, headers=()):
    parts = [struct.pack(">q", timestamp), _bytes(key), _bytes(value), struct.pack(">i", len(headers))]
    for name, content in headers:
        parts += [_bytes(name), _bytes(content)]
    return b"".join(parts)


def decode(data):
    """[(timestamp, key, value, headers)]"""
    records, position = [], 0

    def take(form):
        nonlocal position
        value = struct.unpack_from(form, data, position)[0]
        position += struct.calcsize(form)
        return value

    def take_bytes():
        nonlocal position
        size = take(">i")
        if size < 0:
            return None
        position += size
        return data[position - size:position]

    while position < len(data):
        timestamp, key, value = take(">q"), take_bytes(), take_bytes()
        records.append((timestamp, key, value, tuple((take_bytes(), take_bytes()) for _ in range(take(">i")))))
    return records


# Header values avoid "," and "=" and zero bytes, since kcat prints headers as NAME=VALUE,NAME=VALUE and ends a value at a zero.
_HEADER_BYTES = bytes(b for b in range(1, 256) if b not in b",=")


def _header(generator, name, nulls):
    kind = generator.randrange(4)
    if kind == 0 and nulls:
        return name, None
    if kind == 1:
        return name, b""
    return name, bytes(generator.choices(_HEADER_BYTES, k=generator.randrange(1, 12)))


_HEADER_NAMES = (b"trace", b"type", "schl\u00fcssel".encode(), b"x")


def full(count, seed, start=1700000000000, common=False):
    """The file's bytes."""
    generator = random.Random(seed)
    block = generator.randbytes(4096)
    words = b"the quick brown fox jumps over the lazy dog while kafka keeps the log of it all ".split()
    out = []
    for index in range(count):
        key = (None, b"", b"key-%d" % index, block[index % 4000:index % 4000 + 8])[generator.randrange(4)]
        kind = generator.randrange(16)
        if kind == 0:
            value = None
        elif kind == 1:
            value = b""
        elif kind < 5:
            begin = generator.randrange(4000)
            value = block[begin:begin + generator.randrange(96)]
        else:
            value = b" ".join(generator.choices(words, k=generator.randrange(1, 16))) + b" %d" % index
        if index % 10007 == 5003:
            value = (value or b"x") * 3000  # now and then one that does not fit a small batch
        if common and key is None and value is None:
            key = b"key"
        header_count = generator.choice((0, 0, 0, 1, 2))
        names = generator.sample(_HEADER_NAMES, header_count) if common else generator.choices(_HEADER_NAMES, k=header_count)
        headers = [_header(generator, name, nulls=not common) for name in names]
        out.append(encode(start + index // 3 - (index % 7), key, value, headers))
    return b"".join(out)


def plain(count, seed):
    generator = random.Random(seed)
    out = []
    for index in range(count):
        key = b"" if index % 5 == 0 else b"key-%d" % generator.randrange(1000)
        value = b"" if index % 11 == 3 else b"line %d %s" % (index, b"%016x" % generator.getrandbits(64) * generator.randrange(4))
        # kcat -Z writes empty ones as null
        out.append(encode(NO_TIMESTAMP, key or None, value or None))
    return b"".join(out)


def without_timestamps(data):
    return b"".join(encode(NO_TIMESTAMP, key, value, headers) for _, key, value, headers in decode(data))


def first_difference(expected, actual):
    """None when equal, else words about the first record that differs."""
    if expected == actual:
        return None
    ours, theirs = decode(expected), decode(actual)
    for index, (one, other) in enumerate(zip(ours, theirs)):
        if one != other:
            return f"record {index}: written {_short(one)}, read {_short(other)}"
    return f"{len(ours)} records written, {len(theirs)} read"


def _short(record):
    text = repr(record)
    return text if len(text) < 400 else text[:400] + "..."
