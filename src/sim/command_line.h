// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// castellan-sim run | replay | faults: doc/simulator.md. Exit code 0: no violation; 1: one; 2: wrong arguments.

#pragma once

namespace castellan::sim {

int main(int count, char** arguments);

}  // namespace castellan::sim
