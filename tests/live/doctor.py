#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`clew doctor` says of recording what `clew record` then finds, also where only all programs
together are refused."""

import json
import resource

from _live import answer, clew, finish, note, ok, scratch


def few_files(most):

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    return limit


def doctor(limit):
    """What doctor says of recording at all and of the page cache, and its text."""
    said = json.loads(clew("doctor", "--json", preexec_fn=limit).stdout)
    features = {f["name"]: f for f in said["features"]}
    return features["recording"], features["page cache"], clew(
        "doctor", preexec_fn=limit).stdout


def record(limit):
    """How a recording of a program that writes to a file ends, and whether it has that."""
    path = scratch("doctor.clew")
    done = clew("record",
                "-o",
                path,
                "--",
                "sh",
                "-c",
                f"echo >{scratch('written')}",
                preexec_fn=limit)
    note(done.stderr)
    return done.returncode, not done.returncode and "extent" in answer("info", path)["events"]


def check(name, limit=None):
    programs, cache, text = doctor(limit)
    status, has_cache = record(limit)
    note(f"{name}: {programs['reason']}; {cache['reason']}")
    ok(programs["available"] == (status == 0), f"{name}: doctor says whether it can be recorded",
       programs["reason"])
    ok(cache["available"] == has_cache, f"{name}: and whether with the page cache", cache["reason"])
    ok(programs["available"] or "Every base feature is here" not in text,
       f"{name}: what is refused is missing", text[-200:])
    return status


def main():
    check("as usual")
    # Enough for each program alone.
    status = check("few open files", few_files(110))
    ok(status == 3, "few open files: they are too few to record", status)
    finish()


if __name__ == "__main__":
    main()
