# vectorised.awk - were the `#pragma omp simd` loops of a source vectorised?
#
# Input: the preprocessed source, a line "== report", and what the compiler said about its
# loops. Prints each loop with its reports; status 1 when one has none or was refused.
# Set: source, the folder whose files count.
#
# clang names the line of the pragma. gcc names the first operation of the loop, which may
# lie in a function that was inlined; such a position counts for every loop that can reach
# the function around it ("<="; "unsure": one of these was refused). Loops without the
# pragma have their verdict on the line of their `for` or `while`, and do not count.
#
# SPDX-License-Identifier: MIT

function short(path) { return substr(path, length(source) + 2) }

function is_ours(path) { return index(path, source) == 1 }

# names in a text that may be calls
function note_names(owner, text,    n, i, word) {
    n = split(text, word, /[^A-Za-z0-9_]+/)
    for (i = 1; i <= n; i++) if (word[i] != "") names[owner, word[i]] = 1
}

# ---- the source: functions and loops, with their lines ----
function start_loop(pragma_line) {
    nloops++
    loop_file[nloops] = file
    loop_first[nloops] = pragma_line
    loop_for[nloops] = line
    depth_round = depth_curly = 0
    in_loop = 1
}

# the loop ends with the first ; or } outside all brackets
function follow_loop(text,    i, c) {
    note_names("loop" nloops, text)
    for (i = 1; i <= length(text) && in_loop; i++) {
        c = substr(text, i, 1)
        if (c == "(") depth_round++
        else if (c == ")") depth_round--
        else if (c == "{") depth_curly++
        else if (c == "}") depth_curly--
        if (depth_round == 0 && depth_curly == 0 && (c == ";" || c == "}")) in_loop = 0
    }
    loop_last[nloops] = line
}

function read_source(    text) {
    if ($0 ~ /^# [0-9]+ "/) {
        line = $2 - 1
        file = $3
        gsub(/"/, "", file)
        return
    }
    line++
    if (!is_ours(file)) return
    text = $0
    if (text ~ /^ *#pragma omp simd/) { pragma = line; return }
    if (text ~ /(^|[^A-Za-z0-9_])(for|while) *\(/) plain[file ":" line] = 1
    if (pragma && text ~ /for *\(/) { start_loop(pragma); pragma = 0 }
    if (in_loop) follow_loop(text)

    # a function: its signature from column 0, its braces alone there
    if (text ~ /^\{/) {
        sub(/^.*__attribute__ *\(\([^)]*\)\)/, "", signature)
        if (match(signature, /[A-Za-z0-9_]+ *\(/)) {
            name = substr(signature, RSTART, RLENGTH)
            sub(/ *\($/, "", name)
            defined[name] = 1
        }
    }
    if (text ~ /^\}/) { name = ""; signature = "" }
    if (name != "") {
        around[file ":" line] = name
        note_names(name, text)
    } else if (text ~ /;[ \t]*$/) signature = ""
    else signature = signature " " text
}

# functions that each loop reaches
function close_calls(    changed, pair, part, f) {
    for (pair in names) {
        split(pair, part, SUBSEP)
        if (part[2] in defined && part[1] != part[2]) calls[part[1], part[2]] = 1
    }
    do {
        changed = 0
        for (pair in calls) {
            split(pair, part, SUBSEP)
            for (f in defined)
                if (((part[2], f) in calls) && !((part[1], f) in calls)) {
                    calls[part[1], f] = 1
                    changed = 1
                }
        }
    } while (changed)
}

# ---- the report ----
# loops that a position may belong to, as a list of their numbers
function owners(path, at,    i, list) {
    for (i = 1; i <= nloops; i++)
        if (path == loop_file[i] && at >= loop_first[i] && at <= loop_last[i]) return i " "
    if ((path ":" at) in plain || !((path ":" at) in around)) return ""
    for (i = 1; i <= nloops; i++)
        if (("loop" i, around[path ":" at]) in calls) list = list i " "
    return list
}

function read_report(    path, at, n, i, own, where, width) {
    if (!match($0, /^[^:]+:[0-9]+:[0-9]+: /)) return
    split($0, where, ":")
    path = where[1]
    at = where[2] + 0
    if (/optimized: loop vectorized using/) {
        match($0, /using [0-9]+ byte/)
        width = substr($0, RSTART + 6, RLENGTH - 11) " bytes"
    } else if (/split to 0 loops and 1 library call|Transformed loop-strided store/) {
        width = "memset"
    } else if (/remark: vectorized loop/) {
        match($0, /width: [0-9]+/)
        width = substr($0, RSTART + 7, RLENGTH - 7)
        width = width + 0 > 1 ? width " lanes" : ""
    } else if (/missed: couldn't vectorize loop|loop not vectorized/)
        width = ""
    else return
    n = split(owners(path, at), own, " ")
    for (i = 1; i <= n; i++) {
        if (n > 1) shared[own[i]] = 1
        if (width == "") {
            refused[own[i]]++
            if (n == 1) surely[own[i]] = 1
            refused_at[own[i]] = short(path) ":" at
        } else {
            if (!((own[i], width) in seen)) widths[own[i]] = widths[own[i]] ", " width
            seen[own[i], width] = 1
            reports[own[i]]++
        }
    }
}

/^== report/ { close_calls(); reporting = 1; next }
!reporting { read_source(); next }
{ read_report() }

END {
    for (i = 1; i <= nloops; i++) {
        verdict = "ok    "
        if (refused[i]) verdict = surely[i] ? "not ok" : "unsure"
        if (!reports[i]) verdict = "not ok"
        if (verdict != "ok    ") bad++
        printf "  %s %-24s vectorised %s%3d times (%s)%s\n", verdict,
            short(loop_file[i]) ":" loop_for[i], shared[i] ? "<=" : "  ", reports[i],
            reports[i] ? substr(widths[i], 3) : "never reported",
            refused[i] ? ", REFUSED " refused[i] " times, at " refused_at[i] : ""
    }
    if (!nloops) { print "  not ok no loop found"; bad++ }
    exit bad > 0
}
