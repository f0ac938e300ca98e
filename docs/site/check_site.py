#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_site.py FOLDER: names the links of a built site that lead nowhere, and files that the site would load from
another host. MkDocs and Doxygen check some links only, and no link between their pages."""
import html.parser
import pathlib
import sys
import urllib.parse

site = pathlib.Path(sys.argv[1]).resolve()


class Page(html.parser.HTMLParser):
    def __init__(self, file):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                (self.links if tag == "a" else self.loaded).append(value)


# MkDocs writes 404.html for a site at the root of a host. Doxygen links to a list of nested classes even if all of them
# are private.
pages = {file: Page(file) for file in site.rglob("*.html") if file != site / "404.html"}
unlisted = {"nested-classes"}
wrong = []
for file, page in pages.items():
    for link in page.links + page.loaded:
        address = urllib.parse.urlsplit(link)
        if address.scheme or address.netloc:
            if link in page.loaded and address.scheme not in ("data", "javascript"):
                wrong.append(f"{file.relative_to(site)} loads {link}")
            continue
        target = (file.parent / urllib.parse.unquote(address.path)).resolve() if address.path else file
        if target.is_dir():
            target = target / "index.html"
        anchor = urllib.parse.unquote(address.fragment)
        if not target.is_relative_to(site) or not target.exists():
            wrong.append(f"{file.relative_to(site)} links to {link}, which is not there")
        elif anchor and target in pages and anchor not in pages[target].anchors | unlisted:
            wrong.append(f"{file.relative_to(site)} links to {link}, but the page has no such anchor")
print("\n".join(wrong) or f"{len(pages)} pages, all links have targets")
sys.exit(bool(wrong))
