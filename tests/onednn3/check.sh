#!/usr/bin/env bash
# Every operator case and the models' training steps on oneDNN 3: check.sh PROGRAM. Exit code 77:
# tools/python_oracles.sh could not get that version, so there is no such program.
set -euo pipefail
program=$1
if [ ! -x "$program" ]; then
  echo "skipped: no oneDNN 3 in build/oracles"
  exit 77
fi
libraries=$(ldd "$program" | grep -o 'libdnnl\.so\.[0-9]*' | sort -u)
if [ "$libraries" != libdnnl.so.3 ]; then
  echo "linked are $libraries, where libdnnl.so.3 alone should be"
  exit 1
fi
exec "$program" --gtest_brief=1 --gtest_filter="-KerasStep.*:Models.*"
