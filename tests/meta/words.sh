#!/bin/sh
# words.sh - no type of src/ is named after a word that the glossary gives up, and each file
# that the glossary names exists (docs/paths.sh).
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/../.." || exit 1
refused=$(sed -n '/^## Words that are not used/,$p' docs/development/glossary.md |
    grep -E '^[a-z]+( [a-z]+)+$')
[ -n "$refused" ] || { echo "words: the glossary refuses no word"; exit 1; }
types=$(git ls-files 'src/*.[ch]' 'src/*.cu' 2> /dev/null)
[ -n "$types" ] || types=$(find src -name '*.[ch]' -o -name '*.cu')
bad=0
for word in $refused; do
    # shellcheck disable=SC2086
    found=$(grep -nE "struct ([a-z0-9_]+_)?${word}(_[a-z0-9_]+)? \\{" $types)
    [ -z "$found" ] && continue
    printf '%s\nwords: a type is named after "%s"; docs/development/glossary.md has the words\n' \
        "$found" "$word"
    bad=$((bad + 1))
done
echo "words: $(echo "$types" | wc -l) files, $(echo "$refused" | wc -w) words refused, $bad found"
[ "$bad" -eq 0 ]
