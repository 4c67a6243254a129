#!/bin/sh
# cells.sh PROGRAM DATA - the cell of each frame of L-cysteine against its errors, in the folder
# NANOBRAG_MEASURED_DATA: see cells.py. Skipped without that folder. SPDX-License-Identifier: MIT
. "$(dirname "$0")/frames.sh"
python3 "$here/cells.py" "$program" "$frames"
