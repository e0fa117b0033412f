# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""A node that cannot run says so in one clear line, ends with exit code 1, and leaves everything as it was."""
import hashlib
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import wire  # noqa: E402
from lib.node import Node  # noqa: E402
from lib.paths import castellan_binary, skip, system_under_test  # noqa: E402


def setUpModule():
    if system_under_test() != "castellan":
        skip("these are promises of ours; Apache Kafka fails in its own ways")


def picture(folder):
    """Every file's name and content."""
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() if p.is_file() else None
            for p in sorted(folder.rglob("*")) if p.name != ".lock"}


class Refusals(unittest.TestCase):
    def node(self, **options):
        return self.enterContext(Node(**options))

    def assert_refused(self, node, *words, lines=3):
        """It ends with 1 within seconds; its last lines have every word; no stack trace, no abort."""
        log_before = len(node.log_text())
        node.start(wait=False)
        code = node.process.wait(20)
        said = node.log_text()[log_before:]
        self.assertEqual(code, 1, said)
        last = "\n".join(said.strip().splitlines()[-lines:])
        for word in words:
            self.assertIn(str(word), last)
        self.assertNotRegex(said, r"terminate called|Aborted|core dumped|CHECK")
        return said

    def refused_properties(self, *words, **properties):
        """A formatted node whose file is then changed; None takes a key away."""
        node = self.node(start=False)
        node.format()
        before = picture(node.data)
        node.properties.update({k.replace("_", "."): v for k, v in properties.items()})
        self.assert_refused(node, *words)
        self.assertEqual(picture(node.data), before, "nothing half-written")

    # -- directories

    def test_second_process_on_the_same_directories_is_refused_before_it_touches_anything(self):
        first = self.node()
        first.create_topic("kept")
        first.produce("kept", 0, wire.record_batch([(b"k", b"v")]))
        second = self.node(start=False)
        second.properties["log.dirs"] = str(first.data)
        before = picture(first.data)
        self.assert_refused(second, first.data)
        self.assertEqual(picture(first.data), before)
        first.produce("kept", 0, wire.record_batch([(b"k", b"more")]))
        with first.connect() as connection:
            self.assertEqual([value for _, _, value in connection.read_all("kept", 0)], [b"v", b"more"])
        self.assertEqual(first.stop(), 0)
        first.start()

    def test_unformatted_directory(self):
        node = self.node(start=False)
        self.assert_refused(node, node.data)
        self.assertFalse(node.data.exists() and any(p.name != ".lock" for p in node.data.iterdir()), "nothing half-written")

    def test_directory_of_another_node(self):
        self.refused_properties("node.id", node_id="2")

    def test_directories_of_two_clusters(self):
        one, other = self.node(start=False), self.node(start=False)
        one.format()
        other.format()
        path = other.data / "meta.properties"
        path.write_text(re.sub(r"cluster\.id=.*", "cluster.id=anotherClusterOf22char", path.read_text()))
        one.properties["log.dirs"] = f"{one.data},{other.data}"
        self.assert_refused(one, "anotherClusterOf22char")

    def test_log_directory_that_is_a_file(self):
        node = self.node(start=False)
        node.data.write_text("not a directory")
        self.assert_refused(node, node.data)

    def test_empty_meta_properties(self):
        node = self.node(start=False)
        node.format()
        (node.data / "meta.properties").write_text("")
        self.assert_refused(node, node.data / "meta.properties")

    # -- ports

    def test_broker_port_in_use(self):
        first, second = self.node(), self.node(start=False)
        second.format()
        before = picture(second.data)
        second.properties["listeners"] = f"PLAINTEXT://127.0.0.1:{first.port},CONTROLLER://127.0.0.1:{second.controller_port}"
        self.assert_refused(second, first.port, "in use")
        self.assertEqual(picture(second.data), before)

    def test_controller_port_in_use(self):
        first, second = self.node(), self.node(start=False)
        second.format()
        second.properties["listeners"] = f"PLAINTEXT://127.0.0.1:{second.port},CONTROLLER://127.0.0.1:{first.controller_port}"
        second.properties["controller.quorum.bootstrap.servers"] = f"127.0.0.1:{first.controller_port}"
        self.assert_refused(second, first.controller_port, "in use")

    def test_http_address(self):
        if system_under_test() != "castellan":
            skip("Apache Kafka has none")
        first, second = self.node(), self.node(start=False)
        second.format()
        second.properties["castellan.http.address"] = f"127.0.0.1:{first.port}"
        self.assert_refused(second, "castellan.http.address", first.port, "in use")
        second.properties["castellan.http.address"] = "here"
        self.assert_refused(second, "castellan.http.address", "host:port")

    # -- server.properties

    def test_missing_file(self):
        run = subprocess.run([castellan_binary(), "server", "/nowhere/server.properties"], capture_output=True, text=True, timeout=20)
        self.assertEqual(run.returncode, 1)
        self.assertIn("/nowhere/server.properties", run.stdout + run.stderr)

    def test_missing_roles(self):
        self.refused_properties("process.roles", process_roles=None)

    def test_missing_node_id(self):
        self.refused_properties("node.id", node_id=None)

    def test_unknown_role(self):
        self.refused_properties("process.roles", "janitor", process_roles="broker,janitor")

    def test_number_that_is_none(self):
        self.refused_properties("num.io.threads", "many", num_io_threads="many")

    def test_number_out_of_range(self):
        self.refused_properties("log.segment.bytes", "-7", log_segment_bytes="-7")

    def test_combined_node_without_a_controller_listener(self):
        self.refused_properties("controller.listener.names", controller_listener_names=None)

    def test_listener_that_is_none(self):
        self.refused_properties("listeners", listeners="PLAINTEXT//localhost")

    def test_security_that_is_not_there_yet_is_refused_and_not_ignored(self):
        for key, value in (("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
                           ("listener.security.protocol.map", "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"),
                           ("listener.security.protocol.map", "PLAINTEXT:SSL,CONTROLLER:PLAINTEXT"),
                           ("principal.builder.class", "org.example.Builder")):
            with self.subTest(key=key, value=value):
                self.refused_properties(key, **{key.replace(".", "_"): value})

    def test_unknown_key_is_named_in_a_warning_and_no_more(self):
        node = self.node(properties={"no.such.key": "1"})
        self.assertIn("no.such.key", node.log_text())

    def test_sigterm_ends_it_with_0(self):
        self.assertEqual(self.node().stop(), 0)


if __name__ == "__main__":
    unittest.main()
