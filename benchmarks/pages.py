#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of a large graph in Chromium: time to write and open it, to fold, search and unfold, and frames a second.

    benchmarks/pages.py [--lockstep FILE] [--model resnet50] [--replicas 160] [--folder DIR]

Ends with code 1 if the page has more than 60 MB, or takes more than 20 s to write, 3 s to open folded, 10 s to unfold
all nodes, 200 ms to fold or search, or moves at fewer than 10 frames a second.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/python"))
from browser import Browser, chromium  # noqa: E402

FRAMES = 30
PAN = """(async () => {
  const view = lockstep.page.viewport, begin = performance.now();
  for (let i = 0; i < %d; ++i) {
    view.pan(i %% 2 ? 7 : -9, 3);
    await new Promise(done => requestAnimationFrame(done));
  }
  return %d / (performance.now() - begin) * 1000;
})()""" % (FRAMES, FRAMES)

broken = []


def report(what, value, unit, limit, at_least=False):
    good = value >= limit if at_least else value <= limit
    print(f"{what:34s}{value:10.2f} {unit:10s}{'at least' if at_least else 'at most'} {limit}{'' if good else '  BROKEN'}")
    if not good:
        broken.append(what)


def boxes(page):
    return page.evaluate("lockstep.page.graph.boxCount")


def measure(page, path):
    report("open, folded", page.open(path), "s", 3)
    for depth in "123":
        seconds = page.press(depth)
        report(f"fold to depth {depth} ({boxes(page):,} boxes)", 1e3 * seconds, "ms", 200)
    page.press("1")
    page.press("/")
    report("search", 1e3 * page.write("conv2"), "ms", 200)
    report("search again", 1e3 * page.write(".weight"), "ms", 200)
    report("jump", 1e3 * page.press("Enter"), "ms", 200)
    page.press("Escape")
    page.press("1")
    begin = time.monotonic()
    page.evaluate("lockstep.page.setReplica(lockstep.kAllReplicas)")
    page.frame()
    report(f"all replicas, folded ({boxes(page):,} boxes)", 1e3 * (time.monotonic() - begin), "ms", 200)
    page.press("/")
    report("search in all replicas", 1e3 * page.write("layer"), "ms", 200)
    page.press("Escape")
    seconds = page.press("9")
    report(f"unfold all ({boxes(page):,} boxes)", seconds, "s", 10)
    page.press("0")
    while True:
        scale = page.evaluate("lockstep.page.viewport.scaleX")
        report(f"moving at scale {scale:.4f}", page.evaluate(PAN), "frames/s", 10, at_least=True)
        if scale >= 2:
            break
        page.evaluate("lockstep.page.viewport.zoom(2)")
        page.frame()
    assert not page.errors, page.errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--lockstep", default=f"{ROOT}/build/release/lockstep")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--replicas", type=int, default=160)
    parser.add_argument("--folder", type=pathlib.Path, help="where the page is kept")
    args = parser.parse_args()
    if not chromium():
        sys.exit("there is no Chromium; tools/setup.sh installs it")
    with tempfile.TemporaryDirectory() as folder:
        path = (args.folder or pathlib.Path(folder)) / "graph.html"
        begin = time.monotonic()
        subprocess.run([args.lockstep, "inspect", args.model, "--devices", f"cpu*{args.replicas}", "--batch", "4",
                        "--format", "html", "-o", path], check=True)
        report("write the page", time.monotonic() - begin, "s", 20)
        report("its size", os.path.getsize(path) / 1e6, "MB", 60)
        with Browser() as page:
            measure(page, path)
    if broken:
        sys.exit("broken: " + ", ".join(broken))


main()
