#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Prints a folder with what clew is built with for arm64, and with what its guest runs: Debian's
packages, fetched once, in the user's cache directory. Status 3: they cannot be had here, and the
output says why.
"""
import os
import shutil
import sys
import tempfile


from packages import ARCHIVE, CACHE, Unavailable

MACHINE = "arm64"
# Headers and libraries; then programs of the guest.
PACKAGES = [
    "libbpf-dev", "libc6-dev", "libcmocka-dev", "libcurl4-openssl-dev", "libdebuginfod-dev",
    "libdw-dev", "libelf-dev", "libgcc-12-dev", "libiberty-dev", "libncurses-dev", "libpcre2-dev",
    "libseccomp-dev", "libsqlite3-dev", "libzstd-dev", "zlib1g-dev", "bpftool", "btrfs-progs",
    "busybox-static", "dmsetup", "e2fsprogs", "iproute2", "python3", "strace", "xfsprogs"
]


def sysroot():
    """The folder. Raises Unavailable."""
    place = os.path.join(CACHE, MACHINE)
    listed = os.path.join(place, "packages")
    if os.path.exists(listed):
        with open(listed, encoding="ascii") as file:
            if file.read().split() == PACKAGES:
                return place
    os.makedirs(CACHE, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        made = os.path.join(temporary, MACHINE)
        ARCHIVE.unpack_all(PACKAGES, MACHINE, made)
        with open(os.path.join(made, "packages"), "w", encoding="ascii") as out:
            out.write("\n".join(PACKAGES) + "\n")
        shutil.rmtree(place, ignore_errors=True)
        os.rename(made, place)
    return place


if __name__ == "__main__":
    try:
        print(sysroot())
    except Unavailable as error:
        print(error)
        sys.exit(3)
