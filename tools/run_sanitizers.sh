#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the tests that need a sanitizer (see the table in tests/sanitizers.md).
# LOCKSTEP_DEADLINE, in seconds since 1970: a part that might end later on a slow machine is left out.
set -euo pipefail
cd "$(dirname "$0")/.."

jobs=$(nproc)  # before OMP_NUM_THREADS is set, which nproc would print
fits() {  # minutes on the slowest machine seen from an empty compiler cache, title
  local left=$(((${LOCKSTEP_DEADLINE:-4102444800} - $(date +%s)) / 60))
  [ "$1" -le "$left" ] && return
  echo "== left out: $2. They may take $1 min; $left are left"
  return 1
}
run() {  # minutes, preset, title
  fits "$1" "$3" || return 0
  local start=$SECONDS
  echo "== $3"
  tools/build.sh "$2" unit_tests
  echo "== built in $((SECONDS - start)) s"
  ctest --preset "$2" -j"$jobs" -L unit
  echo "== built and run in $((SECONDS - start)) s"
}

# One thread in regions of libgomp, which is not instrumented: its barriers look like races.
OMP_NUM_THREADS=1 OMP_THREAD_LIMIT=1 run 18 tsan "tests with threads, looking for races"
run 27 asan "tests of raw memory, looking for wrong addresses"
