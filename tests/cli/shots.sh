#!/bin/sh
# shots.sh PROGRAM DATA - -shots, -shots_range, -spectra and -resume: an image of each row of
# a table. SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
still="$scene -xds -seed 5"

cat > shots.txt << 'T'
# rows of a table
rotation            fluence scale misset_x
 10 20 30           1e29    1     0
-40  5  0           2e29    1.5   3

  0  0 90           5e28    0.7  -1
 33 -7 21.5         1e29    2     0.5
T
inputs=shots.txt
cp shots.txt table.txt

# each image is that of its row
run $still -shots shots.txt -doublefile d.bin -noisefile n.img -floatfile f.bin
is "four shots" test $code -eq 0
is "in numbered files" test "$(tr '\n' ' ' < listing)" = "d_00001.bin d_00002.bin d_00003.bin \
d_00004.bin f_00001.bin f_00002.bin f_00003.bin f_00004.bin n_00001.img n_00002.img n_00003.img \
n_00004.img "
is "the report names them" grep -q '^shot  4 ' out
rm -rf all
cp -r work all
number=0
grep '^ *[-0-9]' shots.txt | while read -r x y z fluence scale misset; do
    number=$((number + 1))
    run $still -param rotation_x=$x -param rotation_y=$y -param rotation_z=$z \
        -param fluence=$fluence -param scale=$scale -param misset_x=$misset -doublefile d.bin
    is "shot $number has the bits of its row" cmp -s work/d.bin all/d_0000$number.bin
    echo "$failures" > failures
done
failures=$(cat failures)
run $still -shots shots.txt -doublefile d.bin -threads 3
is "threads change nothing" sh -c 'for i in 1 2 3 4; do cmp -s work/d_0000$i.bin all/d_0000$i.bin || exit 1; done'

# a range makes the same files, with the same noise
run $still -shots shots.txt -shots_range 2:3 -doublefile d.bin -noisefile n.img
is "a range" test "$(tr '\n' ' ' < listing)" = "d_00002.bin d_00003.bin n_00002.img n_00003.img "
for file in d_00002.bin n_00002.img n_00003.img; do
    is "$file is that of the whole table" cmp -s work/$file all/$file
done
is "headers state the shot" sh -c '! cmp -s all/n_00001.img all/n_00002.img'

