#!/bin/sh
# shots_mpi.sh PROGRAM DATA MPI_PROGRAM - -shots and -images shared out among processes
# (nanobrag_mpi): the bits of one process for any number of them, the data files and the
# master of NXmx, and what is left and made again when a process dies.
# SPDX-License-Identifier: MIT
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../cli/lib.sh"
shared=$3
# shellcheck source=tests/mpi/need_mpi.sh
. "$here/need_mpi.sh"
hdf5=0
"$program" -version | grep -q hdf5 && hdf5=1
python=
for each in python3 /usr/bin/python3; do
    [ -z "$python" ] && $each -c 'import h5py, numpy' 2> none && python=$each
done

# mpi N ARGUMENTS...: as run() with N processes. One that waits for another for ever fails.
mpi()
{
    ranks=$1
    shift
    rm -rf work
    mkdir work
    cp $inputs work
    again "$ranks" "$@"
}

# again N ARGUMENTS...: the same, in the folder as it is
again()
{
    ranks=$1
    shift
    (cd work && timeout 300 mpirun -n "$ranks" "$shared" "$@" > ../out 2> ../err)
    code=$?
    # what mpirun says of a status
    sed -e '/^-----/,/^-----/d' -e '/^ *$/d' err > errors
}

# same_frames FILE EXPECTED: the NXmx files have the same frames and wavelengths
same_frames()
{
    [ -n "$python" ] || { echo "# not compared: no h5py for Python"; return 0; }
    $python - "$1" "$2" << 'P'
import sys, h5py, numpy
found, expected = (h5py.File(name, "r") for name in sys.argv[1:3])
a, b = (file["entry/data/data"][()] for file in (found, expected))
assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape)
assert (a == b).all() and b.max() > 0, "%d pixels differ" % (a != b).sum()
beam = "entry/instrument/beam/"
for name in expected[beam]:
    if name != "profile":
        assert (found[beam + name][()] == expected[beam + name][()]).all(), name
for name in ("entry/sample/transformations/omega", "entry/sample/transformations/omega_end"):
    assert (name in found) == (name in expected), name
    if name in found:
        assert numpy.abs(found[name][()] - expected[name][()]).max() < 1e-9, name
P
}

# is_master FILE
is_master()
{
    [ -n "$python" ] || return 0
    $python -c "
import sys, h5py
sys.exit(not h5py.File('$1', 'r')['entry/data/data'].is_virtual)"
}

files()
{
    (cd work && ls $1 2> ../none | tr '\n' ' ')
}

still="$scene -xds -seed 5"
awk 'BEGIN { print "misset_x misset_y wavelength"
    for (i = 0; i < 11; i++) print 13 * i, 7 * i, 1 + i / 100 }' > shots.txt
inputs=shots.txt
images="-floatfile f.bin -noisefile n.img"
[ $hdf5 = 0 ] || images="$images -imagefile s.nxs"
run $still -shots shots.txt $images -json all.json
is "one process" test $code -eq 0
cp err err.one
rm -rf all
cp -r work all

for n in 1 2 4; do
    mpi $n $still -shots shots.txt $images -json all.json
    is "$n ranks: status 0" test $code -eq 0
    is "and what one says on stderr, once" test "$(cat errors)" = "$(cat err.one)"
    is "every shot is told once" test "$(grep -c '^shot' out)" -eq 11
    is "one report" test "$(grep -c '^crystal' out)$(grep -c '^files' out)" = 11
    is "the same files" sh -c 'for i in 01 02 03 04 05 06 07 08 09 10 11; do
        cmp -s work/f_000$i.bin all/f_000$i.bin || exit 1
        cmp -s work/n_000$i.img all/n_000$i.img || exit 1; done'
    if [ $hdf5 = 1 ]; then
        is "the same frames" same_frames work/s.nxs all/s.nxs
        parts=$(files 's_data_*.nxs' | wc -w)
        [ $n -gt 1 ] || parts=$((parts + 1))
        is "a data file of each rank" test "$parts" -eq $n
        [ $n = 1 ] || is "and a master" is_master work/s.nxs
        [ ! -e all/s_truth.expt ] || is "the same truth" sh -c \
            'sed "s|/[^\"]*/s.nxs|s.nxs|" work/s_truth.expt > one
            sed "s|/[^\"]*/s.nxs|s.nxs|" all/s_truth.expt | cmp -s - one'
    fi
    [ ! -e all/all.json ] || is "the same numbers" sh -c \
        'grep -E "\"(mean|shot|max)\":" work/all.json > one
        grep -E "\"(mean|shot|max)\":" all/all.json | cmp -s - one && [ -s one ]'
