#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the walk from a model to the executor's loop in docs/architecture.md: each file exists and defines the named
function. Tests that pages name must exist, too."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
walk = root / "docs" / "architecture.md"
hops = re.findall(r"^\d\. \[([^\]]+)\]\(\.\./([^)]+)\): `([^`]+)`", walk.read_text() if walk.exists() else "", re.M)
wrong = [] if len(hops) == 5 else [f"{len(hops)} hops in docs/architecture.md, should be 5"]
for shown, path, function in hops:
    file = root / path
    if shown != path or not file.is_file():
        wrong.append(f"{shown}: there is no file {path}")
    # A definition has its type at the start of the line, and a body.
    elif not re.search(rf"^\w[^;=]*\b{re.escape(function)}\([^;{{}}]*\{{", file.read_text(), re.M):
        wrong.append(f"{path} defines no {function}")
# Every test that these pages name exists: `Suite.Name`, or `Suite.*`. (A key, as `SOLVER.STEPS`, has no lower-case
# letter.)
suites = {}
for source in (root / "tests").rglob("*.cc"):
    for suite, test in re.findall(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", source.read_text(), re.M):
        suites.setdefault(suite, set()).add(test)
for page in ["docs/ancestors.md", "docs/reliability.md"]:
    named = re.findall(r"`([A-Z]\w*[a-z]\w*)\.([A-Z]\w*|\*)`", (root / page).read_text())
    if not named:
        wrong.append(f"{page} names no test")
    for suite, test in named:
        if test not in suites.get(suite, set()) | ({"*"} if suite in suites else set()):
            wrong.append(f"{page}: there is no test {suite}.{test}")
for line in wrong:
    print(line)
sys.exit(bool(wrong))
