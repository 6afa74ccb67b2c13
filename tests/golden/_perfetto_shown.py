# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What a trace for Perfetto shows, in the form in which _export.py has what clew says. `ahead`: by how
much the boot clock is ahead of the monotonic one.
"""
import collections

NOTES = ("type", "evidence", "context", "object")
UNKNOWN_TID = 1 << 22  # larger ones are CPUs of which records are missing




def waits_shown(perfetto, ahead):
    return collections.Counter(
        (perfetto.tid(s.track), s.start - ahead, None if s.end is None else s.end - ahead, s.name,
         s.notes.get("object", [None])[0], s.notes.get("call", [None])[0]) for s in perfetto.slices
        if s.category == "wait")


def ready_shown(perfetto, ahead, end):
    return collections.Counter((perfetto.tid(s.track), s.start - ahead,
                                (end if s.end is None else s.end - ahead) - s.start + ahead)
                               for s in perfetto.slices if s.category == "ready")


def flows_shown(perfetto, ahead):
    origins = {
        flow: s
        for s in perfetto.slices for flow in s.flows_out
        if s.name != "submit" and s.category != "call"
    }
    found = collections.Counter()
    for s in perfetto.slices:
        for flow in s.flows_in if s.category not in ("request", "call") else ():
            origin = origins.pop(flow)
            notes = [origin.notes.get(key, [None])[0] for key in NOTES]
            found[(perfetto.tid(origin.track), origin.start - ahead, perfetto.tid(s.track),
                   s.start - ahead) + tuple(notes)] += 1
    return found, origins


def requests_shown(perfetto, ahead):
    return collections.Counter(
        (s.name, s.start - ahead, s.end - ahead if s.end else None, s.notes["bytes"][0],
         s.notes["reason"][0], s.notes.get("submitter", [None])[0]) for s in perfetto.slices
        if s.category == "request" and s.name != "in the device")


def runs_shown(perfetto, ahead, end):
    cpus = collections.defaultdict(list)
    for switch in perfetto.switches:
        cpus[switch.cpu].append(switch)
    found = collections.Counter()
    for cpu, switches in cpus.items():
        for this, following in zip(switches, switches[1:] + [None]):
            until = following.at - ahead if following else end
            if 0 < this.tid < UNKNOWN_TID and until > this.at - ahead:
                found[cpu, this.at - ahead, until, this.tid] += 1
    return found


def calls_shown(perfetto, ahead):
    origins = {
        flow: s
        for s in perfetto.slices for flow in s.flows_out if s.category == "call"
    }
    return collections.Counter(
        (perfetto.tid(perfetto.parent(origins[flow].track) or origins[flow].track),
         origins[flow].start - ahead, perfetto.tid(perfetto.parent(s.track) or s.track),
         s.start - ahead, s.notes["evidence"][0]) for s in perfetto.slices
        if s.category == "call" for flow in s.flows_in)


def slices_shown(perfetto, ahead, category):
    """One that does not nest in its thread's track is on a track below it."""
    return collections.Counter(
        (perfetto.tid(perfetto.parent(s.track) or s.track), s.start - ahead,
         None if s.end is None else s.end - ahead, s.name) for s in perfetto.slices
        if s.category == category)


def why_shown(perfetto, ahead):
    tracks = collections.defaultdict(list)
    for s in perfetto.slices:
        if s.category == "why":
            tracks[s.track].append((s.start - ahead, s.end - ahead, s.notes["kind"][0],
                                    s.notes.get("type", [None])[0], s.name.rsplit(" ", 1)[0]))
            assert s.notes["text"][0].strip()
    return [sorted(tracks[track]) for track in sorted(tracks)]
