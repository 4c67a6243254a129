#!/bin/sh
# crystal_files.sh PROGRAM DATA - -pdb, -mtz and what goes with them: the images, the files,
# and every bad input. SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
pdb=$data/structures/1yjp.pdb
cell="-cell 21.937 4.866 23.477 90 107.08 90"
view="-N 4 -gauss_xtal -detpixels 32 -pixel 2 -distance 60 -lambda 1.2 -oversample 1"

if ! "$program" -version | grep -q gemmi; then
    refuses 2 'no gemmi.*build again' -pdb "$pdb" $view -floatfile f
    refuses 2 'no gemmi.*build again' -mtz "$pdb" $view -floatfile f
    echo "ok - # skip the rest: this build has no gemmi"
    finish
fi

# ---- the cell and the list come from the file ----
accepts 'F of .* reflections from .*1yjp.pdb (66 atoms)' -pdb "$pdb" $view -floatfile f.bin
cp work/f.bin model.bin
grep -q 'crystal    21.937 4.866 23.477 A, 90 107.08 90 degree' out
is "the cell of CRYST1" test $? -eq 0
is "no pixel lies outside of the list" sh -c '! grep -q "outside the list" err'
run -pdb "$pdb" $cell $view -floatfile f.bin
is "-cell that agrees changes nothing" cmp -s model.bin work/f.bin
run -pdb "$pdb" $view -anomalous off -floatfile f.bin
is "f' and f'' change the image" sh -c 'test -s work/f.bin && ! cmp -s model.bin work/f.bin'
cp work/f.bin plain.bin
run -pdb "$pdb" $view -anomalous C 0 0 -anomalous N 0 0 -anomalous O 0 0 -floatfile f.bin
is "f' and f'' that are 0 are none" near 1e-7 plain.bin work/f.bin
run -pdb "$pdb" $view -anomalous O -3 5 -floatfile f.bin
is "f' and f'' of oxygen" sh -c 'test -s work/f.bin && ! cmp -s model.bin work/f.bin'
run -pdb "$pdb" $view -dmin 4 -floatfile f.bin -json j
is "-dmin" test "$(od -A n -t f4 -N 4 work/f.bin | tr -d ' ')" = 0
if "$program" -version | grep -q fftw; then
    larger=$data/../../examples/data/2erl.pdb
    run -pdb "$larger" $view -dmin 4 -floatfile f.bin
    cp work/f.bin dry.bin
    run -pdb "$larger" $view -dmin 4 -solvent 0.35 46 -floatfile f.bin
    is "the bulk solvent changes the image" \
        sh -c 'test -s work/f.bin && ! cmp -s dry.bin work/f.bin'
else
    refuses 2 'no FFTW' -pdb "$pdb" $view -solvent 0.35 46 -floatfile f
fi
gzip -c "$pdb" > model.pdb.gz
run -pdb ../model.pdb.gz $view -floatfile f.bin
is "a compressed file" cmp -s model.bin work/f.bin
for threads in 1 3; do
    run -pdb "$pdb" $view -threads $threads -floatfile f.bin
    is "the same bits by $threads threads" cmp -s model.bin work/f.bin
done

