# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""kcat behind the common command line of the interoperability tests (see README.md).

What kcat can write is the `plain` profile: one tab between key and value, empty ones as null. What it reads it prints with
lengths in front, so that any byte may follow.
"""
import re
import subprocess
import sys
import threading
import time

from common import arguments, assigned, consumed, read_records, record, stop_requested, write_records

options = arguments()
END = b"\x01\nEND\n"


def produce():
    lines = b"".join((key or b"") + b"\t" + (value or b"") + b"\n" for _, key, value, _ in read_records(options.records))
    subprocess.run(["kcat", "-P", "-q", "-b", options.bootstrap, "-t", options.topic, "-p", "0", "-z", options.codec, "-K", "\\t", "-Z",
                    "-X", "enable.idempotence=true", "-X", "linger.ms=20"], input=lines, check=True)


def headers_of(text):
    if not text:
        return []
    pairs = (pair.split(b"=") for pair in text.split(b","))
    return [(name, None if value == b"NULL" else value) for name, value in pairs]


def consume():
    form = "%o %T %K %S;%k%s%h" + "\\x01\\nEND\\n"
    data = subprocess.run(["kcat", "-C", "-q", "-b", options.bootstrap, "-t", options.topic, "-p", "0", "-o", "beginning",
                           "-c", str(options.count), "-f", form], stdout=subprocess.PIPE, check=True).stdout
    got, position = [], 0
    while position < len(data):
        front = data.index(b";", position)
        offset, timestamp, key_size, value_size = map(int, data[position:front].split())
        consumed(offset, len(got))
        key_end = front + 1 + max(key_size, 0)
        value_end = key_end + max(value_size, 0)
        end = data.index(END, value_end)
        got.append((timestamp, None if key_size < 0 else data[front + 1:key_end], None if value_size < 0 else data[key_end:value_end],
                    headers_of(data[value_end:end])))
        position = end + len(END)
    write_records(options.out, got)


def group():
    settings = ["auto.offset.reset=earliest", "session.timeout.ms=10000", "auto.commit.interval.ms=200",
                f"partition.assignment.strategy={options.assignor}"]
    if options.instance:
        settings.append(f"group.instance.id={options.instance}")
    process = subprocess.Popen(["kcat", "-u", "-b", options.bootstrap, "-G", options.group, *[w for s in settings for w in ("-X", s)],
                                "-f", "%p %o %k\\n", options.topic], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    owned = set()

    def events():
        for line in process.stderr:
            if "rebalanced" in line:
                found = {int(p) for p in re.findall(r"\[(\d+)\]", line.split("): ", 1)[1])}
                if "revoked" in line:
                    owned.difference_update(found)
                else:
                    owned.update(found)
                assigned(owned)
            else:
                sys.stderr.write(line)

    def lines():
        for line in process.stdout:
            partition, offset, key = line.rstrip("\n").split(" ", 2)
            record(int(partition), int(offset), key.encode())

    threads = [threading.Thread(target=events), threading.Thread(target=lines)]
    for thread in threads:
        thread.start()
    while not stop_requested() and process.poll() is None:
        time.sleep(0.05)
    process.terminate()
    for thread in threads:
        thread.join()
    sys.exit(process.wait())


{"produce": produce, "consume": consume, "group": group}[options.verb]()
