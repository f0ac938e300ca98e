# SPDX-License-Identifier: Apache-2.0
"""Drives Chromium over its debugging pipe (file descriptors 3 and 4), with the standard library alone.

with Browser() as page:
    page.open("page.html")
    page.press("/"); page.write("conv1"); page.press("Enter")
    text = page.shown("#said")
"""
import base64
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

SKIPPED = 77  # the exit code of a test that cannot run here

KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, ""), "ArrowLeft": (37, ""), "ArrowUp": (38, ""),
        "ArrowRight": (39, ""), "ArrowDown": (40, ""), "Home": (36, ""), "End": (35, ""), "Backspace": (8, "")}


def chromium():
    """The browser's path, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    def __init__(self, width=1280, height=800, timeout=60):
        self.timeout = timeout
        self.number = 0
        self.buffer = b""
        self.errors = []  # exceptions of the page, and what its policy refused
        self.folder = tempfile.mkdtemp(prefix="lockstep_browser_")
        # The browser reads commands from descriptor 3 and writes answers to 4.
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()

        def descriptors():
            # Copies above 4 first: one pipe's number may be the other's place. The copies are closed: a child of the
            # browser that inherits one would keep the pipe open after the browser's end.
            first, second = os.dup2(commands, 103), os.dup2(answers, 104)
            os.dup2(first, 3)
            os.dup2(second, 4)
            os.close(first)
            os.close(second)

        self.said = tempfile.TemporaryFile()  # standard error, for the reason of an early end
        self.process = subprocess.Popen(
            [chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             "--disable-extensions", "--disable-background-networking", "--disable-dev-shm-usage", "--mute-audio",
             "--hide-scrollbars", f"--window-size={width},{height}", f"--user-data-dir={self.folder}", "about:blank"],
            close_fds=False, preexec_fn=descriptors, start_new_session=True, stdout=subprocess.DEVNULL,
            stderr=self.said)
        os.set_blocking(self.commands, False)  # a browser that hangs reads nothing
        os.close(commands)
        os.close(answers)
        try:
            pages = [target for target in self.call("Target.getTargets", session=None)["targetInfos"]
                     if target["type"] == "page"]
            self.session = self.call("Target.attachToTarget", session=None, targetId=pages[0]["targetId"],
                                     flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log"):
                self.call(domain + ".enable")
            self.window(width, height)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # the browser and its children
        except ProcessLookupError:
            pass
        self.process.wait()
        for pipe in (self.commands, self.answers):
            os.close(pipe)
        self.said.close()
        for _ in range(20):  # its child processes write for a moment longer
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.exists(self.folder):
                break
            time.sleep(0.1)

    # -- the protocol
    def _ended(self, awaited):
        """The error of a browser that ended, with the end of what it wrote."""
        code = self.process.wait(timeout=10)
        self.said.seek(0)
        last = self.said.read()[-1000:].decode(errors="replace").strip()
        return RuntimeError(f"Chromium ended with exit code {code} before {awaited}" + (f": {last}" if last else ""))

    def _ready(self, reads, writes, awaited, deadline):
        """Waits until a pipe can be read or written. Looks at the process, too: its end need not close the pipe."""
        while not any(select.select(reads, writes, [], min(0.2, max(deadline - time.monotonic(), 0)))):
            if self.process.poll() is not None:
                raise self._ended(awaited)
            if time.monotonic() >= deadline:
                raise TimeoutError(f"Chromium took more than {self.timeout} s; waited for {awaited}")

    def _message(self, awaited, deadline):
        while b"\0" not in self.buffer:
            self._ready([self.answers], [], awaited, deadline)
            piece = os.read(self.answers, 1 << 20)
            if not piece:
                raise self._ended(awaited)
            self.buffer += piece
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def _note(self, message):
        event, details = message.get("method"), message.get("params", {})
        if event == "Runtime.exceptionThrown":
            thrown = details["exceptionDetails"]
            self.errors.append(thrown.get("exception", {}).get("description") or thrown["text"])
        elif event == "Log.entryAdded" and details["entry"]["level"] == "error":
            self.errors.append(details["entry"]["text"])
        elif event == "Page.javascriptDialogOpening":
            self.errors.append("dialog: " + details["message"])

    def call(self, method, session="", **parameters):
        """One command; its result. Events that come before the answer are noted."""
        self.number += 1
        number, command = self.number, {"id": self.number, "method": method, "params": parameters}
        if session == "":
            command["sessionId"] = self.session
        data = json.dumps(command).encode() + b"\0"
        deadline = time.monotonic() + self.timeout
        awaited = f"the answer to {method} {json.dumps(parameters)[:300]}"
        while data:
            self._ready([], [self.commands], awaited, deadline)
            try:
                data = data[os.write(self.commands, data):]
            except BrokenPipeError:
                raise self._ended(awaited) from None
        while True:
            message = self._message(awaited, deadline)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self._note(message)

    # -- a user's actions
    def window(self, width, height, dark=False, ratio=1, touch=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio,
                  mobile=touch)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path):
        """Loads a file; the seconds until its `load` event and the next frame."""
        begin = time.monotonic()
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        self.wait("document.readyState === 'complete'")
        self.frame()
        return time.monotonic() - begin

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            thrown = result["exceptionDetails"]
            raise RuntimeError(thrown.get("exception", {}).get("description") or thrown["text"])
        return result["result"].get("value")

    def wait(self, expression, seconds=None):
        """Waits until the expression is true; the seconds that took."""
        begin, most = time.monotonic(), seconds or self.timeout
        while not self.evaluate(expression):
            if time.monotonic() - begin > most:
                raise TimeoutError(f"waited {most} s until this is true: {expression}")
            time.sleep(0.01)
        return time.monotonic() - begin

    def frame(self):
        """Waits until two frames were drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def press(self, key, shift=False):
        """One key, named as KeyboardEvent.key. The seconds until the next frame was drawn."""
        begin = time.monotonic()
        code, text = KEYS.get(key, (ord(key.upper()) if len(key) == 1 else 0, key if len(key) == 1 else ""))
        details = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **details)
        self.call("Input.dispatchKeyEvent", type="keyUp", **details)
        self.frame()
        return time.monotonic() - begin

    def write(self, text):
        """Text into the focused element; the seconds until the next frame was drawn."""
        begin = time.monotonic()
        self.call("Input.insertText", text=text)
        self.frame()
        return time.monotonic() - begin

    def click(self, x, y, count=1):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=count)
        self.frame()

    def drag(self, x, y, step_x, step_y):
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + step_x, y=y + step_y, button="left", buttons=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=x + step_x, y=y + step_y, button="left",
                  clickCount=1)
        self.frame()

    def wheel(self, x, y, delta):
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta)
        self.frame()

    # -- what a user sees
    def shown(self, selector):
        """The visible text of the first such element."""
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")

    def screenshot(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