# ---- -fmtz and -mtz ----
run -pdb "$pdb" $view -fmtz f.mtz -floatfile f.bin
is "-fmtz is said" grep -q 'files .*f.mtz' out
cp work/f.mtz apart.mtz
run -mtz ../apart.mtz $view -floatfile f.bin
is "the image of its own MTZ" near 2e-6 model.bin work/f.bin
cp work/f.bin by_default.bin
run -mtz '../apart.mtz:FC(+)' $view -floatfile f.bin
is "by its label" cmp -s by_default.bin work/f.bin
run -mtz ../apart.mtz $cell $view -fmtz again.mtz -dump d.bin -floatfile f.bin
is "-mtz writes -fmtz and -dump" test -s work/again.mtz -a -s work/d.bin
cp work/d.bin work/f.bin .
run -dump ../d.bin $cell $view -floatfile f.bin
is "-dump holds the same list" cmp -s f.bin work/f.bin
run -pdb "$pdb" $view -anomalous off -fmtz f.mtz -floatfile f.bin
cp work/f.mtz equal.mtz
printf -- '-10 0 0 1 1.9e-10\n-10 0 0 3 2.1e-10\n' > two.src
run -pdb "$pdb" $view -dmin 5 -sourcefile ../two.src -fmtz f.mtz -floatfile f.bin
cp work/f.mtz sources.mtz
run -pdb "$pdb" $view -dmin 5 -lambda 2.05 -fmtz f.mtz -floatfile f.bin
is "F of sources are those of their mean wavelength" cmp -s sources.mtz work/f.mtz
printf '1 2 3 4\n' > one.hkl
run -hkl ../one.hkl -cell 30 40 50 $view -fmtz f.mtz -floatfile f.bin
is "-fmtz of -hkl" test -s work/f.mtz
cat > absent.cif << 'CIF'
data_r
_cell.length_a 30
_cell.length_b 40
_cell.length_c 50
_cell.angle_alpha 90
_cell.angle_beta 90
_cell.angle_gamma 90
_symmetry.space_group_name_H-M "P 21 21 21"
loop_
_refln.index_h
_refln.index_k
_refln.index_l
_refln.F_meas_au
1 2 3 10
3 0 0 7
0 2 0 8
CIF
run -mtz ../absent.cif $view -fmtz f.mtz -floatfile f.bin
is "-fmtz says which F it leaves out" \
    grep -q 'f.mtz: reflections that the space group P 21 21 21 forbids are not written, .*: 1$' err
pair() # F -F: of a list of a pair, one with l below 0, says whether its columns are apart
{
    printf '0 2 -3 %s\n0 -2 3 %s\n1 1 1 9\n-1 -1 -1 9\n' "$1" "$2" > pair.hkl
    run -hkl ../pair.hkl -cell 30 40 50 $view -fmtz f.mtz -floatfile f.bin
    grep -a -c 'COLUMN F.*(-)' work/f.mtz
}
is "a pair of equal F is in one column" test "$(pair 5 5)" -eq 0
is "a pair of two F is apart" test "$(pair 5 5.1)" -gt 0
if command -v gemmi > /dev/null 2>&1; then
    gemmi mtz --dump apart.mtz > dump
    is "gemmi reads the group" grep -q '^Space Group: P 1 21 1' dump
    is "mates apart, with phases" test "$(awk '$1 ~ /^(PHI)?FC/ { print $1 $2 }' dump \
        | paste -s -d ' ' -)" = 'FC(+)G PHIFC(+)P FC(-)G PHIFC(-)P'
    gemmi mtz --dump equal.mtz > dump
    is "one column without f''" test "$(awk '$1 ~ /^(PHI)?FC/ { print $1 $2 }' dump \
        | paste -s -d ' ' -)" = 'FCF PHIFCP'
    # its own calculation of the same numbers, F and phase
    gemmi sfcalc --dmin=2 --compare=equal.mtz --f=FC --phi=PHIFC -w0 "$pdb" > dump 2>&1
    tr '\r' '\n' < dump | grep '^RMSE' | tail -n 1 | sed 's/^/# gemmi sfcalc: /'
    is "gemmi calculates the same F and phases, to its R of 2.7e-5" \
        grep -q 'R=0.00[0-9]%.*<dPhi>=0.000' dump
fi

# ---- gradients ----
run -pdb "$pdb" $view -atomgradfile atoms.txt -gradient distance -hklgradfile h.txt
is "66 atoms of six numbers and a name" test "$(awk 'NF >= 9 && $1 == NR' work/atoms.txt \
    | wc -l)" -eq 66
