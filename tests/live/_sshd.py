# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A server of ssh on a local port, with keys of its own, and a configuration for clients in which
several hosts are that server, and one is none.
"""

import os
import shutil
import socket
import subprocess
import sys

from _live import run, scratch

SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
SERVER = """
ListenAddress 127.0.0.1
Port {port}
HostKey {host}
AuthorizedKeysFile {user}.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
"""
CLIENT = """
Host down
    Port {closed}
Host *
    HostName 127.0.0.1
    Port {port}
    User root
    IdentityFile {user}
    UserKnownHostsFile {known}
    HostKeyAlias there
    BatchMode yes
"""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    """Runs within it; `ssh`: the command line with which its hosts are reached."""

    def __enter__(self):
        self.ssh = f"ssh -F {scratch('ssh.conf')}"
        values = {"port": free_port(), "closed": free_port(), "host": scratch("host"),
                  "user": scratch("user"), "known": scratch("known")}
        for key in ("host", "user"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", values[key])
        with open(values["host"] + ".pub", encoding="ascii") as public, \
                open(values["known"], "w", encoding="ascii") as known:
            known.write("there " + public.read())
        for name, text in (("sshd.conf", SERVER), ("ssh.conf", CLIENT)):
            with open(scratch(name), "w", encoding="ascii") as file:
                file.write(text.format(**values))
        # It wants this one, which is the package's.
        os.makedirs("/run/sshd", exist_ok=True)
        self.process = subprocess.Popen([SSHD, "-D", "-e", "-f", scratch("sshd.conf")],
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        if "listening" not in line:
            raise OSError(f"sshd: {line.strip()}: {sys.argv[0]}")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate()
