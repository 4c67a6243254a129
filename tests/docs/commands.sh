#!/bin/sh
# commands.sh PROGRAM SOURCE - runs the ```sh blocks of README.md and docs/*.md, each
# document in an empty directory that holds only examples/. The two commands that install
# and build are not run but must name scripts that exist. SPDX-License-Identifier: MIT
. "$(dirname "$0")/../cli/lib.sh"
source=$data
drop=
prepare=: # what makes the files that a document takes for granted

# run_blocks DOCUMENT FILE...: its commands succeed without a warning and leave these files
run_blocks()
{
    document=$1
    shift
    rm -rf work
    mkdir work
    ln -s "$source/examples" work/examples
    (cd work && $prepare)
    sed -n '/^```sh$/,/^```$/p' "$source/$document" | grep -v '^```' > commands
    is "$document has commands" test -s commands
    for script in $(sed -n 's/^sh \(scripts[^ ]*\).*/\1/p' commands); do
        is "$document: $script is a script" sh -n "$source/$script"
    done
    grep -v '^sh scripts/' commands | sed "s#^nanobrag#'$program'#$drop" > commands.sh
    (cd work && sh -e ../commands.sh > ../out 2> ../err)
    status=$?
    is "$document: its commands run" test $status -eq 0
    is "$document: without a warning" sh -c '! grep warning: err'
    rm work/examples
    is "$document: they write $*" test \
        "$(cd work && find . -type f | sed 's#^./##' | LC_ALL=C sort | paste -s -d ' ' -)" = "$*"
}

has_gradient()
{
    grep '"distance"' "work/$1gradient.json" | grep -q '"gradient": -*[0-9.]*[1-9]'
}

# what this build lacks is left out of the command lines
picture=demo/image.png
"$program" -version > version
grep -q fftw version || drop="$drop;s/ -psf gauss -psf_fwhm [0-9.]*//"
cell="-cell 53.91 23.10 23.10 90 110.4 90"
grep -q gemmi version \
    || drop="$drop;s# -pdb examples/data/2erl.pdb# -hkl examples/data/2erl_p1.hkl $cell#"
grep -q png version || { drop="$drop;s# -pngfile demo/image.png##"; picture=; }
fitted() # within five errors
{
    grep -A 2 '"misset_x"' work/demo/fit.json | sed 's/.*://; s/,//' | awk '
        NR == 2 { value = $1 } NR == 3 { off = (value - 10) / $1 }
        END { exit !(NR == 3 && off * off < 25) }'
}
if grep -q lapack version && grep -q cjson version; then
    prepare='mkdir demo' # as scripts/demo.sh does
    run_blocks README.md demo/fit.json demo/gradient.json demo/image.bin $picture \
        demo/image_00001.img demo/observed_001.img
    prepare=:
    is "a gradient that is not 0" has_gradient demo/
    is "512 x 512 photons" test "$(wc -c < work/demo/image.bin)" -eq $((512 * 512 * 4))
    is "an orientation within its error" fitted
else
    echo "ok - # skip README.md: this build lacks LAPACK or cJSON"
fi
run_blocks docs/derivatives.md columns.bin gradient.json image.bin
is "four columns" test "$(wc -c < work/columns.bin)" -eq $((4 * 128 * 128 * 8))
is "a gradient that is not 0" has_gradient
is "columns that are not 0" test "$(tr -d '\000' < work/columns.bin | wc -c)" -gt 100000

# data of a fit have noise, so that the model describes them
if grep -q lapack version && grep -q gemmi version; then
    rm -rf work
    mkdir work
    ln -s "$source/examples" work/examples
    sed -n '/^### A detector of panels/,/^## /p' "$source/docs/fitting.md" \
        | sed -n '/^```sh$/,/^```$/p' | grep -v '^```' | sed "s#^nanobrag#'$program'#" > commands.sh
    (cd work && sh -e ../commands.sh > ../out 2> ../err)
    status=$?
    is "docs/fitting.md: panels are fitted" test $status -eq 0 -a -s work/fitted.geom
    is "and the model describes the data" sh -c '! grep "where 1 is expected" err'
    sed -n '/^### Several lattices/,/^### /p' "$source/docs/fitting.md" \
        | sed -n '/^```sh$/,/^```$/p' | grep -v '^```' | sed "s#^nanobrag#'$program'#" > commands.sh
    (cd work && sh -e ../commands.sh > ../out 2> ../err)
    is "docs/fitting.md: two lattices are found" grep -q '^  lattice_misset_z' out
    is "and they describe the data" sh -c '! grep "where 1 is expected" err'
