# lib.sh - what the tests of the program share: `. lib.sh` after setting program and data.
# Each test runs in a fresh directory and prints ok / not ok lines.
# SPDX-License-Identifier: MIT
program=$1
data=$2
case $program in /*) ;; *) program=$PWD/$program ;; esac
case $data in /*) ;; *) data=$PWD/$data ;; esac
unset NANOBRAG_COMPAT NANOBRAG_THREADS NANOBRAG_ISA OMP_NUM_THREADS
unset NANOBRAGG_DISABLE_COMPILE NANOBRAG_DISABLE_COMPILE
unset NANOBRAG_DEVICE NANOBRAG_LOGS NANOBRAG_CACHE_DIR NANOBRAG_STRICT NANOBRAG_COMPILE_TIMEOUT
unset NANOBRAG_HOT_THRESHOLD NANOBRAG_RECOMPILE_LIMIT
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 1
failures=0

# a scene that renders at once
scene="-cell 30 40 50 90 90 90 -default_F 10 -N 4 -detpixels 24 -pixel 1"

report()
{
    if [ "$1" -eq 0 ]; then
        echo "ok - $2"
    else
        echo "not ok - $2"
        failures=$((failures + 1))
    fi
}

# is DESCRIPTION COMMAND...: the command succeeds
is()
{
    what=$1
    shift
    "$@"
    report $? "$what"
}

# run ARGUMENTS...: the program in an empty directory; leaves $code, out and err beside it
run()
{
    rm -rf work
    mkdir work
    if [ -n "${inputs:-}" ]; then cp $inputs work; fi
    (cd work && "$program" "$@" > ../out 2> ../err)
    code=$?
    rm -f listing
    ls -A work > listing
    if [ -n "${inputs:-}" ]; then
        for input in $inputs; do
            grep -v -x "$(basename "$input")" listing > rest
            mv rest listing
        done
    fi
}

# catching CHILD: waits until it has its own answer to SIGINT, which a shell starts children
# in the background without: an interrupt before that is lost. A child that is still a copy of
# this shell has this shell's answer, for a moment.
catching()
{
    for _ in $(seq 300); do
        if [ "$(readlink "/proc/$1/exe")" != "$(readlink "/proc/$$/exe")" ]; then
            caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2> /dev/null)
            case $caught in *[2367abefABEF]) return ;; esac # SIGINT is the second bit
        fi
        sleep 0.1
    done
}

# stopped SIGNAL FILE ARGUMENTS...: the program in an empty directory is told to stop once
# FILE is there, and ends with the status of that; leaves $code, work, out and err
stopped()
{
    signal=$1
    awaited=$2
    shift 2
    status=130
    [ "$signal" = INT ] || status=143
    rm -rf work
    mkdir work
    (cd work && exec "$program" "$@" > ../out 2> ../err) &
    child=$!
    tries=0
    while [ ! -e "work/$awaited" ] && [ $tries -lt 1000 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    kill -"$signal" $child
    wait $child
    code=$?
    is "status $status after SIG$signal" test $code -eq $status
}

# interrupted SIGNAL FILE ARGUMENTS...: the same for a run of many images, which says what it
# keeps
interrupted()
{
    signal=$1
    awaited=$2
    shift 2
    stopped "$signal" "$awaited" -cell 30 40 50 -default_F 10 -N 4 -detpixels 300 -pixel 0.3 \
        -osc 1 -phisteps 20 -images 100000 -strategy reference -threads 1 -quiet "$@"
    is "tells what is kept" grep -q 'interrupted; [0-9]* of 100000 images finished; the run keeps' err
}

# alike DESCRIPTION FIRST SECOND: both command lines render the same image, but for rounding
alike()
{
    run $2 -floatfile f.bin
    cp work/f.bin first.bin
    run $3 -floatfile f.bin
    is "$1" near 2e-6 first.bin work/f.bin
    [ "$code" -eq 0 ] || sed 's/^/# /' err
}

# refuses CODE PATTERN ARGUMENTS...: that exit status, one line on stderr that matches and
# names nothing of the library's, and no file
refuses()
{
    wanted=$1
    pattern=$2
    shift 2
    run "$@"
    grep -v -e ': note: ' -e ': warning: ' err > errors
    lines=$(wc -l < errors)
    [ "$code" -eq "$wanted" ] && grep -q -e "$pattern" errors && [ "$lines" -eq 1 ] \
        && ! grep -q -e 'NB_[A-Z]' -e 'options\.' -e '(crystal\.' -e '(detector\.' \
            -e '(beam\.' -e '(scan\.' -e '(background\.' errors && [ ! -s listing ]
    refused=$?
    report $refused "refuses ($wanted): $*"
    [ $refused -eq 0 ] || { echo "# exit $code, files: $(tr '\n' ' ' < listing)"; \
        sed 's/^/# /' err; }
}

# accepts PATTERN ARGUMENTS...: exit status 0 and a line of stdout or stderr that matches
accepts()
{
    pattern=$1
    shift
    run "$@"
    [ "$code" -eq 0 ] && cat out err | grep -q -e "$pattern"
    accepted=$?
    report $accepted "accepts: $*"
    [ $accepted -eq 0 ] || { echo "# exit $code"; sed 's/^/# /' err; }
}

# same_image DESCRIPTION FIRST -- SECOND: both command lines render the same float image
same_image()
{
    what=$1
    first=$2
    second=$3
    run $first -floatfile f.bin
    one=$code
    cp work/f.bin first.bin 2> /dev/null
    run $second -floatfile f.bin
    [ "$one" -eq 0 ] && [ "$code" -eq 0 ] && cmp -s first.bin work/f.bin
    report $? "$what"
}

# near ALLOWED FIRST SECOND: raw floats, within a fraction of the first one's maximum
near()
{
    (od -A n -v -t f4 -w4 "$2"; echo end; od -A n -v -t f4 -w4 "$3") | awk -v allowed="$1" '
        $1 == "end" { n = NR - 1; second = 1; next }
        !second { one[NR] = $1; if ($1 > peak) peak = $1; next }
        { d = $1 - one[NR - n - 1]; if (d < 0) d = -d; if (d > most) most = d }
        END {
            off = peak > 0 ? most / peak : 1
            print "# off by " off " of the peak, allowed " allowed
            exit !(NR == 2 * n + 1 && off <= allowed)
        }'
}

finish()
{
    [ "$failures" -eq 0 ] || { echo "# $failures failed"; exit 1; }
    exit 0
}
