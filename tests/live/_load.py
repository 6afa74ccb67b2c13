# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Loads of a soak, and what a recorder holds while they run."""
import os
import signal
import subprocess
import threading
import time


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


def wait_in_many_ways(place, seconds, holds, pause):
    """
    Waits for a lock that threads hold for so many seconds each, for files in `place` that are
    written and synced, for processes and for pipes; `pause` seconds between two turns.
    """
    until = time.monotonic() + seconds
    lock = threading.Lock()

    def hold(length):
        while time.monotonic() < until:
            with lock:
                time.sleep(length)

    threads = [threading.Thread(target=hold, args=(each, )) for each in holds]
    for each in threads:
        each.start()
    number = 0
    while time.monotonic() < until:
        number += 1
        with open(os.path.join(place, "data%d" % (number % 5)), "wb") as file:
            file.write(b"x" * 200000)
            os.fsync(file.fileno())
        subprocess.run("ls /etc | grep -c conf | cat",
                       shell=True,
                       stdout=subprocess.DEVNULL,
                       check=True)
        if pause:
            time.sleep(pause)
    for each in threads:
        each.join()
