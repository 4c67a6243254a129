#!/bin/sh
# bench.sh - how fast this machine renders: installs what is missing, builds, and runs
# bench/bench.py with the ladder into build/release/bench.json and, with matplotlib,
# bench.svg. Options go to bench.py. SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."

sh scripts/build.sh
if python3 -c 'import matplotlib' 2> /dev/null; then
    set -- -plot build/release/bench.svg "$@"
fi
python3 bench/bench.py -bench build/release/bin/nanobrag_bench -ladder \
    -json build/release/bench.json "$@"
