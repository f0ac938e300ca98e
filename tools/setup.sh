#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the packages needed to build Lockstep and to run its tests, on Debian 12 and Ubuntu 24.04. Idempotent: prints
# missing packages before it installs them, or one line if none is missing. `setup.sh first` leaves out packages for
# tests; `setup.sh compilers` adds the newest compiler, for CI; `setup.sh docs` installs only what `make docs` needs.
set -euo pipefail

packages=(
  g++ make cmake ninja-build git ccache                  # tool chain
  libonnx-dev libprotobuf-dev protobuf-compiler          # the graph
  libdnnl-dev                                            # CPU kernels
  libgloo-dev libssl-dev                                 # messages between processes, proofs of their senders
  libjpeg-dev libpng-dev libwebp-dev                     # pictures
  zlib1g-dev                                             # compressed arrays
  libcairo2-dev fonts-dejavu-core                        # boxes and names drawn on pictures
  libyaml-cpp-dev libcli11-dev nlohmann-json3-dev        # configuration, commands, JSON
)
[ "${1:-}" = first ] || packages+=(
  libgtest-dev libonnx-testdata iproute2                 # tests
  dpkg-dev file                                          # make package: libraries' packages
  python3 python3-venv clang clang-format libclang-rt-14-dev  # oracles, second compiler, format
  clang-tidy gdb                                         # tools/check_tidy.sh, tests of tools/gdb
  chromium                                               # tests of pages
)
[ "${1:-}" != compilers ] || packages+=(clang-19)           # tools/check_compilers.sh: the newest that Debian 12 has
[ "${1:-}" != docs ] || packages=(mkdocs doxygen python3-pygments)  # tools/docs.sh; colours of code
# Names that differ in another release. Ubuntu has the browser only as a snap; without it the tests of pages are skipped.
if [ "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" = noble ]; then
  packages=("${packages[@]/libclang-rt-14-dev/libclang-rt-18-dev}")
  for i in "${!packages[@]}"; do
    [ "${packages[i]}" != chromium ] || unset "packages[i]"
  done
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all ${#packages[@]} packages are installed"
  exit 0
fi

echo "setup: missing packages: ${missing[*]}"
install=(apt-get install -y --no-install-recommends "${missing[@]}")
if [ "$(id -u)" -eq 0 ]; then
  root=()
elif sudo -n true 2>/dev/null; then
  root=(sudo)
else
  echo "setup: may not install packages here. Run this, then the same make command again:" >&2
  echo "  sudo apt-get update && sudo ${install[*]}" >&2
  exit 2
fi
echo "setup: running: ${install[*]}"
"${root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${root[@]}" "${install[@]}" -qq >/dev/null
echo "setup: installed ${#missing[@]} packages"
