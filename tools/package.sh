#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a Debian package of a build: tools/package.sh [BUILD [FOLDER]]. The default is build/release, into build/.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release} folder=${2:-build}
for tool in dpkg-shlibdeps file; do
  command -v "$tool" >/dev/null && continue
  echo "package: $tool is missing, by which the package's dependencies are found; install dpkg-dev and file" >&2
  exit 2
done

umask 022  # the package's files are for everybody
rm -rf "$folder/_CPack_Packages" "$folder"/lockstep_*.deb
cpack --config "$build/CPackConfig.cmake" -B "$folder"
rm -rf "$folder/_CPack_Packages"
file=$(realpath "$folder"/lockstep_*.deb)
echo "package: $file, $(($(stat -c %s "$file") / 1000000)) MB; sudo apt install '$file' installs it"
