#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Functions on a critical path and in a blame, by samples: two threads compute in one function each,
one after the other, for times that they measure by their CPU clocks, while a rival keeps the second
one from its CPU. Path's shares are those of these times, within their chance, each segment has its
own thread's function, and the rival's functions are only in what blame charges to it.
"""

import json
import os

from _live import WORKLOADS, clew, finish, note, ok, require_stacks, resolved, scratch

SIGMAS = 3.3  # one case in a thousand is farther off by chance
MS = 1_000_000


def record():
    path = scratch("relay.clew")
    done = clew("record", "--stacks", "-o", path, "--", os.path.join(WORKLOADS, "relay"), "800",
                "1200")
    if done.returncode != 0:
        raise RuntimeError(f"record: status {done.returncode}: {done.stderr[-500:]}")
    return path, json.loads(done.stdout)


def ask(*arguments):
    done = clew(*arguments)
    if done.returncode != 0:
        raise RuntimeError(f"clew {arguments}: status {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def names(stack):
    return {frame["name"] for frame in stack["frames"]}


def counted(stacks, functions):
    """Samples by function."""
    return {f: sum(s["samples"] for s in stacks if f in names(s)) for f in functions}


def check_shares(stacks, truth, name):
    """The shares of functions are those of their seconds."""
    met, whole = counted(stacks, truth), sum(truth.values())
    count = sum(met.values())
    off = []
    for function, seconds in truth.items():
        share = seconds / whole
        sigma = (share * (1 - share) / max(count, 1))**0.5
        if abs(met[function] / max(count, 1) - share) > SIGMAS * sigma:
            off.append(f"{function}: {met[function]} of {count}, {share:.3f} is true")
    note(f"{name}: " + ", ".join(f"{f} {met[f]} of {count} for {truth[f] / whole:.3f}"
                                 for f in truth))
    ok(count >= 60 and not off, f"{name}: shares of samples are those of time", off or count)


def check_segments(answer, told):
    """Each segment has the function of its own thread, and the whole has all segments' samples."""
    segments = [s for s in answer["segments"] if s["kind"] == "running"]
    own = {f"relay-{told['main']}": "early", f"worker-{told['worker']}": "late"}
    count = {span: 0 for span in own}
    wrong = []
    for segment in segments:
        stacks = segment.get("sampled", [])
        count[segment["span"]] = count.get(segment["span"], 0) + sum(s["samples"] for s in stacks)
        others = {"early", "late", "much", "little"} - {own.get(segment["span"])}
        wrong += [names(s) for s in stacks if names(s) & others]
    ok(all(count[span] >= 30 for span in own) and not wrong,
       "a segment has the function of its own thread", wrong[:2] or count)
    whole = sum(s["samples"] for s in answer["sampled"])
    ok(whole == sum(count.values()) == answer["samples"],
       "the samples of segments are those of the path", f"{whole}, {count}, {answer['samples']}")
    ok(answer["running_ns"] == sum(s["ns"] for s in segments), "running_ns is that of the segments")
    ok(answer["samples_with_stack"] >= 0.95 * answer["samples"], "nearly all samples have stacks",
       answer["samples_with_stack"])
    bad = [s for s in answer["sampled"] if not s["low"] <= s["share"] <= s["high"]]
    ok(not bad, "shares lie in their bounds", bad[:1])


def check_path(path, told):
    main = f"relay-{told['main']}"
    ends = ["--from", f"{main} @ {told['begin']}", "--to", f"{main} @ {told['end']}"]
    answer = resolved(json.loads(ask("path", path, *ends, "--json")))
    check_shares(answer["sampled"], {f: told[f] for f in ("early", "late")}, "path")
    check_segments(answer, told)
    text = " ".join(ask("path", path, *ends).split())
    ok("burn <- late <- work" in text and "running: " in text and "samples of what ran" in text,
       "in words, too", text[-600:])
    answer = resolved(
        json.loads(ask("path", path, *ends, "--strategy", "predecessor", "--json")))
    waits = [s for s in answer["segments"] if s.get("stack") and "await_late" in names(s["stack"])]
    ns = sum(s["ns"] for s in waits)
    # By its clock it also waits until it has a CPU again.
    over = max((s["end"] for s in waits), default=0)
    ready = sum(s["ns"] for s in answer["segments"]
                if s["kind"] == "runqueue" and s["start"] >= over)
    ok(
        abs(ns + ready - told["waited"] * 1e9) <= 20 * MS, "a wait on the path has its own stack",
        f"{ns} ns and {ready} ns without a CPU, it waited {told['waited']} s")
    ok(answer["stacks_ns"] >= ns and answer["waited_ns"] >= answer["stacks_ns"],
       "the time that has stacks contains it", str(answer["stacks_ns"]))
    notation = scratch("relay.ctrace")
    ask("convert", path, "-o", notation)
    told_there = json.loads(ask("path", notation, *ends, "--json"))
    ok("samples" not in told_there and not any("sampled" in s for s in told_there["segments"]),
       "a trace in notation has none")


def check_blame(path, told):
    answer = resolved(
        json.loads(ask("blame", path, "--victims", f"worker-{told['worker']}", "--json")))
    pairs = [
        p for p in answer["pairs"]
        if p["antagonist"] == f"rival-{told['rival']}" and p["kind"] == "cpu"
    ]
    stacks = [s for p in pairs for s in p.get("sampled", [])]
    ok(pairs and pairs[0]["ns"] > 300 * MS, "the rival had the worker's CPU", str(pairs)[:200])
    check_shares(stacks, {f: told[f] for f in ("much", "little")}, "blame")
    wrong = [names(s) for s in stacks if names(s) & {"early", "late"}]
    ok(not wrong, "and no other thread's functions are charged to it", wrong[:2])
    ok(answer["samples"] >= sum(s["samples"] for s in stacks), "all samples are counted")
    text = ask("blame", path, "--victims", f"worker-{told['worker']}")
    ok("burn <- much <- rival" in " ".join(text.split()) and "samples of what had the CPUs" in text,
       "in words, too", text[:400])


def main():
    require_stacks()
    path, told = record()
    check_path(path, told)
    check_blame(path, told)
    finish()


if __name__ == "__main__":
    main()
