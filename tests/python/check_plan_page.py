# SPDX-License-Identifier: Apache-2.0
"""Reads pages of plans in Chromium: presses keys and compares what is shown with the plan as JSON.

check_plan_page.py LOCKSTEP FOLDER                  the test
check_plan_page.py LOCKSTEP FOLDER --replicas 160   measures a large plan instead (minutes)
check_plan_page.py LOCKSTEP FOLDER --picture FILE   draws docs/pictures/plan.png
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import time

from browser import Browser, SKIPPED, chromium

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror=hacked=1>"


def lockstep(*words, fails=False):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def write(name, *words):
    """Writes a page; its path and the seconds that took."""
    page, begin = folder / name, time.monotonic()
    said = lockstep("plan", *words, "--format", "html", "-o", page)
    return page, time.monotonic() - begin, said


def frames_per_second(page):
    """Of moving the lanes sideways in the middle of the step, magnified six times."""
    return page.evaluate("""(async () => {
      const view = lockstep.page.laneView, begin = performance.now();
      view.zoom(6);
      for (let i = 0; i < 30; ++i) {
        view.pan(i % 2 ? 40 : -60, 0);
        await new Promise(done => requestAnimationFrame(done));
      }
      view.fit();
      return 30000 / (performance.now() - begin);
    })()""")


def measure(page, path, wrote):
    opened, frames = page.open(path), frames_per_second(page)
    size = path.stat().st_size / 1e6
    page.press("/")
    found = page.write("conv2")
    page.press("Escape")
    print(f"{path.name}: written in {wrote:.1f} s, {size:.1f} MB, opened in {opened:.2f} s, "
          f"{frames:.0f} frames/s, search {found * 1e3:.0f} ms")
    assert wrote < 20 and size <= 60 and opened < 3 and frames >= 10 and found < 0.2, path
    assert not page.errors, page.errors


def check_keys(page, path, plan):
    """Every key, against the plan's document."""
    page.open(path)
    page.evaluate("document.querySelector('#lanes').focus()")
    said = page.shown("#said")
    for part in ("A step takes", "The latest reduce", "exposed", "arenas", "too little"):
        assert part in said, (part, said)
    reduces = [step["name"] for step in plan["steps"] if step["type"] == "AllReduce"]
    page.press("r")
    live = page.shown("#live")
    assert any(name in live for name in reduces) and "reduce" in live, live
    assert "Step " in page.shown("#details h2")
    page.press("w")
    assert page.shown("#live") != live, "w goes to the awaited step"
    # The first step of the first worker, then the second.
    page.press("Escape")
    for number in (0, 1):
        page.press(".")
    selected = page.evaluate("lockstep.page.selected.step")
    worker = plan["steps"][selected]["worker"]
    assert plan["workers"][worker]["steps"].index(selected) == 1
    details = page.shown("#details")
    step = plan["steps"][selected]
    for part in (step["name"], step["type"], step["candidate"], plan["workers"][worker]["name"]):
        assert part in details, (part, details)
    for slot in step["in"] + step["out"]:
        if slot >= 0:
            assert plan["slots"][slot]["name"] in details, plan["slots"][slot]["name"]
            place = plan["slots"][slot]["place"]
            if place["in"] == "arena":
                assert f"+{plan['blocks'][place['block']]['offset']}" in details, (place, details)
    page.press("]" if worker == 0 else "[")
    assert plan["workers"][1 - worker]["name"] in page.shown("#live")
    page.press("m")
    assert "Value " in page.shown("#live") and "producer" in page.shown("#details")
    page.press("Enter")
    assert page.evaluate("document.activeElement.id") == "details"
    page.press("/")
    page.write("conv2")
    assert "conv2" in page.shown("#found")
    page.press("Enter")
    assert "conv2" in page.shown("#live")
    before = page.evaluate("lockstep.page.laneView.x")
    page.press("ArrowRight")
    assert page.evaluate("lockstep.page.laneView.x") > before
    page.press("a")
    assert page.evaluate("document.querySelector('#arrows').getAttribute('aria-pressed')") == "false"
    page.press("?", shift=True)
    assert "previous, next step" in page.shown("#keys")


def check_clicks(page):
    """A click on the middle of a step's bar and of a rectangle selects them."""
    place = page.evaluate("""(() => {
      const {data, lanes, laneView} = lockstep.page, {begin, end, worker} = data.steps;
      laneView.fit();
      const step = data.lanes[0].reduce((a, b) => end[b] - begin[b] > end[a] - begin[a] ? b : a);
      const box = document.querySelector('#lanes').getBoundingClientRect();
      return {step, x: box.left + laneView.toScreenX((begin[step] + end[step]) / 2),
              y: box.top + laneView.toScreenY(lanes.top(worker[step]) + lanes.bar / 2)};
    })()""")
    page.click(place["x"], place["y"])
    assert page.evaluate("lockstep.page.selected.step") == place["step"]
    place = page.evaluate("""(() => {
      const {data, arena, arenaView} = lockstep.page;
      const {begin, end, bytes, offset} = data.rectangles;
      const most = data.arenas[arena.worker].reduce((a, b) =>
        (end[b] - begin[b]) * bytes[b] > (end[a] - begin[a]) * bytes[a] ? b : a);
      const box = document.querySelector('#arena').getBoundingClientRect();
      return {most, x: box.left + arenaView.toScreenX((begin[most] + end[most]) / 2),
              y: box.top + arena.yOf(arenaView, offset[most] + bytes[most] / 2)};
    })()""")
    page.click(place["x"], place["y"])
    assert page.evaluate("lockstep.page.selected.rectangle") == place["most"]


