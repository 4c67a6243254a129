#!/bin/sh
# mutation.sh [--of PART] [--sample N] [--seed S] [--folder F] [--fresh] [--table] - are
# wrong derivatives noticed? Copies the tree to a build folder, puts a factor on every
# product and term of the derivative code there, and lets nb_gradcheck() judge the code with
# one of the factors 0, -1, 1.1, 1.01, 1 + 1e-4, 1 + 1e-6, 1 + 1e-8 at a time. Ends with the
# tables of reports/2026-11-22-mutation.md.
#
# --of: physics (grad/ and physics/, judged by the reference kernel), lanes or spots (the
# adjoints in kernels/, judged by themselves, and by nb_jtj() and nb_loss() too); without it
# one after the other. All code but that of the part is as it stands. The library is built
# for the instruction set scalar and in double alone.
# --sample N --seed S: N mutants of the part drawn at random; without it all (hours).
# What was judged before in the folder is not judged again, unless --fresh; --table only
# prints what there is.
# For developers: needs python3 and cmake. SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/../.."

sample=0 seed=1 top=build/mutation fresh='' table='' parts='physics lanes spots'
while [ $# -gt 0 ]; do
    case $1 in
    --of) parts=$2; shift ;;
    --sample) sample=$2; shift ;;
    --seed) seed=$2; shift ;;
    --folder) top=$2; shift ;;
    --fresh) fresh=1 ;;
    --table) table=1 ;;
    *) echo "mutation: unknown option $1" >&2; exit 2 ;;
    esac
    shift
done

# what the pixel loops are compiled for: one set, in double; the others' names stand for it
one_set='s/\(set(nanobrag_isa_sets scalar\).*/\1)/
         s/foreach(precision double single)/foreach(precision double)/
         s/:-O3>/:-O1>/'
names=
for kind in lanes splat lanes_vjp splat_vjp; do
    for set in scalar v2 v3 v4 base; do
        for precision in double single; do
            [ $set$precision = scalardouble ] \
                || names="$names -Wl,--defsym=${kind}_${set}_$precision=${kind}_scalar_double"
        done
    done
done

judge()
{
    [ -f include/nanobrag/gradcheck.h ] || { echo "mutation: no nb_gradcheck() here" >&2; exit 1; }

    mkdir -p "$folder"
    # the tree decides the sites: a change of it starts anew
    sum=$(find src include tests/mutation tests/oracle -type f | sort | xargs cat | cksum)
    if [ -n "$fresh" ] || [ "$sum" != "$(cat "$folder/sum" 2> /dev/null)" ]; then
        rm -rf "$tree" "$folder/results.txt"
        skip=
        # sites whose text is no number do not compile; they are left out, line by line
        # shellcheck disable=SC2034
        for round in 1 2 3 4 5 6; do
            rm -rf "$tree"
            mkdir -p "$tree"
            cp -R CMakeLists.txt cmake src include "$tree"
            sed "$one_set" cmake/isa.cmake > "$tree/cmake/isa.cmake"
            # shellcheck disable=SC2086
            python3 tests/mutation/sites.py "$tree" "$part" $skip > "$folder/sites.log"
            for unit in "$tree"/src/nanobrag/grad/*.c "$tree"/src/nanobrag/kernels/*.c "$tree"/src/nanobrag/kernels/derivatives/*.c "$tree"/src/nanobrag/kernels/spots/*.c "$tree"/src/nanobrag/kernels/spots/rows/*.c "$tree"/src/nanobrag/kernels/lanes/*.c; do
                ${CC:-cc} -std=c11 -D_XOPEN_SOURCE=700 -I"$tree/include" -I"$tree/src/nanobrag" \
                    -DKERNEL_ISA='""' -DKERNELS=check -DKERNELS_IN_DOUBLE=check \
                    -fsyntax-only "$unit" 2>&1 || true
            done | sed -n 's/.*src\/nanobrag\/\([a-z_\/.]*:[0-9]*\):[0-9]*: error.*/\1/p' \
                | sort -u > "$folder/refused.txt"
            [ -s "$folder/refused.txt" ] || break
            skip="$skip $(tr '\n' ' ' < "$folder/refused.txt")"
        done
        cat "$folder/sites.log"
        [ ! -s "$folder/refused.txt" ] || { echo "mutation: the copy does not compile" >&2; exit 1; }
        cmake -S "$tree" -B "$tree/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
            -DCMAKE_C_FLAGS_RELEASE=-O1 -DNANOBRAG_BUILD_TESTS=OFF -DNANOBRAG_FFTW=OFF \
            -DNANOBRAG_PNG=OFF -DNANOBRAG_CUDA=OFF > "$folder/cmake.log"
        nice cmake --build "$tree/build" --target nanobrag_internal > "$folder/build.log" \
            || { tail -20 "$folder/build.log"; exit 1; }
        echo "$sum" > "$folder/sum"
    fi
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c11 -O1 -fopenmp -I"$tree/include" -Itests tests/mutation/judge.c \
        tests/mutation/normal.c tests/support/scenes.c tests/support/renders.c \
        tests/support/tap.c tests/support/worst.c \
        "$tree/build/src/libnanobrag_internal.a" -lm $names -o "$folder/judge"
    strategy=$part
    [ "$part" != physics ] || strategy=reference
    nice "$folder/judge" "$tree/mutation_sites.txt" "$folder/results.txt" "$sample" "$seed" \
        "$strategy" > "$folder/healthy.txt"
    tail -1 "$folder/healthy.txt"
}

print_table()
{
    awk -F '\t' '
$6 == "forward" || $6 == "unreached" || $6 == "equivalent" { other[$6]++; next }
{
    e = $5 + 0
    class = e >= 0.1 ? 1 : e >= 1e-2 ? 2 : e >= 1e-3 ? 3 : e >= 1e-4 ? 4 : e >= 1e-6 ? 5 : \
            e >= 1e-8 ? 6 : e >= 1e-10 ? 7 : 8
    all[class]++
    if ($6 == "killed") killed[class]++
    else if (class <= 6) survivors = survivors $0 "\n"
}
END {
    split("10 % and more|1 to 10 %|0.1 to 1 %|1e-4 to 1e-3|1e-6 to 1e-4|1e-8 to 1e-6|1e-10 to 1e-8|less", name, "|")
    print "effect: killed of mutants"
    for (i = 1; i <= 8; i++) printf "%-15s %4d of %4d\n", name[i], killed[i], all[i]
    for (what in other) printf "%-15s %12d\n", what, other[what]
    printf "survivors of 1e-8 and more:\n%s", survivors
}' "$folder/results.txt"
}

for part in $parts; do
    folder=$top/$part tree=$top/$part/tree
    [ -n "$table" ] || judge
    if [ -f "$folder/results.txt" ]; then
        echo "---- $part"
        print_table
    fi
done