else
    echo "ok - # skip docs/fitting.md: this build lacks LAPACK or gemmi"
fi

# a model and an MTZ as they would be downloaded, with a crystal of the same cell
make_model()
{
    python3 - << 'END'
import gemmi
import numpy
structure = gemmi.Structure()
structure.cell = gemmi.UnitCell(53.91, 23.10, 23.10, 90, 110.4, 90)
structure.spacegroup_hm = "C 1 2 1"
residue = gemmi.Residue()
residue.name, residue.seqid = "ALA", gemmi.SeqId("1")
for i, (element, x, y, z) in enumerate([("C", 1, 2, 3), ("N", 2, 3, 3), ("S", 9, 7, 4)]):
    atom = gemmi.Atom()
    atom.name, atom.element, atom.b_iso = element + str(i), gemmi.Element(element), 12
    atom.pos = gemmi.Position(x, y, z)
    residue.add_atom(atom)
chain, model = gemmi.Chain("A"), gemmi.Model(1)
chain.add_residue(residue)
model.add_chain(chain)
structure.add_model(model)
structure.setup_cell_images()
structure.make_mmcif_document().write_file("2erl.cif")
mtz = gemmi.Mtz(with_base=True)
mtz.spacegroup, mtz.cell = gemmi.SpaceGroup("C 1 2 1"), structure.cell
mtz.add_dataset("calculated")
mtz.add_column("FC", "F")
mtz.set_data(numpy.array([[2, 0, 1, 100], [1, 1, 3, 50], [0, 2, 2, numpy.nan]], "f"))
mtz.write_to_file("model.mtz")
END
}

# what the lists hold: the model's against sums over atoms, the MTZ's by hand
check_lists()
{
    python3 - << 'END'
import gemmi
structure = gemmi.read_structure("work/2erl.cif")
calculator = gemmi.StructureFactorCalculatorX(structure.cell)
lines = [line.split() for line in open("work/2erl_p1.hkl")]
listed = {tuple(map(int, line[:3])): float(line[3]) for line in lines}
assert len(lines) == len(listed) > 16000
assert all(abs(listed[-h, -k, -l] - f) < 1e-3 for (h, k, l), f in listed.items())
sums = {hkl: abs(calculator.calculate_sf_from_model(structure[0], list(hkl)))
        for hkl in list(listed)[::37]}
worst = max(abs(listed[hkl] - f) for hkl, f in sums.items()) / max(sums.values())
print(f"ok - # the list against sums over atoms: {worst:.1e} of the largest, allowed 2e-4")
assert worst < 2e-4
assert open("work/fc_p1.hkl").read().split("\n") == [
    "-2 0 -1 100.0000", "-1 -1 -3 50.0000", "-1 1 -3 50.0000", "1 -1 3 50.0000",
    "1 1 3 50.0000", "2 0 1 100.0000", ""]
END
}

if grep -q gemmi version; then
    run_blocks docs/structure_factors.md 2erl.bin 2erl.mtz again.bin atoms.txt
    is "638 atoms" test "$(wc -l < work/atoms.txt)" -eq 638
    is "the image of its own MTZ" python3 -c "
import array
first, second = (array.array('f', open('work/' + name, 'rb').read())
                 for name in ('2erl.bin', 'again.bin'))
off = max(abs(a - b) for a, b in zip(first, second)) / max(first)
print(f'ok - # off by {off:.1e} of the peak, allowed 2e-6')
assert 0 < max(first) and off < 2e-6"
else
    echo "ok - # skip docs/structure_factors.md: this build has no gemmi"
fi
if python3 -c 'import gemmi, numpy' 2> none; then
    rm -rf work
    mkdir work
    (cd work && make_model && python3 "$source/examples/p1_list.py" 2erl.cif 1.5 > 2erl_p1.hkl \
        && python3 "$source/examples/p1_list.py" model.mtz FC > fc_p1.hkl) 2> err
    is "examples/p1_list.py: its lists are right" check_lists
else
    echo "ok - # skip examples/p1_list.py: this machine lacks gemmi for Python"
fi

