# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Makes small BTF of a kernel's: only some structures, but these whole.

Kept types refer to others only as far as CO-RE looks: what a pointer leads to is left out. What
lies inside a structure is whole, too, as its type has another name in another kernel.
"""
import re
import struct

MAGIC = 0xeb9f
INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT = range(1, 12)
FUNC, FUNC_PROTO, VAR, DATASEC, FLOAT, DECL_TAG, TYPE_TAG, ENUM64 = range(12, 20)
MODIFIERS = {VOLATILE, CONST, RESTRICT, TYPE_TAG}
# How much follows a type: bytes, and bytes for each of its members.
EXTRA = {INT: (4, 0), ARRAY: (12, 0), STRUCT: (0, 12), UNION: (0, 12), ENUM: (0, 8)}
EXTRA.update({FUNC_PROTO: (0, 8), VAR: (4, 0), DATASEC: (0, 12), DECL_TAG: (4, 0), ENUM64: (0, 12)})
HEADER = "<HBBIIIII"


def kept_names(headers):
    """Names of the types that clew's headers of the kernel's structures declare."""
    found = set()
    for path in headers:
        with open(path, encoding="ascii") as file:
            text = file.read()
        found |= set(re.findall(r"^(?:struct|union|enum) (\w+) \{", text, re.M))
        found |= set(re.findall(r"^\} (\w+);", text, re.M))
    return {name.split("___")[0] for name in found}


class Types:
    """The types of a kernel, or of a module above its kernel's."""

    def __init__(self, data, base=None):
        magic, _, _, length, type_at, type_size, string_at, string_size = struct.unpack_from(
            HEADER, data)
        if magic != MAGIC:
            raise ValueError("no BTF")
        self.base = base
        self.first = base.end if base else 1
        self.string_first = base.string_end if base else 0
        self.strings = data[length + string_at:length + string_at + string_size]
        self.string_end = self.string_first + string_size
        self.types = []
        at, end = length + type_at, length + type_at + type_size
        while at < end:
            name, info, size = struct.unpack_from("<III", data, at)
            kind, count = info >> 24 & 31, info & 0xffff
            once, each = EXTRA.get(kind, (0, 0))
            extra = once + each * count
            self.types.append((name, info, size, data[at + 12:at + 12 + extra]))
            at += 12 + extra
        self.end = self.first + len(self.types)

    def get(self, number):
        if number < self.first:
            return self.base.get(number)
        return self.types[number - self.first]

    def name(self, offset):
        if offset < self.string_first:
            return self.base.name(offset)
        offset -= self.string_first
        return self.strings[offset:self.strings.index(b"\0", offset)].decode("ascii")


class Small:
    """The BTF that is made."""

    def __init__(self, names):
        self.names = names
        self.types = []
        self.strings = {"": 0}
        self.text = bytearray(b"\0")
        self.made = {}
        self.kernels = {}  # its structures by name: a module may have copies of them

    def _string(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.text)
            self.text += text.encode("ascii") + b"\0"
        return self.strings[text]

    def _put(self, key, name, info, size, extra=b""):
        self.types.append(struct.pack("<III", self._string(name), info, size) + extra)
        self.made[key] = len(self.types)
        return len(self.types)

    def take(self, types):
        """
        Takes over all types with the names, and what they need. Of a module only those that its
        kernel lacks: libbpf looks for the others in the kernel alone.
        """
        for number in range(types.first, types.end):
            name, info, _, _ = types.get(number)
            if name and info >> 24 & 31 in (STRUCT, UNION, ENUM, ENUM64, TYPEDEF):
                text = types.name(name)
                if text in self.names:
                    self._type(types, number)

    def _type(self, types, number):
        if not number:
            return 0
        while types.base and number < types.first:
            types = types.base
        name_at, info, size, extra = types.get(number)
        kind, name = info >> 24 & 31, types.name(name_at)
        kept = not name or name in self.names
        key = (types, number)
        if key in self.made:
            return self.made[key]
        if kind in MODIFIERS or (kind == TYPEDEF and not kept):
            return self._type(types, size)
        if kind == PTR:
            return self._shared("pointer", PTR << 24)
        if kind in (STRUCT, UNION):
            if types.base and name in self.kernels:
                return self.kernels[name]
            made = self._put(key, name, info, size, self._members(types, extra))
            if name and not types.base:
                self.kernels.setdefault(name, made)
            return made
        if kind == ARRAY:
            element, index, count = struct.unpack("<III", extra)
            return self._put(
                key, "", ARRAY << 24, 0,
                struct.pack("<III", self._type(types, element), self._type(types, index), count))
        if kind in (ENUM, ENUM64):
            return self._enum(key, name, info, size, extra if kept else b"", types)
        if kind == TYPEDEF:
            return self._put(key, name, TYPEDEF << 24, self._type(types, size))
        if kind == INT:
            return self._shared((name, extra), INT << 24, size, name, extra)
        if kind == FWD:
            return self._put(key, name, info, size)
        raise ValueError("a type of kind %d inside a structure" % kind)

    def _shared(self, key, info, size=0, name="", extra=b""):
        return self.made.get(key) or self._put(key, name, info, size, extra)

    def _members(self, types, extra):
        members = []
        for at in range(0, len(extra), 12):
            name, kind, offset = struct.unpack_from("<III", extra, at)
            members.append((self._string(types.name(name)), self._type(types, kind), offset))
        return b"".join(struct.pack("<III", *member) for member in members)

    def _enum(self, key, name, info, size, extra, types):
        each = EXTRA[info >> 24 & 31][1]
        values = b""
        for at in range(0, len(extra), each):
            values += struct.pack("<I", self._string(types.name(*struct.unpack_from(
                "<I", extra, at)))) + extra[at + 4:at + each]
        return self._put(key, name, info & ~0xffff | len(extra) // each, size, values)

    def data(self):
        types = b"".join(self.types)
        return struct.pack(HEADER, MAGIC, 1, 0, 24, 0, len(types), len(types), len(
            self.text)) + types + bytes(self.text)


def section(module, name):
    """A section of an ELF file, b"" if it has none."""
    table, = struct.unpack_from("<Q", module, 0x28)
    size, count, names = struct.unpack_from("<HHH", module, 0x3a)
    headers = [struct.unpack_from("<IIQQQQ", module, table + i * size) for i in range(count)]
    for header in headers:
        at = headers[names][4] + header[0]
        if module[at:module.index(b"\0", at)] == name:
            return module[header[4]:header[4] + header[5]]
    return b""


def small_btf(kernel, modules, names):
    """
    (the kernel's, the kernel's with its modules'). `kernel`: its BTF; `modules`: modules as they
    are in files.
    """
    types = Types(kernel)
    small = Small(names)
    small.take(types)
    alone = small.data()
    for module in modules:
        data = section(module, b".BTF")
        if data:
            small.take(Types(data, types))
    return alone, small.data()
