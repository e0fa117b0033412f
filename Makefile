# SPDX-License-Identifier: Apache-2.0
# Castellan authors
#
#   make run                  builds, and starts one node on localhost:9092
#   make test                 builds and runs every test
#   make install PREFIX=DIR   DIR/bin/castellan, castellan-sim, and Kafka's script names beside them
# HACKING.md has the rest.

PREFIX ?= /usr/local
SHELL := /bin/bash

.PHONY: run build test install check asan tsan fuzz bench clean

run:
	@scripts/run

build:
	@scripts/setup build
	@scripts/build castellan

test:
	@scripts/setup build test
	@scripts/setup interop || echo "make test: going on without what could not be installed; the tests that need it will skip"
	@scripts/test

install:
	@scripts/setup build
	@scripts/build -p release castellan castellan-sim
	@scripts/install-tree "$(DESTDIR)$(PREFIX)"

check:
	@scripts/layers

asan tsan:
	@scripts/setup build test
	@scripts/test --preset $@

fuzz:
	@scripts/setup build fuzz
	@scripts/fuzz

bench:
	@scripts/setup build test interop bench
	@scripts/build -p release castellan
	@bench/run

clean:
	rm -rf build
