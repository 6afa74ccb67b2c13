# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares clew's requests with what workloads did to pages, and with what the disk holds.

A page's pass is its way to the disk in one request. The acts of a workload are played again,
page by page: a pass must name just the tasks that wrote the page since the pass before it, and
each page that was dirty must have had a pass when a sync ends. Acts that overlap a pass may be
in it or in the next one; apart from that nothing is left open. Sectors are FIEMAP's, the last
writer of each page is the one in the stamp on the disk.
"""

import collections

from _flusher import ORDERS
from _graph import SLACK

PAGE = 4096
NEVER = -1 << 62
FOLIO = 64  # pages: no folio of these files is larger
WRITES = ("write", "part", "store", "direct")
DROPS = ("truncate", "punch", "delete")

Pass = collections.namedtuple(
    "Pass", "queued issued completed sector writers before evidence reason by submitter index"
)  # before: writers but for those while it was on its way


class Pages:
    """What a capture tells of the pages in its write requests: passes by disk, inode and page."""

    def __init__(self, requests):
        self.requests = requests
        self.passes = collections.defaultdict(lambda: collections.defaultdict(list))
        for index, request in enumerate(requests):
            if request["op"] != "write":
                continue
            # Compressed pages are more than the request's bytes, and all lie where it begins.
            step = 0 if sum(stretch["bytes"]
                            for stretch in request["pages"]) > request["bytes"] else 8
            for stretch in request["pages"]:
                writers = frozenset(w["tid"] for w in stretch["writers"])
                before = frozenset(w["tid"] for w in stretch["writers"] if not w["in_flight"])
                first = stretch["offset"] // PAGE
                for i in range((stretch["bytes"] + PAGE - 1) // PAGE):
                    self.passes[(request["dev"], stretch["ino"])][first + i].append(
                        Pass(request["queued"], request["issued"] or request["queued"],
                             request["completed"], stretch["sector"] + step * i, writers, before,
                             stretch["evidence"], request["reason"],
                             request["reason_by"].get("tid"), request["submitter"].get("tid"),
                             index))
        for pages in self.passes.values():
            for passes in pages.values():
                passes.sort()


def taken_until(taken, racing):
    """
    When its page may last have been taken: of a request's bios only when the
    first was queued is told, and others are until it is issued.
    """
    return (taken.issued if racing else taken.queued) + SLACK


class Tally:
    """Counts for one file system."""

    def __init__(self):
        self.count = collections.Counter()
        self.wrong = collections.defaultdict(list)

    def note(self, what, text):
        self.wrong[what].append(text)

    def ratio(self, right, wrong):
        total = self.count[right] + self.count[wrong]
        return self.count[right] / total if total else 1.0

    def lines(self):
        yield (
            f"passes {self.count['passes']}, sectors {self.count['sector']} right {self.count['sector wrong']} wrong, "
            f"writers precision {self.ratio('writer', 'writer too many'):.5f} recall {self.ratio('writer', 'writer missing'):.5f} "
            f"({self.count['writer']} right, {self.count['writer too many']} too many, {self.count['writer missing']} missing), "
            f"dirty pages written {self.count['written']} of {self.count['written'] + self.count['unwritten']}, "
            f"stamps {self.count['stamp']} right {self.count['stamp wrong']} wrong")


def covers(act, inode, page, margin=0):
    return act["ino"] in (
        0, inode) and act["first"] - margin <= page < act["first"] + max(act["count"], 1) + margin


def drops(act, inode, page):
    return act["ino"] == inode and act["first"] <= page and (act["what"] != "punch"
                                                             or page < act["first"] + act["count"])


class Story:
    """All that happened to one page, in order."""

    def __init__(self, acts, inode, page):
        self.writes = [a for a in acts if a["what"] in WRITES and covers(a, inode, page)]
        self.drops = [a for a in acts if a["what"] in DROPS and drops(a, inode, page)]
        syncs = [a for a in acts if a["what"] in ("sync", "range", "direct")]
        self.syncs = [a for a in syncs if covers(a, inode, page)]
        # One of a part of a folio may take all of it along.
        self.flushes = [a for a in syncs if covers(a, inode, page, FOLIO)]

    def gone(self, write, at):
        """Whether what was written had left memory by then."""
        return any(d["before"] >= write["after"] and d["after"] <= at for d in self.drops)

    def vague(self, at):
        """Whether the page was being dropped at that moment: what is written then may be either."""
        return any(d["before"] - SLACK <= at <= d["after"] + SLACK for d in self.drops)


def flush_began(story, taken):
    """
    When the kernel may first have taken the page for a pass: with others at
    work it is some time before the request.
    """
    return min([s["before"] for s in story.flushes if s["before"] <= taken.queued <= s["after"]] +
               [taken.queued]) - SLACK


def judge_page(tally, name, acts, inode, page, passes, racing):
    story = Story(acts, inode, page)
    last_end = last_begin = NEVER
    halfway, before = set(), set(
    )  # writers that the pass before fell into the writes of, and its own
    for taken in passes:
        tally.count["passes"] += 1
        kept = [w for w in story.writes if not story.gone(w, taken.queued)]
        if racing:
            begin, end = flush_began(story, taken), (taken.completed or taken.issued) + SLACK
            certain = {w["tid"] for w in kept if w["after"] < begin and w["before"] > last_end}
            possible = {w["tid"] for w in kept if w["before"] < end and w["after"] > last_begin}
        else:
            # One act after the other: a pass within a write that syncs is that
            # write's own. Any other comes before or after what is written.
            begin = end = taken.issued
            during = {
                w["tid"]
                for w in kept if w["before"] <= taken.queued < w["after"] and w["what"] != "direct"
            }
            during -= {
                s["tid"]
                for s in story.syncs
                if s["what"] == "range" and s["before"] <= taken.queued < s["after"]
            }
            certain = {w["tid"] for w in kept if last_end < w["before"] <= taken.queued + SLACK}
            possible = certain | halfway
            certain = certain - during | halfway - before
            halfway, before = during, taken.writers
        # A store makes all of a large folio dirty, pages too that nobody touched.
        near = {
            a["tid"]
            for a in acts if a["what"] == "store" and abs(a["first"] - page) < FOLIO
            and last_begin < a["before"] <= taken.queued + SLACK
        }
        whole = not possible and taken.writers and taken.writers <= near
        if whole:
            tally.count["whole folio"] += 1
            possible = certain = taken.writers
        if story.vague(taken.queued):
            certain = certain & taken.writers
            possible = possible | taken.writers & {w["tid"] for w in story.writes}
        where = f"{name}: inode {inode} page {page} request {taken.index} at {taken.queued} ({taken.reason}, by {taken.submitter}, {taken.evidence})"
        tally.count["writer"] += len(taken.writers & possible)
        tally.count["writer too many"] += len(taken.writers - possible)
        tally.count["writer missing"] += len(certain - taken.writers)
        if not possible:
            tally.note("pass", f"{where}: nobody wrote it, clew says {sorted(taken.writers)}")
        elif not certain <= taken.writers <= possible:
            tally.note(
                "writers",
                f"{where}: writers {sorted(taken.writers)}, not {sorted(certain)}..{sorted(possible)}"
            )
        elif whole and taken.evidence == "exact" or not whole and taken.evidence != "exact" and not racing:
            tally.note("evidence", f"{where}: evidence {taken.evidence}")
        last_begin, last_end = begin, end
    for sync in story.syncs:
        dirty = [
            w for w in story.writes
            if (w["after"] < sync["before"] or w["before"] == sync["before"])
            and not story.gone(w, sync["before"])
        ]
        if not dirty:
            continue
        last = max(dirty, key=lambda w: w["before"])
        if any(last["before"] <= taken_until(p, racing) and p.queued <= sync["after"] + SLACK
               for p in passes):
            tally.count["written"] += 1
        elif not any(d["before"] >= last["after"] and d["before"] <= sync["after"]
                     for d in story.drops):
            tally.count["unwritten"] += 1
            tally.note(
                "written",
                f"{name}: inode {inode} page {page}: written by {last['tid']} at {last['before']}, in no request until {sync['after']} ({sync['call']})"
            )
    return story


def judge_order(tally, where, taken, flushers):
    """Of what a flusher writes the kernel itself says why. False: it was none who wrote."""
    said = flushers.words(taken.submitter, taken.queued)
    if said is None:
        # btrfs has workers write for a flusher.
        if taken.submitter in flushers.stints and taken.reason in ORDERS - flushers.lately(
                taken.queued):
            tally.count["reason wrong"] += 1
            tally.note("reason", f"{where}: reason {taken.reason}, but that flusher is at no order")
        return False
    if taken.reason not in said:
        tally.count["reason wrong"] += 1
        tally.note("reason", f"{where}: reason {taken.reason}, the kernel says {sorted(said)}")
        return True
    tally.count[f"reason {taken.reason}"] += 1
    if taken.reason in ("background", "throttled") and taken.by is not None:
        by = flushers.woken_by(taken.submitter, taken.queued)
        tally.count["woken"] += 1
        if taken.by not in by:
            tally.note("reason", f"{where}: woken by {taken.by}, the kernel says {sorted(by)}")
    return True


def words_of(act, taken, system):
    """Why pages may be written while that act alone is going on; None: anything goes."""
    if act["what"] == "direct":
        # btrfs takes it through the page cache, and then writes in the same call.
        return ["direct", "fsync"] + (["unknown", "call"] if system == "btrfs" else [])
    if act["call"] == "syncfs":
        return ["sync", "journal"]
    if act["call"] == "rest":
        return ["journal"]
    if act["what"] in ("truncate", "punch") and act["tid"] == taken.submitter:
        # Some file systems write before they drop.
        return ["call"]
    if act["what"] in ("sync", "range"):
        return ["fsync"] if act["tid"] == taken.submitter else ["fsync", "journal"]
    return None


def judge_reason(tally, name, system, acts, inode, passes, flushers):
    """
    Why requests were made: by the kernel's word where a flusher made them, else
    while one act alone was going on.
    """
    for taken in passes:
        if judge_order(tally,
                       f"{name}: request {taken.index} at {taken.queued} by {taken.submitter}",
                       taken, flushers):
            continue
        during = [
            a for a in acts
            if a["before"] - SLACK <= taken.queued <= a["after"] + SLACK and a["ino"] in (
                0, inode) and a["what"] not in WRITES[:3]
        ]
        words = words_of(during[0], taken, system) if len(during) == 1 else None
        if words is None:
            continue
        act = during[0]
        if taken.submitter != act["tid"] and not flushers.known:
            continue
        # A worker writes for a flusher that may be at its next order by now.
        if taken.submitter != act["tid"]:
            words = set(words) | flushers.lately(taken.queued)
        if taken.reason in words:
            tally.count["reason"] += 1
        elif system == "btrfs" and taken.reason == "unknown" and taken.submitter != act["tid"]:
            # A worker of its own writes: not always is it told for whom.
            tally.count["reason unknown"] += 1
        else:
            tally.count["reason wrong"] += 1
            tally.note(
                "reason",
                f"{name}: request {taken.index} during {act['call']} of {act['tid']}, by {taken.submitter}: reason {taken.reason}, not {sorted(words)}"
            )


def judge_disk(tally, name, graph, file, stories, pages, racing):
    """Sectors by FIEMAP, the last writer by the stamp."""
    sectors = {
        first + i: sector + 8 * i
        for first, count, sector in file["sectors"] for i in range(count)
    }
    moves = graph["system"] == "btrfs"
    stamped = {page for page, _, _ in file["stamps"]}
    for page, passes in pages.items():
        # There FIEMAP gives addresses of the file system's own: they are the
        # disk's where the stamp is found.
        if page not in sectors or (moves and page not in stamped):
            continue
        dropped = max([d["after"] for d in stories[page].drops], default=NEVER)
        for taken in passes[-1:] if moves else passes:
            if taken.queued < dropped:
                continue
            if taken.sector == sectors[page]:
                tally.count["sector"] += 1
            else:
                tally.count["sector wrong"] += 1
                tally.note(
                    "sector",
                    f"{name}: inode {file['ino']} page {page} request {taken.index}: sector {taken.sector}, FIEMAP says {sectors[page]}"
                )
    for page, tid, sequence in file["stamps"]:
        whole = [w for w in stories[page].writes if w["what"] != "part"] if page in stories else []
        write = next((w for w in whole if w["sequence"] == sequence), None)
        if not write or (not racing and max(whole, key=lambda w: w["before"]) is not write):
            tally.note(
                "workload",
                f"{name}: inode {file['ino']} page {page}: the disk has {sequence} of {tid}")
            continue
        # A part of the page may have been written once more since, by another.
        since = [
            p.writers for p in pages.get(page, ()) if taken_until(p, racing) >= write["before"]
        ]
        if any(tid in writers for writers in since):
            tally.count["stamp"] += 1
        else:
            tally.count["stamp wrong"] += 1
            tally.note(
                "stamp",
                f"{name}: inode {file['ino']} page {page}: the disk has {tid}'s, clew says {[sorted(writers) for writers in since]}"
            )


def compare(tally, name, graph, capture, flushers):
    """
    Judges one run of a workload; `capture` is a Pages, `flushers` what the
    kernel says of them.
    """
    racing = name.startswith("race") or name.startswith("throttle") or name.startswith(
        "memory") or name.startswith("background")
    acts = sorted((a for a in graph["acts"]), key=lambda a: a["before"])
    files = {file["ino"]: file for file in graph["files"]}
    disk = graph["files"][0]["dev"]
    for inode in {a["ino"] for a in acts if a["ino"]}:
        own = [a for a in acts if a["ino"] in (0, inode)]
        found = {
            page: [p for p in passes if graph["start"] <= p.queued <= graph["end"]]
            for page, passes in capture.passes[(disk, inode)].items()
        }
        found = {page: passes for page, passes in found.items() if passes}
        wanted = {
            page
            for a in own if a["what"] in WRITES
            for page in range(a["first"], a["first"] + a["count"])
        }
        stories = {}
        for page in sorted(wanted | set(found)):
            stories[page] = judge_page(tally, name, own, inode, page, found.get(page, []), racing)
        if not name.startswith("race"):
            judge_reason(tally, name, graph["system"], own, inode,
                         {p.index: p
                          for passes in found.values() for p in passes}.values(), flushers)
        if inode in files:
            judge_disk(tally, name, graph, files[inode], stories, found, racing)


def compare_sums(tally, system, graphs, files):
    """
    Bytes asked by file, as `clew io` tells them; numbers of files are used
    again, so all of a recording together.
    """
    asked, stored = collections.Counter(), set()
    for graph in graphs:
        for act in graph["acts"]:
            if act["what"] in ("write", "part", "direct"):
                asked[act["ino"]] += act["bytes"]
            elif act["what"] == "store":
                stored.add(act["ino"])
    for inode, count in asked.items():
        found = sum(f["asked_bytes"] for f in files if f["ino"] == inode)
        if inode in stored:
            continue
        if found != count:
            tally.note("io", f"{system}: inode {inode}: {found} bytes asked, not {count}")
        else:
            tally.count["io"] += 1


def compare_unused(tally, system, graphs, files):
    """
    Pages that were read ahead for nobody, of files whose number no other
    workload of the recording had.
    """
    of = collections.Counter(file["ino"] for graph in graphs for file in graph["files"])
    for graph in graphs:
        acts = [a for a in graph["acts"] if a["what"] == "unused" and of[a["ino"]] == 1]
        for inode in {a["ino"] for a in acts}:
            count = sum(a["count"] for a in acts if a["ino"] == inode)
            path = next(file["path"] for file in graph["files"] if file["ino"] == inode)
            found = sum(f["unused_bytes"] for f in files if f["path"] == path) // PAGE
            if found == count:
                tally.count["unused"] += count
            else:
                tally.note(
                    "unused",
                    f"{system}: inode {inode}: {found} pages were read ahead for nobody, not {count}"
                )


def below(tally, graphs, capture, images):
    """
    One layer down: the pages of a loop device's file have the writers of the upper request's pages.
    `images`: disk -> (device, inode) of the file below.
    """
    for disk, (device, inode) in images.items():
        upper = collections.defaultdict(list)  # page of the image -> passes
        for (dev, _), pages in capture.passes.items():
            if dev != disk:
                continue
            for passes in pages.values():
                for taken in passes:
                    upper[taken.sector // 8].append(taken)
        lower = capture.passes.get((device, inode), {})
        for page, passes in lower.items():
            since = NEVER
            for taken in passes:
                # One on its way when the page went to the disk below may be in it, or in the next.
                above = [
                    u for u in upper.get(page, ()) if u.queued <= taken.queued +
                    SLACK and (u.completed or NEVER * -1) >= since - SLACK
                ]
                certain = [
                    u for u in above
                    if u.queued > since + SLACK and (u.completed or NEVER * -1) < taken.queued
                ]
                since = taken.queued
                if not above or not above[-1].writers or any(not u.writers for u in above):
                    continue
                all_of_them = frozenset(t for u in above for t in u.writers)
                if taken.writers and taken.writers <= all_of_them and all(u.writers <= taken.writers
                                                                          for u in certain):
                    tally.count["below"] += 1
                else:
                    tally.count["below wrong"] += 1
                    tally.note(
                        "below",
                        f"page {page} of the image of {disk}: writers {sorted(taken.writers)}, above {[sorted(u.writers) for u in above][-3:]}"
                    )