done
mpi 4 $still -shots shots.txt -shots_range 5:6 -floatfile f.bin
is "more ranks than shots" test "$(files 'f_*')" = "f_00005.bin f_00006.bin "
is "which are the same" cmp -s work/f_00006.bin all/f_00006.bin

# a sweep
turn="$scene -xds -seed 5 -osc 0.5 -phisteps 2 -images 5"
images="-noisefile n.img"
[ $hdf5 = 0 ] || images="$images -imagefile s.nxs"
inputs=shots.txt
run $turn $images
rm -rf sweep
cp -r work sweep
mpi 3 $turn $images
is "a sweep" test $code -eq 0
is "of the same images" sh -c 'for i in 1 2 3 4 5; do
    cmp -s work/n_0000$i.img sweep/n_0000$i.img || exit 1; done'
[ $hdf5 = 0 ] || is "and frames" same_frames work/s.nxs sweep/s.nxs

# without a seed all take that of rank 0
mpi 2 $scene -xds -shots shots.txt -noisefile n.img
seed=$(sed -n 's/.*-seed \([0-9]*\) makes.*/\1/p' err)
is "a seed from the clock is told once" test "$(grep -c 'noise seed' err)" -eq 1
mv work first
run $scene -xds -seed "$seed" -shots shots.txt -noisefile n.img
is "and is that of every rank" sh -c 'for i in 01 11; do
    cmp -s work/n_000$i.img first/n_000$i.img || exit 1; done'
rm -rf first

if [ $hdf5 = 1 ]; then
    mpi 2 $still -shots shots.txt -imagefile s.nxs -frames_per_file 4
    is "data files of 4 frames" test "$(files 's_data_*')" = \
        "s_data_00001.nxs s_data_00005.nxs s_data_00006.nxs s_data_00010.nxs "
    is "and the same frames" same_frames work/s.nxs all/s.nxs
    # with files that are there, only what is missing is made, by any number of ranks
    rm work/s.nxs work/s_data_00005.nxs work/s_data_00010.nxs
    touch -d 2020-01-01 work/s_data_*
    again 3 $still -shots shots.txt -imagefile s.nxs -frames_per_file 4 -resume
    is "-resume" test $code -eq 0
    is "makes 3 shots" test "$(grep -c '^shot' out)" -eq 3
    is "beside the others" test "$(find work -name 's_data*' ! -newermt 2021-01-01 | wc -l)" -eq 2
    is "and the same frames" same_frames work/s.nxs all/s.nxs
fi

