#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy (.clang-tidy) on changed files: tools/check_tidy.sh [BASE | --all]. Without BASE: changes since the
# branch left main, or since the commit before the last. A changed header is read through a source that includes it. At
# most 60 files are read, and after TIDY_SECONDS (100) none is begun; files left out are named. --all reads the whole
# tree without tests, joined and without a limit. Nothing is compiled, so build/release is not needed.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(clang-tidy --version 2>/dev/null | grep -oE 'version [0-9]+' | grep -oE '[0-9]+' || true)
if [ "$version" != 14 ]; then  # each version has other checks
  echo "tidy: not checked, clang-tidy is ${version:-not installed}, not 14"
  exit 0
fi

# configure FOLDER OPTION... : makes a folder of compile commands for clang, which lacks some options of g++.
configure() {
  local folder=$1
  shift
  cmake -G Ninja -S . -B "$folder" -D CMAKE_EXPORT_COMPILE_COMMANDS=ON -D CMAKE_CXX_COMPILER=clang++ \
    -D CMAKE_BUILD_TYPE=Release -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON -D LOCKSTEP_CUDA=OFF "$@" > /dev/null
}
# known FOLDER : the sources with a compile command in the folder.
known() { grep -oE '"file": "[^"]+"' "$1/compile_commands.json" | cut -d'"' -f4 | sort -u; }

changed_sources() {
  local base=$1 file
  { git diff --name-only --diff-filter=d "$base" -- '*.cc' '*.h'; git ls-files -o --exclude-standard '*.cc' '*.h'; } |
    sort -u | while IFS= read -r file; do
      if [[ $file == *.h ]]; then
        git grep -lF "#include \"$file\"" -- '*.cc' | head -1 || true
      else
        echo "$file"
      fi
    done | sort -u
}

if [ "${1:-}" = --all ]; then
  folder=build/tidy_all seconds=86400
  configure "$folder" -D CMAKE_UNITY_BUILD=ON -D CMAKE_UNITY_BUILD_BATCH_SIZE=16
  known "$folder" | grep -v '/tests/' > "$folder/files"
  what="the tree without tests"
  export TIDY_CHECKS=--checks=-bugprone-suspicious-include  # joined files include sources
else
  folder=build/tidy seconds=${TIDY_SECONDS:-100}
  if ! git rev-parse -q --verify HEAD > /dev/null 2>&1; then
    echo "tidy: not checked, no repository says what changed"
    exit 0
  fi
  base=${1:-}
  for main in origin/main main; do
    [ -n "$base" ] || base=$(git merge-base "$main" HEAD 2>/dev/null || true)
    [ "$base" != "$(git rev-parse HEAD)" ] || base=""
  done
  if [ -z "$base" ]; then  # of a clone with one commit every file is new
    base=$(git rev-parse -q --verify HEAD~1 || git hash-object -t tree /dev/null)
  fi
  configure "$folder" -D CMAKE_UNITY_BUILD=OFF -D LOCKSTEP_JOINED_FILES=OFF
  # The order differs for each commit, so that the time limit leaves out different files.
  known "$folder" > "$folder/known"
  changed_sources "$base" | sed "s#^#$PWD/#" | grep -Fxf "$folder/known" |
    shuf --random-source=<(git rev-parse HEAD HEAD^{tree}; yes) > "$folder/changed" || true
  head -n 60 "$folder/changed" > "$folder/files"
  tail -n +61 "$folder/changed" > "$folder/left_out"
  if [ -s "$folder/left_out" ]; then
    echo "tidy: left out, as more than 60 files changed: $(sed "s#^$PWD/##" "$folder/left_out" | tr '\n' ' ')"
  fi
  what="sources changed since ${base:0:10}"
fi

# check FOLDER DEADLINE FILE : prints findings, or that there was no time.
check() {
  local output status=0 left=$(($2 - $(date +%s)))
  [ $left -gt 0 ] && output=$(timeout $((left + 20)) clang-tidy --quiet ${TIDY_CHECKS:+"$TIDY_CHECKS"} \
    -p "$1" "$3" 2>&1) || status=$?
  if [ $left -le 0 ] || [ $status -eq 124 ]; then
    echo "tidy: no time for ${3#"$PWD/"}"
    return
  fi
  [ $status -eq 0 ] || { echo "$output" | grep -vE '^[0-9]+ warnings? (generated|treated)'; return 1; }
}
export -f check
deadline=$(($(date +%s) - SECONDS + seconds))
if ! tr '\n' '\0' < "$folder/files" | xargs -0 -r -P "$(nproc)" -I{} bash -c 'check "$@"' check "$folder" "$deadline" {}
then
  echo "tidy: findings above, in $what"
  exit 1
fi
echo "tidy: in order, $(wc -l < "$folder/files") files: $what"
