#!/bin/sh
# format.sh - formats every C source with clang-format 14; with --check only complains.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."

tool=$(command -v clang-format-14 || command -v clang-format) || {
    echo "format: no clang-format 14; scripts/setup.sh --dev installs it" >&2
    exit 1
}
case $("$tool" --version) in
*" 14."*) ;;
*) echo "format: $tool is not version 14, whose output is the rule" >&2; exit 1 ;;
esac

mode=-i
[ "${1-}" != --check ] || mode="--dry-run -Werror"
# shellcheck disable=SC2086
find . \( -path ./build -o -path ./.git -o -path ./demo \) -prune -o -type f \
    \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' \) -print0 | xargs -0 "$tool" $mode
