# SPDX-License-Identifier: Apache-2.0
"""The results of one stage of a GPU report: a file in the report's folder, written as it grows."""
import json
import os
import time


class Part:
    """`add` writes at once, so a machine that is taken away leaves all results until then."""

    def __init__(self, folder, stage, minutes, kept=()):
        """`kept` are items of an earlier run, which this run continues."""
        self.folder, self.stage = folder, stage
        self.items, self.complete = list(kept), False
        self.end = time.monotonic() + 60 * minutes
        self.began = time.monotonic()

    def start_over(self):
        self.items = []

    def has(self, name):
        return any(item["name"] == name for item in self.items)

    def left(self):
        """Seconds until the stage's time is over."""
        return self.end - time.monotonic()

    def add(self, name, lines, failed=False, **found):
        """`lines` are text of the report."""
        lines = [lines] if isinstance(lines, str) else list(lines)
        self.items.append({"name": name, "lines": lines, "failed": failed, **found})
        print("\n".join(lines), flush=True)
        self.write()

    def late(self, name):
        """True if the time is over; the report then names the item that was not reached."""
        if self.left() > 0:
            return False
        self.add(name, f"{name:42} not reached: the stage's time is over", late=True)
        return True

    def finish(self):
        self.complete = not any(item.get("late") for item in self.items)
        self.write()

    def write(self):
        path = file_of(self.folder, self.stage)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump({"stage": self.stage, "complete": self.complete, "items": self.items,
                       "seconds": round(time.monotonic() - self.began, 1)}, file, indent=1)
        os.replace(path + ".new", path)

    def log_of(self, name):
        kept = "".join(c if c.isalnum() else "_" for c in name)
        return os.path.join(self.folder, f"{self.stage}_{kept}.log")


def file_of(folder, stage):
    return os.path.join(folder, f"{stage}.json")


def settled(part):
    """The items of a part that need no second try."""
    return [item for item in (part or {}).get("items", []) if not item.get("late") and not item["failed"]]


def read(folder, stage):
    """The part of an earlier run, or None."""
    try:
        with open(file_of(folder, stage), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None
