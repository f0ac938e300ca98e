#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that every source is formatted by .clang-format. `make format` repairs the format.
set -u
cd "$(dirname "$0")/.."
version=$(clang-format --version | grep -oE '[0-9]+' | head -1)
if [ "$version" != 14 ]; then  # other versions break lines differently
  echo "format: not checked, clang-format is $version, not 14"
  exit 0
fi
files=$(git ls-files -co --exclude-standard '*.h' '*.cc' '*.cu' 2>/dev/null)
[ -n "$files" ] || files=$(find graph runtime operators builders models data app tools tests -name '*.h' -o -name '*.cc')
bad=$(echo "$files" | xargs clang-format --dry-run -Werror 2>&1 | grep -oE '^[^ :]+:[0-9]+' | cut -d: -f1 | sort -u)
if [ -n "$bad" ]; then
  echo "not formatted (make format):"
  echo "$bad"
  exit 1
fi
echo "format: in order"
