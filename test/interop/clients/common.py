# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""What the Python client programs share: the command line, record files, and the events of a group member."""
import argparse
import json
import select
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from lib import records  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["produce", "consume", "group"])
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--codec", default="none")
    parser.add_argument("--records")
    parser.add_argument("--count", type=int)
    parser.add_argument("--out")
    parser.add_argument("--group")
    parser.add_argument("--assignor", default="range")
    parser.add_argument("--instance")
    return parser.parse_args()


def read_records(path):
    return records.decode(Path(path).read_bytes())


def write_records(path, got):
    Path(path).write_bytes(b"".join(records.encode(*one) for one in got))


def consumed(offset, expected):
    if offset != expected:
        sys.exit(f"offset {offset} read where {expected} was next")


def _event(**fields):
    print(json.dumps(fields), flush=True)


def assigned(partitions):
    _event(event="assigned", partitions=sorted(partitions))


def record(partition, offset, key):
    _event(event="record", partition=partition, offset=offset, key=key.decode() if key is not None else None)


def stop_requested():
    """A q on standard input, or its end: leave the group and exit."""
    return bool(select.select([sys.stdin], [], [], 0)[0])
