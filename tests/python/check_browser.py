# SPDX-License-Identifier: Apache-2.0
"""Browsers that end or hang are errors that say what was awaited, at once or after the time-out.

check_browser.py
"""
import os
import signal
import sys
import time

from browser import Browser, SKIPPED, chromium

TIMEOUT = 3  # seconds


def error_of(act):
    """The error, and the seconds until it came."""
    try:
        with Browser() as page:
            page.evaluate("1")
            page.timeout = TIMEOUT
            begin = time.monotonic()
            act(page)
    except (RuntimeError, TimeoutError) as error:
        return error, time.monotonic() - begin
    raise AssertionError("no error")


def signalled(number, expression):
    def act(page):
        os.kill(page.process.pid, number)
        page.evaluate(expression)
    return act


def main():
    cases = [
        # what happens, the error, its words, the most seconds
        (signalled(signal.SIGKILL, "11 + 2"), RuntimeError, ["exit code -9", "Runtime.evaluate", "11 + 2"], TIMEOUT),
        (signalled(signal.SIGSTOP, "11 + 2"), TimeoutError, ["3 s", "Runtime.evaluate", "11 + 2"], 30),
        # More than a pipe takes.
        (signalled(signal.SIGSTOP, "'" + "x" * 2000000 + "'"), TimeoutError, ["3 s", "Runtime.evaluate"], 30),
        (lambda page: page.evaluate("new Promise(() => 0)"), TimeoutError, ["3 s", "new Promise"], 30),
        (lambda page: page.wait("window.nothing", 1), TimeoutError, ["1 s", "window.nothing"], 30)]
    for act, kind, words, most in cases:
        error, seconds = error_of(act)
        assert isinstance(error, kind) and seconds < most, (error, seconds)
        for word in words:
            assert word in str(error), (word, error)
    print("browsers that end or hang: the errors say what was awaited")


if not chromium():
    print("skipped: there is no chromium; tools/setup.sh installs it")
    sys.exit(SKIPPED)
main()
