#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads a capture by docs/file-format.md alone and shares no code with clew.

Prints each record as one line of JSON, all streams merged by time, then one line
{"summary": {...}}. Bytes are printed in hexadecimal. Exit status 2: no capture.
"""
import heapq
import json
import struct
import sys
import zlib

import packed_reader
import zstandard

FILE_MAGIC = b"\x89CLEW\r\n\x1a"
CHUNK_MAGIC = b"\xc1chk"
END_MAGIC = b"CLEWEND\n"
SCHEMA, META, CLOCK, RECORDS, LEDGER, INDEX, PADDING, KEYFRAME = range(1, 9)
PLAIN, PREVIOUS, SAME, BEFORE, TIME, STREAM, KEYED, RECENT, TRIMMED, TAIL, LATEST, OFFSET, NEAR, NEXT = range(
    14)
NONE = 0xFF
PACKED, QUICK, NO_PLACE = 0x80, 0x40, 0xFFFF
BITS = {1: 8, 2: 16, 3: 32, 4: 64, 5: 32}
USER = 0xFFFF


class Malformed(Exception):
    pass


class Chunk:

    def __init__(self, data, offset):
        header = data[offset:offset + 48]
        if len(header) < 48 or header[:4] != CHUNK_MAGIC:
            raise Malformed("no chunk")
        (checksum, self.kind, self.stream, size, self.raw_size, self.rows, self.row,
         self.first_time, self.last_time) = struct.unpack("<IHHIIIQQQ", header[4:])
        self.payload = data[offset + 48:offset + 48 + size]
        self.end = offset + 48 + size
        if size > 1 << 26 or len(
                self.payload) < size or zlib.crc32(header[8:] + self.payload) != checksum:
            raise Malformed("damaged chunk")

    def frame(self, start=0):
        raw = zstandard.ZstdDecompressor().decompressobj().decompress(self.payload[start:])
        if len(raw) != self.raw_size:
            raise Malformed("a frame of another size")
        return raw


class Bytes:
    """Takes numbers and bytes from the front of a buffer."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if self.at + size > len(self.data):
            raise Malformed("cut off")
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, size):
        return int.from_bytes(self.take(size), "little")

    def leb128(self):
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    def name(self):
        return self.take(self.number(1)).decode()


class Column:

    def __init__(self, source):
        self.name = source.name()
        self.type, self.coding, self.reference, self.second, self.third, self.context, self.condition = source.take(
            7)
        self.mask, self.size = source.number(4), source.number(2)

    def wrap(self, value):
        return value & ((1 << BITS[self.type]) - 1)

    def show(self, value):
        if self.type == 6:
            return value.hex()
        return value - (1 << 32) if self.type == 5 and value >= 1 << 31 else value


def parse_schema(raw):
    source = Bytes(raw)
    kinds = {}
    for _ in range(source.number(2)):
        number = source.number(1)
        name = source.name()
        kinds[number] = (name, [Column(source) for _ in range(source.number(1))])
    return kinds  # in the schema's order


def unfold(value):
    return -(value >> 1) - 1 if value & 1 else value >> 1


def fold(column, value):
    value = column.wrap(value)
    return 2 * value if value < 1 << (BITS[column.type] - 1) else 2 * (column.wrap(~value)) + 1


def tail_hash(data):
    value = 14695981039346656037
    for at in range(0, 256, 8):
        value = (
            (value ^ int.from_bytes(data[at:at + 8], "little")) * 1099511628211) & (1 << 64) - 1
    return value


