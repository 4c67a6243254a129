#!/bin/sh
# fit_mpi.sh PROGRAM - fits by several processes (tests/mpi/mpi_fits.c): the bits of
# nb_fit_run() for any number of ranks and threads, and errors of one rank that end all of
# them. SPDX-License-Identifier: MIT
set -eu
here=$(dirname "$0")
program=$1
# shellcheck source=tests/mpi/need_mpi.sh
. "$here/need_mpi.sh"

bad=0
# A rank that waits for another for ever is a failure of its own.
ranks() # N CASE THREADS
{
    timeout 300 mpirun -n "$@" > out.txt 2> err.txt || {
        echo "not ok $2 with $1 ranks: status $?"
        cat out.txt err.txt
        bad=1
    }
    sort out.txt > lines.txt
}
fits() # N CASE THREADS
{
    n=$1
    shift
    ranks "$n" "$program" "$@"
}
check() # WHAT CONDITION...
{
    what=$1
    shift
    if "$@"; then
        echo "ok     $what"
    else
        echo "not ok $what:"
        cat lines.txt err.txt
        bad=1
    fi
}
different() # number of different lines, without the rank
{
    sed 's/^[0-9]*: //' lines.txt | sort -u | wc -l
}
all_say() # N PATTERN: on so many lines
{
    [ "$(grep -c "$2" lines.txt)" = "$1" ]
}

fits 1 alone 1
truth=$(sed 's/^0: //' lines.txt)
echo "nb_fit_run(): $truth"
check "it converges" all_say 1 'status 0 end 1 passes .* left out 0'
for n in 1 2 3 4 7; do
    for threads in 1 2; do
        fits $n bits $threads
        check "$n ranks with $threads threads: the bits of nb_fit_run()" all_say $n "$truth"
    done
done

fits 1 lost 1
truth=$(sed 's/^0: //' lines.txt)
check "a shot that cannot be loaded is left out" all_say 1 'status 0 end 1 .* left out 1'
fits 4 lost 1
check "by all ranks, with the same bits" all_say 4 "$truth"

for n in 2 4; do
    fits $n cancel 1
    check "a cancel in one of $n ranks ends all" \
        all_say $n 'status 9 .* rank [0-9]: the fit was cancelled'
    check "and they go on together" all_say $n 'status 0 end 1 '
    check "in the same way" test "$(different)" = 2
done
fits 3 progress 1
check "a progress handler of one rank ends all" \
    all_say 3 'status 9 end 5 passes 2 .* rank 1: the progress handler stopped the fit'
check "and they go on together" all_say 3 'status 0 end 1 '
fits 3 seconds 1
check "the limit in seconds ends all" all_say 3 'status 0 end 4 passes 1 '

fits 3 no_memory 1
check "one rank without memory ends all" all_say 3 'status 7 .* rank [0-9]: shot 3'
fits 3 no_fit 1
check "one rank without a fit ends all" all_say 3 'status 1 '
check "with a message" all_say 2 'rank 1: there is no fit'
fits 3 other_start 1
check "a fit of another start ends all" all_say 3 'status 1 .* rank 1: the fit goes'
fits 3 other_shots 1
check "a fit of fewer shots ends all" all_say 3 'status 1 .* rank 1: the fit goes'
fits 2 lost_at_start 1
check "a shot that only one rank could load ends all" \
    all_say 2 'status 1 .* rank 1: the fit goes'
fits 2 lbfgs 1
check "L-BFGS is refused" all_say 2 'status 10 .* rank 0: .*L-BFGS'
exit $bad