def check_window(page, path, width, dark):
    page.window(width, 800, dark=dark)
    page.open(path)
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing leaves the window"
    # Text against its ground: 4.5 is the least contrast of WCAG's level AA.
    contrast = page.evaluate("""(() => {
      const light = (text) => {
        const [r, g, b] = text.match(/[\\d.]+/g).map(Number)
          .map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const style = getComputedStyle(document.body);
      const [a, b] = [light(style.color), light(style.backgroundColor)];
      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    })()""")
    assert contrast >= 4.5, contrast
    assert page.evaluate("document.querySelector('#lanes').clientHeight") >= 80


def check_moved(page, path, graph):
    """The link to the graph's page works after both pages were moved together."""
    moved = folder / "moved"
    moved.mkdir(exist_ok=True)
    for each in (path, graph):
        shutil.copy(each, moved)
    page.open(moved / path.name)
    page.evaluate("document.querySelector('#lanes').focus()")
    page.press("r")
    node = page.evaluate("lockstep.page.data.stepName(lockstep.page.selected.step)")
    page.evaluate("document.querySelector('#details a').click()")
    page.wait("location.pathname.endsWith('/moved/graph.html') && document.readyState === 'complete'")
    assert page.shown("#panel h2") == node, (page.shown("#panel h2"), node)
    page.open(path)


def check_measured(page):
    trace = folder / "trace.json"
    lockstep("bench", "train-step", "--model", "lenet", "--devices", "cpu*2", "--batch", 16, "--steps", 5,
             "--trace", trace)  # 8 for each replica
    path, _, said = write("measured.html", "lenet", "--devices", "cpu*2", "--batch", 8, "--trace", trace)
    assert "(measured)" in said, said
    page.open(path)
    assert "(measured)" in page.shown("#said") and "Times are measured: step " in page.shown("#said")
    text = lockstep("plan", "lenet", "--devices", "cpu*3", "--batch", 8, "--trace", trace, "--format", "html", "-o",
                    folder / "no.html", fails=True)
    assert "another step" in text and "bench train-step" in text, text
    text = lockstep("plan", "lenet", "--devices", "cpu*2", "--batch", 16, "--trace", trace, "--format", "html", "-o",
                    folder / "no.html", fails=True)
    assert "another step" in text and "float32[16," in text and "float32[8," in text, text
    assert not (folder / "no.html").exists()


def check_hostile(page, path):
    """A page whose names are HTML: its text shows them, and runs nothing."""
    text = path.read_text()
    escaped = json.dumps(HOSTILE)[1:-1].replace("<", "\\u003c")
    hostile = folder / "hostile.html"
    hostile.write_text(text.replace("conv1", escaped))
    page.open(hostile)
    page.evaluate("document.querySelector('#lanes').focus()")
    page.press(".")
    assert HOSTILE in page.shown("#details h2"), page.shown("#details h2")
    page.press("m")
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.evaluate("document.querySelectorAll('img').length") == 0


def draw(page, target):
    lockstep("build", "resnet18", "--devices", "cpu*2", "-o", folder / "step.onnx")
    path, _, _ = write("picture.html", folder / "step.onnx")
    page.window(1280, 760)
    page.open(path)
    page.evaluate("document.querySelector('#lanes').focus()")
    page.press("m")
    page.screenshot(target)


def main():
    if options.picture or options.replicas:
        with Browser() as page:
            page.timeout = 300
            if options.picture:
                draw(page, options.picture)
            else:
                path, wrote, _ = write("large.html", "resnet50", "--devices", f"cpu*{options.replicas}", "--batch", 1)
                measure(page, path, wrote)
        return
    model = ["lenet", "--devices", "cpu*2", "--batch", 8]
    assert "none.html" in lockstep("plan", *model, "--format", "html", "-o", folder / "no.html", "--graph",
                                   folder / "none.html", fails=True)
    graph = folder / "graph.html"
    lockstep("inspect", *model, "--format", "html", "-o", graph)
    path, _, said = write("plan.html", *model, "--memory", "1M", "--graph", graph)
    assert "too little" in said and "would help: --batch" in said, said
    assert "add -o" in lockstep("plan", "lenet", "--format", "html", fails=True)
    assert "only for --format html" in lockstep("plan", "lenet", "--rates", "80:15", fails=True)
    assert "GFLOP/s:GB/s" in lockstep("plan", "lenet", "--format", "html", "-o", folder / "no.html", "--rates", "80",
                                      fails=True)
    plan = json.loads(subprocess.run([program, "plan", *map(str, model), "--format", "json"], capture_output=True,
                                     check=True).stdout)
    with Browser() as page:
        check_keys(page, path, plan)
        check_clicks(page)
        page.press("r")
        link = page.evaluate("document.querySelector('#details a').href")
        assert "/graph.html#node=" in link and link.endswith("_all_reduce"), link
        check_moved(page, path, graph)
        for width in (1280, 400):
            for dark in (False, True):
                check_window(page, path, width, dark)
        page.window(1280, 800)
        check_measured(page)
        check_hostile(page, path)
        large, wrote, _ = write("eight.html", "resnet50", "--devices", "cpu*8", "--batch", 4)
        measure(page, large, wrote)
        assert not page.errors, page.errors
    print("pages of plans: keys, clicks, windows, traces, names, times")


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("lockstep")
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--replicas", type=int)
parser.add_argument("--picture", type=pathlib.Path)
options = parser.parse_args()
program, folder = options.lockstep, options.folder
if not chromium():
    print("skipped: there is no chromium; tools/setup.sh installs it")
    sys.exit(SKIPPED)
folder.mkdir(parents=True, exist_ok=True)
main()
