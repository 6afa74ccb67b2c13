#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: it compares times of two recordings
"""
`clew compare` on a server that asks its backend once for each request, and later three times: that
is found first, and as long as the client measured it. The same program again is not found to ask
more often. Prints TAP.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _live  # noqa: E402  pylint: disable=wrong-import-position
import _service  # noqa: E402  pylint: disable=wrong-import-position

REQUESTS = 700


def record(name, questions):
    """A recording, and the mean time of a request."""
    capture = _live.scratch(name + ".clew")
    done = _live.clew("record", "-o", capture, "--", *_service.command(REQUESTS, questions))
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return capture, int(done.stdout.split()[0])


def server_of(answer):
    """The server's requests."""
    return next(
        (it for it in answer["classes"] if it["kind"] == "served" and it["program"] == "server"),
        None)


def main():
    if _live.GUEST:
        _live.skip_all("an emulated machine is too slow to keep times by")
    (one, short), (again, _), (three, long) = (record("one", 1), record("again",
                                                                        1), record("three", 3))
    _live.note("a request takes %d us, and %d us with three questions" %
               (short // 1000, long // 1000))
    it = server_of(_live.answer("compare", one, three, "--comm", "server"))
    _live.ok(it and it["verdict"] == "differs", "the server's requests differ", repr(it)[:2000])
    if it:
        first = it["causes"][0]
        _live.ok(first["party"] == "backend" and first["changed"], "the first cause is the backend",
                 repr(first))
        often = first["after"]["times"] / first["before"]["times"]
        _live.ok(2.9 < often < 3.1, "it is asked three times as often", repr(first))
        truth = long - short
        _live.ok(
            abs(it["change_ns"] - truth) < truth / 10,
            "requests take longer by what the client measured",
            "%d ns instead of %d ns" % (it["change_ns"], truth))
        _live.ok(
            sum(cause["change_ns"] for cause in it["causes"]) == it["change_ns"],
            "the causes add up to the change",
            repr(it["causes"])[:2000])
        _live.ok(first["on_path"] is not None and first["on_path"] > 0.9, "it is on the path",
                 repr(first))
    it = server_of(_live.answer("compare", one, again, "--comm", "server"))
    backend = [
        cause for cause in it["causes"] if (cause["party"], cause["class"]) == ("backend", "net")
    ] if it else []
    often = backend[0]["after"]["times"] / backend[0]["before"]["times"] * it["before"][
        "count"] / it["after"]["count"] if backend else 0
    _live.ok(
        len(backend) == 1 and 0.9 < often < 1.1, "the same program again: it is asked as often",
        repr(it)[:2000])
    _live.finish()


if __name__ == "__main__":
    main()
