#!/bin/sh
# check_layers.sh [BUILD] - fail when a file of the library includes a folder it may not; given
# a built folder, also when a function calls one of a folder it may not, or when more than three
# files call each other in a circle.
# The table is the architecture: one line per layer, then the layers it may use.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."

# one line for each symbol: @symbol FILE NAME TYPE
symbols() {
    [ $# -eq 0 ] || (cd "$1" && find src -path '*.dir/*' -name '*.o' -print0) |
        (cd "$1" && xargs -0 nm -g -P -A) |
        sed -e 's/CMakeFiles\/[^:]*\.dir\///' -e 's/\/embedded_sources/\/gpu\/text&/' \
            -e 's/\.o: / /' -e 's/^/@symbol /'
}
listed=$(mktemp)
trap 'rm -f "$listed"' EXIT
symbols "$@" > "$listed"

{ find src \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' -o -name '*.def' \) | sort; echo "$listed"; } | xargs awk '
BEGIN {
    # folder   may include (itself is always allowed; "public" is <nanobrag/...>, "root"
    # simulator.h). A folder without a row of its own belongs to the folder above it.
    may["physics"]     = ""
    may["base"]        = "public"
    may["scene"]       = "public base physics"
    may["image"]       = "public base scene physics"
    may["grad"]        = "public base physics scene image"
    may["kernels"]     = "base physics"
    may["gpu/driver"]  = "base physics kernels gpu/text"
    may["gpu/text"]    = "physics kernels"
    may["gpu"]         = "base physics kernels gpu/driver gpu/text compile/jit"
    may["compile/jit"] = "base physics kernels gpu/driver gpu/text"
    may["compile"]     = "public base physics scene kernels gpu gpu/driver gpu/text"
    may["state"]       = "public base physics scene image grad kernels gpu gpu/driver compile"
    may["backend"]     = "public base physics scene image grad kernels gpu gpu/driver gpu/text compile compile/jit state"
    may["root"]        = "public base physics scene image grad kernels state backend"
    may["api"]         = "public base physics scene image grad kernels gpu gpu/driver gpu/text compile compile/jit state backend root"
    may["check"]       = "public base physics scene grad kernels compile gpu state"
    # the rooms beside the engine, src/nanobrag_io and so on
    may["io"]          = "public base scene root"
    may["model"]       = "public base scene kernels io"
    may["fit"]         = "public base physics scene image io"
    may["integrate"]   = "public base scene root"
    may["command"]     = "public"
    may["program"]     = "public command"
    may["mpi"]         = "public"
    # these may call every public function; the others none of root and api
    client["check"] = client["io"] = client["fit"] = client["integrate"] = client["command"] = client["program"] = client["mpi"] = 1
}
# The path below its room, and the name of the room unless it is the engine.
function inside(path) {
    sub(/^src\//, "", path)
    if (!sub(/^nanobrag_/, "", path)) sub(/^nanobrag\//, "", path)
    return path
}
function folder(path) {
    path = inside(path)
    while (sub(/\/[^\/]*$/, "", path)) if (path in may) return path
    return path ~ /\.(c|h|cpp|cu|def)$/ ? "root" : path
}
$1 == "@symbol" {
    if (!($2 in seen) && $2 !~ /embedded_sources/) next # an object of a file that is gone
    if ($4 == "U" || $4 == "w") uses[$2] = uses[$2] " " $3
    else defined[folder($2) ~ /^(command|program)$/, $3] = $2 # the program is linked with the library
    next
}
FNR == 1 {
    seen[FILENAME] = 1
    from = folder(FILENAME)
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
    else if (target ~ /\.\./) { printf "%s:%d: include from src/ or src/nanobrag/, not %s\n", FILENAME, FNR, target; bad++; next }
    else if (target == "simulator.h") to = "root"
    else if (target !~ /\//) next                  # same folder
    else to = folder(target)
    if (to == from || !(from in may)) next
    if (index(" " may[from] " ", " " to " ") == 0) {
        printf "%s:%d: %s may not include %s (%s)\n", FILENAME, FNR, from, to, target; bad++
    }
}
# Marks all files that `file` calls, at first or second hand.
function reach(file,    todo, n, i, k, m, next_) {
    todo[n = 1] = file
    for (i = 1; i <= n; i++) {
        m = split(called_by[todo[i]], next_, " ")
        for (k = 1; k <= m; k++)
            if (!((file, next_[k]) in reached)) { reached[file, next_[k]] = 1; todo[++n] = next_[k] }
    }
}
END {
    for (file in uses) {
        n = split(uses[file], name, " ")
        from = folder(file)
        for (i = 1; i <= n; i++) {
            target = defined[from ~ /^(command|program)$/, name[i]]
            if (target == "") target = defined[0, name[i]]
            if (target == "" || target == file) continue
            to = folder(target)
            called_by[file] = called_by[file] " " target
            if (to == from || index(" " may[from] " ", " " to " ")) continue
            if (client[from] && name[i] ~ /^nb_/) continue
            printf "%s: %s may not call %s of %s\n", file, from, name[i], target; bad++
        }
    }
    if (!files) { print "check_layers: no files found"; bad++ }
    for (file in called_by) reach(file)
    for (file in called_by) {
        n = 1
        from = folder(file)
        for (target in called_by)
            n += target != file && (file, target) in reached && (target, file) in reached
        if (n > largest[from]) { largest[from] = n; one[from] = file }
    }
    for (from in largest)
        if (largest[from] > 3) {
            printf "%s: %d files call each other in a circle, 3 allowed\n", one[from], largest[from]
            bad++
        }
    printf "check_layers: %d files, %d violations\n", files, bad
    exit bad > 0
}
'
