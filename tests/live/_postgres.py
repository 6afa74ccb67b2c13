# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A PostgreSQL cluster of a test's own, on a disk, gone when the test ends."""

import os
import shutil
import subprocess
import tempfile
import time

from _live import run


class Refused(Exception):
    """The cluster cannot be made; says why."""


def programs():
    """Where the newest version's programs are, or None."""
    base = "/usr/lib/postgresql"
    for version in sorted(os.listdir(base), reverse=True) if os.path.isdir(base) else []:
        if os.path.exists(f"{base}/{version}/bin/initdb"):
            return f"{base}/{version}/bin"
    return None


class Cluster:
    """
    Use with `with`; `server` is its first process. Filled for pgbench at this
    scale, in a directory below `top`; raises Refused.
    """

    def __init__(self, scale, *settings, top="/var/tmp"):
        self.programs = programs()
        self.scale = scale
        self.settings = [word for setting in settings for word in ("-c", setting)]
        self.server = None
        self.place = tempfile.mkdtemp(prefix="clew-live-pg-", dir=top)
        shutil.chown(self.place, "postgres", "postgres")
        self.user = {
            "user": "postgres", "group": "postgres", "extra_groups": [], "cwd": self.place, "env":
            {"PATH": self.programs + ":/usr/bin:/bin", "LC_ALL": "C"}
        }

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind, value, trace):
        if self.server:
            self.server.terminate()
            self.server.wait()
        shutil.rmtree(self.place, True)

    def _start(self):
        data = os.path.join(self.place, "data")
        done = run(f"{self.programs}/initdb", "-D", data, "-A", "trust", "--no-sync", **self.user)
        if done.returncode != 0:
            raise Refused("initdb: " + done.stderr)
        with open(f"{self.place}/log", "wb") as log:
            self.server = subprocess.Popen([
                f"{self.programs}/postgres", "-D", data, "-k", self.place, "-h", "", *self.settings
            ],
                                           stdout=log,
                                           stderr=log,
                                           start_new_session=True,
                                           **self.user)
        for _ in range(200):
            if run(f"{self.programs}/pg_isready", "-h", self.place, "-q",
                   **self.user).returncode == 0:
                break
            time.sleep(0.1)
        done = run(f"{self.programs}/pgbench", "-h", self.place, "-i", "-s", str(self.scale), "-q",
                   "postgres", **self.user)
        if done.returncode != 0:
            raise Refused("pgbench -i: " + done.stderr)

    def bench(self, clients, seconds):
        """Starts pgbench."""
        return subprocess.Popen([
            f"{self.programs}/pgbench", "-h", self.place, "-n", "-c",
            str(clients), "-j", "2", "-T",
            str(seconds), "postgres"
        ],
                                stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL,
                                **self.user)
