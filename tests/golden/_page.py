# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads a page of `clew report --html` without a browser, by what user/page/lanes.h says."""
import base64
import html.parser
import json
import zlib

SPAN_SIZE = 13
VOID = {"meta", "col", "br", "link", "img", "input"}


class Parser(html.parser.HTMLParser):
    """The texts of elements by id, the words of all, and what is wrong with the nesting."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open = []
        self.wrong = []
        self.texts = {}  # by (tag, id)
        self.found = {}  # texts by tag
        self.attributes = []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.attributes += [(tag, *item) for item in attrs.items()]
        if tag in VOID or self.get_starttag_text().endswith("/>"):
            return
        self.open.append((tag, attrs.get("id"), []))

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            self.wrong.append(f"</{tag}> in {[it[0] for it in self.open]}")
            return
        _, name, texts = self.open.pop()
        text = "".join(texts)
        if name:
            self.texts[name] = text
        self.found.setdefault(tag, []).append(text)
        if self.open and tag not in ("script", "style"):
            self.open[-1][2].append(text + "\n")

    def handle_data(self, data):
        if self.open:
            self.open[-1][2].append(data)


class Span:

    def __init__(self, start, end, kind, text, other):
        self.start, self.end, self.kind, self.text, self.other = start, end, kind, text, other


class Page:

    def __init__(self, data):
        self.data = data
        self.parser = Parser()
        self.parser.feed(data.decode())
        self.parser.close()
        self.meta = json.loads(self.parser.texts["meta"])
        self.raw = zlib.decompress(base64.b64decode(self.parser.texts["spans"], validate=True), -15)
        self.lanes = self._decode()

    def _decode(self):
        at, lanes = 0, []
        for lane in self.meta["lanes"]:
            count = lane["spans"]
            planes = [self.raw[at + i * count:at + (i + 1) * count] for i in range(SPAN_SIZE)]
            at += SPAN_SIZE * count
            number = lambda first, size, i: int.from_bytes(
                bytes(plane[i] for plane in planes[first:first + size]), "little")  # noqa: E731
            end, spans = 0, []
            for i in range(count):
                start = end + number(0, 4, i)
                end = start + number(4, 4, i)
                spans.append(
                    Span(self.meta["start"] + start * self.meta["unit"],
                         self.meta["start"] + end * self.meta["unit"], planes[8][i],
                         self.meta["texts"][number(9, 2, i)], number(11, 2, i)))
            lanes.append(spans)
        assert at == len(self.raw), f"{len(self.raw) - at} bytes are left"
        return lanes

    def lanes_of(self, tid):
        """The spans of each thread that had this tid."""
        return [
            spans for lane, spans in zip(self.meta["lanes"], self.lanes) if lane.get("tid") == tid
        ]
