#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# notices.sh TO FILE...: collects the texts that must accompany a copy of Lockstep. TO gets LICENSE and NOTICE,
# TO/libraries gets the copyright file of the package of each FILE, a library or a header. For a file of no package:
# PACKAGE=COPYRIGHT_FILE. Texts that these files refer to (Debian keeps them once) go to TO/libraries/common-licenses.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
to=$1 missing=0
shift
mkdir -p "$to/libraries"
cp "$source/LICENSE" "$source/NOTICE" "$to/"

# package_of FILE: dpkg may list the file only below /usr, the target of /lib.
package_of() {
  local file
  for file in "$1" "/usr$1" "$(realpath -m "$1")"; do
    dpkg-query -S "$file" 2> /dev/null || continue
    break
  done | cut -d: -f1 | sort -u | head -1
}

for file in "$@"; do
  if [[ $file == *=* ]]; then
    package=${file%%=*} text=${file#*=}
  else
    package=$(package_of "$file")
    text=/usr/share/doc/$package/copyright
  fi
  if [ -z "$package" ] || [ ! -s "$text" ]; then
    echo "notices: no copyright file of $file is installed; add it to $to/libraries before you pass the copy on" >&2
    missing=1
    continue
  fi
  cp -L "$text" "$to/libraries/$package"
  { grep -ohE '/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' "$text" || true; } | sort -u |
    while read -r common; do
      if [ -f "$common" ]; then
        mkdir -p "$to/libraries/common-licenses"
        cp -L "$common" "$to/libraries/common-licenses/"
      fi
    done
done
exit $missing
