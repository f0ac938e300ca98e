#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes every reader, or the named readers, for SECONDS each, with a job for each core: tools/fuzz.sh SECONDS
# [TARGET...]. Inputs that break a reader go to build/fuzz/broken/TARGET, useful inputs to build/fuzz/corpus/TARGET,
# where the next call continues. Exit code 1: an input broke a reader.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?tools/fuzz.sh SECONDS [TARGET...]}
shift
tools/build.sh fuzz
jobs=$(nproc)  # before OMP_NUM_THREADS is set, which nproc would print
work=$PWD/build/fuzz programs=$PWD/build/fuzz/tests/fuzz
mkdir -p "$work/seeds" "$work/corpus" "$work/broken" "$work/log"
"$programs/fuzz_seeds" "$work/seeds" > "$work/targets.txt"
# Adds every operator by itself, if the release build can write the cases.
cases=build/release/tests/operators_test
if [ -x "$cases" ] && [ ! -d "$work/cases" ]; then
  LOCKSTEP_CASE_DIR=$work/cases "$cases" --gtest_brief=1 > /dev/null || true
  for model in "$work"/cases/*/model.onnx; do
    [ -f "$model" ] && cp "$model" "$work/seeds/onnx/$(basename "$(dirname "$model")").onnx"
  done
fi

# Prints a report of one line. After an input that breaks the reader, fuzzing goes on for the rest of the time, up to
# ten such inputs. Models get no more memory than LOCKSTEP_MEMORY.
fuzz_one() {
  local target=$2 longest=$3 end=$((SECONDS + $1)) start=$SECONDS runs=0 broken=0 left
  local log=$work/log/$target.txt found=tests/fuzz/found/$target
  mkdir -p "$work/corpus/$target" "$work/broken/$target"
  [ -d "$found" ] || found=
  : > "$log"
  while left=$((end - SECONDS)) && [ "$left" -gt 0 ] && [ "$broken" -lt 10 ]; do
    FUZZ_TARGET=$target nice -n 5 "$programs/fuzz_targets" \
      -max_total_time="$left" -max_len="$longest" -timeout=10 -rss_limit_mb=2048 \
      -malloc_limit_mb=1024 -print_final_stats=1 -artifact_prefix="$work/broken/$target/" \
      "$work/corpus/$target" "$work/seeds/$target" $found < /dev/null >> "$log" 2>&1 ||
      broken=$((broken + 1))
  done
  for left in $(sed -n 's/^stat::number_of_executed_units: //p' "$log"); do runs=$((runs + left)); done
  printf '%-14s %9s inputs in %4s s, %s broke it%s\n' "$target" "$runs" $((SECONDS - start)) "$broken" \
    "$([ "$broken" = 0 ] || echo ": $work/broken/$target, $log")"
  [ "$broken" = 0 ]
}
export LOCKSTEP_MEMORY=${LOCKSTEP_MEMORY:-256M} OMP_NUM_THREADS=1
export -f fuzz_one
export work programs

for name in "$@"; do
  grep -q "^$name " "$work/targets.txt" || { echo "there is no target '$name'" >&2; exit 2; }
done
chosen=$(if [ $# -gt 0 ]; then
  for name in "$@"; do grep "^$name " "$work/targets.txt"; done
else
  cat "$work/targets.txt"
fi)
echo "== $(wc -l <<< "$chosen") targets, $seconds s each, $jobs at once"
xargs -P "$jobs" -L 1 bash -c 'fuzz_one "$@"' fuzz_one "$seconds" <<< "$chosen" || exit 1
