#!/usr/bin/env python3
"""The README's walk from a model to the executor's loop: each file exists and defines the function named."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
hops = re.findall(r"^\d\. \[([^\]]+)\]\(([^)]+)\): `([^`]+)`", (root / "README.md").read_text(), re.M)
wrong = [] if len(hops) == 5 else [f"{len(hops)} hops, should be 5"]
for shown, path, function in hops:
    file = root / path
    if shown != path or not file.is_file():
        wrong.append(f"{shown}: there is no file {path}")
    # A definition begins its line with a type and has a body.
    elif not re.search(rf"^\w[^;=]*\b{re.escape(function)}\([^;{{}}]*\{{", file.read_text(), re.M):
        wrong.append(f"{path} defines no {function}")
# No link of a page leads nowhere.
for page in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]:
    for target in re.findall(r"\]\(([^)#: ]+)(?:#[^)]*)?\)", page.read_text()):
        if not (page.parent / target).exists():
            wrong.append(f"{page.relative_to(root)} links to {target}, which is not there")
for line in wrong:
    print(line)
sys.exit(bool(wrong))
