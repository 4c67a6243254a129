#!/bin/sh
# links.sh PROGRAM DATA - as root: names in folders of all users that others have made. What the
# system does not open for writing, a link or a file, is not replaced either.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
switches=/proc/sys/fs
{ [ "$(id -u)" -eq 0 ] && [ -w $switches/protected_symlinks ] && command -v setpriv; } > out || {
    echo "# needs root and setpriv"
    exit 77
}
links=$(cat $switches/protected_symlinks)
regular=$(cat $switches/protected_regular 2> /dev/null)
restore()
{
    echo "$links" > $switches/protected_symlinks
    [ -z "$regular" ] || echo "$regular" > $switches/protected_regular
    rm -rf "$place"
}
trap restore EXIT
trap 'exit 1' INT TERM
echo 1 > $switches/protected_symlinks
[ -z "$regular" ] || echo 2 > $switches/protected_regular

as()
{
    user=$1
    shift
    setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
}
victim=65534
other=1001
chmod 755 "$place"
cp "$program" copy
mkdir all home
chmod 1777 all
chown $victim home
as $victim ./copy -version > out 2>&1 || { echo "# another user cannot run the program"; exit 77; }

# fails DESCRIPTION NAME ARGUMENTS...: the run ends with 1 or 2 and one line about all/NAME
fails()
{
    what=$1
    name=$2
    shift 2
    as $victim ./copy $scene -oversample 1 -quiet "$@" > out 2> err
    code=$?
    { [ $code -eq 1 ] || [ $code -eq 2 ]; } && [ "$(wc -l < err)" -eq 1 ] \
        && grep -q "all/$name.*cannot \(be written\|write\)" err
    refused=$?
    report $refused "$what"
    [ $refused -eq 0 ] || { echo "# exit $code"; sed 's/^/# /' err; }
}

# every kind of output
echo precious > precious
for mode in 444 644; do
    for output in intfile:x.img floatfile:x.bin doublefile:x.dbl noisefile:n.img \
        pgmfile:x.pgm pngfile:x.png imagefile:x.nxs imagefile:x.cbf json:x.json; do
        option=${output%%:*}
        name=${output##*:}
        rm -f home/file "all/$name"
        as $victim cp precious home/file
        as $victim chmod $mode home/file
        as $other ln -s "$place/home/file" "all/$name"
        fails "-$option, a link to a file of mode $mode" "$name" "-$option" "all/$name"
        is "  leaves the file" cmp -s precious home/file
        rm -f home/file
        fails "-$option, a link to nothing" "$name" "-$option" "all/$name"
        is "  makes no file" test ! -e home/file
        rm -f "all/$name"
    done
done

# those that are written once a fit or a gradient is done
as $victim ./copy $scene -oversample 1 -quiet -floatfile home/data.bin
for output in fitfile:x.json fitimage:x.bin; do
    name=${output##*:}
    as $victim cp precious home/file
    as $other ln -s "$place/home/file" "all/$name"
    fails "-${output%%:*}" "$name" -data home/data.bin -fit scale "-${output%%:*}" "all/$name"
    is "  leaves the file" cmp -s precious home/file
    rm -f home/file "all/$name"
done

# a link of one's own is followed, and a file of another user is as the system has it
as $victim cp precious home/file
as $victim ln -s "$place/home/file" all/own
as $victim ./copy $scene -oversample 1 -quiet -floatfile all/own
is "a link of one's own is followed" test "$(wc -c < home/file)" -eq 2304
is "  and stays" test -L all/own
if [ -n "$regular" ]; then
    as $other sh -c 'echo theirs > all/theirs; chmod 666 all/theirs'
    fails "a file of another user that all may write" theirs -floatfile all/theirs
    is "  is left" grep -q theirs all/theirs
fi
is "nothing else is left" test -z "$(find all -name '*tmp*')"
finish
