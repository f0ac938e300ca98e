#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stage.py ROOT FOLDER: copies the repository's pages and pictures into FOLDER, where MkDocs reads them.

Pages have links for a reader of the repository. In the site, README.md is the home page and docs/ is the root, so links
between pages are rewritten. A link to a public header becomes a link to the header's page in the API reference. The
site has no sources, and the project has no public address yet, so a link to a source becomes the path as code. Where
MkDocs reads Markdown differently from GitHub, the text changes, too: lists in lists, and | in the code of a table."""
import os
import pathlib
import re
import shutil
import sys

root, stage = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
fence, code, inner_list = r"(?P<fence>^```.*?^```)", r"(?P<code>`[^`]*`)", r"(?P<inner>^ {2,3}(?=[-*] ))"
link = r"\[(?P<shown>[^\[\]]*)\]\((?P<target>[^()\s#]*)(?P<anchor>#[^()\s]*)?\)"
rewritten = re.compile("|".join([fence, code, inner_list, link]), re.M | re.S)


def place_of(path):
    """The path of a page or picture in the site."""
    path = path.removeprefix("docs/")
    return path.removesuffix("README.md") + "index.md" if path.endswith("README.md") else path


def link_of(page, shown, target, anchor):
    """A page's link, as the site has it."""
    path = os.path.normpath(os.path.join(os.path.dirname(page), target))
    header = re.fullmatch(r"include/lockstep(?:/(\w+)\.h)?", path)
    if path in files:
        path = place_of(path)
    elif header and header[1]:  # Doxygen's name of a page doubles each _
        path = f"api/group__header__{header[1].replace('_', '__')}.html"
    elif header:
        path = "api/index.html"
    elif shown.strip("`") in (path, os.path.basename(path)):
        return f"`{path}`"
    else:
        return f"{shown} (`{path}`)"
    return f"[{shown}]({os.path.relpath(path, os.path.dirname(place_of(page)) or '.')}{anchor or ''})"


def text_of(page):
    def part(found):
        if found["code"]:
            return found["code"].replace("\\|", "|")
        if found["inner"]:
            return 4 * " "
        if not found["target"] or "://" in found["target"]:  # a fence, an anchor on this page, another site
            return found[0]
        return link_of(page, found["shown"], found["target"], found["anchor"])

    return rewritten.sub(part, (root / page).read_text(encoding="utf-8"))


patterns = ["*.md", "docs/*.md", "docs/*/*.md", "docs/pictures/*", "tests/*.md", "benchmarks/*.md"]
files = {str(file.relative_to(root)) for pattern in patterns for file in root.glob(pattern)}
for file in sorted(files):
    copy = stage / place_of(file)
    copy.parent.mkdir(parents=True, exist_ok=True)
    if file.endswith(".md"):
        copy.write_text(text_of(file), encoding="utf-8")
    else:
        shutil.copy(root / file, copy)