def planes(data, count):
    if not count:
        if data:
            raise Malformed("bytes without rows")
        return []
    if len(data) % count:
        raise Malformed("planes of a broken size")
    values = [0] * count
    for plane in range(len(data) // count):
        part = data[plane * count:(plane + 1) * count]
        for i, byte in enumerate(part):
            values[i] |= byte << (8 * plane)
    return values


def touch(recent, value):
    place = 0
    if value in recent:
        place = recent.index(value) + 1
        del recent[place - 1]
    recent.insert(0, value)
    del recent[255:]
    return place


def decode_recent(column, places, new, present, other):
    recent, values, row, last = [], [], 0, 0
    for place, at in zip(places, present):
        while other is not None and row <= at:
            touch(recent, other[row])
            row += 1
        if place:
            value = recent[place - 1]
        else:
            value = last = column.wrap(last + unfold(next(new)))
        touch(recent, value)
        values.append(value)
    return values


def stored_residuals(column, data, present):
    """Returns the residuals, and those of RECENT's new values."""
    if column.coding != RECENT:
        return planes(data, len(present)), None
    places = data[:len(present)]
    return places, iter(planes(data[len(present):], sum(1 for place in places if place == 0)))


def decode_numbers(column, number, residuals, present, decoded, chunk, unit):
    """
    `decoded`: columns of this kind by place, and of kind 0 by 0x80 + place;
    each has a value for every row.
    """
    if unit and (column.coding in (RECENT, STREAM) or column.type == 5
                 or unit >= BITS[column.type]):
        raise Malformed("a unit that the column cannot have")
    other = None if column.reference in (NONE, number) else decoded[column.reference]
    if column.coding == RECENT:
        return decode_recent(column, *residuals, present, other)
    second = None if column.second == NONE else decoded[column.second]
    third = None if column.third == NONE else [value >> unit for value in decoded[column.third]]
    if other is not None and column.coding not in (KEYED, NEXT):
        other = [value >> unit for value in other]
    values, last, by_key, by_second = [], 0, {}, {}
    previous, offset = chunk.first_time >> unit if column.coding == TIME else 0, 0
    for residual, row in zip(residuals[0], present):
        if column.coding == PLAIN:
            value = unfold(residual) if column.type == 5 else residual
        elif column.coding == PREVIOUS:
            if other is not None:
                previous = other[row - 1] if row else 0
            value = previous + unfold(residual)
        elif column.coding == SAME:
            value = other[row] + unfold(residual)
        elif column.coding == BEFORE:
            value = other[row] - residual
        elif column.coding == TIME:
            value = previous + residual
        elif column.coding == STREAM:
            value = chunk.stream + unfold(residual)
        elif column.coding == KEYED:
            key = other[row] if second is None else (other[row], second[row])
            prediction = last if third is None else third[row]
            prediction = by_key.get(
                key, prediction if second is None else by_second.get(second[row], prediction))
            if third is not None:
                residual = retreat(residual, fold(column, third[row] - prediction))
            value = prediction + unfold(residual)
        elif column.coding == NEXT:
            key = other[row] if second is None else (other[row], second[row])
            prediction = by_key.get(key,
                                    last if second is None else by_second.get(second[row], last))
            value = prediction + unfold(residual)
        elif column.coding == NEAR:
            alternative = by_second.get(second[row], 0) if second is not None else 0
            if second is None and third is not None:
                alternative = third[row - 1] if row else 0
            value = other[row] + unfold(retreat(residual, fold(column, alternative - other[row])))
        elif column.coding == OFFSET:
            value = other[row] + offset + unfold(residual)
            offset = value - other[row]
        value = column.wrap(value)
        previous = last = value
        values.append(value << unit)
        if column.coding == NEAR and third is not None:
            value = third[row]
        if column.coding == NEXT:
            last = value = value + third[row]
        if column.coding in (KEYED, NEXT):
            by_key[key] = value
        if second is not None:
            by_second[second[row]] = value
    return values


def retreat(residual, other):
    """The residual that was before `other`, if not 0, was given the number 1."""
    if not other or not residual or residual > other:
        return residual
    return other if residual == 1 else residual - 1


def decode_bytes(column, number, data, present, decoded, stream):
    if column.coding == TAIL:
        lengths = [decoded[column.reference][row] for row in present]
    elif not data:
        lengths = [0] * len(present)
    elif stream:
        lengths = stream.residuals(column, number, present, decoded)[0]
    else:
        lengths = list(data[:len(present)])
    if stream and data:
        return [stream.text(column, row, length, decoded) for row, length in zip(present, lengths)]
    source = Bytes(data if column.coding == TAIL else data[len(present):])
    return [source.take(length) for length in lengths]


def decode_latest(at, other_at, other):
    """What another kind's column had in its last row before each of the rows `at` of the chunk."""
    values, value, place = [], 0, 0
    for row in at:
        while place < len(other_at) and other_at[place] < row:
            value = other[place]
            place += 1
        values.append(value)
    return values


def decode_kind(columns, lengths, source, at, chunk, common, others, stream):
    """
    Returns each column's list of values, one a row; None where a row does not have it. `at`: the
    rows' places in the chunk; `others`: (places, decoded columns) of the kinds before.
    """
    decoded = {0x80 + place: values for place, values in common.items()}
    shown, rows = [], len(at)
    if stream:
        stream.begin_kind(rows)
    for number, column in enumerate(columns):
        known = column.coding <= NEXT and 1 <= column.type <= 6
        length = next(lengths)
        data = bool(length) if stream and known else source.take(length)
        present = range(rows)
        if column.condition != NONE:
            present = [row for row in present if decoded[column.condition][row] & column.mask]
        if not known:
            continue
        if column.coding == LATEST:
            other_at, other = others.get(column.second, ((), {}))
            decoded[number] = decode_latest(at, other_at, other.get(column.reference, ()))
            continue
        if column.coding in (TRIMMED, TAIL):
            if stream and length > 1:
                raise Malformed("texts have no unit")
            values = decode_bytes(column, number, data, present, decoded, stream)
        else:
            if not stream:
                residuals = stored_residuals(column, data, present)
            elif data:
                residuals = stream.residuals(column, number, present, decoded)
            else:
                residuals = [0] * len(present), iter(())
            unit = length - 1 if stream and length else 0
            values = decode_numbers(column, number, residuals, present, decoded, chunk, unit)
        full, maybe = [0] * rows, [None] * rows
        for row, value in zip(present, values):
            full[row], maybe[row] = tail_hash(value) if column.type == 6 else value, column.show(
                value)
        decoded[number] = full
        shown.append((column.name, maybe))
    return decoded, shown


def decode_quick_columns(columns, places, image, source, common):
    """A row's columns in its image, and by place the numbers of those that it has."""
    values, shown = {}, []
    for number, (column, place) in enumerate(zip(columns, places)):
        values[number] = 0
        if column.coding > NEXT or not 1 <= column.type <= 6:
            continue
        if column.condition != NONE:
            of = values.get(column.condition, common.get(column.condition - 0x80))
            if not of & column.mask:
                continue
        if column.coding == TAIL:
            shown.append((column.name, source.take(values[column.reference]).hex()))
        elif place != NO_PLACE:
            size = column.size if column.type == 6 else BITS[column.type] // 8
            data = bytes(image[place:place + size])
            if len(data) < size:
                raise Malformed("a place outside of the image")
            if column.coding == TRIMMED:
                data = data.rstrip(b"\0")
            else:
                values[number] = data = int.from_bytes(data, "little")
            shown.append((column.name, column.show(data)))
    return values, shown


def decode_quick(source, chunk, schema, present):
    """Yields a dictionary a record of a quick chunk."""

    def take_places(kind):
        return [source.number(2) for _ in schema[kind][1]]

    common, images, places = take_places(0), {}, {}
    for kind in present:
        images[kind] = bytearray(source.number(2))
        places[kind] = take_places(kind)
    for _ in range(chunk.rows):
        kind = source.number(1)
        image = images[kind]
        words = len(image) // 4
        mask = int.from_bytes(source.take((words + 7) // 8), "little")
        for word in range(words):
            if mask >> word & 1:
                image[4 * word:4 * word + 4] = source.take(4)
        values, shown = decode_quick_columns(schema[0][1], common, image, source, {})
        if values[0] != kind or not present[kind]:
            raise Malformed("a row of another kind")
        present[kind] -= 1
        record = dict(shown, kind=schema[kind][0])
        record.update(
            decode_quick_columns(schema[kind][1], places[kind], image, source, values)[1])
        yield record
    if source.at != len(source.data):
        raise Malformed("bytes left over")


def decode_records(chunk, schema):
    """Yields a dictionary a record."""
    head = Bytes(chunk.payload)
    count, present = head.number(1), {}
    for _ in range(count & 0x3F):
        kind, rows, _size = head.number(1), head.number(4), head.number(4)
        present[kind] = rows
    if count & QUICK:
        yield from decode_quick(head, chunk, schema, present)
        return
    stream = packed_reader.Stream(head.take(head.number(4)), chunk.rows) if count & PACKED else None
    raw = Bytes(chunk.frame(head.at))
    columns = len(schema[0][1]) + sum(len(schema[kind][1]) for kind in present)
    lengths = iter([raw.leb128() for _ in range(columns)])
    common, shown = decode_kind(schema[0][1], lengths, raw, range(chunk.rows), chunk, {}, {},
                                stream)
    kinds = common[0]
    queues, others = {}, {}
    for kind in schema:
        if kind not in present:
            continue
        at = [row for row in range(chunk.rows) if kinds[row] == kind]
        if len(at) != present[kind]:
            raise Malformed("another number of rows")
        of_kind = {place: [values[row] for row in at] for place, values in common.items()}
        decoded, fields = decode_kind(schema[kind][1], lengths, raw, at, chunk, of_kind, others,
                                      stream)
        others[kind] = (at, decoded)
        queues[kind] = (iter(range(len(at))), fields)
    if raw.at != len(raw.data):
        raise Malformed("bytes left over")
    for row in range(chunk.rows):
        name = schema[kinds[row]][0]
        rows, fields = queues[kinds[row]]
        at = next(rows)
        record = {"kind": name}
        record.update((column, values[row]) for column, values in shown if column != "kind")
        record.update((column, values[at]) for column, values in fields if values[at] is not None)
        yield record


def find_chunks(data):
    """
    All whole chunks as (offset, chunk), whether an index ends the file, and how
    many stretches are damaged.
    """
    if data[-8:] == END_MAGIC:
        try:
            index = Chunk(data, int.from_bytes(data[-16:-8], "little"))
            if index.kind == INDEX and index.end == len(data):
                return chunks_by_index(data, index)
        except Malformed:
            pass
    chunks, damaged, offset, lost = [], 0, 16, None
    while offset < len(data):
        try:
            chunk = Chunk(data, offset)
        except Malformed:
            lost = offset if lost is None else lost
            offset = data.find(CHUNK_MAGIC, offset + 1)
            if offset < 0:
                break
            continue
        if lost is not None and data[lost:offset].strip(b"\0"):
            damaged += 1
        lost = None
        damaged += chunk.kind == INDEX and chunk.payload[-16:-8] != offset.to_bytes(8, "little")
        chunks.append((offset, chunk))
        offset = chunk.end
    return chunks, False, damaged


def chunks_by_index(data, index):
    source = Bytes(index.frame())
    totals, entries = source.number(4), source.number(4)
    source.take(16 * totals)
    chunks, damaged = [], 0
    for _ in range(entries):
        offset = struct.unpack("<Q", source.take(48)[:8])[0]
        try:
            chunks.append((offset, Chunk(data, offset)))
        except Malformed:
            damaged += 1
    return chunks, True, damaged


def read_meta(payload, meta):
    source = Bytes(payload)
    while source.at < len(payload):
        key_size, value_size = source.number(4), source.number(4)
        key = source.take(key_size).decode()
        meta[key] = source.take(value_size).decode()


def read_ledger(raw):
    names = ("seen", "filtered", "reserved", "read", "stored", "lost", "missed")
    user_ns, bpf_ns, sampled, count = struct.unpack("<QQII", raw[:24])
    rows = []
    for i in range(count):
        cpu, kind, *values = struct.unpack("<II7Q", raw[24 + 64 * i:88 + 64 * i])
        rows.append({"cpu": cpu, "kind": kind, **dict(zip(names, values))})
    return {"user_ns": user_ns, "bpf_ns": bpf_ns, "bpf_sampled": bool(sampled), "rows": rows}


class Capture:

    def __init__(self, data):
        if data[:8] != FILE_MAGIC or int.from_bytes(data[8:10], "little") != 4:
            raise Malformed("no capture of format 4")
        chunks, self.complete, self.damaged = find_chunks(data)
        self.schema, self.meta, self.clocks, self.keyframes, self.ledger = None, {}, [], [], None
        streams, version = {}, -1
        for _, chunk in chunks:
            if chunk.kind == SCHEMA and self.schema is None:
                self.schema = parse_schema(chunk.frame())
            elif chunk.kind == META:
                read_meta(chunk.payload, self.meta)
            elif chunk.kind == CLOCK:
                self.clocks += [
                    list(struct.unpack_from("<QQQ", chunk.payload, at))
                    for at in range(0, len(chunk.payload), 24)
                ]
            elif chunk.kind == KEYFRAME:
                self.keyframes += [
                    list(struct.unpack_from("<QQ", chunk.payload, at))
                    for at in range(0, len(chunk.payload), 16)
                ]
            elif chunk.kind == LEDGER and chunk.row > version:
                self.ledger, version = read_ledger(chunk.frame()), chunk.row
            elif chunk.kind == RECORDS:
                streams.setdefault(chunk.stream, []).append(chunk)
        if self.schema is None:
            raise Malformed("no schema")
        self.streams = {}
        for stream, found in streams.items():
            taken, end = [], 0
            for chunk in sorted(found, key=lambda c: (c.row, -c.rows)):
                if chunk.row >= end:
                    taken.append(chunk)
                    end = chunk.row + chunk.rows
            self.streams[stream] = taken

    def stream_records(self, stream):
        order = -1 if stream == USER else stream
        for chunk in self.streams[stream]:
            try:
                records = list(decode_records(chunk, self.schema))
            except (Malformed, zstandard.ZstdError, RuntimeError, KeyError, IndexError):
                self.damaged += 1
                continue
            for place, record in enumerate(records):
                yield (record["time"], order, chunk.row + place), record

    def records(self):
        """All streams by time; within a stream the order is kept."""
        merged = heapq.merge(*(self.stream_records(stream) for stream in sorted(self.streams)),
                             key=lambda item: item[0][:2])
        for _, record in merged:
            yield record


def main():
    if len(sys.argv) != 2:
        print("usage: capture_reader.py FILE", file=sys.stderr)
        return 2
    try:
        with open(sys.argv[1], "rb") as file:
            capture = Capture(file.read())
    except (Malformed, zstandard.ZstdError, OSError) as problem:
        print(f"{sys.argv[1]}: {problem}", file=sys.stderr)
        return 2
    counts = {}
    for record in capture.records():
        counts[record["kind"]] = counts.get(record["kind"], 0) + 1
        print(json.dumps(record, separators=(",", ":")))
    summary = {
        "complete": capture.complete, "damaged": capture.damaged, "counts": counts, "meta":
        capture.meta, "clocks": capture.clocks, "keyframes": capture.keyframes, "ledger":
        capture.ledger,
    }
    print(json.dumps({"summary": summary}, separators=(",", ":")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
