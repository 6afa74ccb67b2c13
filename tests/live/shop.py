#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Three recorders, one on each host of a shop: the stitched trace has one answer to why an order took
long, from the web server to the disk of the database. docs/worked/hosts.md shows such a run.
"""

import json

from _live import answer, clew, feature, finish, note, ok, scratch, skip_all, stop_recording
from _shop import HOSTS, LINKS, ORDERS, PORTS, SCANNING, Shop

CAPTURES = {name: scratch(f"{name}.clew") for name in HOSTS}
ALL = scratch("shop.ctrace")
CLOCKS = 1_000_000  # ns: a time that a program reads itself, and that of the act, differ by less


def why(capture):
    return "why", capture, "--comm", "web", "--class", "request", "--slowest"


def record(shop):
    """Records orders; returns how long each took, and how long the database's reads did, ns."""
    recorders = [shop.record(name, CAPTURES[name]) for name in HOSTS]
    database = shop.start("db", scratch("db.ready"), scratch("table"), scratch("reads"),
                          ready=scratch("db.ready"))
    between = shop.start("shop", scratch("shop.ready"), LINKS[1][2], ready=scratch("shop.ready"))
    web = shop.start("web", LINKS[0][2], scratch("orders"))
    ended = [process.wait() for process in (web, between, database)]
    for recorder in recorders:
        stop_recording(recorder)
    ok(ended == [0, 0, 0], "the shop works", str(ended))
    return [[end - begun for begun, end in json.load(open(scratch(name), encoding="ascii"))]
            for name in ("orders", "reads")]


def check_alone(took):
    """The web server's host alone shows that it was not itself."""
    text = " ".join(clew(*why(CAPTURES["web"])).stdout.split())
    ok(f"{LINKS[0][2]}:{PORTS['shop']} took" in text and "not this machine" in text,
       "one capture says that it was another host", text[-2000:])
    segments = answer(*why(CAPTURES["web"]))["operations"][0]["segments"]
    ok(sum(segment["ns"] for segment in segments if segment["kind"] == "socket") > 0.9 * took,
       "for how long", str(segments)[:1000])


def check_all(took, read):
    """All of them name who was waited for on each host, and the disk."""
    told = answer(*why(ALL))
    operation = told["operations"][0]
    ok(abs(operation["total_ns"] - took) < CLOCKS, "the slowest order is the one that took longest",
       f"{operation['total_ns']}, {took}")

    at_disk = [segment for segment in operation["segments"]
               if segment["kind"] in ("queued", "device") and segment["comm"] == "db"
               and segment["host"] == "db"]
    disk = sum(segment["ns"] for segment in at_disk)
    note(f"{disk / 1e6:.1f} ms at the database's disk, whose read took {read / 1e6:.1f} ms")
    ok(0.7 * read < disk < read + CLOCKS, "most of it is the disk's of the database's host",
       f"{disk} of {read}")
    chain = [[(hop["comm"], hop["host"]) for hop in segment["hops"]] for segment in at_disk]
    ok(chain and all(hops[:3] == [(host, host) for host in HOSTS] for hops in chain),
       "by way of the shop's host", str(chain)[:500])
    text = " ".join(clew(*why(ALL)).stdout.split())
    ok(all(words in text for words in ("on web took", "on shop (tcp", "on db (tcp", "read on")),
       "the text names hosts, connections and the disk", text[-2000:])
    ok([host["host"] for host in told["hosts"]] == list(HOSTS)
       and all(host["error_ns"] < CLOCKS for host in told["hosts"]),
       "and how well their clocks are known", told["hosts"])


def main():
    if not feature("messages")[0]:
        skip_all("the kernel does not show messages")
    with Shop() as shop:
        orders, reads = record(shop)
    slowest = orders.index(max(orders))
    note(f"order {slowest + 1} of {ORDERS} took {orders[slowest] / 1e6:.1f} ms")
    done = clew("stitch", *CAPTURES.values(), "-o", ALL)
    ok(done.returncode == 0 and "2 connections in common, of 4 ends" in done.stdout
       and slowest + 1 == SCANNING, "the hosts have two connections in common",
       done.stdout + done.stderr)
    check_alone(orders[slowest])
    check_all(orders[slowest], reads[slowest])
    finish()


if __name__ == "__main__":
    main()
