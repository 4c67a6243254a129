#!/bin/sh
# outputs.sh PROGRAM DATA - which files are written, their names, what lies in them.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"

# only what was asked for
run $scene -floatfile f.bin
is "one file" test "$(cat listing)" = f.bin
is "of 4-byte floats" test "$(wc -c < work/f.bin)" -eq $((24 * 24 * 4))
run $scene -noise -pgmscale 1
is "unnamed images get numbers" test "$(tr '\n' ' ' < listing)" \
    = "image_00001.pgm noise_00001.img "
run $scene -noisefile n.img -nonoise -pgmfile p.pgm -nopgm -floatfile f.bin
is "-nonoise and -nopgm after" test "$(cat listing)" = f.bin
run $scene -explain -floatfile f.bin -json j
is "-explain writes nothing" test ! -s listing
is "-explain tells" grep -q 'XDS ORGX' out
run $scene -explain -strategy reference
is "and which loop would run" grep -q '^  pixel loop  *reference in double, kernel reference, ' \
    out
is "and why" grep -q '^  why reference  *asked for$' out
run $scene -explain -precision float -tolerance 2e-5 -detpixels 40
is "in float too" grep -q '^  pixel loop  *lanes in float, kernel [a-z0-9]*, ' out
is "to which tolerance" grep -q '^  tolerance  *2e-05 of the peak; rounding error about [0-9.e-]*$' \
    out
is "in how many tiles" grep -q '^  groups of pixels  *10, of which [0-9]* are divided and [0-9]* computed in' \
    out
run $scene -explain -gauss_xtal -strategy spots
is "spots as well" grep -q '^  pixel loop  *spots in double, kernel [a-z0-9]*, ' out
is "whose sum is not visited" grep -q '^  *in the whole sum; the strategy spots computes only samples near' out
run $scene -explain -gauss_xtal -strategy spots -precision float
is "and which have no tiles" sh -c '! grep -q "^  tiles " out'
run $scene -explain -precision float -tolerance 1e-12
is "float that would pass the tolerance is double" \
    grep -q '^  pixel loop  *lanes in double (float would exceed -tolerance), kernel ' out
run $scene -N 10 -explain -gauss_xtal
is "no tolerance decides against spots" grep -q '^  pixel loop  *spots ' out
run $scene -N 10 -explain -gauss_xtal -tolerance 1e-300
is "but a small one does" grep -q '^  pixel loop  *lanes ' out
is "and is named as the reason" grep -q '^  why lanes .*at this tolerance' out
is "and not told to have no effect" sh -c '! grep -q "no effect" err'
run $scene -printout_pixel 3 4
is "-printout_pixel needs no file" grep -q '^   3    4 : stol' out
run $scene -floatfile f.bin -quiet
is "-quiet is quiet" test ! -s out -a ! -s err

# -double is the unrounded -float, threads and pixel loops change nothing
run $scene -floatfile f.bin -doublefile d.bin -threads 1
cp work/f.bin work/d.bin .
run $scene -floatfile f.bin -doublefile d.bin -threads 3
is "threads change nothing" cmp -s d.bin work/d.bin

# threads: -threads, then NANOBRAG_THREADS, then OMP_NUM_THREADS
threads()
{
    sed -n 's/^  pixel loop .*, at most \([0-9]*\) threads\{0,1\}$/\1/p' out
}
if "$program" -version | grep -q openmp; then
    OMP_NUM_THREADS=3
    export OMP_NUM_THREADS
    run $scene -explain
    is "OMP_NUM_THREADS" test "$(threads)" = 3
    NANOBRAG_THREADS=5
    export NANOBRAG_THREADS
    run $scene -explain
    is "NANOBRAG_THREADS over it" test "$(threads)" = 5
    run $scene -explain -threads 7
    is "-threads over both" test "$(threads)" = 7
    NANOBRAG_THREADS=100000
    run $scene -floatfile f.bin
    is "a count of 100000 is not taken" test "$code" -eq 0
    is "with a warning" grep -q 'warning: NANOBRAG_THREADS=100000 ' err
    unset NANOBRAG_THREADS
    OMP_NUM_THREADS=100000
    run $scene -explain
    is "from OMP_NUM_THREADS neither" test "$(threads)" = 1024
    unset OMP_NUM_THREADS
fi

# noise: a seed makes it again, another one does not
run $scene -noisefile n.img -seed 5
cp work/n.img n5.img
run $scene -noisefile n.img -seed 5
is "the same seed, the same noise" cmp -s n5.img work/n.img
run $scene -noisefile n.img -seed 6
is "another seed, other noise" sh -c '! cmp -s n5.img work/n.img'
run $scene -noisefile n1.img
seed=$(sed -n 's/.*-seed \([0-9]*\) makes.*/\1/p' err)
cp work/n1.img clock.img
run $scene -noisefile n1.img -seed "$seed"
is "the clock's seed is told" cmp -s clock.img work/n1.img

