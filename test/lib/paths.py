# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""Where things lie, and how a test says that it cannot run here."""
import os
import shutil
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INTEROP = ROOT / "build" / "interop"  # what tests fetch or build: class paths, virtual environments, client programs


def skip(reason):
    raise unittest.SkipTest(reason)


def need_program(name):
    """The path of a program, or a skip that names it."""
    path = shutil.which(name)
    if path is None:
        skip(f"needs {name}: not installed")
    return path


def castellan_binary():
    """The program under test: CASTELLAN_BIN, else the first build that is there."""
    if "CASTELLAN_BIN" in os.environ:
        return Path(os.environ["CASTELLAN_BIN"])
    for preset in ("dev", "release"):
        path = ROOT / "build" / preset / "castellan"
        if path.exists():
            return path
    skip("needs build/dev/castellan: not built")


def system_under_test():
    """SUT=kafka proves a test on Apache Kafka itself; the default is ours."""
    return os.environ.get("SUT", "castellan")


def sanitized():
    """The program was built with a sanitizer: slower, and its memory says nothing."""
    return any(word in str(castellan_binary()) for word in ("asan", "tsan"))
