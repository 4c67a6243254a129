#!/bin/sh
# covered.sh - every public function that returns a status, and so may fail for want of
# memory, is called by test_attacked_memory.c under its name. SPDX-License-Identifier: MIT
set -eu
source=${NANOBRAG_SOURCE:?}

# nb_fit_mpi() is attacked where there are processes (tests/mpi)
find "$source/include/nanobrag" -name '*.h' ! -name mpi.h -exec cat {} + | tr '\n' ' ' \
    | grep -oE 'NB_API nb_status nb_[a-z0-9_]*' | sed 's/.* //' | sort -u > declared
[ "$(wc -l < declared)" -gt 25 ]
sed -n 's/.*{"\(nb_[a-z0-9_]*\)".*/\1/p' "$source/tests/attack/test_attacked_memory.c" \
    | sort -u > called
missing=$(comm -23 declared called)
[ -z "$missing" ] || { echo "not attacked: $missing"; exit 1; }
echo "$(wc -l < declared) functions, all attacked"
