#!/bin/sh
# floor.sh BENCH - are the loops vectorised? bench.py tells. SPDX-License-Identifier: MIT
command -v python3 > /dev/null || { echo "skipped: no python3"; exit 77; }
exec python3 "$(dirname "$0")/bench.py" -bench "$1" -floor
