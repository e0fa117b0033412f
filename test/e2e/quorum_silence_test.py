# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""A leader that falls silent without a reset, and wall clocks that jump: timers go by the monotonic clock."""
import signal
import struct
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib.node import wait_until  # noqa: E402
from lib.paths import need_program, skip, system_under_test  # noqa: E402
from lib.quorum import Quorum  # noqa: E402

HOUR = 3600
# Moves the wall clock by what a file says, and no other clock.
CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static long jump(void) {
  long seconds = 0;
  FILE *file = fopen(getenv("CLOCK_JUMP"), "r");
  if (file) { if (fscanf(file, "%ld", &seconds) != 1) seconds = 0; fclose(file); }
  return seconds;
}
int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += jump();
  return result;
}
int gettimeofday(struct timeval *time, void *zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
"""


def setUpModule():
    if system_under_test() != "castellan":
        skip("these are promises of ours")


class SilentLeader(unittest.TestCase):
    def test_a_leader_stopped_for_five_seconds_is_replaced_and_follows_when_it_goes_on(self):
        with Quorum() as quorum:
            names = ["before"]
            quorum.create("before")
            leader = quorum.leader()
            quorum.wait_caught_up(*quorum.controllers)
            epoch = leader.newest_epoch()
            others = [controller for controller in quorum.controllers if controller is not leader]
            stopped_at = time.monotonic()
            leader.process.send_signal(signal.SIGSTOP)
            try:
                wait_until(lambda: any(c.newest_epoch() > epoch for c in others), 10, "the others elect")
                names += [f"meanwhile-{number}" for number in range(5)]
                for name in names[1:]:
                    quorum.create_at(others, name)
                wait_until(lambda: time.monotonic() >= stopped_at + 5, 6, "five seconds are over", interval=0.1)
            finally:
                leader.process.send_signal(signal.SIGCONT)
            quorum.wait_caught_up(*quorum.controllers)
            wait_until(lambda: leader.newest_epoch() > epoch, 10, "it knows of the new leader")
            quorum.create("after")
            quorum.wait_for_topics([*names, "after"])
            self.assertTrue(all(c.running() for c in quorum.controllers))
            quorum.assert_one_leader_per_epoch()


class WallClock(unittest.TestCase):
    def clock(self, folder):
        """A library for LD_PRELOAD."""
        source, library = folder / "clock.c", folder / "clock.so"
        source.write_text(CLOCK)
        run = subprocess.run([need_program("cc"), "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], capture_output=True, text=True)
        if run.returncode:
            skip(f"needs a C compiler: {run.stderr[:200]}")
        return library

    def jumps(self, which):
        with Quorum(start=False) as quorum:
            library = self.clock(quorum.broker.folder)
            for node in quorum.nodes():
                node.format()
                (node.folder / "jump").write_text("0")
                node.start(wait=False, prefix=["env", f"LD_PRELOAD={library}", f"CLOCK_JUMP={node.folder / 'jump'}"])
            for node in quorum.nodes():
                node.wait_ready()
            leader = quorum.leader()
            epoch = leader.newest_epoch()
            names = []
            for seconds in (HOUR, -HOUR, 0):
                for controller in quorum.controllers:
                    if which(controller is leader):
                        (controller.folder / "jump").write_text(str(seconds))
                begun = time.monotonic()
                while time.monotonic() < begun + 3:  # longer than every timeout of the quorum
                    names.append(f"topic-{len(names)}")
                    active, took = quorum.create(names[-1])
                    self.assertIs(active, leader, "nobody else is elected")
                    self.assertLess(took, 2)
                    quorum.wait_for_topics(names[-1:])  # no more topics than the broker makes folders for
                self.assertEqual({c.newest_epoch() for c in quorum.controllers}, {epoch})
            quorum.wait_for_topics(names)
            if which(True):  # the clock did jump: the leader's records say so
                times = [struct.unpack_from(">q", batch, 35)[0] / 1000 for batch in quorum.batches(leader).values()]
                self.assertGreater(max(times), time.time() + HOUR / 2)

    def test_a_leader_whose_wall_clock_jumps_an_hour_either_way_leads_on(self):
        self.jumps(lambda leads: leads)

    def test_followers_whose_wall_clocks_jump_an_hour_either_way_follow_on(self):
        self.jumps(lambda leads: not leads)


if __name__ == "__main__":
    unittest.main()
