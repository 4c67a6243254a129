#!/bin/sh
# sums.sh PROGRAM DATA - -add: images of files in those that are computed.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
pixels=$((24 * 24))

# sum ALLOWED A FACTOR B C: A + FACTOR B = C, raw 8-byte floats, to this fraction of the peak
sum()
{
    for file in "$2" "$4" "$5"; do od -A n -v -t f8 -w8 "$file"; echo end; done | awk \
        -v allowed="$1" -v factor="$3" '
        $1 == "end" { part++; n = 0; next }
        { at[part + 0, n++] = $1; pixels = n }
        END {
            for (i = 0; i < pixels; i++) {
                off = at[0, i] + factor * at[1, i] - at[2, i]
                if (off < 0) off = -off
                if (off > most) most = off
                if (at[2, i] > peak) peak = at[2, i]
            }
            print "# off by " most / peak " of the peak, allowed " allowed
            exit !(peak > 0 && most / peak <= allowed)
        }'
}

run $scene -misset 10 20 30 -doublefile one.bin -floatfile one.f4
cp work/one.bin work/one.f4 .
run $scene -misset 40 0 5 -doublefile two.bin
cp work/two.bin .
inputs="one.bin one.f4 two.bin"
run $scene -misset 40 0 5 -add one.bin 0.3 -doublefile s.bin
is "two states" test $code -eq 0
is "are a sum" sum 1e-15 two.bin 0.3 one.bin work/s.bin
cp work/s.bin .
run $scene -misset 40 0 5 -add one.f4 -0.25 -doublefile s.bin
is "4-byte floats, a negative factor" sum 1e-7 two.bin -0.25 one.bin work/s.bin
run $scene -misset 40 0 5 -add one.bin 0.3 -add two.bin 1 -doublefile s.bin
is "three terms" sum 1e-15 s.bin 1 two.bin work/s.bin
# noise is drawn for the sum: both ways to it give the same counts
run $scene -misset 40 0 5 -add one.bin 1 -seed 3 -noisefile n_001.img
tail -c +513 work/n_001.img > first.counts
run $scene -misset 10 20 30 -add two.bin 1 -seed 3 -noisefile n_001.img
tail -c +513 work/n_001.img > second.counts
is "noise is that of the sum" cmp -s first.counts second.counts
is "which has some" test "$(tr -d '\000(' < first.counts | wc -c)" -gt 100
run $scene -misset 10 20 30 -seed 3 -noisefile n_001.img
is "and is not that of one" sh -c 'tail -c +513 work/n_001.img | cmp -s - first.counts; test $? -eq 1'
run $scene -misset 40 0 5 -osc 0.5 -images 2 -doublefile d.bin
cp work/d_00002.bin .
run $scene -misset 40 0 5 -osc 0.5 -images 2 -add one.bin 0.3 -doublefile d.bin
is "each image of a sweep" sum 1e-15 d_00002.bin 0.3 one.bin work/d_00002.bin
run $scene -misset 40 0 5 -gradient misset_x -add one.bin 1 -gradfile g -quiet
cp work/g with
run $scene -misset 40 0 5 -gradient misset_x -gradfile g -quiet
is "a gradient does not change" sh -c "grep misset_x with > a; grep misset_x work/g > b; cmp a b"
is "the sum of the image does" sh -c "! grep weighted_sum work/g | cmp -s - with"

refuses 2 'absent.bin' $scene -add absent.bin 1 -floatfile f
head -c 100 one.bin > short.bin
inputs="one.bin short.bin"
refuses 2 '-add short.bin: expected raw floats of 4 or 8 bytes for 24 x 24 pixels' \
    $scene -add short.bin 1 -floatfile f
refuses 2 'expected a number' $scene -add one.bin half -floatfile f
refuses 2 'missing value (expected -add FILE factor)' $scene -floatfile f -add one.bin
refuses 2 'the file name is empty' $scene -add '' 1 -floatfile f
refuses 2 'is an input' $scene -add one.bin 1 -floatfile one.bin
# shellcheck disable=SC2046
refuses 2 'given 17 times; expected up to 16' $scene $(yes ' -add one.bin 1' | head -n 17) \
    -floatfile f
head -c $((8 * pixels)) /dev/zero | tr '\000' '\377' > nan.bin
inputs="one.bin nan.bin"
refuses 2 '-add nan.bin: pixel 0 .from 0. is no finite number' $scene -add nan.bin 1 -floatfile f
if "$program" -version | grep -q lapack; then
    refuses 2 '-fit and -add exclude each other' $scene -add one.bin 1 -fit scale -data one.f4
fi
finish