cp work/atoms.txt atoms.txt
# the photons of a model whose tenth atom was moved by 0.002 A along x, either way
photons()
{
    awk -v by="$1" '/^ATOM/ { n++ }
        n == 10 && /^ATOM/ { printf "%s%8.3f%s\n", substr($0, 1, 30), substr($0, 31, 8) + by,
            substr($0, 39); next }
        { print }' "$pdb" > moved.pdb
    (rm -rf moved && mkdir moved && cd moved \
        && "$program" -pdb ../moved.pdb $view -dmin 1.3 -doublefile d.bin > /dev/null)
    od -A n -v -t f8 -w8 moved/d.bin | awk '{ sum += $1 } END { printf "%.12g\n", sum }'
}
run -pdb "$pdb" $view -dmin 1.3 -atomgradfile atoms.txt
up=$(photons 0.002)
down=$(photons -0.002)
awk -v up="$up" -v down="$down" 'NR == 10 {
    slope = (up - down) / 0.004
    off = $2 / slope - 1
    print "# atom 10: " $2 " photons/A, by difference " slope
    exit !(off * off < 1e-6)
}' work/atoms.txt
is "-atomgradfile is the change with the model" test $? -eq 0

# ---- options that contradict each other ----
refuses 2 '-pdb and -hkl exclude each other: both give' -hkl one.hkl -pdb "$pdb" $view -floatfile f
refuses 2 '-mtz and -hkl exclude each other' -hkl one.hkl -mtz one.mtz $view -floatfile f
refuses 2 '-mtz and -pdb exclude each other' -mtz one.mtz -pdb "$pdb" $view -floatfile f
refuses 2 'differs by more than 0.1 % from -cell' -pdb "$pdb" -cell 21.9 4.866 23.477 90 107.08 90 \
    $view -floatfile f
refuses 2 'differs by more than 0.1 % from -cell' -mtz ../apart.mtz -cell 30 $view -floatfile f
refuses 2 '-atomgradfile needs -pdb' $scene -atomgradfile f
refuses 2 '-fmtz needs -pdb, .* a list' $scene -fmtz f -floatfile g
refuses 2 'name a file' -pdb "$pdb" $view -fmtz - -floatfile f
refuses 2 'would overwrite an image' -pdb "$pdb" $view -fmtz f -floatfile f
refuses 2 'is an input' -pdb ../model.pdb.gz $view -fmtz ../model.pdb.gz -floatfile f
refuses 2 'computed for one image' -pdb "$pdb" $view -images 2 -osc 1 -atomgradfile f
refuses 2 '-anomalous: missing value' -pdb "$pdb" $view -floatfile f -anomalous
refuses 2 "missing value (expected -anomalous on|off" -pdb "$pdb" $view -anomalous SE -8 \
    -floatfile f
refuses 2 'expected a number' -pdb "$pdb" $view -anomalous SE x 2 -floatfile f
refuses 2 'SELENIUM: expected on, off' -pdb "$pdb" $view -anomalous SELENIUM 1 2 -floatfile f
refuses 2 '-anomalous o is given twice' -pdb "$pdb" $view -anomalous O 1 2 -anomalous N 1 2 \
    -anomalous o 1 2 -floatfile f
refuses 2 "'QQ' is no element" -pdb "$pdb" $view -anomalous QQ 1 2 -floatfile f
refuses 2 'SE: the model has no such atom' -pdb "$pdb" $view -anomalous SE 1 2 -floatfile f
refuses 2 'must not be negative' -pdb "$pdb" $view -solvent -1 46 -floatfile f
refuses 2 'expected values such as 0.35 and 46' -pdb "$pdb" $view -solvent 99 46 -floatfile f
refuses 2 'raise dmin' -pdb "$pdb" $view -dmin 0.001 -floatfile f
refuses 2 'no reflection' -pdb "$pdb" $view -dmin 90 -floatfile f
accepts 'warning: -anomalous has no effect without -pdb' $scene -anomalous off -floatfile f
accepts 'warning: -solvent has no effect without -pdb' $scene -solvent 0.35 46 -floatfile f