# the dump: written with -hkl, read without, the same image
inputs=$data/golden/p1.hkl
small="-cell 30 40 50 -N 3 -detpixels 24 -pixel 1"
run $small -hkl p1.hkl -dump d.bin -floatfile f.bin
cp work/f.bin f1.bin
cp work/d.bin d.bin
inputs="$place/d.bin"
run $small -dump d.bin -floatfile f.bin
is "the dump gives the same image" cmp -s f1.bin work/f.bin

# a list read the quick way, and one whose numbers all need a closer look
awk '!/^#/ && NF == 4 { printf "%.1f %d.0e0\t%+d %.17e\n", $1, $2, $3, $4 }' \
    "$data/golden/p1.hkl" > spelt.hkl
is "the other list has as many lines" test "$(wc -l < spelt.hkl)" \
    -eq "$(grep -c '^ *[-0-9]' "$data/golden/p1.hkl")"
inputs="$place/spelt.hkl"
run $small -hkl spelt.hkl -floatfile f.bin
is "and gives the same image" cmp -s f1.bin work/f.bin
inputs=

# SMV headers
header()
{
    head -c 512 work/i.img | tr -d '\f' | sed -n "s/^$1=\(.*\);\$/\1/p"
}
run $scene -detpixels 100 -pixel 0.1 -Xbeam 4 -Ybeam 6 -intfile i.img -adc 10
is "pedestal" test "$(header ADC_OFFSET)" = 10
# MOSFLM: Fb = Ybeam + p/2, Sb = Xbeam + p/2
is "BEAM_CENTER_X is Fb - p" test "$(header BEAM_CENTER_X)" = 5.95
is "BEAM_CENTER_Y is size - (Sb - p)" test "$(header BEAM_CENTER_Y)" = 6.05
is "header of 512 bytes" test "$(wc -c < work/i.img)" -eq $((512 + 100 * 100 * 2))

# -json
if command -v python3 > /dev/null && "$program" $scene -explain > /dev/null; then
    run $scene -noisefile n_1.img -seed 3 -json j.json -osc 1 -phisteps 2
    if grep -q 'lacks cJSON' err; then
        echo "ok - # skip -json: this build lacks cJSON"
    else
        is "-json is valid and exact" python3 -c '
import json
j = json.load(open("work/j.json"))
assert j["crystal"]["ncells"] == [4, 4, 4]
assert abs(j["crystal"]["cell"][1] - 40) < 1e-12
assert j["scan"]["steps"] == 2 and j["scan"]["osc_degree"] == 1
assert j["seeds"]["noise"] == 3
assert j["images"][0]["files"] == ["n_1.img"]
assert j["images"][0]["statistics"]["pixels"] == 576
assert len(j["detector"]["origin_mm"]) == 3
assert j["detector"]["absorption_per_m"] is None
assert any("middle" in d["here"] for d in j["differences"])
assert all("other than" not in n for n in j["notes"])
'
        run $scene -floatfile f -precision float -tolerance 1e-4 -json j.json
        is "-json tells how the pixels were computed" python3 -c '
import json
s = json.load(open("work/j.json"))["sampling"]
assert s["strategy"] == "lanes" and s["strategy_why"] and s["kernel"]
assert s["precision"] == s["precision_asked"] == "float" and s["tolerance"] == 1e-4
assert 0 < s["rounding"] <= 1e-4
assert s["tiles"] == 3 and 0 <= s["tiles_in_double"] <= s["tiles_divided"] <= 3
'
        run $scene -floatfile f -precision float -tolerance 1e-12 -json -
        is "-json - writes to stdout, what runs and what was asked for" python3 -c '
import json
s = json.load(open("out"))["sampling"]
assert s["precision"] == "double" and s["precision_asked"] == "float"
assert s["tiles_in_double"] == s["tiles"]
'
        is "and makes no file" test "$(cat listing)" = f
        is "and leaves the notes on stderr" grep -q 'has no effect' err
        run $scene -json -
        is "-json - alone is enough" python3 -c 'import json; json.load(open("out"))'
        is "without a file" test ! -s listing
    fi
fi

# the report: about ten lines by default, nanoBragg's with -verbose, only the seed with -quiet
run $scene -water 0.1 -noisefile n.img -json j.json -images 2 -osc 0.1
is "at most twelve lines" test "$(wc -l < out)" -le 12
is "about crystal, beam, detector, scan, sampling, run, images, files" sh -c '
    for word in crystal beam detector scan sampling run "image 1" "image 2" files; do
        grep -q "^$word " out || exit 1
    done'
is "and one note about nanoBragg" test "$(grep -c "nanoBragg" err)" -eq 1
run $scene -water 0.1 -noisefile n.img -verbose
is "-verbose has the words of nanoBragg" grep -q '^max_I = ' out
is "and each difference" test "$(grep -c '; -compat nanobragg)' err)" -ge 2
run $scene -noisefile n_1.img -fluence 1e35 -quiet
is "-quiet prints nothing on stdout" test ! -s out
is "but the seed" grep -q 'noise seed from the clock: -seed [0-9]* makes' err
is "and which image is saturated" grep -q 'saturated at 65535 counts: n_1.img$' err
finish
