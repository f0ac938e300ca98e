#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Counts phrases that readers stumble over in comments, documents and texts, and fails if one of them stands more
# than once in a thousand lines of prose. CONTRIBUTING.md ("Style") has the two rules behind the list.
# Usage: check_prose.sh [--list] [FILE_OR_FOLDER...]    --list prints each place
set -eu
cd "$(dirname "$0")/.."

list=0
if [ "${1:-}" = --list ]; then list=1 && shift; fi

# Phrase, in grep's extended syntax. A name such as `lies_apart` is no phrase: \b sees no border at an underscore.
phrases=(
  '(//|#|^) *What(ever)?\b'             # a comment that begins with a pronoun
  '\b([Tt]hose|[Tt]hat) (of|that|which|who|whose)\b'  # a noun that the reader has to look up
  '\b([Ll]ies?|[Ll]ying|[Ll]ay)\b'      # "is stored", "is in", "has the layout"
  '\b[Ss]o many\b'                      # the number has a name
  '\bof (its|their) own\b'              # "its own", "a separate"
  '\b(who|what)ever\b'
)

files() {  # of a repository, or of a folder that is none
  (git ls-files -- "$@" 2> /dev/null || find "${@:-.}" -type f -not -path './build/*' | sed 's|^\./||') |
    grep -vE '^tests/golden/|^LICENSE|^tools/check_prose\.sh$'
}
# Comments, documents, and lines with a text in quotes, as PLACE:LINE:TEXT.
prose() {
  files "$@" | grep -E '\.md$' | xargs -r grep -nHE '[a-z]'
  files "$@" | grep -E '\.(h|cc|cu)$' | xargs -r grep -nHE '//|"[^"]*[a-z] [a-z]' | grep -vE ':#include'
  files "$@" | grep -E '\.(py|sh|cmake|yaml)$|(^|/)(CMakeLists\.txt|Makefile)$' |
    xargs -r grep -nHE '#|"[^"]*[a-z] [a-z]|help'
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(prose "$@" || true) > "$folder/places"
# Without its place a line begins where its text does, and a file's name is no phrase.
sed -E 's/^[^:]+:[0-9]+://' "$folder/places" > "$folder/lines"
lines=$(wc -l < "$folder/lines")
failed=0
for phrase in "${phrases[@]}"; do
  found=$(grep -nE "$phrase" "$folder/lines" | cut -d: -f1) || true
  count=$(wc -w <<< "$found")
  verdict=fine
  if [ $((count * 1000)) -gt "$lines" ]; then verdict="more than 1 in 1,000 lines" failed=1; fi
  printf '%5d  %-55s %s\n' "$count" "$phrase" "$verdict"
  if [ $list = 1 ]; then
    for number in $found; do sed -n "${number}p" "$folder/places"; done
  fi
done
echo "prose: $lines lines"
exit $failed
