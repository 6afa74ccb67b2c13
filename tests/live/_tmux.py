# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A shell in tmux, whose screen is read and to which keys are sent."""

import atexit
import subprocess
import time

from _live import PATIENCE, scratch


class Terminal:
    """Its prompt is "$ "; it ends with the test."""

    def __init__(self, width, height):
        self.socket = scratch(f"tmux-{time.monotonic_ns()}")
        self.tmux("new-session", "-d", "-s", "it", "-x", str(width), "-y", str(height), "sh")
        self.send("PS1='$ '", "Enter")
        atexit.register(self.end)

    def tmux(self, *words):
        return subprocess.run(["tmux", "-S", self.socket, *words],
                              capture_output=True,
                              text=True,
                              timeout=PATIENCE,
                              check=False).stdout

    def send(self, *keys):
        """Names of keys, as Enter, or text."""
        self.tmux("send-keys", "-t", "it", *keys)

    def resize(self, width, height):
        self.tmux("resize-window", "-t", "it", "-x", str(width), "-y", str(height))

    def shell(self):
        """Its pid."""
        return int(self.tmux("display-message", "-p", "-t", "it", "#{pane_pid}"))

    def screen(self):
        return self.tmux("capture-pane", "-p", "-t", "it").splitlines()

    def wait_for(self, wanted, seconds=40):
        """The screen as soon as it is as wanted; else as it is after that time."""
        until = time.monotonic() + seconds
        while True:
            lines = self.screen()
            if wanted(lines) or time.monotonic() > until:
                return lines
            time.sleep(.2)

    def end(self):
        self.tmux("kill-server")


def has(text):
    return lambda lines: any(text in line for line in lines)


def all_of(*texts):
    return lambda lines: all(has(text)(lines) for text in texts)
