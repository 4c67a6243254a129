#!/bin/sh
# imagefile.sh PROGRAM DATA - -imagefile: formats by ending, names, noise, compression,
# refusals, interruption. tests/dials/formats.sh reads the files with other programs.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"

names()
{
    tr '\n' ' ' < listing
}
sweep="$scene -osc 1 -phisteps 2 -images 3 -seed 1 -notruth"

# SMV is -noisefile, or without noise -intfile
run $scene -seed 1 -imagefile a_1.img -noisefile b_1.img
is "x.img is -noisefile" cmp -s work/a_1.img work/b_1.img
run $scene -nonoise -imagefile a_1.img -intfile b_1.img
is "-nonoise: x.img is -intfile" cmp -s work/a_1.img work/b_1.img
run $scene -noise -nonoise -imagefile a_1.img -intfile b_1.img
is "the last of -noise and -nonoise counts" cmp -s work/a_1.img work/b_1.img

# miniCBF is numbered, and its noise has the seed
run $sweep -imagefile x.cbf
is "x.cbf is numbered" test "$(names)" = "x_00001.cbf x_00002.cbf x_00003.cbf "
grep -a -v '^# 20' work/x_00002.cbf > second
run $sweep -imagefile x_0001.cbf
is "digits count on" test "$(names)" = "x_0001.cbf x_0002.cbf x_0003.cbf "
grep -a -v '^# 20' work/x_0002.cbf | sed 's/data_x_0002/data_x_00002/' > again
is "the same seed, the same image" cmp -s second again
run $scene -nonoise -scale 1000 -imagefile x_1.cbf
cp work/x_1.cbf scaled
run $scene -nonoise -imagefile x_1.cbf
is "-scale counts without noise" sh -c '! cmp -s scaled work/x_1.cbf'
accepts 'files *x_00001.cbf to x_00003.cbf' $sweep -imagefile x.cbf
accepts 'warning: -compression has no effect without an NXmx -imagefile' $scene -seed 1 -imagefile x_1.cbf \
    -compression none
accepts 'warning: -compression has no effect without an NXmx -imagefile' $scene -compression none \
    -floatfile f
accepts 'x.cbf holds no number' $scene -seed 1 -imagefile x.cbf
accepts 'seed from the clock' $scene -imagefile x_1.cbf

# refusals
refuses 2 'expected a name that ends in' $scene -imagefile x.tif
refuses 2 'expected a name that ends in' $scene -imagefile noending
refuses 2 'a tilted detector; write NXmx' $scene -detector_rotz 1 -detector_roty 2 \
    -imagefile x_1.cbf
refuses 2 'a curved detector' $scene -curved_det -imagefile x_1.cbf
refuses 2 'is stdout, .* name a file' $scene -imagefile -
refuses 2 'have the same name\|get the same names' $scene -imagefile a_1.img -noisefile a_1.img
refuses 2 'exclude each other' $scene -fit cell_a -data "$0" -imagefile x.nxs
refuses 1 'there is no directory' $scene -imagefile none/x.nxs

if ! "$program" -version | grep -q hdf5; then
    refuses 2 'lacks HDF5.*libhdf5-dev' $scene -imagefile x.nxs
    echo "ok - # skip the rest: this build has no HDF5"
    finish
fi

# NXmx is one file
run $sweep -imagefile x.nxs -json x.json
is "one file for all images" test "$(names)" = "x.json x.nxs "
is "it is HDF5" test "$(head -c 4 work/x.nxs | tail -c 3)" = HDF
accepts 'files *x.h5$' $sweep -imagefile x.h5
run $sweep -imagefile x.nxs -compression none
large=$(wc -c < work/x.nxs)
run $sweep -imagefile x.nxs
is "compression makes it smaller" test "$(wc -c < work/x.nxs)" -lt "$large"
accepts 'files *t.nxs' $scene -detector_rotz 1 -detector_roty 2 -seed 1 -imagefile t.nxs
refuses 2 'a curved detector' $scene -curved_det -imagefile x.nxs
mkfifo pipe.nxs
refuses 1 'cannot write HDF5 to a pipe' $scene -seed 1 -imagefile ../pipe.nxs
is "the pipe is still there" test -p pipe.nxs
HDF5_PLUGIN_PATH=$place refuses 2 'no filter for the compression lz4.*hdf5-filter-plugin' \
    $scene -imagefile x.nxs -compression lz4
run $scene -explain -imagefile x.nxs
is "-explain writes nothing" test "$code" -eq 0 -a ! -s listing

# a full disk: exit 1, one line, and nothing is left
rm -rf work
mkdir work
(cd work && trap '' XFSZ && ulimit -f 4 && exec "$program" $scene -detpixels 200 -seed 1 -quiet \
    -compression none -imagefile x.nxs > ../out 2> ../err)
code=$?
is "a full disk is an error" test $code -eq 1
is "which is told" grep -q 'x.nxs: cannot write: File too large' err
is "and nothing is left" test -z "$(ls -A work)"

# an interrupt: the file has the images that were finished
for signal in INT TERM; do
    interrupted $signal f_00003.bin -seed 1 -imagefile x.nxs -floatfile f.bin
    is "the file among it" grep -q 'the run keeps .*, x.nxs$' err
    is "no temporary file is left" test -z "$(find work -name '.*.tmp')"
    if "$program" -version | grep -q cjson; then
        done=$(sed -n 's/.*interrupted; \([0-9]*\) of.*/\1/p' err)
        is "the experiment has its $done images" \
            grep -q "image_range\":.*\[1, $done\]" work/x_truth.expt
    fi
    is "the file is complete" test "$(head -c 4 work/x.nxs | tail -c 3)" = HDF
    if python3 -c 'import h5py' 2> none || /usr/bin/python3 -c 'import h5py' 2> none; then
        python=python3
        python3 -c 'import h5py' 2> none || python=/usr/bin/python3
        done=$(sed -n 's/.*interrupted; \([0-9]*\) of.*/\1/p' err)
        frames=$($python -c 'import h5py
file = h5py.File("work/x.nxs", "r")
print(len(file["entry/data/data"]), len(file["entry/sample/transformations/omega"]))')
        is "it has $frames of $done images" test "$frames" = "$done $done"
    else
        echo "ok - # skip the number of images: this machine has no h5py"
    fi
done
finish
