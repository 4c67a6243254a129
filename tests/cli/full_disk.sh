#!/bin/sh
# full_disk.sh PROGRAM DATA - an NXmx run that meets a full disk, or a limit on the size of
# files, keeps its whole frames. SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
"$program" -version | grep -q hdf5 || { echo "# needs HDF5"; exit 77; }
python=
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import h5py' 2> err; then python=$candidate; break; fi
done
[ -n "$python" ] || { echo "# needs h5py"; exit 77; }
sweep="-cell 50 60 70 -default_F 100 -N 8 -fluence 1e28 -detpixels 200 -pixel 0.4 -oversample 1 -water 1
    -quiet -seed 1 -osc 0.1 -images 30 -threads 2"
"$program" $sweep -imagefile whole.nxs > out 2> err
size=$(wc -c < whole.nxs)

# kept DESCRIPTION FILE LEAST: the run ended with 1 and one line that tells how many frames are
# kept; the file has so many, at least LEAST, and they are those of the whole run
kept()
{
    what=$1
    n=$(sed -n 's/.*cannot write: .*; \([0-9]*\) complete frames* .* kept; .*/\1/p' err)
    is "$what: exit status 1 ($code)" test "$code" -eq 1
    is "  one line that tells of ${n:-no} frames" \
        test "$(grep -v -c ': warning: ' err)" -eq 1 -a "${n:-0}" -ge "$3"
    [ "${n:-0}" -ge "$3" ] || sed 's/^/# /' err
    is "  they are in the file" "$python" -c "
import h5py
found, whole = h5py.File('$2', 'r'), h5py.File('whole.nxs', 'r')
data = found['entry/data/data'][()]
assert data.shape[0] == $n, data.shape
assert (data == whole['entry/data/data'][:$n]).all()
assert (found['entry/nanobrag/rows'][()] == whole['entry/nanobrag/rows'][:$n]).all()
assert (found['entry/sample/goniometer'] is not None) if 'entry/sample/goniometer' in found else True"
    is "  and no other file is" test "$(ls -A "$(dirname "$2")")" = "$(basename "$2")"
}

mkdir limited
for share in 3 5 8; do # tenths of the whole file
    rm -f limited/*
    code=0
    (cd limited && ulimit -f $((size * share / 10 / 512)) \
        && exec "$program" $sweep -imagefile s.nxs > ../out 2> ../err) || code=$?
    kept "a limit of 0.$share of the file" limited/s.nxs $((30 * share / 10 - 10))
done
for compression in none deflate; do
    mkdir -p disk
    if [ "$(id -u)" -ne 0 ] || ! mount -t tmpfs -o size=900k tmpfs disk 2> out; then
        echo "# skip: no file system of 900 KB can be mounted"
        continue
    fi
    code=0
    (cd disk && exec "$program" $sweep -imagefile s.nxs -compression $compression > ../out \
        2> ../err) || code=$?
    mkdir -p copy
    rm -f copy/*
    cp -r disk/. copy
    umount disk
    kept "a full disk, $compression" copy/s.nxs 2
done
code=0
mkdir none
(cd none && ulimit -f 40 && exec "$program" $sweep -imagefile s.nxs > ../out 2> ../err) || code=$?
is "no room for one frame: exit status 1" test $code -eq 1
is "  and no file" test -z "$(ls -A none)"
finish
