#!/bin/sh
# stills.sh - twenty stills through DIALS and back: see stills.py. $NANOBRAG is the program,
# $NANOBRAG_SOURCE the source tree. SPDX-License-Identifier: MIT
set -eu
# shellcheck source=tests/dials/need_dials.sh
. "$NANOBRAG_SOURCE/tests/dials/need_dials.sh"
unset NANOBRAG_COMPAT
need_dials dials.show dials.refine dials.two_theta_refine
need_json
for need in fftw gemmi hdf5 lapack; do
    "$NANOBRAG" -version | grep -q $need || skip "this build has no $need"
done
rm -rf stills
mkdir stills
cd stills
# shellcheck disable=SC2154 # need_dials sets $python
"$python" "$NANOBRAG_SOURCE/tests/dials/stills.py" "$NANOBRAG" \
    "$NANOBRAG_SOURCE/tests/dials/stills_process.py" "$NANOBRAG_SOURCE/examples/data/2erl.pdb"
