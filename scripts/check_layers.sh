#!/bin/sh
# check_layers.sh - fail when a file of the library includes a folder it may not.
# The table is the architecture: one line per layer, then the layers it may use.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."

find src/nanobrag src/nanobrag_mpi \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' -o -name '*.def' \) | sort | xargs awk '
BEGIN {
    # folder   may include (itself is always allowed; "public" is <nanobrag/...>, "root"
    # simulator.h). A folder without a row of its own belongs to the folder above it.
    may["physics"]     = ""
    may["base"]        = "public"
    may["scene"]       = "public base physics"
    may["io"]          = "public base scene"
    may["image"]       = "public base scene physics"
    may["grad"]        = "public base physics scene image"
    may["kernels"]     = "base physics"
    may["structure"]   = "public base scene io kernels"
    may["gpu/driver"]  = "base physics gpu/text"
    may["gpu/text"]    = "physics kernels"
    may["gpu"]         = "base physics kernels gpu/driver gpu/text compile/jit"
    may["compile/jit"] = "base physics kernels gpu/driver gpu/text"
    may["compile"]     = "public base physics kernels gpu gpu/driver gpu/text"
    may["state"]       = "public base physics scene image grad kernels gpu gpu/driver compile"
    may["check"]       = "public base physics scene grad kernels compile gpu state"
    may["backend"]     = "public base physics scene image grad kernels gpu gpu/driver gpu/text compile compile/jit state"
    may["root"]        = "public base physics scene image grad kernels state backend"
    may["api"]         = "public base physics scene io image grad kernels gpu gpu/driver gpu/text compile compile/jit state backend root"
    may["fit"]         = "public base physics scene io image"
    may["cli"]         = "public"
    may["mpi"]         = "public"
}
function folder(path) {
    while (sub(/\/[^\/]*$/, "", path)) if (path in may) return path
    return path ~ /\.(c|h|cpp|cu|def)$/ ? "root" : path
}
FNR == 1 {
    from = FILENAME ~ /^src\/nanobrag_mpi\// ? "mpi" : folder(substr(FILENAME, length("src/nanobrag/") + 1))
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
