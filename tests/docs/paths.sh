#!/bin/sh
# paths.sh - every file that the documents name exists, every link leads to a file, no line,
# tables apart, is wider than 100 columns, and the layers of arch.md are those that
# check_layers.sh enforces. Reports are dated: they may name files that are gone, but not
# link to them. SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/../.."
bad=0
complain()
{
    echo "$1"
    bad=$((bad + 1))
}

documents=$(find . \( -name build -o -name .git -o -name demo \) -prune -o -name '*.md' -print \
    | sed 's|^\./||' | sort)
names=" $(find src include tests scripts bench cmake examples docs -type f | sed 's|.*/||' \
    | sort -u | tr '\n' ' ')"

# of no file: of other projects, what a user would write, what a build makes
elsewhere=" nanoBragg.c cuda.h first.c tests/run cli/x.sh tests/fuzz/seeds/NAME "

# words of a document that look like a file or folder of this tree
named_in()
{
    grep -v '^#include' "$1" | tr -c 'A-Za-z0-9_.*/-' '\n' | sed 's/[.]*$//; s/^\*\**//; s/\*\**$//' | grep -E \
        -e '[A-Za-z0-9_*]\.(c|h|cu|def|md|sh|py|cmake)$' \
        -e '^(src|include|tests|scripts|docs|reports|examples|bench|cmake|\.ci)/.' | sort -u
}

# exists NAME FOLDER: from the root, from src, from src/nanobrag, from the document, or a bare name
exists()
{
    case $1 in
    *\**) [ -n "$(find src tests scripts docs bench -path "*/$1" -print)" ] && return 0 ;;
    esac
    for place in "" src/ src/nanobrag/ "$2/"; do
        [ -e "$place$1" ] && return 0
    done
    case $names in *" $1 "*) return 0 ;; esac
    return 1
}

# is_test PROGRAM CASE: the program has a source, and some source names the case
is_test()
{
    case $names in *" $1.c "*) ;; *) return 1 ;; esac
    [ "$1" = "$2" ] || grep -rqw -e "$2" tests
}

# functions and variables in the guide to parameters, whose names a renaming leaves behind
guide=docs/development/adding_a_parameter.md
for name in $(grep -o '`[a-z]*_[a-z_]*`' $guide | tr -d '`' | sort -u); do
    grep -rqw -e "$name" src include tests || complain "$guide: names $name, which is nowhere"
done

set -f # names may hold a '*'
checked=0
for document in $documents; do
    folder=$(dirname "$document")
    wide=$(LC_ALL=C awk '/^[ ]*\|.*\|$/ { next }
        { line = $0; gsub(/[\200-\277]/, "", line) }
        length(line) > 100 { printf " %d", FNR }' "$document")
    [ -z "$wide" ] || complain "$document: wider than 100 columns, line$wide"

    for target in $(grep -o '](\([^)]*\))' "$document" | sed 's/](//; s/[)#].*//'); do
        case $target in http*) continue ;; esac
        checked=$((checked + 1))
        [ -e "$folder/$target" ] || complain "$document: a link to $target, which is not there"
    done
    case $document in reports/*) continue ;; esac
    for name in $(tr -c 'A-Za-z0-9_.' '\n' < "$document" | sed 's/[.]*$//' \
        | grep -E '^test_[a-z0-9_]+([.][a-z0-9_]+)?$' | sort -u); do
        checked=$((checked + 1))
        case $name in *.c | *.h | test_x) continue ;; esac
        is_test "${name%%.*}" "${name#*.}" || complain "$document: names $name, which is no test"
    done
    for name in $(named_in "$document"); do
        case $elsewhere in *" $name "*) continue ;; esac
        case $name in *NAME* | //*) continue ;; esac
        checked=$((checked + 1))
        exists "$name" "$folder" || complain "$document: names $name, which is not there"
    done
done
# the layers, one a line: of arch.md in the block after "## Layers", of the script by awk
written=$(sed -n '/^## Layers/,/^## S/p' arch.md | awk '
    /^```/ { inside = !inside; next }
    inside && /^[^ ]/ { if (name) print name ":" list; name = $1; list = ""; target = 0 }
    inside { for (i = 1; i <= NF; i++) if ($i == "<-") target = 1
                                       else if (target) list = list " " $i }
    END { print name ":" list }' | sort)
enforced=$(awk "$(sed -n '/^BEGIN {/,/^}/p' scripts/check_layers.sh | sed '$d')
    for (name in may) { n = split(may[name], list, \" \"); line = name \":\"
        for (i = 1; i <= n; i++) line = line \" \" list[i]; print line } }" | sort)
if [ -z "$enforced" ] || [ "$written" != "$enforced" ]; then
    printf '%s\n' "$written" "$enforced" | sort | uniq -u
    complain "arch.md: its layers are not those of scripts/check_layers.sh; above, what differs"
fi
[ "$(wc -l < arch.md)" -le 130 ] || complain "arch.md: longer than 130 lines"
echo "docs_paths: $(echo "$documents" | wc -l) documents, $checked names and links, $bad complaints"
[ "$checked" -gt 200 ] && [ "$bad" -eq 0 ]
