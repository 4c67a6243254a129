#!/bin/sh
# bench.sh - how fast this machine renders: installs what is missing, builds, and runs
# nanobrag_bench with the ladder into build/release/bench.json and bench.svg. Options go to
# nanobrag_bench. SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."

sh scripts/build.sh
build/release/bin/nanobrag_bench -json build/release/bench.json \
    -plot build/release/bench.svg "$@"
