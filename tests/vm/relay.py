# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""TAP of several guests as one: numbers results, holds back those of tests that are tried again."""
import contextlib
import re
import threading
import time


class Tap:
    """Numbers the results of all guests."""

    def __init__(self):
        self.number = 0
        self.failed = 0
        self.lock = threading.Lock()

    def line(self, good, text):
        with self.lock:
            self.number += 1
            if not good:
                self.failed += 1
            print("%s %d - %s" % ("ok" if good else "not ok", self.number, text), flush=True)

    def comment(self, text):
        with self.lock:
            print("# " + text, flush=True)


class Relay:
    """
    Prints a guest's TAP as it comes, test by test; other lines as comments. `patient`: a test that
    fails is to be tried again, as an emulated machine may be too slow for what it assumes about
    time. Comments say so then, and `again` has the results that failed, by test. `first` is the
    `again` of an earlier try.
    """

    def __init__(self, series, tap, patient=False, first=None):
        self.series = series
        self.tap = tap
        self.patient = patient
        self.first = first or {}
        self.again = {}
        self.name = ""
        self.held = []
        self.results = 0
        self.done = False

    def line(self, line):
        match = re.match(r"(not )?ok\b\s*\d*\s*-?\s*(.*)", line)
        if match:
            self.results += 1
            text = ": ".join(filter(None, (self.series, self.name, match.group(2))))
            self.held.append((not match.group(1), text))
        elif line.startswith("# file "):
            self.tell()
            self.name = line[len("# file "):]
        elif line == "# guest done":
            self.done = True
        elif line:
            self.tap.comment("%s %s" % (self.series, line))

    def tell(self):
        """Prints the results of the test that has ended."""
        failed = [text for good, text in self.held if not good]
        # The guest's results before its first test, about clew itself, have no second try.
        if self.patient and self.name and failed:
            self.again[self.name] = failed
            for text in failed:
                self.tap.comment("not the last time: not ok - " + text)
        else:
            flaky = {} if failed else self.flaky()
            for good, text in self.held:
                before = flaky.pop(text, None)
                self.tap.line(good, text if before is None else f"{text} # FLAKY {before}")
            for text, before in flaky.items():
                self.tap.line(True, f"{text} # FLAKY {before}")
        self.held = []

    def flaky(self):
        """What failed at the first try: by the name of the same result now, or its own."""
        names = [text for _, text in self.held]
        found = {}
        for before in self.first.get(self.name, ()):
            same = [name for name in names if before.startswith(name)]
            found[max(same, key=len, default=before)] = before
        return found

    def follow(self, output, ended):
        """Reads what comes in a file until `ended` is set."""
        with open(output, "r", encoding="utf-8", errors="replace") as text:
            pending = ""
            while True:
                last = ended.is_set()
                piece = text.read()
                if not piece:
                    if last:
                        break
                    time.sleep(0.2)
                    continue
                pending += piece
                lines = pending.split("\n")
                pending = lines.pop()
                for line in lines:
                    self.line(line.rstrip("\r"))


@contextlib.contextmanager
def followed(relay, output):
    """Empties the file, and has the relay print what comes in it until the block ends."""
    with open(output, "wb"):
        pass
    ended = threading.Event()
    follower = threading.Thread(target=relay.follow, args=(output, ended))
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join()
        relay.tell()


def tell_end(series, tap, relay, wrong, log):
    """
    Prints whether a guest did all that it was to do, and the last lines of its console if not.
    `wrong`: what boot() said. Returns what is wrong now, or None.
    """
    if wrong is None and not relay.done:
        wrong = "the guest powered off before its tests were done"
    if wrong is None and not relay.results:
        wrong = "the guest ran no test"
    tap.line(
        wrong is None, "%s: guest boots, runs its tests and powers off%s" %
        (series, "" if wrong is None else ": " + wrong))
    if wrong:
        with open(log, "r", encoding="utf-8", errors="replace") as text:
            for line in text.read().splitlines()[-25:]:
                tap.comment("%s console: %s" % (series, line))
    return wrong
