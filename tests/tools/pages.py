#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pages.py ROOT LOCKSTEP: names dead links and stale commands in the repository's pages.

Links: each target exists, and each anchor is a heading or an `<a id=..>`. Code blocks and inline code: each `lockstep`
command has a subcommand that the program has, and options that the subcommand's help lists. Each make target, script,
configuration file and public header that code names exists. Notes record the past, so only their links are checked;
the changelog names commands of older versions in its text. A word in capitals is a placeholder, as in X_test.cc."""
import functools
import pathlib
import re
import shlex
import subprocess
import sys

root, program = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
fence = re.compile(r"^ *```.*?\n(.*?)^ *```", re.M | re.S)
inline = re.compile(r"(?<!`)`([^`]+)`(?!`)")
placeholder = re.compile(r"(^|[/_.])[A-Z][A-Z-]*($|[/_.])|\.\.")
operator = re.compile(r"\\?\||\|\||&&|;|[12&]?>>?|<")  # of a shell; a table's cells have \|
launchers = {"launch", "mpirun", "nice", "srun", "torchrun"}
wrong = []
checked = dict.fromkeys(["links", "anchors", "lockstep commands", "make targets", "paths"], 0)


def blank(found):
    """Spaces instead of code, so that the rest of a page keeps its lines."""
    return re.sub(r"[^\n]", " ", found[0])


@functools.cache
def anchors(page):
    """The anchors of a page: GitHub's names of its headings, and explicit ones."""
    text = fence.sub(blank, page.read_text())
    names = re.findall(r'<a id="([^"]+)">', text)
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", text, re.M):
        heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        names.append(next(f"{name}{end}" for end in ["", *[f"-{i}" for i in range(1, 99)]] if name + end not in names))
    return set(names)


def check_links(page, text, say):
    text = inline.sub(blank, fence.sub(blank, text))
    for found in re.finditer(r"\]\(([^()\s]*)\)", text):
        path, _, anchor = found[1].partition("#")
        target = page.parent / path if path else page
        if ":" in path:  # another site
            continue
        checked["links"] += 1
        checked["anchors"] += bool(anchor)
        if not target.exists():
            say(found.start(), f"links to {path}, which is not there")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            say(found.start(), f"links to {found[1]}, but the page has no such heading")


@functools.cache
def help_of(*command):
    """The subcommands and options in the help of a command of the program."""
    text = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True).stdout
    sections = dict(re.findall(r"^(\w+):[^\n]*\n((?:[ \t].*\n)+)", text, re.M))
    commands = re.findall(r"^  (\w[\w-]*)", sections.get("Subcommands", ""), re.M)
    options = re.findall(r"^ +(-[\w-]+)(?:, *(--[\w-]+))?", sections.get("Options", ""), re.M)
    return commands, {name for names in options for name in names}


def check_lockstep(words, say):
    """The words after `lockstep`."""
    command = []
    checked["lockstep commands"] += bool(words)
    for word in words:
        commands, options = help_of(*command)
        if word == "--":
            return
        if word.startswith("-"):
            if not re.match(r"-\d", word) and word.split("=")[0] not in options:
                say(f"`lockstep {' '.join([*command, word])}`: the help lists no such option")
        elif not commands:
            continue  # a file, a key, a value
        elif placeholder.search(word):
            return
        elif word in commands:
            command.append(word)
        else:
            say(f"`lockstep {' '.join([*command, word])}`: there is no such command")
            return


def check_command(line, say):
    line = re.sub(r"^\s*(\$ )?(\w+=\S+ +)*", "", re.sub(r"\s#.*", "", line))
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    while words:
        end = next((i for i, word in enumerate(words) if operator.fullmatch(word)), len(words))
        command, words = words[:end], words[end + 1:]
        if command[:1] == ["make"]:
            for word in command[1:]:
                checked["make targets"] += 1
                if not re.search(r"^-|=", word) and not placeholder.search(word) and word not in targets:
                    say(f"`make {word}`: the Makefile has no such target")
        elif command and (command[0] in launchers or pathlib.Path(command[0]).name == "lockstep"):
            starts = [i for i, word in enumerate(command) if pathlib.Path(word).name == "lockstep"]
            for start, following in zip(starts, [*starts[1:], len(command)]):
                check_lockstep(command[start + 1:following], say)


def check_code(text, say):
    """One command, or any other code."""
    check_command(text, say)
    for path in re.findall(r"(?<![\w./~-])(?:benchmarks|configs|docs|tests|tools)/[\w./-]+", text):
        path = path.rstrip(".")
        checked["paths"] += 1
        if not placeholder.search(path) and not (root / path).exists():
            say(f"names {path}, which is not there")
    for header in re.findall(r"<lockstep/(\w+\.h)>", text):
        if not (root / "include" / "lockstep" / header).exists():
            say(f"includes lockstep/{header}, which is not there")


targets = set(re.findall(r"^(\w+):", (root / "Makefile").read_text(), re.M))
navigation = (root / "docs" / "site" / "mkdocs.yml").read_text()
docs = sorted((root / "docs").rglob("*.md"))
for page in [*docs, *(page for folder in ["", "tests/", "benchmarks/"] for page in sorted(root.glob(folder + "*.md")))]:
    text, name = page.read_text(), str(page.relative_to(root))

    def say(place, what):
        wrong.append(f"{name}:{text.count(chr(10), 0, place) + 1}: {what}")

    check_links(page, text, say)
    code = []  # the place and text of each line of a block, which \ may continue, and of each inline code
    if not name.startswith("docs/notes/"):
        for block in fence.finditer(text):
            lines = re.finditer(r"(?:.*\\\n)*.+", block[1])
            code += [(block.start(1) + line.start(), line[0].replace("\\\n", " ")) for line in lines]
        if name != "CHANGELOG.md":
            code += [(span.start(), span[1].replace("\n", " ")) for span in inline.finditer(fence.sub(blank, text))]
    for place, line in code:
        check_code(line, functools.partial(say, place))
# Readers find each page by the site's navigation or by the list of its folder.
for page in docs:
    listed = navigation if page.parent == root / "docs" else (page.parent / "README.md").read_text()
    if page.name != "README.md" and page.name not in listed:
        wrong.append(f"{page.relative_to(root)}: neither docs/site/mkdocs.yml nor a README.md lists the page")
wrong += [f"the pages have no {kind}; this script reads them wrongly" for kind, count in checked.items() if count == 0]
print("\n".join(wrong) or "checked: " + ", ".join(f"{count} {kind}" for kind, count in checked.items()))
sys.exit(bool(wrong))
