#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every source has its licence line, and an installed copy has the licence and notices: licence.sh SOURCE BUILD WORK. In
# a small tree with every kind of source, errors are named and then repaired by --add.
set -euo pipefail
source=$(cd "$1" && pwd) build=$2 work=$3
"$source/tools/check_licence.sh"

rm -rf "$work"
mkdir -p "$work/tree/tools" "$work/tree/.ci" "$work/tree/build" "$work/tree/.git_of_no_use"
cd "$work/tree"
cp "$source/tools/check_licence.sh" "$source/tools/notices.sh" tools/
cp "$source/LICENSE" "$source/NOTICE" .
id="SPDX-License-Identifier: Apache-2.0"
printf '// A page.\n#pragma once\n' > page.h
printf '#include "page.h"\n' > "a page.cc"
printf '// %s\n' "$id" > kernel.cu
printf '\n' > blank.cuh
: > nothing.py
printf '"""A docstring."""\nprint(__doc__)' > words.py  # no line feed at the end
printf '#!/usr/bin/env bash\necho "line $LINENO"\n' > tools/run.sh
printf '#!/usr/bin/env bash\necho done\n' > .ci/run
printf 'all:\n\techo made\n' > Makefile
printf 'project(X)\n' > CMakeLists.txt
printf 'set(x 1)\n' > x.cmake
printf 'A: 1\n' > config.yaml
printf 'syntax = "proto3";\n' > x.proto
printf 'FROM debian\n' > Dockerfile
printf 'A page without the line.\n' > page.md
printf 'int made;\n' > build/made.cc
printf 'int hidden;\n' > .git_of_no_use/hidden.cc
chmod 755 tools/run.sh .ci/run

fail() { echo "failed: $1"; exit 1; }
same() { [ "$1" = "$2" ] || fail "is '$1', should be '$2'"; }
# refused WORDS COMMAND...: the command fails, and its output contains the words.
refused() {
  local words=$1 said
  shift
  if said=$("$@" 2>&1); then fail "$* succeeds"; fi
  [[ $said == *"$words"* ]] || fail "$* says '$said', should say '$words'"
}
check() { tools/check_licence.sh "$@"; }

# in_this_tree: works with and without a git repository.
in_this_tree() {
  same "$(check | grep -c 'does not begin')" 13
  refused "page.h: does not begin with the line '// $id'" check
  refused "config.yaml: does not begin with the line '# $id'" check
  refused "13 of 16 sources lack it" check
  check --add
  check
  same "$(cat page.h)" "// $id"$'\n// A page.\n#pragma once'
  same "$(cat nothing.py)" "# $id"
  same "$(cat words.py; echo .)" "# $id"$'\n"""A docstring."""\nprint(__doc__).'
  same "$(python3 words.py)" "A docstring."
  same "$(head -2 .ci/run)" $'#!/usr/bin/env bash\n'"# $id"
  same "$(tools/run.sh)" "line 3"
  same "$(make -s)" "made"
  same "$(stat -c %a tools/run.sh)" 755
  same "$(cat page.md build/made.cc .git_of_no_use/hidden.cc | grep -c SPDX)" 0
  find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum > ../once
  check --add
  find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum | cmp - ../once
}
export GIT_CEILING_DIRECTORIES=$work  # the tree is not a part of the source's repository
cp -a . ../known
in_this_tree
printf '// SPDX-License-Identifier: MIT\n' > other.cc
refused "other.cc: has the line '// SPDX-License-Identifier: MIT'" check --add
same "$(cat other.cc)" "// SPDX-License-Identifier: MIT"
refused "unknown" check --ad
cd ../known
printf '/build/\n.git_of_no_use/\n' > .gitignore
git init -q .
git add page.h tools
in_this_tree

# The distributed files.
copy=$work/prefix
cmake --install "$build" --component notices --prefix "$copy" > /dev/null
texts=$copy/share/doc/lockstep
carried() { "$source/tools/check_licence.sh" --carried "$copy"; }
carried
cmp "$source/LICENSE" "$texts/LICENSE"
grep -q "Redistribution" "$texts/libraries/libcli11-dev"
mkdir -p "$copy/usr" && mv "$copy/share" "$copy/usr/" && carried  # a package's root
mv "$copy/usr/share" "$copy/"
echo >> "$texts/NOTICE"
refused "NOTICE is missing or is not the source's" carried
cp "$source/NOTICE" "$texts/"
rm "$texts/libraries/nlohmann-json3-dev"
refused "nlohmann-json3-dev is missing" carried
library=$(ldconfig -p | awk '/libpng16.so.16 .*x86-64/ && !found++ {print $NF}')
mkdir "$copy/lib" && cp -L "$library" "$copy/lib/"
refused "lib/libpng16.so.16: the copyright file of its package is missing" carried
"$source/tools/notices.sh" "$texts" "$library" nlohmann-json3-dev=/usr/share/doc/nlohmann-json3-dev/copyright
carried
refused "no copyright file of $work/once" "$source/tools/notices.sh" "$texts" "$work/once"
echo "licence: in order"
