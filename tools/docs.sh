#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Renders the documentation as a static site: the pages by MkDocs into build/site, the reference of the public headers
# by Doxygen into build/site/api. Ends with an error for any complaint of the two programs and for a dead link.
set -euo pipefail
cd "$(dirname "$0")/.."

for program in mkdocs doxygen; do
  if ! command -v "$program" >/dev/null; then
    echo "docs: $program is not installed. tools/setup.sh docs installs it" >&2
    exit 2
  fi
done

rm -rf build/docs build/site
mkdir -p build/docs
docs/site/stage.py . build/docs/pages
# Doxygen succeeds even if a filter fails, so each message is an error.
doxygen docs/site/Doxyfile 2>&1 | tee build/docs/doxygen.log
[ ! -s build/docs/doxygen.log ]
mkdocs build --quiet --strict --config-file docs/site/mkdocs.yml
docs/site/check_site.py build/site
echo "docs: build/site/index.html. To search, read the site by way of a server:"
echo "  python3 -m http.server --directory build/site"
