#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a header with comments that Doxygen understands; docs/site/Doxyfile uses the script as a filter. The headers
have plain comments, which read better in an editor. Here a comment before a declaration becomes `///`, and a comment
behind a member `///<`. A comment `-- title. Text` becomes the heading of several members. A comment before an empty
line is about several declarations, so the description of the header gets it. Code does not change.

Each header is a group (a "module") for Doxygen. The group's page has the whole text about the functions of the header,
which otherwise would be on one page with the functions of all headers."""
import itertools
import pathlib
import re
import sys

# Doxygen's commands, tags and emphasis are plain text in the headers. In backticks and quotes Doxygen reads none.
special = re.compile(r'`[^`]*`|"[^"]*"|[\\@#%&<>*]')
opens_declarations = re.compile(r"\b(namespace|struct|class|union|enum)\b[^()=]*\{$")
forward = re.compile(r"\s*(struct|class) \w+;$")
in_quotes = re.compile(r'"(?:[^"\\]|\\.)*"' + r"|\B'(?:[^'\\]|\\.)'")


def escaped(text):
    return special.sub(lambda found: found[0] if found[0][0] in '`"' else "\\" + found[0], text)


def documentation(comment):
    """A comment's lines for Doxygen. Lines with more than one space before the text, such as a grammar, are code."""
    out = []
    for is_code, lines in itertools.groupby(comment, lambda line: line.startswith("  ")):
        if is_code:
            out += ["", *["   " + line for line in lines], ""]
        else:
            out += escaped("\n".join(line.strip() for line in lines)).split("\n")
    return out


def heading(comment):
    """The title and text of a comment `-- title. Text`, and the rest, a separate comment. A title without a text may
    be longer than a line; the separate comment begins with a capital letter."""
    count = len(comment)
    if ". " not in comment[0]:
        count = next((i for i in range(1, count) if not comment[i].strip()[:1].islower()), count)
    title, _, text = " ".join(line.strip() for line in comment[:count]).partition(". ")
    return title.lstrip("- ").rstrip(".").replace("`", ""), [text] if text else [], comment[count:]


def filtered(name, source):
    out = []
    braces = []  # for each open brace: does it contain declarations?
    groups = []  # for each open heading of members: the number of braces around it
    behind = -1  # the column of the comment at the end of the line before, which this line may continue
    at = 0
    while at < len(source):
        line = source[at]
        at += 1
        code, _, comment = line.partition("//")
        indent = line[:len(line) - len(line.lstrip())]
        if not all(braces):
            out.append(line)  # in a function's body
        elif comment.startswith(" SPDX"):
            out.append(f"/// \\defgroup header_{name} lockstep/{name}.h")  # the next comment describes the header
            continue
        elif comment and not code.strip():
            if len(code) == behind:
                out.append(f"{code}///< {escaped(comment.strip())}")
                continue
            lines = [comment]
            while source[at].startswith(indent + "//"):
                lines.append(source[at][len(indent) + 2:])
                at += 1
            while forward.match(source[at]):  # Doxygen shows no class that is only declared
                out.append(source[at])
                at += 1
            title, text, lines = heading(lines) if comment.startswith(" --") else ("", [], lines)
            if title and groups[-1:] == [len(braces)]:
                groups.pop()
                out.append(indent + "/// @}")
            if not source[at].strip():
                out += ["/// @}", ""]
                shown = [f"\\addtogroup header_{name}", f"\\par {escaped(title)}" if title else ""]
                shown += [*documentation(text + lines), "@{"]
            elif title:
                groups.append(len(braces))
                out += [f"{indent}/// {line}" for line in (f"\\name {escaped(title)}", *documentation(text), "@{")]
                out.append("")
                shown = documentation(lines)
            else:
                shown = documentation(lines)
            out += [f"{indent}/// {text}".rstrip() for text in shown]
            continue
        elif comment and not code.startswith("#") and not re.match(" NOLINT| namespace", comment):
            out.append(f"{code}///< {escaped(comment.strip())}")
        else:
            if groups[-1:] == [len(braces)] and re.match(r"\s*(\}|(public|protected|private):)", line):
                groups.pop()
                out.append(indent + "/// @}")
            if line == "}  // namespace lockstep":
                out.append("/// @}")
            out.append(line)
            if line == "namespace lockstep {":
                out += [f"/// \\addtogroup header_{name}", "/// @{"]
        behind = len(code) if comment else -1
        for brace in re.findall(r"[{}]", in_quotes.sub("", code)):
            if brace == "}":
                braces.pop()
            else:
                braces.append(bool(opens_declarations.search(code.rstrip())))
    return out


header = pathlib.Path(sys.argv[1])
print("\n".join(filtered(header.stem, header.read_text(encoding="utf-8").splitlines())))