# A rank is killed at work: the finished files stay whole, and -resume makes the rest.
awk 'BEGIN { print "misset_x"; for (i = 0; i < 400; i++) print i / 100 }' > many.txt
inputs=many.txt
slow="-cell 30 40 50 -default_F 10 -N 4 -detpixels 200 -pixel 0.4 -strategy reference -threads 1 -seed 3"
to="-floatfile f.bin"
[ $hdf5 = 0 ] || to="$to -imagefile s.nxs -frames_per_file 10"
export shared slow to
rm -rf work
mkdir work
cp many.txt work
(cd work && exec timeout 300 mpirun -n 4 sh -c '
    [ "${OMPI_COMM_WORLD_RANK:-}" != 2 ] || echo $$ > ../pid
    exec "$shared" $slow -shots many.txt $to -quiet' > ../out 2> ../err) &
child=$!
tries=0
awaited=work/f_00215.bin
while [ ! -e $awaited ] && [ $tries -lt 1000 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
if [ -s pid ]; then
    kill -KILL "$(cat pid)"
    wait $child
    is "a killed rank ends the run" test $? -ne 0
    finished=$(files 'f_*' | wc -w)
    is "in the middle of it" test "$finished" -lt 400
    is "images are whole" test \
        "$(find work -name 'f_*.bin' ! -size $((200 * 200 * 4))c | wc -l)" -eq 0
    is "and there is no master" test ! -e work/s.nxs
    if [ $hdf5 = 1 ] && [ -n "$python" ]; then
        is "data files can be read" $python -c "
import glob, h5py
counts = [len(h5py.File(name, 'r')['entry/data/data'][()]) for name in glob.glob('work/s_data*')]
print('# frames of the finished data files', counts)
assert len(counts) >= 4 and max(counts) == 10 and sum(counts) <= $finished"
    fi
    again 2 $slow -shots many.txt $to -resume
    is "-resume" test $code -eq 0
    is "makes what is missing" test "$(grep -c '^shot' out)" -lt 390
    is "all images" test "$(files 'f_*' | wc -w)" -eq 400
    for i in 1 216 400; do
        misset=$(sed -n "$((i + 1))p" many.txt)
        "$program" $slow -param misset_x="$misset" -floatfile one.bin -quiet 2> none
        is "image $i is that of its row" cmp -s one.bin "work/f_$(printf %05d $i).bin"
    done
    if [ $hdf5 = 1 ] && [ -n "$python" ]; then
        (cd work && "$program" $slow -shots many.txt -imagefile whole.nxs -quiet 2> ../none)
        is "and the same frames" same_frames work/s.nxs work/whole.nxs
    fi
else
    kill "$child"
    wait $child
    echo "ok - # skip a killed rank: the launcher does not tell ranks by OMPI_COMM_WORLD_RANK"
fi

# ---- refused, once ----
inputs=shots.txt
wrong() # PATTERN ARGUMENTS...
{
    pattern=$1
    shift
    mpi 3 "$@"
    [ "$code" -eq 2 ] && [ "$(grep -c 'nanobrag: ' errors)" -eq 1 ] && grep -q -e "$pattern" errors
    refused=$?
    report $refused "refuses: $*"
    [ $refused -eq 0 ] || { echo "# status $code"; sed 's/^/# /' err; }
}
wrong 'absent.txt: cannot' $still -shots absent.txt -floatfile f.bin
wrong 'several processes needs -shots or -images' $still -floatfile f.bin
wrong '-gradient exclude each other: processes share out images only' $still -osc 1 -images 2 -gradient misset -gradfile g
wrong '-explain exclude each other: processes share out images only' $still -osc 1 -images 2 -explain
wrong 'the library shares out a fit (nb_fit_mpi)' $still -data f.bin -fit misset_x
# what is wrong at one rank ends all, and it says so
rm -rf work
mkdir -p work/other
cp shots.txt work
export still
(cd work && timeout 300 mpirun -n 3 sh -c '[ "$OMPI_COMM_WORLD_RANK" != 1 ] || cd other
    exec "$shared" $still -shots shots.txt -floatfile f.bin' > ../out 2> ../err)
is "one rank fails" test $? -ne 0
is "and says why" grep -q 'nanobrag: rank 1: shots.txt: cannot' err
is "no image is made" test "$(find work -name 'f_*' | wc -l)" -eq 0
mpi 2 -version
is "-version is told once" test "$(grep -c '^nanobrag' out)$code" = 10

# the program that knows nothing of the others says so
rm -rf work
mkdir work
cp shots.txt work
(cd work && mpirun -n 2 "$program" $still -shots shots.txt -floatfile f.bin > ../out 2> ../err)
is "nanobrag warns of others" grep -q 'one of 2 processes that all make every image' err
finish
