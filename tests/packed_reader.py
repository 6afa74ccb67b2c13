# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The packed stream of a capture's chunk, by docs/file-format.md ("Packed chunks")
alone; for capture_reader.py.
"""

NONE, BEFORE, RECENT, NEAR = 0xFF, 3, 7, 12
WORD, HALF = (1 << 64) - 1, (1 << 32) - 1
SEEN_BITS, TEXT_COLUMN = 14, 4095
NEW = 1 << 63
LOGISTIC = (22, 36, 60, 98, 162, 267, 440, 724, 1179, 1950, 3108, 4971, 7812, 11955, 17625, 24743,
            32768, 40793, 47911, 53581, 57724, 60565, 62428, 63586, 64357, 64812, 65096, 65269,
            65374, 65438, 65476, 65500, 65514,
            )  # fmt: skip


def make_tables():
    squash = []
    for x in range(4096):
        low, high = LOGISTIC[x >> 7], LOGISTIC[(x >> 7) + 1]
        squash.append(low + ((high - low) * (x & 127) >> 7))
    stretch, x = [], 0
    for chance in range(4096):
        while x < 4095 and squash[x] >> 4 < chance:
            x += 1
        stretch.append(x - 2048)
    return squash, stretch


SQUASH, STRETCH = make_tables()
RATES = [655360 // (10 * count + 16) for count in range(61)]


def class_of(residual):
    return residual if residual < 256 else 256 + residual.bit_length()


def slot_bits(rows, least, most):
    bits = least
    while bits < most and 1 << bits < 256 * rows:
        bits += 1
    return bits


class Stream:

    def __init__(self, data, rows):
        self.text_slots, self.text_bits = {}, slot_bits(rows, 14, 20)
        self.data, self.at, self.range, self.code = data, 0, HALF, 0
        for _ in range(4):
            self.code = self.code << 8 | self.next_byte()
        self.slots, self.slot_bits, self.mixers, self.column, self.bases, self.lines = {}, 0, {}, 0, [], []
        self.left, self.texts, self.seen = [], bytearray(1), {}

    # ---- decisions ----

    def next_byte(self):
        self.at += 1
        return self.data[self.at - 1] if self.at <= len(self.data) else 0

    def normalize(self):
        while self.range < 1 << 24:
            self.range = self.range << 8 & HALF
            self.code = (self.code << 8 | self.next_byte()) & HALF

    def look(self, contexts, column):
        self.bases = []
        for i, context in enumerate(contexts):
            value = (context + (column * 8 + i) * 0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93
            self.bases.append(value >> 32 & HALF)

    def find_lines(self, line):
        self.lines = [(base + line * 0x9E3779B1) * 0x85EBCA6B % (1 << 32) >> (36 - self.slot_bits)
                      for base in self.bases]

    def decide(self, mixer, number):
        weights = self.mixers.setdefault(mixer, [26214] * 4)
        places = [line << 4 | number for line in self.lines]
        slots = [self.slots.get(place, (32768, 0)) for place in places]
        stretched = [STRETCH[chance >> 4] for chance, _ in slots]
        total = sum(weight * value for weight, value in zip(weights, stretched)) >> 16
        chance = SQUASH[max(-2047, min(2047, total)) + 2048]
        bound = (self.range >> 16) * chance
        bit = self.code < bound
        if bit:
            self.range = bound
        else:
            self.code -= bound
            self.range -= bound
        self.normalize()
        error = (65536 if bit else 0) - chance
        # Two contexts may share a slot: it learns twice.
        for i, place in enumerate(places):
            weights[i] += stretched[i] * error * 3 >> 16
            old, count = self.slots.get(place, (32768, 0))
            old += ((65535 if bit else 0) - old) * RATES[count] >> 16
            self.slots[place] = (old, min(count + 1, 60))
        return int(bit)

    def decide_bits(self, mixer, bits):
        number = 1
        for _ in range(bits):
            number = number << 1 | self.decide(mixer, number)
        return number - (1 << bits)

    def plain(self, bits):
        self.range >>= bits
        value = min(self.code // self.range, (1 << bits) - 1)
        self.code -= value * self.range
        self.normalize()
        return value

    # ---- numbers ----

    def number(self, contexts):
        self.look(contexts, self.column)
        self.find_lines(0)
        if self.decide((self.column, 0), 0):
            return 0
        high = self.decide_bits((self.column, 1), 3)
        self.find_lines(1 + high)
        length = (high << 3 | self.decide_bits((self.column, 1), 3)) + 1
        value, left = 1, length - 1
        low = 5 if length > 8 else 0
        shown = min(left, 12, left - low)
        left -= shown + low
        while shown:
            bits = min(shown, 4)
            shown -= bits
            self.find_lines(length << 13 | value)
            value = value << bits | self.decide_bits((self.column, 2), bits)
        while left:
            bits = min(left, 8)
            left -= bits
            value = value << bits | self.plain(bits)
        if low:
            self.find_lines(1 << 30)
            value = value << 1 | self.decide((self.column, 3), 0)
            value = value << 4 | self.decide_bits((self.column, 3), 4)
        return value

    def begin_kind(self, rows):
        self.left = [0] * rows

    def residuals(self, column, number, present, decoded):
        """A column's residuals, and those of RECENT's new values."""
        self.column += 1
        self.slots, self.slot_bits = {}, slot_bits(len(present), 8, 19)
        context = decoded.get(column.context)
        reference = None if column.reference in (NONE, number) or column.coding in (
            BEFORE, NEAR) else decoded.get(column.reference)
        residuals, new, before, before_that = [], [], 0, 0
        for row in present:
            left = class_of(self.left[row])
            behind = context[row - 1] if context and row else 0
            contexts = [
                0, before << 16 | before_that, reference[row] if reference else
                (behind << 48 | before << 32 | left << 16) & WORD,
                ((context[row] if context else 0) << 16 | left) & WORD,
            ]
            residual = self.number(contexts)
            if column.coding == RECENT and residual == 0:
                new.append(self.number([value ^ NEW for value in contexts]))
            residuals.append(residual)
            before, before_that = class_of(residual), before
        self.left = [0] * len(self.left)
        for row, residual in zip(present, residuals):
            self.left[row] = residual
        return residuals, iter(new)

    # ---- text ----

    def text(self, column, row, size, decoded):
        context = decoded[column.context][row] if column.context != NONE else 0
        start, last, match, length = len(self.texts), 0, 0, 0
        self.slots, self.slot_bits = self.text_slots, self.text_bits
        for i in range(size):
            guess = self.texts[match] | min(length, 31) << 8 if match else 0
            self.look([(context << 24 ^ last & 0xFFFFFF) & WORD, last & 0xFF, last, guess],
                      TEXT_COLUMN)
            mixer = ("text", 0 if length == 0 else 1 if length < 16 else 2)
            self.find_lines(0)
            high = self.decide_bits(mixer, 4)
            self.find_lines(1 + high)
            byte = high << 4 | self.decide_bits(mixer, 4)
            if match and self.texts[match] == byte:
                match, length = match + 1, length + 1
            else:
                match = length = 0
            self.texts.append(byte)
            last = (last << 8 | byte) & HALF
            if i < 3:
                continue
            place = last * 0x9E3779B1 % (1 << 32) >> (32 - SEEN_BITS)
            if not match and place in self.seen:
                match, length = self.seen[place], 1
            self.seen[place] = len(self.texts)
        return bytes(self.texts[start:])
