#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Samples of what ran: a thread spends shares of its CPU time in three functions that it measures
itself, in turns of about 1 ms and of nearly a multiple of what ticks are apart; the shares of
samples are the same within their chance. What runs in the kernel has a kernel stack, and a thread
that only sleeps has no samples.
"""

import json
import os
import re

from _live import WORKLOADS, answer, clew, finish, note, ok, require_stacks, scratch

SIGMAS = 3.3  # one case in a thousand is farther off by chance
SECONDS = ("2", "4", "8")  # of the tries
LEAST = 100  # samples
LEAST_KERNEL = 50
UNKNOWN = 4_000_000  # ns: samples are farther apart


def record(function, least, *arguments):
    """
    Records until a function has enough samples, and no switch of its thread was hidden: on a busy
    machine it gets a part of a CPU, and some machines hide single switches from every tracer.
    """
    for seconds in SECONDS:
        truth, path = record_once(*arguments, seconds)
        if not truth:
            break
        why = answer("why", path, "--comm", "shares")
        count = sum(s["samples"] for s in why["sampled"] if function in names(s))
        if count >= least and not why["unknown_ns"]:
            break
    return truth, path


def record_once(*arguments):
    path = scratch("samples.clew")
    done = clew("record", "--stacks", "-o", path, "--", os.path.join(WORKLOADS, "shares"),
                *arguments)
    if done.returncode != 0:
        ok(False, f"shares {arguments} is recorded", done.stderr[-500:])
        return None, None
    return json.loads(done.stdout), path


def stacks_of(path):
    """All samples of the thread by their stacks, as the segments of its why have them."""
    why = answer("why", path, "--comm", "shares")
    whole = why["sampled"]
    parts = sum(s["samples"] for segment in why["segments"] for s in segment.get("sampled", []))
    ok(parts == sum(s["samples"] for s in whole), "the samples of segments are those of the whole",
       f"{parts} in segments")
    ok(all(s["low"] <= s["share"] <= s["high"] for s in whole), "shares lie in their bounds")
    return whole


def names(stack):
    return [frame["name"] for frame in stack["frames"]]


def far_off(truth, stacks):
    """Shares that are farther off than by chance."""
    met = {name: sum(s["samples"] for s in stacks if name in names(s)) for name in truth}
    count = sum(met.values())
    off = []
    for name, share in truth.items():
        sigma = (share * (1 - share) / max(count, 1))**0.5
        if abs(met[name] / max(count, 1) - share) > SIGMAS * sigma:
            off.append(f"{name}: {met[name]} of {count} samples, {share:.3f} is true")
    note(f"{count} samples: " +
         ", ".join(f"{name} {met[name] / max(count, 1):.3f} for {truth[name]:.3f}"
                   for name in truth))
    return off if count >= LEAST else [f"only {count} samples"]


def check_report(path, stacks):
    """A report has the samples of the program, which has one thread."""
    programs = answer("report", path)["programs"]
    told = [s for p in programs if p["name"] == "shares" for s in p.get("sampled", [])]

    # The loader's own functions have no names.
    def sums(all_):
        return sorted(([name or "" for name in names(s)], s["samples"]) for s in all_)

    # Where a switch was hidden, why says of none that it was met in what is unknown then.
    hidden = answer("why", path, "--comm", "shares")["unknown_ns"]
    more = sum(s["samples"] for s in told) - sum(s["samples"] for s in stacks)
    ok(told and (sums(told) == sums(stacks) or 0 < more <= 1 + hidden / UNKNOWN and hidden),
       "the report has the samples of the program's thread",
       f"{sum(s['samples'] for s in told)}, not {sum(s['samples'] for s in stacks)}")
    ok(all(s["low"] <= s["share"] <= s["high"] for s in told), "with shares in their bounds")
    text = " ".join(clew("report", path).stdout.partition("In which functions")[2].split())
    ok(re.search(r"\bshares [0-9]+ % in burn <- most <- main", text),
       "and in words where most of its time was spent", text[:300])
    without = scratch("without.clew")
    clew("record", "--no-stacks", "-o", without, "--", "true")
    ok("In which functions" not in clew("report", without).stdout
       and not any("sampled" in p for p in answer("report", without)["programs"]),
       "a capture without samples says nothing of them")


def check_shares(turn):
    truth, path = record("burn", LEAST, turn)
    if not truth:
        return
    stacks = stacks_of(path)
    off = far_off(truth, stacks)
    ok(not off, f"turns of {turn} us: shares of samples are those of time", off)
    early = sum(s["samples"] for s in stacks if s["end"] == "no-table")
    whole = [s for s in stacks if "burn" in names(s) and s["end"] != "no-table"]
    wrong = [
        names(s) for s in whole
        if s["end"] != "root" or "main" not in names(s) or names(s)[names(s).index("burn") +
                                                                    1] not in truth
    ]
    ok(early * 4 <= sum(s["samples"] for s in stacks),
       "all but the first samples in a new file are unwound", early)
    ok(whole and not wrong, "stacks of samples are whole, and have burn's true caller", wrong[:2])
    check_report(path, stacks)
    told = clew("why", path, "--comm", "shares").stdout
    ok("burn <- most <- main" in " ".join(told.split()) and " samples)" in told,
       "why names where most of the time was spent", told)


def check_kernel():
    truth, path = record("take_zeros", LEAST_KERNEL, "--kernel", "1000")
    if not truth:
        return
    stacks = [s for s in stacks_of(path) if "take_zeros" in names(s)]
    count = sum(s["samples"] for s in stacks)
    inside = [s for s in stacks if s["kernel"]]
    ok(count >= LEAST_KERNEL and sum(s["samples"] for s in inside) >= count * 0.9,
       "reading is met in the kernel", f"{inside} of {count}")
    wrong = [s for s in inside if not any(n and n.startswith("vfs_read") for n in s["kernel"])]
    ok(
        sum(s["samples"] for s in wrong) <= count * 0.1,
        "the kernel's functions are those of the call", wrong[:2])


def main():
    require_stacks()
    # 17,387 us is the mean period of one of the clocks.
    for turn in ("1000", "17387"):
        check_shares(turn)
    check_kernel()
    finish()


if __name__ == "__main__":
    main()
