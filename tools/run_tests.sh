#!/usr/bin/env bash
# Everything this machine can test: format, layers, the release build and all its tests, then the
# unit tests under the address and thread sanitizers. LOCKSTEP_QUICK=1 leaves the sanitizers out.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/check_format.sh
tools/check_layers.sh
tools/python_oracles.sh || echo "Python oracles: not to be had here; their tests skip"

jobs=$(nproc)  # asked before OMP_NUM_THREADS is set, which it would answer with
run() {  # preset, ctest arguments
  local preset=$1
  shift
  local start=$SECONDS
  echo "== $preset"
  tools/build.sh "$preset"
  echo "== $preset: built in $((SECONDS - start)) s"
  ctest --preset "$preset" -j"$jobs" "$@"
}
if [ -z "${LOCKSTEP_QUICK:-}" ]; then
  # One thread per replica: libgomp is not instrumented, its barriers look like races.
  OMP_NUM_THREADS=1 run tsan -L unit
  run asan -L unit
fi
run release
