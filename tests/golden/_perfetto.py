# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Reads Perfetto's traces without Perfetto: the wire format of protocol buffers, and what
protos/perfetto/trace/ in its repository says of the fields.
"""
import collections
import struct


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a message, by number, each a list: numbers or bytes."""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif wire == 2:
            size, at = varint(data, at)
            assert at + size <= len(data), "a field goes beyond its message"
            value, at = data[at:at + size], at + size
        else:
            raise ValueError("wire type %d" % wire)
        found[tag >> 3].append(value)
    return found


def packed(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def one(message, number, default=None):
    return message[number][0] if number in message else default


Slice = collections.namedtuple("Slice", "track start end category name notes flows_in flows_out")
Switch = collections.namedtuple("Switch", "cpu at state tid priority comm")
Wake = collections.namedtuple("Wake", "cpu at tid target comm flags")
Reason = collections.namedtuple("Reason", "at tid text io")


class Perfetto:
    """A whole trace; times are of the boot clock."""

    def __init__(self, data):
        self.processes, self.threads = {}, {}
        self.tracks = {}  # uuid -> fields of its description, with strings decoded
        self.slices, self.switches, self.wakes, self.reasons = [], [], [], []
        self.clocks, self.release = [], None
        self.strings = collections.defaultdict(dict)  # sequence -> (field, number) -> text
        self.clock = {}  # sequence -> the last time of its incremental clock
        self.open = collections.defaultdict(list)
        for packet in fields(data)[1]:
            self.packet(fields(packet))
        for stack in self.open.values():
            for slice_ in stack:
                self.slices.append(slice_)

    def packet(self, packet):
        sequence = one(packet, 10)
        assert sequence, "a packet without a sequence"
        if one(packet, 13, 0) & 1:
            self.strings[sequence].clear()
        if 12 in packet:
            for field, values in fields(packet[12][0]).items():
                for value in values:
                    string = fields(value)
                    self.strings[sequence][field, string[1][0]] = string[2][0].decode()
        if 6 in packet:
            self.clock_snapshot(fields(packet[6][0]), sequence)
        if 2 in packet:
            self.process_tree(fields(packet[2][0]))
        if 45 in packet:
            self.release = fields(fields(packet[45][0])[1][0])[3][0].decode()
        if 60 in packet:
            track = fields(packet[60][0])
            assert track[1][0] not in self.tracks, "a track is described twice"
            self.tracks[track[1][0]] = track
        if 1 in packet:
            self.bundle(fields(packet[1][0]), sequence)
        if 11 in packet:
            self.clock[sequence] += packet[8][0]
            self.event(fields(packet[11][0]), sequence, self.clock[sequence])

    def clock_snapshot(self, snapshot, sequence):
        clocks = {one(clock, 1): clock for clock in map(fields, snapshot[1])}
        if 64 in clocks:
            assert clocks[64][3] == [1], "the clock is incremental"
            assert clocks[64][2] == clocks[6][2], "it begins at the boot clock"
            self.clock[sequence] = clocks[64][2][0]
        else:
            self.clocks.append({number: clock[2][0] for number, clock in clocks.items()})

    def process_tree(self, tree):
        for process in map(fields, tree[1]):
            self.processes[process[1][0]] = (one(process, 2), process[3][0].decode())
        for thread in map(fields, tree[2]):
            self.threads[thread[1][0]] = (thread[3][0], thread[2][0].decode())

    def bundle(self, bundle, sequence):
        cpu = one(bundle, 1)
        for event in map(fields, bundle[2]):
            reason = fields(event[18][0])
            self.reasons.append(
                Reason(one(event, 1), one(reason, 1), self.strings[sequence][26, one(reason, 2)],
                       one(reason, 3)))
        compact = fields(bundle[4][0])
        names = [name.decode() for name in compact[5]]
        columns = {field: packed(values[0]) for field, values in compact.items() if field != 5}
        at = 0
        for delta, state, tid, priority, name in zip(*(columns.get(i, [])
                                                       for i in (1, 2, 3, 4, 6))):
            at += delta
            self.switches.append(Switch(cpu, at, state, tid, priority, names[name]))
        at = 0
        for delta, tid, target, _, name, flags in zip(*(columns.get(i, [])
                                                        for i in (7, 8, 9, 10, 11, 12))):
            at += delta
            self.wakes.append(Wake(cpu, at, tid, target, names[name], flags))

    def event(self, event, sequence, at):
        kind, track = one(event, 9), one(event, 11)
        assert track in self.tracks, "an event on a track that is not described"
        if kind == 2:
            self.slices.append(self.open[track].pop()._replace(end=at))
            return
        strings = self.strings[sequence]
        notes = collections.defaultdict(list)
        for note in map(fields, event[4]):
            notes[strings[3, one(note, 1)]].append(strings[29, one(note, 17)] if 17 in
                                                   note else one(note, 3))
        found = Slice(track, at, None, strings[1, one(event, 3)], strings[2, one(event, 10)],
                      dict(notes), tuple(event[48]), tuple(event[47]))
        if kind == 1:
            self.open[track].append(found)
        else:
            assert kind == 3, "begin, end or instant"
            self.slices.append(found._replace(end=at))

    def tid(self, track):
        """The thread that a track is of, or None."""
        described = self.tracks[track]
        return fields(described[4][0])[2][0] if 4 in described else None

    def name(self, track):
        return one(self.tracks[track], 2, b"").decode()

    def parent(self, track):
        return one(self.tracks[track], 5)
