// SPDX-License-Identifier: Apache-2.0
// Castellan authors

int main() { return 0; }
