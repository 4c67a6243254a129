#!/bin/sh
# drop_barriers.sh BIN KERNEL PROGRAM CASE... - runs cases of a device test without each barrier
# in turn of KERNEL (KERNEL*: of all whose names begin so), and says what the interpreter
# reports; fails where that is nothing. BIN is the folder of the programs.
# SPDX-License-Identifier: MIT
set -u
bin=$1 kernel=$2 program=$3
shift 3
export LD_LIBRARY_PATH=$bin/../ptx NANOBRAG_COMPILE_TIMEOUT=900
export NANOBRAG_CACHE_DIR=${NANOBRAG_CACHE_DIR:-$bin/../ptx/cache}
said=$(mktemp)
trap 'rm -f "$said"' EXIT
n=0
missed=0
while :; do
    PTX_REPORTS=1000 PTX_DROP=$kernel:$n timeout 600 "$bin/$program" "$@" > "$said" 2>&1
    dropped=$(grep "^ptx: drops: .* of ${kernel%\*}" "$said" | head -n 1)
    [ -n "$dropped" ] || break
    reports=$(sed -n 's/^ptx: \([A-Z][A-Z ]*[A-Z]\).*: .*/\1/p' "$said" | sort | uniq -c | tr -s ' \n' ' ')
    [ -n "$reports" ] || missed=$((missed + 1))
    echo "$n${dropped#ptx: drops:}:${reports:- no report}; $(grep -c 'not ok' "$said") checks fail"
    n=$((n + 1))
done
echo "$kernel: $n barriers, the lack of $missed is not reported"
[ "$n" -gt 0 ] && [ "$missed" -eq 0 ]
