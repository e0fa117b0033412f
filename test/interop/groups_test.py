# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""Members of a classic group share a topic, leave, and go on where they were, each client in turn.

Every record is read exactly once over all members and generations, since each commits what it has read before it gives
partitions up; a member that is killed may leave its last records to be read again, so the tests end members in good order.
"""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import wire  # noqa: E402
from lib.clients import NAMES, client  # noqa: E402
from lib.node import Node, wait_until  # noqa: E402

PARTITIONS = 4
CAN_BE_COOPERATIVE = ("java", "franz", "librdkafka")


def setUpModule():
    global node
    node = Node()


def tearDownModule():
    node.close()


class Groups(unittest.TestCase):
    def setUp(self):
        self.members, self.produced = [], 0

    def tearDown(self):
        for member in self.members:
            member.end()

    def topic_of(self, name):
        self.topic = node.create_topic(name.replace("_", "-"), PARTITIONS)
        self.group = f"group-of-{self.topic}"

    def join(self, name, **options):
        member = client(name).member(node.bootstrap, self.topic, self.group, **options)
        self.members.append(member)
        return member

    def produce(self, count=80):
        for partition in range(PARTITIONS):
            keys = [b"%d" % (self.produced + i) for i in range(partition, count, PARTITIONS)]
            node.produce(self.topic, partition, wire.record_batch([(key, b"value") for key in keys]))
        self.produced += count

    def read(self):
        return sorted(int(key) for member in self.members for _, _, key in (member.records if member.process.returncode is not None else member.look().records))

    def assert_read_once(self, timeout=40):
        """Everything produced so far was read, each record once."""
        wait_until(lambda: len(self.read()) >= self.produced, timeout, self.state)
        self.assertEqual(self.read(), list(range(self.produced)), self.state())

    def wait_assigned(self, *sizes, timeout=40):
        """The running members own so many partitions each, all of them together."""
        def settled():
            owned = [m.look().assigned or [] for m in self.members if m.process.returncode is None]
            return sorted(map(len, owned)) == sorted(sizes) and sorted(p for o in owned for p in o) == list(range(PARTITIONS))
        wait_until(settled, timeout, self.state)

    def state(self):
        return f"{self.topic}: produced {self.produced}, read {len(self.read())}, " + "; ".join(
            f"{m.name} {'running' if m.process.poll() is None else m.process.poll()} owned {m.assignments} read {len(m.records)}"
            f" {''.join(m.errors)[-1500:]}" for m in self.members) + "\n" + node.log_tail(15)

    def shared_by_two(self, name):
        self.topic_of(f"two-{name}")
        self.produce()
        first = self.join(name)
        self.assert_read_once()
        second = self.join(name)
        self.wait_assigned(2, 2)
        self.produce()
        self.assert_read_once()
        self.assertTrue(second.records, "the second member read its share")
        first.leave()
        self.wait_assigned(4)
        self.produce()
        self.assert_read_once()
        second.leave()
        node.restart()
        self.produce()
        self.join(name)
        self.wait_assigned(4)
        self.assert_read_once()

    def cooperative(self, name):
        """A joining member takes two partitions; the others are never given up."""
        self.topic_of(f"cooperative-{name}")
        self.produce()
        first = self.join(name, assignor="cooperative-sticky")
        self.assert_read_once()
        before = len(first.assignments)
        self.join(name, assignor="cooperative-sticky")
        self.wait_assigned(2, 2)
        kept = set(first.assigned)
        for assignment in first.assignments[before:]:
            self.assertTrue(kept <= set(assignment), first.assignments)
        self.produce()
        self.assert_read_once()

    def test_static_member_that_returns_gets_its_partitions_back_without_a_rebalance(self):
        self.topic_of("static")
        one, two = self.join("java", instance="one"), self.join("java", instance="two")
        self.wait_assigned(2, 2)
        self.produce()
        self.assert_read_once()
        before, seen = list(two.assigned), len(one.assignments)
        two.leave()  # a static member says no farewell
        back = self.join("java", instance="two")
        self.wait_assigned(2, 2)
        self.assertEqual(back.assigned, before)
        self.assertEqual(len(one.look().assignments), seen, "the other member noticed nothing")
        self.produce()
        self.assert_read_once()

    def test_members_go_on_over_a_kill_of_the_node(self):
        self.topic_of("killed")
        self.produce()
        self.join("java")
        self.join("librdkafka")
        self.assert_read_once()
        self.wait_assigned(2, 2)
        node.kill()
        node.start()
        self.produce()
        wait_until(lambda: set(self.read()) >= set(range(self.produced)), 60, self.state)

    def test_member_that_dies_is_expelled_when_its_session_ends(self):
        self.topic_of("died")
        first, second = self.join("librdkafka"), self.join("librdkafka")
        self.wait_assigned(2, 2)
        first.end()
        self.produce()
        self.wait_assigned(4)
        wait_until(lambda: set(self.read()) >= set(range(self.produced)), 40, self.state)
        self.assertEqual(second.assigned, [0, 1, 2, 3])

    def test_clients_of_several_kinds_share_one_group(self):
        self.topic_of("mixed")
        self.produce()
        for name in ("java", "librdkafka", "franz", "kafka_python"):
            self.join(name)
        self.wait_assigned(1, 1, 1, 1)
        self.produce()
        self.assert_read_once()


for _name in NAMES:
    setattr(Groups, f"test_two_members_share_and_go_on_after_a_restart_{_name}", lambda self, name=_name: self.shared_by_two(name))
for _name in CAN_BE_COOPERATIVE:
    setattr(Groups, f"test_cooperative_member_keeps_what_it_need_not_give_{_name}", lambda self, name=_name: self.cooperative(name))

if __name__ == "__main__":
    unittest.main()
