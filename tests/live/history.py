#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The daemon's history: with a short period, requests of a service are in it, as long as the client
measured, also across a restart, and whole where the borders of segments cut them; and what it costs
is in the daemon's status. Prints TAP.
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
# Segments are of a second: their borders cut most of these.
LONG = (.7, .9, .8, .6)


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

    def found(self, client="askingclient"):
        """A client's requests: how many, and the mean, ns."""
        done = self.clew("history", "--class", "requests of " + client, "--last", "2h", "--json")
        if done.returncode != 0:
            return 0, 0
        hours = [hour for it in json.loads(done.stdout)["classes"] for hour in it["hours"]]
        count = sum(hour["count"] for hour in hours)
        return count, sum(hour["count"] * hour["mean_ns"] for hour in hours) // (count or 1)

    def status(self):
        return json.loads(self.clew("daemon", "status", "--json").stdout)["history"]

    def await_count(self, least, client="askingclient"):
        """Waits until so many requests are in the history."""
        end = time.monotonic() + _live.PATIENCE / 4
        while time.monotonic() < end:
            if self.found(client)[0] >= least:
                return True
            time.sleep(.5)
        return False


def ask():
    done = subprocess.run(_service.command(REQUESTS, client="askingclient", server="slowserver"),
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
        slow = subprocess.Popen(_service.command(2 * len(LONG), client="longclient", answers=LONG),
                                stdout=subprocess.PIPE,
                                text=True)
        first = ask()
        good = daemon.await_count(REQUESTS)
        count, mean = daemon.found()
        _live.ok(good and count == REQUESTS, "all requests are in the history",
                 f"{count} of {REQUESTS}")
        _live.ok(good and abs(mean - first) < first / 5, "as long as the client measured",
                 f"{mean} ns instead of {first} ns")
        truth = int(slow.communicate(timeout=_live.PATIENCE)[0])
        good = daemon.await_count(2 * len(LONG), "longclient")
        count, mean = daemon.found("longclient")
        _live.ok(good and count == 2 * len(LONG),
                 "those that borders of segments cut are whole, and count once", f"{count}")
        _live.ok(good and abs(mean - truth) < truth / 100, "as long as they were",
                 f"{mean} ns instead of {truth} ns")
        cost = daemon.status()
        _live.ok(
            cost["kept"] and cost["directory"] == daemon.history and cost["user_ns"] > 0
            and cost["memory_bytes"] > 1 << 20, "the status has what it costs", repr(cost))
        _live.ok(daemon.stop().returncode == 0, "it stops")
        before = daemon.found()[0]
        good, why = daemon.start()
        _live.ok(good, "it starts again", why)
        ask()
        good = daemon.await_count(before + REQUESTS)
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