# -resume makes what is missing
rm -rf work
cp -r all work
cp shots.txt work
touch -d 2020-01-01 work/*
rm work/d_00002.bin work/n_00004.img
(cd work && "$program" $still -shots shots.txt -doublefile d.bin -noisefile n.img \
    -floatfile f.bin -resume > ../out 2> ../err)
is "-resume" test $? -eq 0
is "makes two shots" test "$(grep -c '^shot' out)" -eq 2
is "and leaves the others" test "$(find work -newermt 2021-01-01 -name '*_0000[13]*' | wc -l)" -eq 0
for file in d_00002.bin n_00004.img f_00004.bin; do
    is "$file is made again" cmp -s work/$file all/$file
done
(cd work && "$program" $still -shots shots.txt -doublefile d.bin -noisefile n.img \
    -floatfile f.bin -resume > ../out 2> ../err)
is "and nothing is left to make" test "$(grep -c '^shot' out)" -eq 0

# an interrupt keeps what is finished, and -resume goes on
awk 'BEGIN { print "misset_x"; for (i = 0; i < 3000; i++) print i / 100 }' > many.txt
slow="-cell 30 40 50 -default_F 10 -N 4 -detpixels 200 -pixel 0.4 -strategy reference -threads 1"
stopped INT f_00002.bin $slow -shots ../many.txt -floatfile f.bin -quiet
is "tells what is kept" grep -q 'interrupted; [0-9]* of 3000 images finished; the run keeps' err
done=$(find work -name 'f_*.bin' | wc -l)
is "whole files" test "$(find work -name 'f_*.bin' -size -$((200 * 200 * 4))c | wc -l)" -eq 0
(cd work && "$program" $slow -shots ../many.txt -shots_range 1:$((done + 1)) -floatfile f.bin \
    -resume > ../out 2> ../err)
is "one more shot" test "$(grep -c '^shot' out)" -eq 1

# lists, and a spectrum for each shot
printf '9000 1\n9050 2\n9100 1\n' > s.eV
printf 'source_weight[*] misset_x\n1 2 1 0\n0 1 0 5\n' > lists.txt
printf '9000 9050 9100\n1 2 1\n0 1 0\n' > spectra.txt
printf 'misset_x\n0\n5\n' > two.txt
inputs="s.eV lists.txt spectra.txt two.txt"
run $still -spectrum s.eV -shots lists.txt -doublefile d.bin
is "a list has its columns" test $code -eq 0
cp work/d_00001.bin l_1.bin
cp work/d_00002.bin l_2.bin
run $still -spectrum s.eV -doublefile d.bin
is "the weights are those of the spectrum" cmp -s work/d.bin l_1.bin
run $still -shots two.txt -spectra spectra.txt -doublefile d.bin
is "-spectra" test $code -eq 0
is "are the same weights, first" cmp -s work/d_00001.bin l_1.bin
is "and second" cmp -s work/d_00002.bin l_2.bin
run $still -shots two.txt -spectra spectra.txt -shots_range 2:2 -doublefile d.bin
is "a range has its spectrum" cmp -s work/d_00002.bin l_2.bin
run $still -shots two.txt -spectra spectra.txt -spectrum_bins 2 -doublefile d.bin
is "-spectrum_bins are not those of -spectra" test $code -eq 2

# frames of one NXmx, with wavelength, spectrum and flux of each
if "$program" -version | grep -q hdf5; then
    printf 'misset_x fluence\n0 1e29\n5 2e29\n9 4e29\n' > pulses.txt
    printf '9000 9050 9100\n1 2 1\n0 1 0\n3 0 1\n' > three.txt
    inputs="pulses.txt three.txt"
    run $still -shots pulses.txt -spectra three.txt -imagefile s.nxs -nonoise -floatfile f.bin
    is "NXmx" test $code -eq 0
    python=
    for each in python3 /usr/bin/python3; do
        [ -z "$python" ] && $each -c 'import h5py, numpy' 2> none && python=$each
    done
    if [ -n "$python" ]; then
        is "frames, wavelengths, spectra and fluxes" $python -c "
import h5py, numpy
file = h5py.File('work/s.nxs', 'r')
data, beam = file['entry/data/data'][()], file['entry/instrument/beam']
for i in range(3):
    expected = numpy.fromfile('work/f_0000%d.bin' % (i + 1), '<f4').reshape(24, 24)
    assert (data[i] == expected).all() and expected.max() > 0, i
energies, weights = numpy.array([9000, 9050, 9100]), numpy.array([[1, 2, 1], [0, 1, 0], [3, 0, 1]])
waves = 12398.42 / energies[::-1]
weights = weights[:, ::-1] / weights.sum(axis=1, keepdims=True)
name = beam['incident_wavelength'].attrs['variant']
assert numpy.abs(beam[name][()] - waves).max() < 1e-12
assert numpy.abs(beam[name + '_weights'][()] - weights).max() < 1e-15
mean = weights @ waves
off = numpy.abs(beam['incident_wavelength'][()] - mean).max()
print('# wavelengths off by %.1e A, allowed 1e-12' % off)
assert off < 1e-12 and len(beam['incident_wavelength']) == 3
flux = beam['total_flux'][()]
assert numpy.allclose(flux / flux[0], [1, 2, 4], rtol=1e-14, atol=0), flux
assert file['entry/sample/depends_on'][()] == b'.'"
    else
        echo "ok - # skip the frames of NXmx: this machine lacks h5py for Python"
    fi
    # the truth has a crystal for each shot, and beams where they differ
    if "$program" -version | grep -q cjson; then
        is "the truth is written" test -s work/s_truth.expt
        is "a crystal for each shot" test "$(grep -c real_space_a work/s_truth.expt)" -eq 3
        is "and a beam" test "$(grep -c '"wavelength"' work/s_truth.expt)" -eq 3
        is "one detector" test "$(grep -c '"panels"' work/s_truth.expt)" -eq 1
        for i in 0 1 2; do
            misset=$(sed -n "$((i + 2))s/ .*//p" pulses.txt)
            cp work/s_truth.expt truth.expt
            inputs="pulses.txt three.txt truth.expt"
            (mkdir -p again && cd again && "$program" -expt ../truth.expt:$i -default_F 10 -N 4 \
                -doublefile t.bin -quiet 2> none && "$program" $still -misset "$misset" 0 0 \
                -lambda "$(sed -n "s/.*\"wavelength\":[^0-9]*\([0-9.e-]*\).*/\1/p" ../truth.expt \
                    | sed -n "$((i + 1))p")" -doublefile m.bin -quiet)
            is "experiment $i is the crystal of its shot" sh -c '(od -A n -v -t f8 -w8 again/t.bin
                echo end; od -A n -v -t f8 -w8 again/m.bin) | awk "
                /end/ { n = NR - 1; second = 1; next } !second { a[NR] = \$1; next }
                { d = \$1 - a[NR - n - 1]; if (d < 0) d = -d; if (d > most) most = d
                  if (\$1 > peak) peak = \$1 }
                END { print \"# off by \" most / peak \" of the peak, allowed 1e-9\"
                      exit !(peak > 0 && most <= 1e-9 * peak) }"'
        done
    fi
    # a range is a data file, and with -resume the last of them makes the master
    inputs=pulses.txt
    to="-shots pulses.txt -imagefile s.nxs"
    run $still $to
    cp work/s.nxs whole.nxs
    [ ! -e work/s_truth.expt ] || cp work/s_truth.expt whole.expt
    for range in 3:3 1:2; do
        run $still $to -shots_range $range
        is "a data file of rows $range" test "$(grep -v truth listing)" = "s_data_0000${range%:*}.nxs"
        is "it is named" grep -q "^files      s_data_0000${range%:*}.nxs" out
        [ ! -e whole.expt ] || is "the truth is that of all shots" cmp -s work/s_truth.expt whole.expt
        cp work/s_data* .
    done
    # resumed ARGUMENTS...: in the folder as it is
    resumed()
    {
        (cd work && "$program" $still $to -resume "$@" > ../out 2> ../err)
        code=$?
    }
    same_frames() # FILE VIRTUAL
    {
        [ -n "$python" ] || { echo "# skip: no h5py for Python"; return 0; }
        $python -c "
import h5py
found, whole = h5py.File('$1', 'r'), h5py.File('whole.nxs', 'r')
assert (found['entry/data/data'][()] == whole['entry/data/data'][()]).all()
assert found['entry/data/data'].is_virtual == $2
for name in ('incident_wavelength', 'total_flux'):
    assert (found['entry/instrument/beam/' + name][()]
            == whole['entry/instrument/beam/' + name][()]).all()"
    }
    cp s_data_00003.nxs work
    resumed
    is "the last frames are there" test $code -eq 0
    is "so that none is made" test "$(grep -c '^shot' out)" -eq 0
    is "but a master" same_frames work/s.nxs 1
    is "which is named" grep -q '^files      s.nxs' out
    rm work/s.nxs work/s_data_00001.nxs
    resumed -shots_range 2:3
    is "-resume makes one frame" test "$(grep -c '^shot' out)" -eq 1
    is "and no master yet" test ! -e work/s.nxs
    resumed -shots_range 1:1
    is "the last job makes the master" same_frames work/s.nxs 1
    is "of three files" test "$(ls work/s_data_* | wc -l)" -eq 3
    resumed -floatfile f.bin
    is "another output is made beside the frames" test \
        "$(grep -c '^shot' out)$(ls work/f_* | wc -l)" -eq 33
    is "which stay" same_frames work/s.nxs 1
    # a file within another is not read
    cp work/s_data_00003.nxs other.nxs
    rm work/s_data_0000[12].nxs
    run $still $to -shots_range 1:2
    cp other.nxs work/s_data_00002.nxs
    cp other.nxs work/s_data_00003.nxs
    resumed
    is "frames that are there twice are those of the earlier file" same_frames work/s.nxs 1

    # one file of all frames: complete, and then nothing is made; or the first data file
    run $still $to
    cp work/s.nxs whole.nxs
    resumed
    is "a complete file" test "$(grep -c '^shot' out)" -eq 0
    is "stays as it is" cmp -s work/s.nxs whole.nxs
    printf 'misset_x fluence\n0 1e29\n5 2e29\n' > two.txt
    inputs="pulses.txt two.txt"
    run $still -shots two.txt -imagefile s.nxs
    resumed
    is "a file of some frames" test "$(grep -c '^shot' out)" -eq 1
    is "is the first data file" same_frames work/s.nxs 1
    is "and another has the rest" test "$(ls work/s_data_* | tr '\n' ' ')" = \
        "work/s_data_00001.nxs work/s_data_00003.nxs "

    # an interrupt keeps the frames that are finished
    stopped INT m_00053.bin $slow -shots ../many.txt -imagefile m.nxs -floatfile m.bin \
        -frames_per_file 50 -quiet
    is "two data files, which it names" grep -q 'm_data_00001.nxs to m_data_00051.nxs' err
    made=$(find work -name 'm_0*.bin' | wc -l)
    (cd work && "$program" $slow -shots ../many.txt -shots_range 1:$((made + 1)) -imagefile m.nxs \
        -resume > ../out 2> ../err)
    is "one more frame" test "$(grep -c '^shot' out)" -eq 1
    # refused
    inputs="pulses.txt two.txt"
    refuses 2 '-frames_per_file needs an NXmx -imagefile' $still -shots two.txt -floatfile f.bin -frames_per_file 2
    refuses 2 'expected at least 1\|must be' $still -shots two.txt -imagefile s.nxs -frames_per_file 0
    run $still $to -shots_range 1:2
    echo damaged > work/s_data_00001.nxs
    resumed
    is "a damaged data file is refused" test $code -eq 1
    is "by its name" grep -q 's_data_00001.nxs: cannot read the frames' err
    run $still $to -shots_range 1:2
    mv work/s_data_00001.nxs work/s_data_00003.nxs
    resumed
    is "as is one of too many frames" test $code -eq 2
    is "by its name, too" grep -q 'the number of frames in s_data_00003.nxs is 2, from number 3 on' err
    run $still $to -shots_range 1:2
    (cd work && "$program" $still -detpixels 25 $to -resume > ../out 2> ../err)
    is "and one of another size" test $? -ne 0
    is "whose size is told" grep -q 's_data_00001.nxs: .* the width of the image is 24 in the file and 25' err
    is "without a master" test ! -e work/s.nxs
    # other MESSAGE ARGUMENTS...: of another scene, where nothing is made
    other()
    {
        message=$1
        shift
        cp work/s_data_00001.nxs before.nxs
        (cd work && "$program" $still "$@" -imagefile s.nxs -resume > ../out 2> ../err)
        code=$?
        is "refused, since $message" test $code -eq 2 -a "$(grep -c "s_data_00001.nxs: .*$message" err)" \
            -eq 1 -a "$(ls work/*.nxs)" = work/s_data_00001.nxs
        [ $code -eq 2 ] || sed 's/^/# /' err
        is "  and left as it is" cmp -s before.nxs work/s_data_00001.nxs
    }
    other 'cell_a is 30 in the file and 31 here' -shots pulses.txt -cell 31 40 50
    other 'the wavelength is' -shots pulses.txt -lambda 1.1
    other 'the fluence is' -shots pulses.txt -fluence 2e28
    other 'ncells_a is' -shots pulses.txt -N 5
    other 'the distance is' -shots pulses.txt -distance 110
    printf '1 0 0 10\n0 1 0 20\n' > my.hkl
    other 'default_f is\|structure factors differs' -shots pulses.txt -hkl ../my.hkl
    sed '3s/^[^ ]*/7.5/' pulses.txt > work/changed.txt
    other 'frame 2 was made with other parameters' -shots changed.txt
    printf 'misset_x\n0\n5\n' > two.txt
