#!/bin/sh
# faults.sh PROGRAM DATA - files that never come or never end: a wait for a pipe ends on SIGINT
# and SIGTERM, and no more of a file is read than it needs.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
bare="-N 4 -detpixels 24 -pixel 1"
cell="-cell 30 40 50"

# ---- pipes whose other end nobody opens ----
mkfifo pipe

# stops SIGNAL STATUS ARGUMENTS...: the signal ends the wait with that status and no file
stops()
{
    signal=$1
    wanted=$2
    shift 2
    rm -rf work
    mkdir work
    (cd work && exec "$program" "$@" > ../out 2> ../err) &
    child=$!
    catching $child
    sleep 0.2
    kill -"$signal" $child
    wait $child
    code=$?
    [ "$code" -eq "$wanted" ] && grep -q 'interrupted; no image was finished' err \
        && [ -z "$(ls -A work)" ]
    stopped=$?
    report $stopped "SIG$signal ends ($wanted): $*"
    [ $stopped -eq 0 ] || { echo "# exit $code"; sed 's/^/# /' err; }
}
stops INT 130 $bare $cell -hkl ../pipe -floatfile f
stops TERM 143 $bare $cell -hkl ../pipe -floatfile f
stops INT 130 $bare -mat ../pipe -default_F 1 -floatfile f
stops TERM 143 $bare $cell -dump ../pipe -floatfile f
stops INT 130 $scene -mask ../pipe -floatfile f
stops TERM 143 $scene -img ../pipe -floatfile f
stops INT 130 $scene -sourcefile ../pipe -floatfile f
stops TERM 143 $scene -water 1 -stol ../pipe -floatfile f
stops INT 130 $scene -gradient misset_x -cotangent ../pipe
stops TERM 143 -compat nanobragg $bare $cell -hkl ../pipe
stops INT 130 $scene -floatfile ../pipe
stops TERM 143 $scene -intfile ../pipe

# a pipe that is open and stays empty
sleep 60 > pipe &
keeper=$!
stops TERM 143 $bare $cell -hkl ../pipe -floatfile f
kill $keeper

# ---- files without an end ----
length=40000000 # bytes, of which a reader may take few

# takes CODE PATTERN ARGUMENTS...: reads stdin as a file; that exit status and message, and
# nearly all of stdin is left
takes()
{
    wanted=$1
    pattern=$2
    shift 2
    "$program" "$@" -floatfile f > out 2> err
    code=$?
    left=$(wc -c)
    [ "$code" -eq "$wanted" ] && grep -q -e "$pattern" err \
        && [ "$left" -gt $((length - 2000000)) ]
    taken=$?
    report $taken "takes little ($wanted): $*"
    [ $taken -eq 0 ] || { echo "# exit $code, $left bytes left"; sed 's/^/# /' err; }
}
for bytes in 'head -c 40000000 /dev/zero' 'head -c 40000000 /dev/urandom' \
    'yes | head -c 40000000'; do
    echo "# $bytes"
    eval "$bytes" | takes 2 'not an SMV image' $scene -mask /dev/stdin
    eval "$bytes" | takes 2 'not an SMV image' $scene -img /dev/stdin
    eval "$bytes" | takes 2 'not a binary dump' $bare $cell -dump /dev/stdin
    eval "$bytes" | takes 2 'stdin.*\(expected\|instead\)' $bare $cell -hkl /dev/stdin
    eval "$bytes" | takes 2 'stdin.*expected' $scene -water 1 -stol /dev/stdin
    eval "$bytes" | takes 2 'stdin.*expected' $scene -sourcefile /dev/stdin
    eval "$bytes" | takes 2 'stdin.*1048576 bytes\|stdin.*expected' $bare -mat /dev/stdin \
        -default_F 1
    eval "$bytes" | takes 2 'stdin.*4608' $scene -gradient misset_x -cotangent /dev/stdin
done

# a header that is right: what it announces is read, and no more
"$program" $bare $cell -default_F 10 -intfile head.img -quiet > out 2> err
{ cat head.img; head -c $length /dev/zero; } | takes 0 '' $scene -mask /dev/stdin
printf '1 0 0 10\n' > one.hkl
"$program" $bare $cell -hkl one.hkl -dump one.bin -floatfile f -quiet > out 2> err
{ cat one.bin; head -c $length /dev/zero; } | takes 2 'after the header' $bare $cell \
    -dump /dev/stdin
finish
