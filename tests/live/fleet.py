#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The commands of docs/fleet.md, run as they stand there, but for the ports, in a mount namespace
with directories of its own. A receiver of OTLP stands in for the collector. The clocks of the two recordings are one:
what clew says of them has to allow for that.
"""

import os
import re
import shutil
import socket
import subprocess
import sys

from _live import CLEW, GUEST, ROOT, clew, finish, ok, run, scratch, skip_all

sys.path.insert(0, os.path.join(ROOT, "tests", "golden"))
from _otlp import Receiver, from_proto  # noqa: E402  pylint: disable=wrong-import-position

PRIVATE = ("/run/clew", "/var/lib/clew", "/etc/clew")
# The daemon ends with the commands, also with those that fail.
BEGIN = """set -e
stop() {
	pid=$(clew daemon status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])')
	kill "$pid"
	while [ -d "/proc/$pid" ]; do sleep 0.1; done
}
trap stop EXIT
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def blocks():
    """The commands by the heading that they stand under."""
    found, heading = {}, None
    with open(os.path.join(ROOT, "docs", "fleet.md"), encoding="utf-8") as file:
        for part in re.split(r"^## ", file.read(), flags=re.M)[1:]:
            heading = part.split("\n", 1)[0]
            found[heading] = "".join(re.findall(r"^```sh\n(.*?)^```$", part, re.M | re.S))
    return found


def run_all(parts, url):
    """What each part printed."""
    script = [BEGIN]
    script += ["mkdir -p %s; mount -t tmpfs none %s" % (path, path) for path in PRIVATE]
    for heading, commands in parts.items():
        script += ["echo '== %s'" % heading, commands]
    text = "\n".join(script).replace("http://127.0.0.1:4318", url)
    for port in ("9464", "8765"):
        text = text.replace(port, str(free_port()))
    done = run("unshare", "-m", "bash", "-c", text, timeout=120,
               cwd=scratch("fleet"),
               env=dict(os.environ, PATH=os.path.dirname(CLEW) + ":" + os.environ["PATH"]),
               stdin=subprocess.DEVNULL)
    printed = re.split(r"^== (.*)\n", done.stdout, flags=re.M)
    return done, dict(zip(printed[1::2], printed[2::2]))


def test_trace(requests):
    """The trace of the incident: the wait, and in it what the holder did."""
    spans = [span for request in requests for span in from_proto(request[3])]
    roots = [span for span in spans if not span.parent]
    ok(len(roots) == 1, "one incident is one trace", len(roots))
    waits = [s for s in spans if s.attributes.get("clew.call") == "flock"]
    ok(
        len(waits) == 1 and waits[0].end - waits[0].start > 500_000_000 and
        waits[0].attributes["clew.object"].split(" ")[0].endswith("/fleet.lock"),
        "the wait for the lock is a span of it", waits)
    ok(
        any(s.parent == waits[0].id and s.attributes.get("thread.name") in ("flock", "sleep") and
            s.attributes["thread.id"] != waits[0].attributes["thread.id"] for s in spans),
        "what the holder did is in it", spans)
    ok({s.resource.get("host.name") for s in spans} == {os.uname().nodename},
       "each span names the host", {s.resource.get("host.name") for s in spans})


def test_stitch(trace):
    ok(clew("check", trace).returncode == 0, "the stitched trace is consistent")
    with open(trace, encoding="utf-8") as file:
        found = re.findall(r"^dep (request|reply) (\S+)-\d+@\S+ -> (\S+)-\d+@", file.read(), re.M)
    ok(sorted((kind, "shop" in here, "store" in there) for kind, here, there in found)
       == [("reply", False, False), ("request", True, True)], "it has both dependencies", found)
    done = clew("blame", trace)
    ok(done.returncode == 0, "clew blame takes it", done.stderr[-200:])


if GUEST:
    skip_all("it is about programs of user space")
for program in ("flock", "curl", "unshare"):
    if not shutil.which(program):
        skip_all(program + " is not installed")
os.makedirs(scratch("fleet"), exist_ok=True)
with Receiver((200, {}, b"{}")) as receiver:
    ended, said = run_all(blocks(), receiver.url)
    ok(ended.returncode == 0, "the commands run", ended.stderr[-600:])
    ok('clew_triggers_total{name="locks",result="fired"} 1\n' in said.get("Metrics", ""),
       "the metrics say that a rule fired", said.get("Metrics"))
    ok("locks" in said.get("Incidents as traces", ""), "there is an incident",
       said.get("Incidents as traces"))
    test_trace(receiver.requests)
stitched = said.get("One trace of several hosts", "")
offset = re.search(r"leave (-?\d+) \.\. (-?\d+)", stitched.replace(",", ""))
ok(offset and int(offset[1]) <= 0 <= int(offset[2]), "the clocks may be the same, as they are",
   stitched)
test_stitch(os.path.join(scratch("fleet"), "both.ctrace"))
finish()