fi
# -resume of a sweep
inputs=
sweep="$scene -xds -osc 1 -images 4 -floatfile f.bin"
run $sweep
cp work/f_00003.bin f_3.bin
rm work/f_00003.bin
(cd work && "$program" $sweep -resume > ../out 2> ../err)
is "-resume of a sweep makes one image" test "$(grep -c '^image' out)" -eq 1
is "which is the same" cmp -s work/f_00003.bin f_3.bin
refuses 2 '-resume and -gradient exclude' $scene -osc 1 -images 2 -resume -gradient misset -gradfile g
if "$program" -version | grep -q cjson; then
    inputs="two.txt"
    run $still -shots two.txt -floatfile f.bin -json j
    is "-json numbers them" sh -c 'test "$(grep -c "\"shot\":" work/j)" -eq 2'
fi

# refused
printf 'misset_x foo\n0 1\n' > foo.txt
printf 'misset_x\n0 1\n' > wide.txt
printf 'misset_x misset_y\n0 1\n2\n' > short.txt
printf 'misset_x distance\n0 100\n0 -5\n' > outside.txt
printf 'misset_x\n' > none.txt
printf 'misset_x misset\n1 1 2 3\n' > twice.txt
printf 'misset_x osc\n1 1\n' > osc.txt
printf 'misset_x source_weight[*]\n1 1 2 3\n' > sources.txt
printf '9000 9050\n1 2\n' > fewer.txt
printf '9000 9050\n1 2\n0 0\n' > dark.txt
printf '9000 9050\n1 2\n1 -2\n' > negative.txt
printf '9000 keV\n1 2\n1 1\n' > word.txt
printf '9000 9050 9100\n1 2\n1 1\n' > energies.txt
cp s.eV one.src
inputs="foo.txt wide.txt short.txt outside.txt none.txt twice.txt osc.txt sources.txt fewer.txt
dark.txt negative.txt word.txt energies.txt two.txt s.eV one.src spectra.txt"
to="-floatfile f.bin"
refuses 2 'absent.txt: cannot' $still -shots absent.txt $to
refuses 2 'no parameter "foo"' $still -shots foo.txt $to
refuses 2 'wide.txt: the first line names 1 parameter, but each row has 2' $still -shots wide.txt $to
refuses 2 'short.txt, line 3: the row has 1 number, expected 2' $still -shots short.txt $to
refuses 2 'outside.txt, line 3: distance is -5, expected 1e-06 to 1e+09' $still -shots outside.txt $to
refuses 2 'none.txt: no row' $still -shots none.txt $to
refuses 2 'twice.txt: the first line names 3 parameters' $still -shots twice.txt $to
refuses 2 'parameter osc does not apply' $still -shots osc.txt $to
refuses 2 'parameter source_weight does not apply' $still -shots sources.txt $to
refuses 2 'the number of rows of weights in fewer.txt is 1, but the number of shots in two.txt is 2' \
    $still -shots two.txt -spectra fewer.txt $to
