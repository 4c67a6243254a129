#!/bin/sh
# vectorised.sh COMPILER CMAKE GENERATOR SETS - does gcc or clang vectorise every loop of
# kernels/ that is marked `#pragma omp simd`, in both precisions? SETS: the instruction set v3
# (where there is none: all), or others.
#
# The flags are those of the build: a release build is configured with the compiler, and
# its own command lines are run, with the compiler's report switched on. Then the check is
# checked, on loops that cannot be vectorised. Exit 77 where the compiler is absent.
# SPDX-License-Identifier: MIT
set -eu
here=$(cd "$(dirname "$0")" && pwd -P)
root=$(cd "$here/../.." && pwd -P)
compiler=$1
cmake=$2
generator=$3
sets=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! command -v "$compiler" > /dev/null 2>&1; then
    echo "skipped: no $compiler here"
    exit 77
fi
"$cmake" -S "$root" -B "$work/build" -G "$generator" -DCMAKE_C_COMPILER="$compiler" \
    -DCMAKE_BUILD_TYPE=Release -DNANOBRAG_BUILD_TESTS=OFF > "$work/log" 2>&1 \
    || { cat "$work/log"; exit 1; }
commands=$work/build/compile_commands.json
if [ ! -e "$commands" ]; then
    echo "skipped: the generator $generator writes no command lines"
    exit 77
fi

# (lane_moments.c and gram.c have no such loop: there the compiler may reorder every sum)
# the command lines of kernels/ without their output, one a line, as the shell reads them
sed -n 's/^ *"command": "\(.*\)",\{0,1\}$/\1/p' "$commands" \
    | sed 's/\\"/"/g; s/\\\\/\\/g; s/ -o [^ ]*\.o / /; s/ -c / /' \
    | grep -- '-DKERNELS=' | grep -v '="*\\"scalar\\"' \
    | grep -v 'lane_moments\.c\|gram\.c' > "$work/all"
case $sets in
v3) grep -v 'KERNELS=[a-z_]*_v[24]_' "$work/all" > "$work/commands" ;;
*) grep 'KERNELS=[a-z_]*_v[24]_' "$work/all" > "$work/commands" || {
    echo "skipped: no other instruction set here"
    exit 77
} ;;
esac

# examine COMMAND FOLDER: compile it and judge its loops; FOLDER holds what counts
examine()
{
    eval "$1 -E" > "$work/text"
    echo "== report" >> "$work/text"
    case $compiler in
    *clang*)
        # a loop that it leaves scalar is a warning too; here it is read, not shown
        eval "$1 -S -o $work/asm -Rpass='loop-(vectorize|idiom)' \
            -Rpass-missed=loop-vectorize -fdiagnostics-absolute-paths \
            -fno-caret-diagnostics" 2>> "$work/text"
        ;;
    *)
        eval "$1 -S -o $work/asm -fopt-info-vec-loop-optimized-missed=$work/info"
        cat "$work/info" >> "$work/text"
        rm "$work/info"
        ;;
    esac
    awk -v source="$2" -f "$here/vectorised.awk" "$work/text"
}

failed=0
while read -r command; do
    name=$(printf '%s\n' "$command" | sed 's/.*-DKERNELS=\([a-z0-9_]*\).*/\1/')
    echo "$compiler, $name"
    examine "$command" "$root/src/nanobrag" || failed=1
    last=$command
done < "$work/commands"
[ -n "${last-}" ] || { echo "no command line of kernels/ found"; exit 1; }

# the check of the check: the last command line on other loops
echo "$compiler, loops that must be refused"
file=${last##* }
for spoiled in 0 1 2 3; do
    status=0
    examine "${last%"$file"} -DSPOILED=$spoiled $here/loops.c" "$here" || status=$?
    if [ "$status" -gt 1 ] || { [ "$spoiled" = 0 ] && [ "$status" -ne 0 ]; } \
        || { [ "$spoiled" != 0 ] && [ "$status" -ne 1 ]; }; then
        echo "not ok SPOILED=$spoiled: status $status"
        failed=1
    else
        echo "ok     SPOILED=$spoiled: status $status, as it must"
    fi
done
exit $failed
