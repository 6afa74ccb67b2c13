# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Loads of a soak, and what a recorder holds while they run."""
import os
import signal
import subprocess
import threading


class Load(threading.Thread):
    """Repeats a command until told to stop; `pause` seconds between two."""

    def __init__(self, command, pause):
        super().__init__(daemon=True)
        self.command = command
        self.pause = pause
        self.ended = threading.Event()

    def run(self):
        while not self.ended.is_set():
            with subprocess.Popen(self.command,
                                  stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL,
                                  start_new_session=True) as process:
                while process.poll() is None and not self.ended.wait(0.1):
                    pass
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
            self.ended.wait(self.pause)

    def stop(self):
        self.ended.set()
        self.join()


def look(pid):
    """Resident kB and open descriptors of the recorder."""
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as status:
        resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
    return resident, len(os.listdir("/proc/%d/fd" % pid))
