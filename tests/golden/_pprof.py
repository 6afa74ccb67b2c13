# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads profiles without pprof."""
import zlib

from _perfetto import fields, one, packed


class Profile:
    """A profile by the fields of profile.proto."""

    def __init__(self, data):
        profile = fields(zlib.decompress(data, 31))
        strings = [text.decode() for text in profile[6]]
        assert strings[0] == "", "the first string is empty"
        functions = {one(f, 1): strings[one(f, 2)] for f in map(fields, profile[5])}
        files = {one(f, 1): strings[one(f, 4) or 0] for f in map(fields, profile[5])}
        lines = {one(it, 1): list(map(fields, it[4])) for it in map(fields, profile[4])}
        locations = {number: functions[one(of[0], 1)] for number, of in lines.items()}
        places = {
            number: [(functions[one(line, 1)], files[one(line, 1)] or None, one(line, 2) or None)
                     for line in of]
            for number, of in lines.items()
        }
        self.types = [(strings[one(t, 1)], strings[one(t, 2)]) for t in map(fields, profile[1])]
        self.default = strings[one(profile, 14)]
        self.samples = []
        self.places = []  # of each sample, innermost first: (name, file, line) with inlined ones
        for sample in map(fields, profile[2]):
            labels = {
                strings[one(label, 1)]: strings[one(label, 2)]
                for label in map(fields, sample[3])
            }
            frames = tuple(locations[i] for i in reversed(packed(sample[1][0])))
            self.places.append([place for i in packed(sample[1][0]) for place in places[i]])
            self.samples.append((frames, packed(sample[2][0]), labels))
