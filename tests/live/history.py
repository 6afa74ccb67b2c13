#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The daemon's history: with a short period, requests of a service are in it, nearly all of them and as
long as the client measured, also across a restart. Prints TAP.
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _live  # noqa: E402  pylint: disable=wrong-import-position
import _service  # noqa: E402  pylint: disable=wrong-import-position

REQUESTS = 300


class Daemon:
    """A daemon with short segments and periods."""

    def __init__(self, name):
        self.place = _live.scratch(name)
        os.makedirs(self.place)
        self.history = os.path.join(self.place, "history")
        self.config = os.path.join(self.place, "conf")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(f"ring {self.place}/ring\nrotate 1s\nkeep 60s\nhistory {self.history}\n"
                       f"incidents {self.place}/incidents\n")
        self.environment = dict(os.environ,
                                CLEW_RUN_DIRECTORY=os.path.join(self.place, "run"),
                                CLEW_TEST_HISTORY_PERIOD="2000")
        self.process = None

    def clew(self, *arguments):
        return subprocess.run([_live.CLEW, *arguments],
                              env=self.environment,
                              capture_output=True,
                              text=True,
                              timeout=_live.PATIENCE,
                              check=False)

    def start(self):
        started = self.clew("daemon", "-c", self.config)
        return started.returncode == 0, started.stderr

    def stop(self):
        return self.clew("daemon", "stop")

    def found(self):
        """The clients' requests: how many, and the mean, ns."""
        done = self.clew("history", "--class", "requests of askingclient", "--last", "2h", "--json")
        if done.returncode != 0:
            return 0, 0
        hours = [hour for it in json.loads(done.stdout)["classes"] for hour in it["hours"]]
        count = sum(hour["count"] for hour in hours)
        return count, sum(hour["count"] * hour["mean_ns"] for hour in hours) // count

    def await_count(self, least):
        """Waits until so many requests are in the history."""
        end = time.monotonic() + _live.PATIENCE / 4
        while time.monotonic() < end:
            if self.found()[0] >= least:
                return True
            time.sleep(.5)
        return False


def ask():
    done = subprocess.run(
        _service.command(REQUESTS, client="askingclient", server="slowserver"),
        capture_output=True,
        text=True,
        timeout=_live.PATIENCE,
        check=True)
    return int(done.stdout.split()[0])


def main():
    if _live.GUEST:
        _live.skip_all("an emulated machine is too slow to keep times by")
    daemon = Daemon("kept")
    good, why = daemon.start()
    _live.ok(good, "a daemon with a history starts", why)
    try:
        first = ask()
        # Segments cut some, and the last period is written as the daemon ends.
        good = daemon.await_count(REQUESTS * 8 // 10)
        count, mean = daemon.found()
        _live.ok(good, "most requests are in the history", f"{count} of {REQUESTS}")
        _live.ok(good and abs(mean - first) < first / 5, "as long as the client measured",
                 f"{mean} ns instead of {first} ns")
        _live.ok(daemon.stop().returncode == 0, "it stops")
        before = daemon.found()[0]
        good, why = daemon.start()
        _live.ok(good, "it starts again", why)
        ask()
        good = daemon.await_count(before + REQUESTS * 8 // 10)
        _live.ok(good, "what is asked later comes to it",
                 f"{daemon.found()[0]}, of which {before} were there before")
        _live.ok(daemon.found()[0] <= 2 * REQUESTS, "nothing counts twice", repr(daemon.found()))
    finally:
        daemon.stop()
    left = subprocess.run(["pgrep", "-x", "clew-history"],
                          capture_output=True,
                          text=True,
                          check=False).stdout
    _live.ok(not left, "no process is left", left)
    _live.finish()


if __name__ == "__main__":
    main()
