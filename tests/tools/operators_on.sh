#!/usr/bin/env bash
# The operator cases on another device than the CPU: operators_on.sh gpu|queues OPERATORS_TEST LOCKSTEP
# Exit code 77: there is no GPU.
set -euo pipefail
device=$1 cases=$2 lockstep=$3
if [ "$device" = gpu ] && "$lockstep" doctor | grep -qx 'GPUs       0'; then
  echo "skipped: no GPU"
  exit 77
fi
LOCKSTEP_CASE_DEVICE=$device "$cases" --gtest_brief=1
