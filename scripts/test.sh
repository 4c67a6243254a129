#!/bin/sh
# test.sh - from a fresh clone to tested: installs what is missing, builds, runs every test
# but the slow ones, and says what was skipped and why. Options go to ctest; --all runs the
# slow ones too. SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."

if [ "${1-}" = --all ]; then
    shift
else
    set -- -LE slow "$@"
fi
sh scripts/build.sh --tests
echo "test: ctest $*"
status=0
ctest --test-dir build/release --output-on-failure --no-tests=error -j "$(nproc)" "$@" || status=$?

# the reasons are in ctest's log, one for each test
log=build/release/Testing/Temporary/LastTest.log
skipped=$(sed -n 's/^ *skipped: //p; s/^ok - # skip //p' "$log" 2> /dev/null | sort | uniq -c)
if [ -n "$skipped" ]; then
    echo "test: skipped for want of something that this machine or build lacks, which is normal:"
    echo "$skipped"
fi
[ "$status" -eq 0 ] && echo "test: all others passed" || echo "test: some failed, see above"
exit "$status"
