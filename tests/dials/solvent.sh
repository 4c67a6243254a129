#!/bin/sh
# solvent.sh - structure factors with bulk solvent against those of cctbx, with the mask of
# mmtbx: see solvent.py. $NANOBRAG is the program, $NANOBRAG_SOURCE the source tree.
# SPDX-License-Identifier: MIT
set -eu
# shellcheck source=tests/dials/need_dials.sh
. "$NANOBRAG_SOURCE/tests/dials/need_dials.sh"
unset NANOBRAG_COMPAT
need_dials dials.import
"$NANOBRAG" -version | grep -q gemmi || skip "this build has no -pdb (no gemmi)"
# shellcheck disable=SC2154 # need_dials sets $python
"$python" -c 'import mmtbx.masks, iotbx.pdb' 2> /dev/null || skip "this DIALS has no mmtbx"
rm -rf solvent
mkdir solvent
cd solvent
gzip -dc "$NANOBRAG_SOURCE/tests/data/structures/1cbs.cif.gz" > 1cbs.cif
"$python" "$NANOBRAG_SOURCE/tests/dials/solvent.py" "$NANOBRAG" \
    "$NANOBRAG_SOURCE/examples/data/2erl.pdb" 1cbs.cif
