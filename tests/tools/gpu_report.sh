#!/usr/bin/env bash
# The GPU report, rehearsed on the CPU: gpu_report.sh SOURCE LOCKSTEP TESTS WORK_FOLDER PYTHON
set -euo pipefail
source=$1 lockstep=$2 tests=$3 work=$4 python=$5
report() { "$python" "$source/tools/bench/gpu_report.py" --lockstep "$lockstep" --tests "$tests" "$@"; }

rm -rf "$work"
report --device cpu --model resnet18 --batch 2 --steps 1 --rounds 1 --precisions float32 --out "$work"
"$python" - "$work/report.json" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
tests = {test["name"]: test for test in report["tests"]}
assert all(test["exit_code"] == 0 for test in tests.values()), tests
assert tests["operators in bfloat16"]["passed"] > 400, tests
assert report["benchmarks"][0]["seconds"]["Lockstep"] > 0, report["benchmarks"]
PY
grep -q "Lockstep " "$work/report.txt"

# A test that fails is named, and the exit code says so.
cat >"$work/operators_test" <<'FAKE'
#!/bin/sh
echo "[  FAILED  ] Broken.Case (1 ms)"
exit 1
FAKE
chmod +x "$work/operators_test"
ln -sf "$tests/runtime_test" "$work/runtime_test"
code=0
report --device cpu --tests "$work" --precisions --out "$work/failed" >"$work/out" || code=$?
[ "$code" = 1 ]
grep -q "Broken.Case" "$work/out"
if "$lockstep" doctor | grep -q '^GPUs       0'; then
  code=0
  report --out "$work/none" 2>"$work/err" || code=$?
  [ "$code" = 2 ]
  grep -q "no GPU" "$work/err"
fi