# ---- bad models ----
bad() # PATTERN TEXT
{
    printf '%b' "$2" > bad.pdb
    refuses 2 "bad.pdb: .*$1" -pdb ../bad.pdb $view -floatfile f
}
atom='ATOM      1  CA  GLY A   7       1.000   2.000   3.000  1.00 20.00           C\n'
group='CRYST1   40.000   50.000   60.000  90.00  90.00  90.00 P 21 21 21\n'
bad 'no unit cell.*CRYST1' "$atom"
bad 'no unit cell' "CRYST1    1.000    1.000    1.000  90.00  90.00  90.00 P 1\n$atom"
bad 'no atoms' "$group"
bad 'no atoms' ''
bad 'no space group' "CRYST1   40.000   50.000   60.000  90.00  90.00  90.00\n$atom"
bad "space group 'P 2 X' is unknown" \
    "CRYST1   40.000   50.000   60.000  90.00  90.00  90.00 P 2 X\n$atom"
bad 'does not have the symmetry' \
    "CRYST1   40.000   50.000   60.000  90.00  90.00  90.00 P 41\n$atom"
bad 'unknown element' \
    "${group}ATOM      1  Q   GLY A   7       1.000   2.000   3.000  1.00 20.00           X\n"
bad 'expected -10 to 2000' \
    "${group}ATOM      1  CA  GLY A   7       1.000   2.000   3.000  1.00-20.00           C\n"
bad "line 2: '\*\*\*\*\*\*\*\*' is no coordinate" \
    "${group}ATOM      1  CA  GLY A   7    ********   2.000   3.000  1.00 20.00           C\n"
bad 'has an occupancy of -1; expected 0 to 1' \
    "${group}ATOM      1  CA  GLY A   7       1.000   2.000   3.000 -1.00 20.00           C\n"
bad "line 2: 'x.00  ' is no occupancy" \
    "${group}ATOM      1  CA  GLY A   7       1.000   2.000   3.000x.00   20.00           C\n"
printf '%b' "$group${atom}END\n${atom}END\n" > after.pdb
accepts 'warning: .*after.pdb: atoms after the record END are not read: 1 of them; remove END' \
    -pdb ../after.pdb $view -floatfile f
head -c 40000000 /dev/zero | tr '\0' ' ' | gzip > large.cif.gz
refuses 2 'large.cif.gz: the file of [0-9]* bytes expands to more than 16777216 bytes,.*gunzip' \
    -pdb ../large.cif.gz $view -floatfile f
yes '0 1 2 3 4 5 6 7' | head -n 8400000 | (printf 'data_x loop_ _x\n'; cat) > words.cif
refuses 2 'words.cif: an mmCIF of 67200003 words; expected at most 67108864' \
    -pdb ../words.cif $view -floatfile f
rm words.cif
grep -B 400 -m 20 "^ATOM" "$pdb" > cut.pdb
accepts 'warning: .*cut.pdb: the record END is missing' -pdb ../cut.pdb $view -floatfile f
head -c 20000 "$data/structures/1cbs.cif.gz" > cut.cif.gz
refuses 2 'cut.cif.gz: the gzip file is damaged or cut off' -pdb ../cut.cif.gz $view -floatfile f
refuses 2 'No such file' -pdb missing.pdb $view -floatfile f
sed 's/  1.00\( *[0-9.]*  *N\)/  0.00\1/' "$pdb" > empty.pdb
accepts 'warning: .*occupancy of 0, .*: 12 of 66' -pdb ../empty.pdb $view -floatfile f
printf '%bMODEL        1\n%bENDMDL\nMODEL        2\n%bENDMDL\n' "$group" "$atom" "$atom" > two.pdb
accepts 'warning: .*only the first of 2 models' -pdb ../two.pdb $view -floatfile f
printf 'CRYST1   40.000   50.000   60.000  90.00  90.00  90.00 P 21 21 21  4  9HPV 179\n%s\n' \
    'ATOM      1  CA  GLY A   7       1.000   2.000   3.000  1.00 20.00      9HPV 181' > old.pdb
