#!/bin/sh
# panels.sh - detectors of panels in NXmx and .expt against dxtbx: see panels.py. $NANOBRAG is
# the program, $NANOBRAG_SOURCE the source tree. SPDX-License-Identifier: MIT
set -eu
# shellcheck source=tests/dials/need_dials.sh
. "$NANOBRAG_SOURCE/tests/dials/need_dials.sh"
unset NANOBRAG_COMPAT
need_dials dials.import
need_json
rm -rf panels
mkdir panels
cd panels
# shellcheck disable=SC2154 # need_dials sets $python
"$python" "$NANOBRAG_SOURCE/tests/dials/panels.py" "$NANOBRAG"
