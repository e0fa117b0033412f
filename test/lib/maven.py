# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""Apache Kafka's released class path, fetched once by Maven into build/interop/kafka-VERSION."""
import fcntl
import os
import shutil
import subprocess
from pathlib import Path

from lib.paths import INTEROP, need_program, skip

VERSION = "4.4.0"
ARTIFACTS = [("org.apache.kafka", "kafka_2.13"), ("org.apache.kafka", "kafka-tools")]
LOG4J = ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.3")
LOGGING = Path(__file__).resolve().parent / "log4j2.xml"
_absent = {}  # version: why it could not be had; it is not asked for again


def libraries(version=VERSION):
    """The folder of jars. Skips, with the reason, where Maven or the network is missing."""
    if version in _absent:
        skip(_absent[version])
    need_program("java")
    home = INTEROP / f"kafka-{version}"
    if not (home / "complete").exists():
        home.mkdir(parents=True, exist_ok=True)
        with open(home / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (home / "complete").exists():
                _fetch(home, version)
    return home / "libs"


def _fetch(home, kafka):
    maven = need_program("mvn")
    dependencies = "".join(f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
                           f"<version>{version}</version></dependency>"
                           for group, artifact, version in [*((*artifact, kafka) for artifact in ARTIFACTS), LOG4J])
    (home / "pom.xml").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>castellan</groupId><artifactId>interop</artifactId>"
        f"<version>1</version><dependencies>{dependencies}</dependencies></project>")
    shutil.rmtree(home / "libs", ignore_errors=True)
    run = subprocess.run([maven, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={home}/libs"], cwd=home,
                         capture_output=True, text=True, timeout=900)
    if run.returncode:
        reason = next((line for line in run.stdout.splitlines() if "ERROR" in line), "no reason given")
        _absent[kafka] = f"needs Apache Kafka {kafka} from Maven: {reason[:200]}"
        skip(_absent[kafka])
    (home / "complete").touch()


def class_path(version=VERSION):
    return f"{libraries(version)}/*"


def java(*arguments, heap="256m", quick=True, version=VERSION):
    """The argv of a Java program on Kafka's class path. quick: the first compiler only, for programs that live for seconds."""
    flags = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"] if quick else ["-XX:+UseG1GC"]
    return ["java", f"-Xmx{heap}", *flags, "-XX:-UsePerfData", "-Djava.awt.headless=true", f"-Dlog4j2.configurationFile={LOGGING}",
            f"-Dcastellan.level={os.environ.get('KAFKA_LOG_LEVEL', 'WARN')}", "-cp", class_path(version), *map(str, arguments)]