pictures="sweep_00001.png sweep_00002.png sweep_00003.png"
grep -q png version || { drop="$drop;s/ -pngfile sweep.png//;s/-png_scale [^ ]*/-floatfile sweep.bin/"
    pictures="sweep_00001.bin sweep_00002.bin sweep_00003.bin"; }
run_blocks docs/recipes.md crystal.img mask.img masked.bin $pictures
# dark where the mask is, and there alone: the disc of 12 pixels around the beam holds 448
is "docs/recipes.md: the beamstop is masked" python3 -c "
import array
mask = array.array('H', open('work/mask.img', 'rb').read()[512:])
photons = array.array('f', open('work/masked.bin', 'rb').read())
hidden = [i for i, value in enumerate(mask) if value == 0]
disc = [i for i in hidden if (i % 512 - 256.5) ** 2 + (i // 512 - 256.5) ** 2 < 144]
assert disc == hidden and 440 < len(disc) < 460, (len(disc), len(hidden))
assert all(photons[i] == 0 for i in hidden) and max(photons) > 0"

if grep -q hdf5 version; then
    truths=
    ! grep -q cjson version || truths="frame_truth.expt sweep_truth.expt"
    # shellcheck disable=SC2046,SC2086 # one word a file
    run_blocks docs/formats.md $(printf '%s\n' frame_0001.cbf frame_0002.cbf frame_0003.cbf \
        sweep.nxs $truths | LC_ALL=C sort)
else
    echo "ok - # skip docs/formats.md: this build has no HDF5"
fi

# the experiment of the first sweep, as XDS would write it
make_xparm()
{
    cat > XPARM.XDS << 'X'
 XPARM.XDS    VERSION Jan 31, 2020  BUILT=20200131
     1         0.0000    0.5000  0.000000  0.000000  1.000000
       1.000000       1.000000       0.000000       0.000000
     5     53.9100     23.1000     23.1000  90.000 110.400  90.000
      50.528904       0.000000     -18.791343
       0.000000      23.100000       0.000000
       0.000000       0.000000      23.100000
         1       256       256    0.400000    0.400000
     128.500000     128.500000      90.000000
       0.000000       0.000000       1.000000
       0.000000      -1.000000       0.000000
       1.000000       0.000000       0.000000
         1         1       256         1       256
    0.00    0.00    0.00  1.00000  0.00000  0.00000  0.00000  1.00000  0.00000
X
}
if grep -q cjson version; then
    prepare=make_xparm
    run_blocks docs/dials.md XPARM.XDS again.bin fitted.csv fitted.expt found.expt integrated.refl predicted.refl split.expt split_001.img still_001.img sweep_001.cbf sweep_002.cbf sweep_003.cbf \
        sweep_truth.expt xds.bin
    prepare=:
    for image in again.bin xds.bin; do
        is "photons in $image" test "$(tr -d '\000' < work/$image | wc -c)" -gt 10000
    done
else
    echo "ok - # skip docs/dials.md: this build lacks cJSON"
fi

# shots, of which the two ways to a file and the sums are compared
if grep -q hdf5 version && grep -q cjson version; then
    shots="background.bin both.bin dark.bin lattices_0001.img low.bin panels.geom \
panels.nxs panels_truth.expt pulse.bin pulse.eV \
pulses.nxs pulses_truth.expt pumped_0001.img"
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        shots="$shots shot_$(printf %05d $i).img"
    done
    # shellcheck disable=SC2086 # one word a file
    run_blocks docs/xfel.md $shots shots.nxs shots.txt shots_truth.expt spectra.txt \
        wet_data_00001.nxs wet_truth.expt
    is "twenty shots, each with a spectrum" test "$(cat work/shots.txt work/spectra.txt | wc -l)" -eq 42
    is "twenty crystals" test "$(grep -c real_space_a work/shots_truth.expt)" -eq 20
else
    echo "ok - # skip docs/xfel.md: this build lacks HDF5 or cJSON"
fi

for document in "$source"/docs/*.md "$source"/docs/development/*.md; do
    case $document in
    */docs/derivatives.md | */docs/structure_factors.md | */docs/fitting.md \
        | */docs/recipes.md | */docs/formats.md | */docs/dials.md | */docs/xfel.md) continue ;;
    esac
    is "${document##*/} has no command that nobody runs" \
        sh -c "! grep -q '^\`\`\`sh' '$document'"
done
finish
