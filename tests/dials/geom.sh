#!/bin/sh
# geom.sh - -geomout against DIALS' reader of geometry files of CrystFEL: see geom.py. $NANOBRAG
# is the program, $NANOBRAG_SOURCE the source tree. SPDX-License-Identifier: MIT
set -eu
# shellcheck source=tests/dials/need_dials.sh
. "$NANOBRAG_SOURCE/tests/dials/need_dials.sh"
unset NANOBRAG_COMPAT
need_dials dials.import
need_json
"$python" -c 'from xfel.euxfel.read_geom import read_geom' 2> /dev/null ||
    skip "this DIALS has no reader of geometry files (xfel.euxfel.read_geom)"
rm -rf geom
mkdir geom
cd geom
# shellcheck disable=SC2154 # need_dials sets $python
"$python" "$NANOBRAG_SOURCE/tests/dials/geom.py" "$NANOBRAG" "$NANOBRAG_SOURCE"
