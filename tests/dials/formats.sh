#!/bin/sh
# formats.sh - what dxtbx, fabio and h5py read from NXmx and miniCBF is what was computed: see
# formats.py; and what dxtbx reads from a header of d*TREK is what -img reads: see dtrek.py. $NANOBRAG is the program, $NANOBRAG_SOURCE the source tree.
# SPDX-License-Identifier: MIT
set -eu
# shellcheck source=tests/dials/need_dials.sh
. "$NANOBRAG_SOURCE/tests/dials/need_dials.sh"
unset NANOBRAG_COMPAT
need_dials dials.import
need_json
"$NANOBRAG" -version | grep -q hdf5 || skip "this build writes no NXmx (no HDF5)"
rm -rf formats
mkdir formats
cd formats
# shellcheck disable=SC2154 # need_dials sets $python
"$python" "$NANOBRAG_SOURCE/tests/dials/formats.py" "$NANOBRAG"
"$python" "$NANOBRAG_SOURCE/tests/dials/dtrek.py" "$NANOBRAG"
