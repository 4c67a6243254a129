#!/bin/sh
# test.sh - from a fresh clone to tested: installs what is missing, builds, runs every test
# but the slow ones. Options go to ctest; --all runs the slow ones too.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."

if [ "${1-}" = --all ]; then
    shift
else
    set -- -LE slow "$@"
fi
sh scripts/build.sh --tests
echo "test: ctest $*"
ctest --test-dir build/release --output-on-failure --no-tests=error -j "$(nproc)" "$@"
