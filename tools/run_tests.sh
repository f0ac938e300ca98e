#!/usr/bin/env bash
# Everything this machine can test: format, layers, licence lines, the release build's unit tests, all its others,
# then the unit tests under the address and thread sanitizers. LOCKSTEP_QUICK=1 leaves those out,
# LOCKSTEP_MINUTES=N each of them that might end later than that.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/check_format.sh
tools/check_layers.sh
tools/check_licence.sh
tools/python_oracles.sh || echo "Python oracles: not to be had here; their tests skip"

jobs=$(nproc)  # asked before OMP_NUM_THREADS is set, which it would answer with
stage=0 stages=4 parts="unit tests, all others, unit tests under two sanitizers"
minutes="half an hour to an hour on 2 cores from an empty compiler cache, two thirds of that from a full one"
if [ -n "${LOCKSTEP_QUICK:-}" ]; then
  stages=2 parts="unit tests, all others"
  minutes="a quarter of an hour to 40 minutes on 2 cores from an empty compiler cache"
fi
echo "== $stages parts: $parts; $minutes (here are $jobs)"
run() {  # title, preset, target, ctest arguments
  local title=$1 preset=$2 target=$3 start=$SECONDS
  shift 3
  stage=$((stage + 1))
  echo "== $stage of $stages: $title ($((SECONDS / 60)) min so far)"
  tools/build.sh "$preset" "$target"
  echo "== $stage of $stages: built in $((SECONDS - start)) s"
  ctest --preset "$preset" -j"$jobs" "$@"
}
run "unit tests" release unit_tests -L unit
run "all other tests" release all -LE unit
# fits MINUTES TITLE: may a part begin that takes so long on the slowest machine seen, from an empty cache?
fits() {
  local begun=$((SECONDS / 60)) limit=${LOCKSTEP_MINUTES:-}
  if [ -n "$limit" ] && [ $((begun + $1)) -gt "$limit" ]; then
    echo "== left out: $2. They may take $1 min; $begun of $limit are over"
    return 1
  fi
}
if [ -z "${LOCKSTEP_QUICK:-}" ]; then
  # One thread in regions of libgomp, which is not instrumented: its barriers look like races.
  title="unit tests, looking for races"
  if fits 18 "$title"; then
    OMP_NUM_THREADS=1 OMP_THREAD_LIMIT=1 run "$title" tsan unit_tests -L unit
  fi
  title="unit tests, looking for wrong addresses"
  if fits 27 "$title"; then
    run "$title" asan unit_tests -L unit
  fi
fi
echo "== all done in $((SECONDS / 60)) min"
