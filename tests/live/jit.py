#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Code that a program makes has the names of the list that it writes for perf, though it writes the
list only at its end and deletes it then: samples are in the pieces that ran, as often as they ran,
and waits have whole stacks through them. A place with two names has none. Without a frame pointer
the stack ends there. Where a piece begins and ends it has its caller, too. Names are those of the
process's own root and number.
"""

import json
import os

from _live import WORKLOADS, answer, clew, finish, note, ok, require_stacks, run, scratch

SIGMAS = 3.3  # one case in a thousand is farther off by chance
PROGRAM = os.path.join(WORKLOADS, "jit")


def record(path, *command):
    done = clew("record", "--stacks", "-o", path, "--", *command)
    if done.returncode != 0:
        raise RuntimeError(f"record: status {done.returncode}: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def names(stack):
    return [frame["name"] for frame in stack["frames"]]


def samples(path, told):
    why = answer("why", path, "--tid", told["tid"])
    return why["sampled"]


def check_samples(stacks, told):
    met = {n: sum(s["samples"] for s in stacks if f"JS:{n}" in names(s)) for n in ("alpha", "beta")}
    count = sum(met.values())
    share = told["alpha"]
    sigma = (share * (1 - share) / max(count, 1))**0.5
    note(f"alpha {met['alpha']} of {count} for {share:.3f}")
    ok(count >= 60 and abs(met["alpha"] / max(count, 1) - share) <= SIGMAS * sigma,
       "samples are in the pieces as often as these ran", str(met))
    # The first stacks in a file that is new to clew end there, until it has the file's table.
    early = sum(s["samples"] for s in stacks if s["end"] == "no-table")
    ok(early * 4 <= sum(s["samples"] for s in stacks), "all but the first samples are unwound",
       early)
    inside = [
        s for s in stacks if names(s)[:1] in (["JS:alpha"], ["JS:beta"]) and s["end"] != "no-table"
    ]
    wrong = [
        names(s) for s in inside
        if names(s)[1:4] != ["JS:outer call.js:1", "burn", "main"] or s["end"] != "root"
    ]
    ok(inside and not wrong, "and their stacks lead to main", wrong[:2])
    frames = [f for s in inside for f in s["frames"]]
    starts = {f["name"]: f["start"] for f in frames if (f["name"] or "").startswith("JS:")}
    ok(all(starts[n] == told["places"].get(n) for n in starts) and len(starts) == 3,
       "each begins at its address", f"{starts}, {told['places']}")
    objects = {s["frames"][0]["object"] for s in inside}
    ok(len(objects) == 1 and objects.pop().startswith("/tmp/perf-"), "their object is the list")


def check_twice(stacks, told):
    place = told["places"]["JS:first"]
    there = [
        s for s in stacks
        if s["frames"] and s["frames"][0]["name"] is None and place <= s["frames"][0]["start"] <
        place + 64
    ]
    named = [s for s in stacks if {"JS:first", "JS:second"} & set(names(s))]
    ok(sum(s["samples"] for s in there) >= 20 and not named, "a place with two names has none",
       [names(s) for s in named][:2] or len(there))


def check_edges(stacks):
    """The piece is nearly always at its begin or its end, where rbp is still its caller's."""
    brief = [s for s in stacks if names(s)[:1] == ["JS:brief"]]
    wrong = [
        names(s) for s in brief
        if names(s)[1:4] != ["JS:repeat", "burn", "main"] or s["end"] != "root"
    ]
    count = sum(s["samples"] for s in brief)
    ok(count >= 10 and not wrong, "a piece has its caller where it begins and ends",
       f"{count}, {wrong[:2]}")


def check_waits(path, told):
    waits = [w for w in answer("waits", path, "--stacks")["waits"] if w["tid"] == told["tid"]]
    rests = [names(w["stack"]) for w in waits if w["stack"] and "rest" in names(w["stack"])]
    ok(any("rest_bare" not in r and r[r.index("rest"):][1:3] == ["JS:outer call.js:1", "main"]
           for r in rests), "a wait below such code has its whole stack", rests)
    bare = [
        w["stack"] for w in waits if w["stack"] and "rest_bare" in names(w["stack"])
    ]
    ok(bare and names(bare[0])[-2:] == ["rest_bare", "JS:bare"] and bare[0]["end"] == "no-rule",
       "one without a frame pointer ends there", str(bare)[:300])


def check_namespace():
    """The list is in the process's own /tmp, under its own number."""
    done = run("unshare", "--version")
    if done.returncode != 0:
        ok(False, "unshare is there", done.stderr)
        return
    path = scratch("inside.clew")
    told = record(path, "unshare", "--mount", "--pid", "--fork", "sh", "-c",
                  'exec 9<"$0" && mount -t tmpfs none /tmp && exec /proc/self/fd/9 500', PROGRAM)
    why = answer("why", path, "--comm", "9")  # its name is that of its descriptor
    objects = {
        f["object"]
        for s in why["sampled"] for f in s["frames"] if f["name"] == "JS:alpha"
    }
    ok(objects == {f"/tmp/perf-{told['tid']}.map"}, "a container's list is found",
       f"{objects}, its own number is {told['tid']}")


def main():
    require_stacks()
    path = scratch("jit.clew")
    told = record(path, PROGRAM, "1500")
    stacks = samples(path, told)
    check_samples(stacks, told)
    check_twice(stacks, told)
    check_edges(stacks)
    check_waits(path, told)
    text = " ".join(clew("why", path, "--tid", told["tid"]).stdout.split())
    ok("JS:outer call.js:1 <- burn" in text or "JS:alpha <- JS:outer" in text, "why says it",
       text[:400])
    check_namespace()
    finish()


if __name__ == "__main__":
    main()
