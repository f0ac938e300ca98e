#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that every source begins with its licence line, behind `#!` if there is one.
#   check_licence.sh                    names the sources that lack it
#   check_licence.sh --add              adds it to them; a second time changes nothing
#   check_licence.sh --carried FOLDER   checks a prefix, a bundle or a package's root for LICENSE, NOTICE and
#                                       the copyright file of every library in it. See tools/notices.sh.
set -uo pipefail
cd "$(dirname "$0")/.."
line="SPDX-License-Identifier: Apache-2.0"
export LC_ALL=C  # bytes stay as they are

# mark FILE: sets `mark` to the comment mark of a source of that name; fails for other files.
mark() {
  case $1 in
    *.h | *.cc | *.cu | *.cuh | *.proto | *.js) mark="//" ;;
    *.py | *.sh | *.cmake | *.yaml | */CMakeLists.txt | */Makefile | */Dockerfile | ./.ci/*) mark="#" ;;
    *) return 1 ;;
  esac
}

# sources: files that git tracks or would track; without git all files but builds, runs and hidden folders.
sources() {
  if git ls-files -co --exclude-standard -z 2> /dev/null | grep -qz .; then
    git ls-files -co --exclude-standard -z | sed -z 's|^|./|'
  else
    find . \( -path ./build -o -path ./runs -o -name '.?*' ! -name .ci \) -prune -o -type f -print0
  fi
}

# head_of FILE: sets `shebang` to 1 behind `#!`, otherwise to 0, and `head` to the line that should be the licence's.
head_of() {
  local first='' second=''
  { IFS= read -r first; IFS= read -r second; } < "$1"
  shebang=0 head=$first
  if [[ $first == '#!'* ]]; then shebang=1 head=$second; fi
}

add() {
  local text='' first=''
  IFS= read -r -d '' text < "$1"  # to the end: a source has no byte of 0
  if [ "$shebang" -eq 1 ]; then first=${text%%$'\n'*}$'\n' text=${text#*$'\n'}; fi
  printf '%s' "$first$mark $line"$'\n'"$text" > "$1"  # the same file: its mode stays
}

check_sources() {
  local count=0 added=0 bad=0
  while IFS= read -r -d '' file; do
    mark "$file" && [ -f "$file" ] && [ ! -L "$file" ] || continue
    count=$((count + 1))
    head_of "$file"
    if [ "$head" = "$mark $line" ]; then continue; fi
    if [[ $head == *SPDX-License-Identifier* ]]; then
      echo "${file#./}: has the line '$head', should have '$mark $line'"
    elif [ "$1" = add ]; then
      if add "$file"; then added=$((added + 1)); continue; fi
      echo "${file#./}: cannot be written"
    else
      echo "${file#./}: does not begin with the line '$mark $line'"
    fi
    bad=$((bad + 1))
  done < <(sources)
  if [ "$count" -eq 0 ]; then echo "licence: found no source in $PWD"; return 1; fi
  [ "$1" = add ] && echo "licence: added to $added of $count sources"
  if [ "$bad" -gt 0 ]; then
    [ "$1" = add ] || echo "licence: $bad of $count sources lack it; tools/check_licence.sh --add adds it"
    return 1
  fi
  echo "licence: all $count sources have it"
}

check_carried() {
  local folder=$1 texts='' bad=0 bad_library package library
  for texts in "$folder/share/doc/lockstep" "$folder/usr/share/doc/lockstep"; do
    [ -d "$texts" ] && break
  done
  complain() { echo "licence: $1"; bad=1; }
  for file in LICENSE NOTICE; do
    cmp -s "$file" "$texts/$file" || complain "$texts/$file is missing or is not the source's $file"
  done
  # Headers that are compiled into the program need their copyright files, too.
  for package in libcli11-dev nlohmann-json3-dev; do
    [ -s "$texts/libraries/$package" ] || complain "$texts/libraries/$package is missing"
  done
  while IFS= read -r library; do
    bad_library=1
    while IFS= read -r package; do
      if [ -s "$texts/libraries/$package" ]; then bad_library=0; fi
    done < <(dpkg-query -S "*/$(basename "$library")" 2> /dev/null | cut -d: -f1 | sort -u)
    [ $bad_library -eq 0 ] || complain "$library: the copyright file of its package is missing in $texts/libraries"
  done < <(find "$folder" -name '*.so*' -type f)
  [ $bad -eq 0 ] && echo "licence: $folder carries it and the notices"
  return $bad
}

case ${1:-} in
  '') check_sources look ;;
  --add) check_sources add ;;
  --carried) check_carried "${2:?--carried needs a folder: a prefix, a bundle or the root of a package}" ;;
  *) echo "check_licence.sh: '$1' is unknown; write nothing, --add or --carried FOLDER" >&2; exit 2 ;;
esac
