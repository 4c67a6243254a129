#!/bin/sh
# experiment.sh - -truth, -expt and -xparm against dxtbx: see experiment.py. $NANOBRAG is the
# program, $NANOBRAG_SOURCE the source tree. SPDX-License-Identifier: MIT
set -eu
# shellcheck source=tests/dials/need_dials.sh
. "$NANOBRAG_SOURCE/tests/dials/need_dials.sh"
unset NANOBRAG_COMPAT
need_dials dials.import
need_json
rm -rf experiment
mkdir experiment
cd experiment
# shellcheck disable=SC2154 # need_dials sets $python
"$python" "$NANOBRAG_SOURCE/tests/dials/experiment.py" "$NANOBRAG"
