# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The kernels of guests, and the modules that tests need. They are fetched once, and kept in the
user's cache directory.
"""
import glob
import io
import lzma
import os
import re
import shutil
import subprocess
import tarfile
import tempfile

from packages import ARCHIVE, CACHE, kernel_packages, version_key

# Debian's kernels, by the name that the guests have here, and their flavour.
FLAVOURS = {
    "6.1": "cloud-",
    "6.12": "cloud-",
    "6.1-rt": "rt-",
    "7.3": "",
    "6.12-arm64": "cloud-"
}
# Guests: a kernel each, and one with more than two CPUs.
GUESTS = [*FLAVOURS, "6.12x8"]
# Modules that the workloads' places need.
MODULES = ["loop", "veth", "bridge", "xfs", "btrfs", "dm-mod", "virtio-net", "virtio-pci", "fuse"]
# Modules without which a guest does not find its disk.
ROOT_MODULES = ["nvme", "ext4"]
# Modules whose tracepoints and structures clew has programs for.
TRACED_MODULES = ["loop", "xfs", "btrfs", "jbd2", "ext4", "fuse"]
# Modules that others ask for by what they do.
BY_ALIAS = {
    "crc32c": "crc32c-generic",
    "xxhash64": "xxhash-generic",
    "blake2b-256": "blake2b-generic",
    "sha256": "sha256-generic"
}
# Where in a kernel's package modules are that these may need.
MODULE_PLACES = r"/kernel/(?:drivers/(?:block|md|net|dax|virtio|nvme)|fs|net/(?:core|bridge|802|llc)|block|lib|crypto|arch/(?:x86|arm64)/(?:crypto|lib))/"


def machine_of(series):
    """Debian's name of a kernel's machine."""
    return "arm64" if series.endswith("-arm64") else "amd64"


def parts_of(guest):
    """A guest's kernel, and how many CPUs it has: 6.12x8 has eight."""
    series, _, cpus = guest.partition("x")
    return series, int(cpus or 2)


def fail(why):
    raise RuntimeError(why)


def module_name(path):
    return re.sub(r"[.]ko(?:[.]xz)?$", "", os.path.basename(path)).replace("_", "-")


def module_needs(data):
    """Names of the modules that a module says it depends on, soft ones included."""
    found = []
    for match in re.finditer(rb"\0(?:depends=([^\0]*)|softdep=pre: ([^\0]*))", data):
        found += re.split(r"[, ]+", (match.group(1) or match.group(2) or b"").decode("ascii"))
    names = [name.removeprefix("crypto-") for name in found if name and not name.endswith(":")]
    return [BY_ALIAS.get(name, name.replace("_", "-")) for name in names]


def with_needs(name, available, found):
    """Appends a module to the list, after those that it needs."""
    if name in available and name not in found:
        for need in module_needs(available[name]):
            with_needs(need, available, found)
        found.append(name)
    return found


def write_words(path, lines):
    with open(path, "w", encoding="ascii") as out:
        out.write("".join(" ".join(words) + "\n" for words in lines))


def keep_modules(available, target):
    """
    Keeps the modules, unpacked, with lists of their names in the order in which they are loaded:
    `wanted` all, `root` those of the disk, and in `traced` a line for each traced one. `available`:
    name -> bytes.
    """
    os.makedirs(target)
    order = []
    for name in ROOT_MODULES + MODULES + TRACED_MODULES:
        with_needs(name, available, order)
    for name in order:
        with open(os.path.join(target, name + ".ko"), "wb") as out:
            out.write(available[name])
    root = []
    for name in ROOT_MODULES:
        with_needs(name, available, root)
    write_words(os.path.join(target, "wanted"), [order])
    write_words(os.path.join(target, "root"), [root])
    write_words(os.path.join(target, "traced"),
                [with_needs(name, available, []) for name in TRACED_MODULES if name in available])
    # For what is kept from an earlier version of this program.
    write_words(os.path.join(target, "lists"), [MODULES, ROOT_MODULES, TRACED_MODULES])


class Modules(dict):
    """Modules by name; they are unpacked when they are asked for."""

    def __getitem__(self, name):
        data = super().__getitem__(name)
        return lzma.decompress(data) if data[:6] == b"\xfd7zXZ\0" else data


def unpack(archive, place, modules):
    """Takes the kernel image and the modules out of a package."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive],
                          stdout=subprocess.PIPE) as process:
        with tarfile.open(fileobj=io.BufferedReader(process.stdout), mode="r|") as tar:
            for member in tar:
                name = os.path.basename(member.name)
                if not member.isfile():
                    continue
                if name == "vmlinuz" or name.startswith("vmlinuz-"):
                    if name == "vmlinuz":
                        name += "-" + os.path.basename(os.path.dirname(member.name))
                    with open(os.path.join(place, name), "wb") as out:
                        shutil.copyfileobj(tar.extractfile(member), out)
                elif re.search(r"[.]ko(?:[.]xz)?$", name) and re.search(
                        MODULE_PLACES, member.name):
                    modules[module_name(name)] = tar.extractfile(member).read()


def kept_kernel(place):
    """Path of the image that was fetched, None if it was not, or with other modules."""
    images = glob.glob(os.path.join(place, "vmlinuz-*"))
    lists = os.path.join(place, "modules", "lists")
    if not images or not os.path.exists(lists):
        return None
    with open(lists, encoding="ascii") as file:
        kept = [line.split() for line in file]
    return max(images,
               key=version_key) if kept == [MODULES, ROOT_MODULES, TRACED_MODULES] else None


def release_of(image):
    return os.path.basename(image)[len("vmlinuz-"):]


def get_kernel(guest):
    """Path of the kernel image, its modules in the directory `modules` beside it; fetched once."""
    series, _ = parts_of(guest)
    place = os.path.join(CACHE, series)
    image = kept_kernel(place)
    if image:
        return image
    os.makedirs(CACHE, exist_ok=True)
    machine = machine_of(series)
    names = kernel_packages(series.split("-", maxsplit=1)[0], FLAVOURS[series], machine)
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        unpacked = os.path.join(temporary, series)
        os.makedirs(unpacked)
        modules = Modules()
        for name in names:
            unpack(ARCHIVE.download(name, machine, temporary), unpacked, modules)
        keep_modules(modules, os.path.join(unpacked, "modules"))
        if not glob.glob(os.path.join(unpacked, "vmlinuz-*")):
            fail("%s holds no kernel image" % names[0])
        shutil.rmtree(place, ignore_errors=True)
        os.rename(unpacked, place)
    return kept_kernel(place)


def module_list(guest, name):
    """The lists that keep_modules() wrote, as lines of names."""
    with open(os.path.join(CACHE,
                           parts_of(guest)[0], "modules", name), encoding="ascii") as file:
        return [line.split() for line in file]