refuses 2 'dark.txt, line 3: the weights add up to 0' $still -shots two.txt -spectra dark.txt $to
refuses 2 'negative.txt, line 3: the weight is -2' $still -shots two.txt -spectra negative.txt $to
refuses 2 "word.txt: the first line holds 'keV'" $still -shots two.txt -spectra word.txt $to
refuses 2 'energies.txt: the number of energies in the first line is 3, but the number of weights in the next is 2' \
    $still -shots two.txt -spectra energies.txt $to
refuses 2 'both state the sources' $still -shots two.txt -spectra spectra.txt -spectrum s.eV $to
for range in 0:1 2:1 1:3 1 a:b 1:2x; do
    refuses 2 "-shots_range $range" $still -shots two.txt -shots_range $range $to
done
refuses 2 '-shots and -images exclude' $still -shots two.txt -images 3 $to
refuses 2 '-shots and -osc exclude' $still -shots two.txt -osc 1 $to
refuses 2 '-shots and -gradient exclude' $still -shots two.txt -gradient misset_x
refuses 2 '-boxes auto' $still -shots two.txt -boxes auto $to
refuses 2 '-shots_range needs -shots' $still -shots_range 1:2 $to
refuses 2 '-spectra needs -shots' $still -spectra spectra.txt $to
refuses 2 '-resume needs -shots or -images' $still -resume $to
refuses 2 'for images give -resume without a file' $still -shots two.txt -resume s.eV $to
refuses 2 'both set misset_x' $still -shots two.txt -param misset_x=3 $to
refuses 2 'is given twice' $still -shots two.txt -shots two.txt $to
refuses 2 'is an input' $still -shots two.txt -floatfile two.txt
finish