accepts 'note: .*old file with text in columns 73-80' -pdb ../old.pdb $view -floatfile f

# ---- bad MTZ ----
mtz() # PATTERN FILE
{
    refuses 2 "$1" -mtz "$2" $view -floatfile f
}
mtz 'No such file' missing.mtz
mtz 'neither MTZ nor mmCIF' ../one.hkl
mtz 'no column FOBS; there are H K L FC(+)' ../apart.mtz:FOBS
mtz 'type P, which is no amplitude' ../equal.mtz:PHIFC
for type in D Q; do
    sed "s/COLUMN PHIFC                          P/COLUMN PHIFC                          $type/" \
        equal.mtz > other.mtz
    mtz "type $type, which is no amplitude" ../other.mtz:PHIFC
done
head -c 3000 equal.mtz > cut.mtz
mtz 'cut or damaged' ../cut.mtz
sed 's/COLUMN PHIFC                          P/COLUMN PHIFC                          F/' equal.mtz \
    > two.mtz
mtz 'several columns of amplitudes: FC PHIFC' ../two.mtz
sed 's/COLUMN PHIFC /COLUMN M\/ISYM/' equal.mtz > unmerged.mtz
mtz 'unmerged' ../unmerged.mtz
sed "s/'P 1 21 1'/'P 1 77 1'/" equal.mtz > group.mtz
mtz "space group 'P 1 77 1' is unknown" ../group.mtz
printf '%s\n' 'data_r' '_cell.length_a 40' '_cell.length_b 50' '_cell.length_c 60' \
    '_cell.angle_alpha 90' '_cell.angle_beta 90' '_cell.angle_gamma 90' \
    "_symmetry.space_group_name_H-M 'P 21 21 21'" 'loop_' '_refln.index_h' '_refln.index_k' \
    '_refln.index_l' '_refln.F_meas_au' '1 2 3 ?' > none.cif
mtz 'no value, all 1 are missing' ../none.cif
sed 's/?/12.5/' none.cif > one.cif
accepts 'F of 8 reflections from ../one.cif' -mtz ../one.cif $view -floatfile f
accepts 'F of 8 reflections from ../one.cif' -mtz ../one.cif:F_meas_au $view -floatfile f
sed 's/F_meas_au/F_squared_meas/' one.cif > squared.cif
accepts 'warning: .*F is the square root of the intensities in column F_squared_meas' \
    -mtz ../squared.cif $view -floatfile f
sed 's/12.5/-12.5/' one.cif > negative.cif
accepts 'warning: .*negative F in column F_meas_au: 1; the image uses F squared' \
    -mtz ../negative.cif $view -floatfile f
(cat one.cif && echo '-1 -2 3 13.5') > disagree.cif
refuses 2 'disagree.cif: F of 1 2 3 in row 1 is 12.5, but F of -1 -2 3 in row 2 is 13.5.*-merge' \
    -mtz ../disagree.cif $view -floatfile f
for merge in mean first last; do
    accepts "note: .*disagree.cif: reflections whose rows differ in F: 1; the $merge of the rows" \
        -mtz ../disagree.cif $view -merge $merge -floatfile f
done
refuses 2 'one reflection' -mtz ../disagree.cif $view -merge mates -floatfile f
refuses 2 'expected mean|first|last|mates' -mtz ../disagree.cif $view -merge all -floatfile f
accepts 'warning: -merge has no effect without -mtz' $scene -merge mean -floatfile f

# measured amplitudes of 1CBS, where a package has them
observed=/usr/share/doc/libpdb-redo-dev/examples/1cbs_map.mtz
if [ -r "$observed" ]; then
    accepts 'F of .* reflections' -mtz "$observed:FP" $view -floatfile f
    refuses 2 'several columns of amplitudes: FP FC' -mtz "$observed" $view -floatfile f
else
    echo "ok - # skip 1CBS: no $observed (package libpdb-redo-dev)"
fi
finish
