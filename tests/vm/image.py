# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A kernel's BTF, from the image that a boot loader takes."""
import ctypes
import gzip
import lzma
import struct
import subprocess
import zlib

LZ4_BLOCK = 8 << 20


def lz4_legacy(data):
    """Unpacks what `lz4 -l` has packed, as far as it goes: the size of the result follows it."""
    library = ctypes.CDLL("liblz4.so.1")
    block = ctypes.create_string_buffer(LZ4_BLOCK)
    out, at = [], 4
    while at + 4 < len(data):
        size, = struct.unpack_from("<I", data, at)
        packed = data[at + 4:at + 4 + size]
        got = library.LZ4_decompress_safe(packed, block, len(packed), LZ4_BLOCK)
        if not size or got < 0:
            break
        out.append(block.raw[:got])
        at += 4 + size
    return b"".join(out)


def unpack_payload(data):
    if data[:4] == b"\x02\x21\x4c\x18":
        return lz4_legacy(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        # The size of the result follows, which zstd takes for garbage.
        return subprocess.run(["zstd", "-dcq"], input=data, capture_output=True,
                              check=False).stdout
    if data[:6] == b"\xfd7zXZ\0":
        return lzma.LZMADecompressor().decompress(data)
    if data[:2] == b"\x1f\x8b":
        return zlib.decompressobj(31).decompress(data)
    raise ValueError("packed in an unknown way")


def unpack_image(image):
    """What the image unpacks to memory."""
    if image[0x202:0x206] == b"HdrS":  # x86
        at, size = struct.unpack_from("<II", image, 0x248)
        at += (image[0x1f1] + 1) * 512
        return unpack_payload(image[at:at + size])
    if image[4:8] == b"zimg":  # EFI's form
        at, size = struct.unpack_from("<II", image, 8)
        return unpack_payload(image[at:at + size])
    return gzip.decompress(image) if image[:2] == b"\x1f\x8b" else image


def btf_of(image):
    """The largest block of BTF in the image: the kernel's own."""
    data = unpack_image(image)
    found, at = b"", -1
    while True:
        at = data.find(b"\x9f\xeb\x01\x00", at + 1)
        if at < 0:
            break
        length, type_at, type_size, string_at, string_size = struct.unpack_from(
            "<IIIII", data, at + 4)
        size = length + max(type_at + type_size, string_at + string_size)
        if length in (24, 32) and at + size <= len(data) and size > len(found):
            found = data[at:at + size]
    if not found:
        raise ValueError("the image has no BTF")
    return found
