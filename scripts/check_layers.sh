#!/bin/sh
# check_layers.sh - fail when a file under src/nanobrag includes a folder it may not.
# The table is the architecture: one line per layer, then the layers it may use.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."

find src/nanobrag \( -name '*.[ch]' -o -name '*.cu' -o -name '*.def' \) | sort | xargs awk '
BEGIN {
    # folder   may include (itself is always allowed; "public" is <nanobrag/...>)
    may["physics"] = ""
    may["base"]    = "public"
    may["scene"]   = "public base physics"
    may["io"]      = "public base scene"
    may["image"]   = "public base scene physics"
    may["kernels"] = "base physics"
    may["gpu"]     = "base physics kernels"
    may["grad"]    = "public base physics scene image"
    may["compile"] = "public base physics kernels gpu"
    may["root"]    = "public base physics scene io image kernels gpu grad compile"
    may["fit"]     = "public"
    may["cli"]     = "public"
}
function folder(path,   part, n) {
    n = split(path, part, "/")
    return n > 1 ? part[1] : "root"
}
FNR == 1 {
    from = folder(substr(FILENAME, length("src/nanobrag/") + 1))
    files++
    if (!(from in may)) { printf "%s: folder %s is not in the layer table\n", FILENAME, from; bad++ }
}
/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
    target = $0
    sub(/^[^<"]*[<"]/, "", target); sub(/[>"].*/, "", target)
    if ($0 ~ /</) {
        if (target !~ /^nanobrag\//) {
            # physics/ must compile where there are no system headers
            if (from == "physics" && FILENAME !~ /\/phys\.h$/) {
                printf "%s:%d: physics may not include <%s>\n", FILENAME, FNR, target; bad++
            }
            next
        }
        to = "public"
    }
    else if (target ~ /\.\./) { printf "%s:%d: include from src/nanobrag/, not %s\n", FILENAME, FNR, target; bad++; next }
    else if (target !~ /\//) next                  # same folder
    else to = folder(target)
    if (to == from || !(from in may)) next
    if (index(" " may[from] " ", " " to " ") == 0) {
        printf "%s:%d: %s may not include %s (%s)\n", FILENAME, FNR, from, to, target; bad++
    }
}
END {
    if (!files) { print "check_layers: no files found"; bad++ }
    printf "check_layers: %d files, %d violations\n", files, bad
    exit bad > 0
}
'
