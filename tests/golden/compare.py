#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
`clew compare` about captures whose differences are known: what takes longer and because of what,
what is noise, and what cannot be said. Prints TAP.

Usage: compare.py [--all]     --all: 100 comparisons of a program with itself, five recordings a
side, and of 100 recordings with themselves, which takes some minutes
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _capture import MAKE_CAPTURE  # noqa: E402  pylint: disable=wrong-import-position
from _trace import CLEW, Tap  # noqa: E402  pylint: disable=wrong-import-position

START = 1_000_000_000_000
MS = 1_000_000
FILE = "object_kind=file object=1234 device=8388609 descriptor=9 wait_flags=detail|iowait"
FUTEX = "object_kind=futex object={:#x} futex_operation=0x80 argument=2 futex_class=mutex"


class Recording:
    """Operations of a server on one CPU, one after the other."""

    def __init__(self, seed, start=START):
        self.random = random.Random(seed)
        self.lines = []
        self.start = start
        self.at = start + MS
        self.name = "server"
        self.spent = {"run": 0, "disk": 0, "lock": 0, "ready": 0}
        # The address of the lock is another one in each run.
        self.address = 0x7f0000000000 + (self.random.randrange(1 << 36) & ~7)
        self.lock = FUTEX.format(self.address)
        self.symbol = ""

    def draw(self, mean):
        """A time of which the spread is known: its deviation is a fifth of its mean."""
        return int(self.random.gammavariate(25, mean / 25)) + 1

    def run(self, mean):
        ns = self.draw(mean)
        self.at += ns
        self.spent["run"] += ns

    def wait(self, words, ns, waker=0, context="irq"):
        """Sleeps for ns, and runs at once."""
        self.lines.append(f"0 switch {self.at} flags=sleep|wait prev=2 next=0 prev_state=1 {words}")
        self.at += ns
        self.lines.append(f"0 switch {self.at} flags=next_slept prev=0 next=2 "
                          f"wake_time={self.at} waker={waker} wake_context=context_{context}")

    def idle(self, ns):
        self.wait("call=232 object_kind=8 descriptor=4", ns)

    def fsync(self, mean):
        ns = self.draw(mean)
        self.wait(f"call=74 {FILE}", ns)
        self.spent["disk"] += ns

    def lose_cpu(self, mean):
        """A neighbour gets the CPU for a while."""
        ns = self.draw(mean)
        self.lines.append(f"0 switch {self.at} flags=preempt prev=2 next=5")
        self.at += ns
        self.lines.append(f"0 switch {self.at} flags=sleep|wait prev=5 next=2 prev_state=1 call=35")
        self.spent["ready"] += ns

    def use_up_quota(self, ns):
        """Its group's CPU quota is used up; then it has a CPU again."""
        self.lines.append(f"0 switch {self.at} flags=preempt|throttled|wait prev=2 next=0 "
                          "object_kind=cgroup object=77 reason=reason_quota")
        self.at += ns
        self.lines.append(f"0 refill {self.at - 1000} cgroup=77")
        self.lines.append(f"0 switch {self.at} flags=0 prev=0 next=2")
        self.spent["quota"] = self.spent.get("quota", 0) + ns

    def take_lock(self, mean):
        ns = self.draw(mean)
        self.wait(f"call=202 {self.lock} owner=300", ns, waker=5, context="task")
        self.spent["lock"] += ns

    def lose(self):
        """Records are lost: a microsecond is not known."""
        self.lines.append(f"0 gap {self.at + 1000} from={self.at} count=2")
        self.at += 2000

    def operate(self, count, fsyncs=1, each=2 * MS, stolen=0, locked=0, name="server"):
        self.name = name
        for _ in range(count):
            self.idle(self.draw(MS))
            self.run(MS)
            for _ in range(int(fsyncs) + (self.random.random() < fsyncs % 1)):
                self.fsync(each)
                self.run(MS // 10)
            if stolen:
                self.lose_cpu(stolen)
                self.run(MS // 10)
            if locked:
                self.take_lock(locked)
                self.run(MS // 10)
        return self

    def operate_beside(self, count, each):
        """Operations that sync while a helper on another CPU runs for longer, and then wait for it."""
        for _ in range(count):
            self.idle(self.draw(MS))
            helper = self.at
            self.lines.append(f"1 switch {helper} flags=next_slept prev=0 next=5 "
                              f"wake_time={helper} waker=2 wake_context=context_task")
            helper += self.draw(6 * MS)
            self.run(MS // 10)
            self.fsync(each)
            self.run(MS // 10)
            self.lines.append(f"0 switch {self.at} flags=sleep|wait prev=2 next=0 prev_state=1 "
                              f"call=202 {self.lock} owner=300")
            self.at = max(helper, self.at + 1000)
            self.lines += [
                f"0 switch {self.at} flags=next_slept prev=0 next=2 wake_time={self.at} waker=5 "
                "wake_context=context_task wake_call=202",
                f"1 switch {self.at + 1000} flags=sleep|wait prev=5 next=0 prev_state=1 call=35"
            ]
            self.run(MS // 10)
        return self

    def write(self, path, cpus=2, tid=100):
        self.idle(MS)
        end, start = self.at + MS, self.start
        text = "\n".join([
            "meta kernel 6.1.0-test", "meta machine x86_64", "meta host testhost",
            f"meta cpus {cpus}", f"meta start {start}", f"meta end {end}",
            f"clock {start} {start} 1700000000000000000",
            f"user task {start - 50000} task=2 process=2 tid={tid} pid={tid} "
            'pid_namespace=4026531836 comm="%s" command="/usr/bin/server"' % self.name,
            f"user task {start - 50000} task=5 process=5 tid=300 pid=300 "
            'pid_namespace=4026531836 comm="cc1" command="cc1 x.c"',
            f"user state {start + 10000} flags=runnable prev=2 next=2",
            f"user state {start + 10000} flags=sleep|wait prev=5 next=5 prev_state=1 call=35",
            f'user file {start + 20000} inode=1234 device=8388609 path="/var/lib/server/log"', *([
                f"user address {start + 20000} task=2 address={self.address:#x} offset=0 "
                f'words="{self.symbol} /usr/bin/server"'
            ] if self.symbol else []), f"0 switch {start + 30000} flags=preempt prev=0 next=2",
            *self.lines, ""
        ])
        subprocess.run([MAKE_CAPTURE, path], input=text.encode(), check=True, timeout=60)
        return path


def compare(*arguments):
    done = subprocess.run([CLEW, "compare", "--json", *arguments],
                          capture_output=True,
                          text=True,
                          timeout=120,
                          check=False)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def text(*arguments):
    return subprocess.run([CLEW, "compare", *arguments],
                          capture_output=True,
                          text=True,
                          timeout=120,
                          check=True).stdout


def work(answer):
    """The class of the server's operations."""
    return next(it for it in answer["classes"] if it["kind"] == "work")


def changed(answer):
    return [cause["text"] for cause in work(answer)["causes"] if cause["changed"]]


def rows_add_up(answer):
    """To the nanosecond, whatever is added."""
    for it in answer["classes"]:
        if sum(cause["change_ns"] for cause in it["causes"]) != it["change_ns"]:
            return "changes of %s" % it["text"]
        for side in "before", "after":
            for key in "mean_ns", "total_ns", "slowest_ns":
                if sum(cause[side][key] for cause in it["causes"]) != it[side][key]:
                    return "%s of %s %s" % (key, it["text"], side)
    return ""


def is_as_made(answer, before, after):
    """The times that went to each cause are those that the captures were made of."""
    words = {"ran": "run", "fsync": "disk", "futex": "lock", "had": "ready"}
    for cause in work(answer)["causes"]:
        key = next(value for word, value in words.items() if word in cause["text"])
        for side, made in (("before", before), ("after", after)):
            if cause[side]["total_ns"] != made.spent[key]:
                return "%s %s: %d instead of %d" % (cause["text"], side, cause[side]["total_ns"],
                                                    made.spent[key])
    return ""


def found(answer, word, truth):
    """The first cause has this word, its change is within 10 % of the truth and in its interval."""
    first = work(answer)["causes"][0]
    if word not in first["text"] or not first["changed"]:
        return repr(first)
    if abs(first["change_ns"] - truth) > abs(truth) / 10:
        return "%d instead of %d" % (first["change_ns"], truth)
    if not first["low_ns"] <= first["change_ns"] <= first["high_ns"]:
        return repr(first)
    return ""


def test_causes(tap, directory):
    """Each cause is found by its name, and as large as it is."""
    before = Recording(1).operate(700)
    one = before.write(directory + "/before.clew")
    for name, word, truth, options in (("more syncs of the same length", "fsync", 3 * MS,
                                        {"fsyncs":
                                         2.5}), ("a sync of twice the length", "fsync", 2 * MS,
                                                 {"each":
                                                  4 * MS}), ("a neighbour that takes the CPU",
                                                             "cc1 had", MS, {"stolen": MS}),
                                       ("a lock that is held for longer", "futex *", MS,
                                        {"locked":
                                         MS}), ("fewer syncs", "fsync", -MS, {"fsyncs": 0.5})):
        after = Recording(2).operate(700, **options)
        answer = compare(one, after.write(directory + "/after.clew"))
        tap.report(name, found(answer, word, truth))
        tap.report(name + ": rows add up", rows_add_up(answer))
        tap.report(name + ": as it was made", is_as_made(answer, before, after))
        tap.same(name + ": no verdict about more than these recordings",
                 work(answer)["verdict"], "differs")


def test_longest(tap, directory):
    """The longest operation is where `clew why` is sent."""
    before = Recording(50).operate(700).write(directory + "/longest-1.clew")
    after = Recording(51).operate(700, each=3 * MS)
    after.operate(1, each=50 * MS).operate(10, each=3 * MS).write(directory + "/longest-2.clew")
    longest = work(compare(before, directory + "/longest-2.clew"))["longest"]
    done = subprocess.run([
        CLEW, "why", longest["capture"], "--tid",
        str(longest["tid"]), "--from",
        str(longest["from"]), "--to",
        str(longest["to"]), "--json"
    ],
                          capture_output=True,
                          text=True,
                          timeout=60,
                          check=True)
    explained = json.loads(done.stdout)
    ns = longest["to"] - longest["from"]
    tap.report("the longest one", "" if 30 * MS < ns < 80 * MS else repr(longest))
    tap.report("the longest one is explained",
               "" if "fsync" in done.stdout and explained else done.stdout[:500])


def test_noise(tap, directory):
    """Recordings of the same program seldom differ, nor a recording's halves."""
    first = Recording(100).operate(700).write(directory + "/same.clew")
    wrong = halves = 0
    for seed in range(101, 121):
        other = Recording(seed).operate(700).write(directory + "/other.clew")
        wrong += work(compare(first, other))["verdict"] != "same"
        other = Recording(seed).operate(1400).write(directory + "/other.clew")
        halves += work(compare(other, "--halves"))["verdict"] != "same"
    tap.report("20 recordings of the same program", "" if wrong <= 4 else str(wrong))
    tap.report("20 recordings with themselves", "" if halves <= 2 else str(halves))
    said = text(first, directory + "/other.clew")
    tap.report("it says so", "" if "no change beyond noise: mean" in said else said)


def test_replicates(tap, directory):
    """Three captures a side make a change; one of them that is slower makes none."""
    sides = {}
    for side, seed, options in (("old", 200, {}), ("new", 300, {"each":
                                                                3 * MS}), ("same", 400, {})):
        sides[side] = [
            Recording(seed + i).operate(300, **options).write(directory + "/%s-%d.clew" % (side, i))
            for i in range(3)
        ]
    answer = compare(*sides["old"], "--", *sides["new"])
    tap.same("three of each: it changed", work(answer)["verdict"], "changed")
    tap.report("three of each: because of what", found(answer, "fsync", MS))
    tap.same("three of each: all captures count", work(answer)["before"]["count"], 900)
    tap.same("three alike: nothing changed",
             work(compare(*sides["old"], "--", *sides["same"]))["verdict"], "same")
    slow = Recording(500).operate(300, stolen=2 * MS).write(directory + "/slow.clew")
    answer = compare(*sides["old"], "--", *sides["same"][:2], slow)
    tap.same("a slow neighbour in one of three: nothing is said", work(answer)["verdict"], "same")
    tap.report(
        "two of each: these recordings differ",
        "" if work(compare(*sides["old"][:2], "--", *
                           sides["new"][:2]))["verdict"] == "differs" else "another verdict")


def test_names(tap, directory):
    """New and gone classes, and what was renamed."""
    before = Recording(600).operate(300).write(directory + "/named.clew")
    after = Recording(601).operate(300, name="srv").write(directory + "/renamed.clew")
    answer = compare(before, after)
    tap.same("another name: new and gone",
             ([it["text"] for it in answer["gone"]], [it["text"] for it in answer["new"]]),
             (["works of server behind epoll_wait"], ["works of srv behind epoll_wait"]))
    answer = compare(before, after, "--map",
                     "works of server behind epoll_wait=works of srv behind epoll_wait")
    tap.same("--map brings them together", (work(answer)["text"], answer["gone"], answer["new"]),
             ("works of srv behind epoll_wait", [], []))
    answer = compare(before, after, "--class", "works of srv*")
    tap.same("--class: only that", ([it["text"] for it in answer["new"]], answer["gone"]),
             (["works of srv behind epoll_wait"], []))
    first, second = (Recording(seed).operate(300, locked=MS) for seed in (602, 603))
    answer = compare(first.write(directory + "/lock-1.clew"),
                     second.write(directory + "/lock-2.clew"))
    locks = [it for it in work(answer)["causes"] if "futex" in it["text"]]
    tap.report(
        "a lock at another address is the same lock",
        "" if len(locks) == 1 and all(locks[0][side]["operations"] == 300
                                      for side in ("before", "after")) else repr(locks))


def test_named(tap, directory):
    """A lock whose name one side lacks is the same lock; with two that have one it may be either."""
    first = Recording(650).operate(700, locked=MS).write(directory + "/unnamed.clew")
    second = Recording(651).operate(700, locked=MS)
    second.symbol = "orders_lock"
    answer = compare(first, second.write(directory + "/named.clew"))
    locks = [it for it in work(answer)["causes"] if "futex" in it["text"]]
    tap.same("a lock with a name on one side only", [(it["text"], it["changed"]) for it in locks],
             [("waited for futex orders_lock, ended by cc1", False)])
    tap.report("a lock with a name on one side only: rows add up", rows_add_up(answer))
    other = Recording(652).operate(700, locked=MS)
    other.symbol = "stock_lock"
    answer = compare(first, "--", directory + "/named.clew",
                     other.write(directory + "/other-name.clew"))
    names = sorted(it["text"] for it in work(answer)["causes"] if "futex" in it["text"])
    tap.same("two that have a name: none of them is guessed", names, [
        "waited for futex *, ended by cc1", "waited for futex orders_lock, ended by cc1",
        "waited for futex stock_lock, ended by cc1"
    ])


def test_on_path(tap, directory):
    """The cause that nothing waits for is off the path, and one that all waits for is on it."""
    before = Recording(800).operate_beside(700, MS).write(directory + "/beside-1.clew")
    after = Recording(801).operate_beside(700, 2 * MS).write(directory + "/beside-2.clew")
    answer = compare(before, after)
    sync = next(it for it in work(answer)["causes"] if "fsync" in it["text"])
    tap.same("beside a longer helper: it changed, but the operation did not",
             (sync["changed"], work(answer)["changed"]), (True, False))
    tap.report("beside a longer helper: off the path",
               "" if sync["on_path"] is not None and sync["on_path"] < 0.1 else repr(sync))
    said = text(before, after)
    tap.report("beside a longer helper: it says so", "" if "off the path" in said else said)
    alone = Recording(802).operate(700).write(directory + "/alone-1.clew")
    longer = Recording(803).operate(700, each=3 * MS).write(directory + "/alone-2.clew")
    sync = work(compare(alone, longer))["causes"][0]
    tap.same("nothing beside: on the path", (sync["changed"], sync["on_path"]), (True, 1))
    tap.report("nothing beside: all of the change is on the path",
               "" if abs(sync["on_path_ns"] - sync["change_ns"]) <= 1 else repr(sync))


def test_group_limits(tap, directory):
    """The load of a side has the time in which limits of groups kept threads waiting."""
    free = Recording(950).operate(300).write(directory + "/free.clew")
    held = Recording(951)
    for _ in range(30):
        held.operate(10)
        held.use_up_quota(20 * MS)
        held.run(MS)
    answer = compare(free, held.write(directory + "/held.clew"))
    limited = answer["after"]["limited_threads"] * answer["after"]["recorded_ns"]
    tap.report(
        "limits of groups are in the load", "" if not answer["before"]["limited_threads"]
        and abs(limited - held.spent["quota"]) < MS else repr((limited, held.spent)))
    said = text(free, directory + "/held.clew")
    tap.report("limits of groups: it says so",
               "" if "threads held back by limits" in said else said)


def test_boot(tap, directory):
    """Other numbers of everything, as after a boot: the same class, of which nothing changed."""
    before = Recording(960).operate(700, locked=MS).write(directory + "/boot-1.clew")
    after = Recording(961, start=7 * START).operate(700, locked=MS)
    answer = compare(before, after.write(directory + "/boot-2.clew", tid=4321))
    tap.same("a boot between: the same", (work(answer)["verdict"], answer["new"], answer["gone"]),
             ("same", [], []))
    tap.same(
        "a boot between: each cause is one",
        [bool(it["before"]["times"] and it["after"]["times"])
         for it in work(answer)["causes"]], [True] * 3)


def test_cpus(tap, directory):
    """A CPU less is in the load, and whoever has the other one in the causes."""
    before = Recording(970).operate(700).write(directory + "/two.clew")
    after = Recording(971).operate(700, stolen=MS).write(directory + "/one.clew", cpus=1)
    tap.report("a CPU less", found(compare(before, after), "cc1 had", MS))
    said = text(before, after)
    tap.report("a CPU less: it says so", "" if "CPUs 2 -> 1" in said else said)


def test_cut(tap, directory):
    """Operations that the recording's begin and end cut are left out on both sides, and counted."""
    sides = []
    for number in (980, 981):
        recording = Recording(number)
        recording.run(20 * MS)  # what was under way
        recording.operate(700)
        recording.idle(MS)
        recording.run(30 * MS)
        recording.idle = lambda ns: None  # what goes on
        sides.append(recording.write(directory + "/cut-%d.clew" % number))
    answer = compare(*sides)
    tap.same("cut off: nothing of it is compared", [it["text"] for it in answer["classes"]],
             ["works of server behind epoll_wait"])
    it = work(answer)
    for side in "before", "after":
        tap.same(f"cut off: left out {side}", (it[side]["cut"], it[side]["count"]), (1, 700))


def test_windows(tap, directory):
    """A long capture in windows gives the same answer as in one piece."""
    before = Recording(990).operate(700).write(directory + "/long-1.clew")
    after = Recording(991).operate(900, each=3 * MS).write(directory + "/long-2.clew")
    whole = compare(before, after)
    os.environ["CLEW_WINDOW_RECORDS"] = "500"
    try:
        parts = compare(before, after)
    finally:
        del os.environ["CLEW_WINDOW_RECORDS"]
    for answer in whole, parts:
        for it in answer["classes"]:
            for cause in it["causes"]:
                # Windows have no causal trace.
                cause["on_path"] = cause["on_path_ns"] = None
    tap.same("in windows: the same load",
             *[[it[side] for side in ("before", "after")] for it in (parts, whole)])
    tap.same("in windows: the same classes", parts["classes"], whole["classes"])


def test_page(tap, directory):
    """What changed has a colour and nothing else has; names are text."""
    before = Recording(900).operate(700).write(directory + "/page-1.clew")
    after = Recording(901).operate(700, name="<b>").write(directory + "/page-2.clew")
    longer = Recording(902).operate(700, each=3 * MS).write(directory + "/page-3.clew")
    page = text(before, longer, "--html", "-o", "-")
    boxes = re.findall(r'<div class="box( more| less|)" style="[^"]*" title="([^":]*):', page)
    tap.same("the page: what changed is coloured",
             [name for colour, name in boxes if colour == " more"],
             ["waited for fsync /var/lib/server/log"])
    tap.report("the page: what did not is not", "" if ("", "ran") in boxes else repr(boxes))
    page = text(before, after, "--html", "-o", "-")
    tap.report("the page: a name is text",
               "" if "&lt;b&gt;" in page and "works of <b>" not in page else page)


def test_limits(tap, directory):
    """Too few blocks, losses, and what cannot be compared."""
    few = Recording(700).operate(300).write(directory + "/enough.clew")
    short = Recording(701).operate(100).write(directory + "/short.clew")
    it = work(compare(few, short))
    tap.same("too short to say", (it["verdict"], it["low_ns"], it["after"]["blocks"] < 30),
             ("short", None, True))
    tap.report("too short: rows add up", rows_add_up(compare(few, short)))
    long = Recording(703).operate(100, each=9 * MS).write(directory + "/long.clew")
    said = text(few, long)
    tap.report(
        "too short: what differs most is said",
        "" if re.search(r"too short to say.*\n.*\n +\+[67].* ms an operation  waited for fsync",
                        said) else said)
    lost = Recording(702)
    for _ in range(30):
        lost.operate(9)
        lost.lose()
        lost.operate(1)
    it = work(compare(few, lost.write(directory + "/lost.clew")))
    tap.same("losses: no verdict", it["verdict"], "blind")
    tap.report("losses: those operations are left out",
               "" if 25 <= it["after"]["blind"] <= 62 else repr(it["after"]))


def test_often(tap, directory):
    """The program's speed differs from recording to recording, as it does on machines."""
    wrong = halves = 0
    for number in range(100):
        captures = []
        for i in range(10):
            recording = Recording(10000 + number * 10 + i)
            each = int(2 * MS * recording.random.gauss(1, .03))
            captures.append(
                recording.operate(1400 if i == 0 else 300,
                                  each=each).write(directory + "/%d.clew" % i))
        wrong += bool(changed(compare(*captures[:5], "--", *captures[5:])))
        halves += bool(changed(compare(captures[0], "--halves")))
    print("# %d of 100 comparisons with five recordings a side have a changed cause, and %d of 100 "
          "with themselves" % (wrong, halves),
          flush=True)
    tap.report("100 comparisons with five recordings a side", "" if wrong <= 10 else str(wrong))
    tap.report("100 comparisons of a recording with itself", "" if halves <= 10 else str(halves))


def main():
    tap = Tap()
    tests = [test_often] if "--all" in sys.argv else [
        test_causes, test_longest, test_noise, test_replicates, test_names, test_named,
        test_on_path, test_group_limits, test_boot, test_cpus, test_cut, test_windows, test_page,
        test_limits
    ]
    with tempfile.TemporaryDirectory() as directory:
        for test in tests:
            test(tap, directory)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
