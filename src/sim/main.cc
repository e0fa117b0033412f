// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// castellan-sim: the simulator as a program (doc/simulator.md).

#include "sim/command_line.h"

int main(int count, char** arguments) { return castellan::sim::main(count, arguments); }
