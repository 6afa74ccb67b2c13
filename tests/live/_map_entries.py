# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How many entries the BPF maps of a process have: the kernel says by /proc which maps it has open."""
import ctypes
import os
import struct

BPF = 321  # the number of bpf(2) on x86-64
GET_NEXT_KEY, GET_FD_BY_ID, GET_INFO_BY_FD = 4, 14, 15
HASHES = {1: "hash", 5: "hash", 9: "LRU hash", 10: "LRU hash"}

_libc = ctypes.CDLL(None, use_errno=True)


def _bpf(command, attributes):
    room = ctypes.create_string_buffer(attributes, 128)
    result = _libc.syscall(BPF, command, room, len(room))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _numbers(pid):
    """Of the maps that a process has open."""
    found = set()
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as file:
                lines = dict(line.rstrip("\n").split(":", 1) for line in file if ":" in line)
        except FileNotFoundError:
            continue
        if "map_id" in lines and int(lines["map_type"]) in HASHES:
            found.add(int(lines["map_id"]))
    return found


def _count(map_file, key_size, most):
    key, following = (ctypes.create_string_buffer(key_size) for _ in range(2))
    at, count = 0, 0
    # Entries that go meanwhile have the kernel begin anew: no map has more than fit into it.
    while count < most:
        try:
            _bpf(GET_NEXT_KEY,
                 struct.pack("IIQQ", map_file, 0, at, ctypes.addressof(following)))
        except OSError:
            break
        key, following = following, key
        at = ctypes.addressof(key)
        count += 1
    return count


def map_entries(pid):
    """{name: (kind, entries, entries that it has room for)} of the process's hash maps."""
    found = {}
    for number in _numbers(pid):
        map_file = _bpf(GET_FD_BY_ID, struct.pack("III", number, 0, 0))
        try:
            info = ctypes.create_string_buffer(128)
            _bpf(GET_INFO_BY_FD, struct.pack("IIQ", map_file, len(info), ctypes.addressof(info)))
            kind, _, key_size, _, most, _ = struct.unpack_from("6I", info)
            name = info.raw[24:40].split(b"\0")[0].decode()
            found[f"{name}-{number}" if name in found else name] = (HASHES[kind],
                                                                   _count(map_file, key_size, most),
                                                                   most)
        finally:
            os.close(map_file)
    return found
