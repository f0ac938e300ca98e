# SPDX-License-Identifier: Apache-2.0
"""Reads pages of graphs in Chromium: presses keys and compares what is shown with the graph as JSON.

check_graph_page.py LOCKSTEP FOLDER
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

from browser import Browser, SKIPPED, chromium

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror=hacked=1>\x1b[2J"
DATA = re.compile(r'(<script type="application/json" id="data">)(.*?)(</script>)', re.S)
times = []  # (what, seconds) of answers


def lockstep(*words, fails=False):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def write(name, *words):
    page = folder / name
    lockstep("inspect", *words, "--format", "html", "-o", page)
    return page


def forged(page, name, change):
    """A copy of the page whose data `change` has changed."""
    text = page.read_text()
    data = json.loads(DATA.search(text)[2])
    change(data)
    new = json.dumps(data).replace("<", "\\u003c")
    path = folder / name
    path.write_text(DATA.sub(lambda found: found[1] + new + found[3], text))
    return path


def timed(what, seconds):
    times.append((what, seconds))
    # benchmarks/pages.py has the limit of 0.2 s: here other tests run at the same time.
    assert seconds < 2, f"{what}: {seconds:.3f} s"


def boxes(page):
    return page.evaluate("lockstep.page.graph.boxCount")


def selected(page):
    """The node that the panel shows."""
    return page.shown("#panel h2")


class Graph:
    """The document lockstep.graph/1."""

    def __init__(self, *words):
        self.document = json.loads(lockstep("inspect", *words, "--format", "json"))
        self.nodes = {node["name"]: node for node in self.document["nodes"]}
        self.values = self.document["values"]

    def feeds(self, maker, reader):
        return bool(set(self.nodes[maker]["outputs"]) & set(self.nodes[reader]["inputs"]))

    def boxes(self, depth, replica):
        """How many boxes there are when scopes below `depth` are folded, counted in another way than the page does."""
        scopes = self.document["scopes"]
        found = set()
        for node in self.document["nodes"]:
            if node["replica"] not in (replica, None):
                continue
            chain, scope = [], node["scope"]
            while scope > 0:
                chain.append(scope)
                scope = scopes[scope]["parent"]
            chain = [scope for scope in reversed(chain) if not re.fullmatch(r"cpu_\d+", scopes[scope]["path"])]
            found.add((node["phase"], chain[depth - 1]) if len(chain) >= depth else node["name"])
        return len(found)


def check_folding(page, path, graph):
    page.open(path)
    assert not page.errors, page.errors
    first = boxes(page)
    assert 10 < first <= 70, first
    for depth in (1, 2):
        timed(f"fold to depth {depth}", page.press(str(depth)))
        assert boxes(page) == graph.boxes(depth, 0), (depth, boxes(page), graph.boxes(depth, 0))
    timed("unfold all", page.press("9"))
    nodes = sum(node["replica"] in (0, None) for node in graph.document["nodes"])
    assert boxes(page) == nodes and f"{nodes:,} boxes" in page.shown("#said"), page.shown("#said")
    timed("another replica", page.press("r"))
    assert page.evaluate("document.querySelector('#replica').value") == "1"
    page.press("r")
    assert boxes(page) == len(graph.nodes), "all replicas"
    page.press("r")
    # A folded box unfolds by Enter, and Backspace folds its nodes again.
    page.press("1")
    before = boxes(page)
    page.press("/")
    page.evaluate("document.querySelector('#search').value = ''")
    page.press("Escape")
    page.evaluate("lockstep.page.select(lockstep.page.graph.boxScope.findIndex((scope) => scope >= 0))")
    name = selected(page)
    assert "Operators" in page.shown("#panel")
    timed("unfold", page.press("Enter"))
    assert boxes(page) > before and "unfolded" in page.shown("#said")
    assert selected(page).startswith(name), (selected(page), name)
    page.press("Backspace")
    assert boxes(page) == before and selected(page) == name


def check_keys(page, path, graph):
    page.open(path)
    page.press("Enter")
    assert selected(page) in graph.nodes and "forward" in page.shown("#said")
    page.press("/")
    timed("search", page.write("layer3.0.conv1"))
    wanted = "cpu_0/layer3.0.conv1"
    assert wanted in page.shown("#results li")
    timed("jump", page.press("Enter"))
    assert selected(page) == wanted and page.evaluate("document.activeElement.id") == "graph"
    node, details = graph.nodes[wanted], page.shown("#panel")
    facts = [node["type"], node["where"], *node["attributes"], "replica 0 on cpu:0"]
    for value in node["inputs"] + node["outputs"]:
        facts += [graph.values[value]["name"], "[" + ",".join(map(str, graph.values[value]["shape"])) + "]"]
    for fact in facts:
        assert fact in details, (fact, details)
    # Along edges, and to the gradient and back.
    page.press("n")
    assert graph.feeds(wanted, selected(page)), selected(page)
    page.press("p")
    assert selected(page) == wanted, selected(page)
    page.press("ArrowDown")
    assert graph.feeds(wanted, selected(page)), selected(page)
    page.press("ArrowUp")
    assert selected(page) == wanted, selected(page)
    partners = set()
    for _ in range(2):
        page.press("g")
        partners.add(selected(page))
        page.press("g")
        assert selected(page) == wanted, selected(page)
    assert {graph.nodes[name]["type"] for name in partners} == {"ConvGradW", "ConvGradX"}, partners
    page.press("Escape")
    assert "nothing is selected" in page.shown("#said")
    page.press("t")
    sizes = {state["name"]: graph.values[state["values"][0]]["bytes"] for state in graph.document["states"]
             if state["kind"] in ("weight", "bias", "norm")}
    largest = max(sizes, key=lambda name: sizes[name])
    row = page.shown("#panel .sizes tr")
    assert sizes[row.split("\t")[0]] == sizes[largest], (row, largest)
    page.press("?", shift=True)
    assert page.evaluate("document.querySelector('#help').open") and "Backspace" in page.shown("#help")
    page.press("Enter")
    assert not page.evaluate("document.querySelector('#help').open")
    before = page.evaluate("lockstep.page.viewport.scaleX")
    page.press("+")
    assert page.evaluate("lockstep.page.viewport.scaleX") > before


def check_mouse(page, path, graph):
    page.open(path)
    place = page.evaluate("""(() => {
      const {layout, viewport, graph} = lockstep.page;
      const box = graph.boxScope.findIndex((scope) => scope >= 0);
      const corner = viewport.canvas.getBoundingClientRect();
      return {box, x: corner.left + viewport.toScreenX(layout.x[box] + 20),
              y: corner.top + viewport.toScreenY(layout.y[box] + 20)};
    })()""")
    page.click(place["x"], place["y"])
    assert page.evaluate("lockstep.page.selected") == place["box"]
    before = page.evaluate("lockstep.page.viewport.x")
    page.drag(place["x"], place["y"], -50, -20)
    assert page.evaluate("lockstep.page.viewport.x") > before
    assert page.evaluate("lockstep.page.selected") == place["box"], "a drag is no click"
    scale = page.evaluate("lockstep.page.viewport.scaleX")
    page.wheel(place["x"], place["y"], -200)
    assert page.evaluate("lockstep.page.viewport.scaleX") > scale
    # A link opens a node.
    name = "cpu_1/layer2.0.conv2"
    page.evaluate(f"location.hash = 'node=' + encodeURIComponent({json.dumps(name)})")
    page.wait("document.querySelector('#panel h2').innerText === " + json.dumps(name), 5)
    assert name in graph.nodes


def check_window(page, path, width, dark):
    page.window(width, 800, dark=dark)
    page.open(path)
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing leaves the window"
    assert page.evaluate("document.querySelector('#graph').clientHeight") >= 250
    # Of each phase's colour on its ground, and of texts: 3 is the least contrast of WCAG for marks, 4.5 for texts.
    contrasts = page.evaluate("""(() => {
      const view = lockstep.page.viewport;
      const light = (text) => {
        const [r, g, b] = text.match(/\\w\\w/g).map((digits) => parseInt(digits, 16) / 255)
          .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const contrast = (a, b) => {
        const [x, y] = [light(view.colour(a)), light(view.colour(b))];
        return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
      };
      return lockstep.kPhases.map((phase) => [phase, contrast(phase, phase + '-fill'), contrast('ink', phase + '-fill')]);
    })()""")
    for phase, mark, text in contrasts:
        assert mark >= 3 and text >= 4.5, (phase, mark, text)


def check_hostile(page, path):
    def rename(data):
        data["texts"] = [text.replace("conv1", HOSTILE) for text in data["texts"]]
        data["graph"] = HOSTILE
    page.open(forged(path, "hostile.html", rename))
    page.press("9")
    page.press("/")
    page.write("onerror")
    assert HOSTILE[:30] in page.shown("#results li")
    page.press("Enter")
    assert "<img src=x onerror=hacked=1>" in selected(page)
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    # A script that is brought into the document does not run.
    page.evaluate("""(() => {
      const script = document.createElement('script');
      script.textContent = 'window.hacked = 1';
      document.body.append(script);
    })()""")
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert any("Content Security Policy" in error for error in page.errors), page.errors
    page.errors.clear()


def check_forged(page, path):
    """Cycles and long names take no longer than others."""
    def turn_back(data):
        # Each list is its length and its items: every node reads the last node's result.
        flat, outputs = data["nodes"]["inputs"], data["nodes"]["outputs"]
        last, at, inputs = outputs[-1], 0, []
        while at < len(flat):
            count = flat[at]
            inputs += [count + 1, *flat[at + 1:at + 1 + count], last]
            at += 1 + count
        data["nodes"]["inputs"] = inputs
    for name, change in (("cycle.html", turn_back),
                         ("long.html", lambda data: data.update(texts=[text + "n" * 1000 for text in data["texts"]]))):
        begin = time.monotonic()
        page.open(forged(path, name, change))
        page.press("9")
        page.press("Enter")
        page.press("ArrowDown")
        assert time.monotonic() - begin < 20 and not page.errors, (name, page.errors)
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        places = page.evaluate("[...lockstep.page.layout.y, ...lockstep.page.layout.x].every(Number.isFinite)")
        assert places, name


def check_trace(page):
    trace = folder / "trace.json"
    lockstep("bench", "train-step", "--model", "lenet", "--devices", "cpu*2", "--batch", 8, "--steps", 5, "--trace", trace)
    path = write("measured.html", "lenet", "--devices", "cpu*2", "--batch", 8, "--trace", trace)
    page.open(path)
    page.press("9")
    page.press("/")
    page.write("conv1")
    page.press("Enter")
    assert "median of steps" in page.shown("#panel"), page.shown("#panel")
    words = ("inspect", "mlp", "--devices", "gpu*2", "--format", "html", "-o", folder / "no.html", "--trace", trace)
    text = lockstep(*words, fails=True)
    assert "another step" in text, text
    assert not (folder / "no.html").exists()
    assert "add -o graph.html" in lockstep("inspect", "lenet", "--format", "html", fails=True)
    assert "--trace is only for --format html" in lockstep("inspect", "lenet", "--trace", trace, fails=True)


def main():
    words = ("resnet18", "--devices", "cpu*2", "--batch", 2)
    path, graph = write("graph.html", *words), Graph(*words)
    with Browser() as page:
        check_folding(page, path, graph)
        check_keys(page, path, graph)
        check_mouse(page, path, graph)
        for width, dark in ((1280, True), (400, False), (400, True), (1280, False)):
            check_window(page, path, width, dark)
        check_trace(page)
        assert not page.errors, page.errors
        check_hostile(page, path)
        check_forged(page, path)
    print("answers: " + ", ".join(f"{what} {seconds * 1e3:.0f} ms" for what, seconds in times))


arguments = argparse.ArgumentParser()
arguments.add_argument("lockstep")
arguments.add_argument("folder", type=pathlib.Path)
options = arguments.parse_args()
program, folder = options.lockstep, options.folder
folder.mkdir(parents=True, exist_ok=True)
if not chromium():
    print("skipped: there is no Chromium; tools/setup.sh installs it")
    sys.exit(SKIPPED)
main()
