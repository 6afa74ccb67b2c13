# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The kernels of guests: Debian's cloud kernels, and the modules that tests need. They are fetched
once, and kept in the user's cache directory.
"""
import glob
import lzma
import os
import re
import shutil
import subprocess
import tarfile
import tempfile

CACHE = os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "clew", "vm")
KERNELS = ["6.1", "6.12"]
# Modules that the workloads' places need, each after those it needs itself.
MODULES = ["loop", "veth", "bridge", "xfs", "btrfs", "dm-mod", "virtio-net", "virtio-pci"]
# Where in a kernel's package modules are that these may need.
MODULE_PLACES = r"/kernel/(?:drivers/(?:block|md|net|dax|virtio)|fs/(?:btrfs|xfs|netfs)|net/(?:core|bridge|802|llc)|lib|crypto|arch/x86/crypto)/"


def fail(why):
    raise RuntimeError(why)


def version_key(package):
    return [int(number) for number in re.findall(r"\d+", package)]


def find_package(series):
    """The newest signed cloud kernel package of a series that a configured suite has."""
    pattern = r"^linux-image-%s[.][0-9][^ ]*-cloud-amd64$" % re.escape(series)
    found = []
    for attempt in range(2):
        out = subprocess.run(["apt-cache", "search", "--names-only", pattern],
                             capture_output=True,
                             text=True,
                             check=True).stdout
        found = [line.split()[0] for line in out.splitlines() if line]
        if found or attempt:
            break
        subprocess.run(["apt-get", "update", "-qq"], capture_output=True, check=False)
    if not found:
        fail("no configured package suite has a %s cloud kernel: add Debian 12's security suite" %
             series)
    return max(found, key=version_key)


def module_name(path):
    return re.sub(r"[.]ko(?:[.]xz)?$", "", os.path.basename(path)).replace("_", "-")


def module_needs(data):
    """Names of the modules that a module says it depends on, soft ones included."""
    found = []
    for match in re.finditer(rb"\0(?:depends=([^\0]*)|softdep=pre: ([^\0]*))", data):
        found += re.split(r"[, ]+", (match.group(1) or match.group(2) or b"").decode("ascii"))
    return [name.replace("_", "-") for name in found if name and not name.endswith(":")]


def keep_modules(available, target):
    """
    Keeps the wanted modules, unpacked, with a number in front that is their
    order. `available`: name -> bytes.
    """
    os.makedirs(target)
    order = []

    def take(name):
        data = available.get(name)
        if data is None or name in order:
            return
        for need in module_needs(data):
            take(need)
        order.append(name)
        with open(os.path.join(target, "%02d-%s.ko" % (len(order), name)), "wb") as out:
            out.write(data)

    for name in MODULES:
        take(name)
    with open(os.path.join(target, "wanted"), "w", encoding="ascii") as out:
        out.write(" ".join(MODULES))


def get_kernel(series):
    """Path of the kernel image, its modules in the directory `modules` beside it; fetched once."""
    place = os.path.join(CACHE, series)
    images = glob.glob(os.path.join(place, "vmlinuz-*"))
    wanted = os.path.join(place, "modules", "wanted")
    if images and os.path.exists(wanted):
        with open(wanted, encoding="ascii") as file:
            if file.read().split() == MODULES:
                return max(images, key=version_key)
    package = find_package(series)
    os.makedirs(CACHE, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        # As root apt would like to download as a user of its own, who cannot write here.
        got = subprocess.run(
            ["apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", package],
            cwd=temporary,
            capture_output=True,
            text=True,
            check=False)
        archives = glob.glob(os.path.join(temporary, "*.deb"))
        if got.returncode or not archives:
            fail("%s cannot be downloaded: %s" %
                 (package, (got.stderr.strip().splitlines() or ["no reason given"])[-1]))
        unpacked = os.path.join(temporary, series)
        os.makedirs(unpacked)
        available = {}
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archives[0]],
                              stdout=subprocess.PIPE) as process:
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                for member in archive:
                    if member.isfile() and os.path.basename(member.name).startswith("vmlinuz-"):
                        member.name = os.path.basename(member.name)
                        archive.extract(member, unpacked)
                    elif member.isfile() and re.search(r"[.]ko(?:[.]xz)?$",
                                                       member.name) and re.search(
                                                           MODULE_PLACES, member.name):
                        data = archive.extractfile(member).read()
                        available[module_name(member.name)] = lzma.decompress(
                            data) if member.name.endswith(".xz") else data
        keep_modules(available, os.path.join(unpacked, "modules"))
        images = glob.glob(os.path.join(unpacked, "vmlinuz-*"))
        if not images:
            fail("%s holds no kernel image" % package)
        shutil.rmtree(place, ignore_errors=True)
        os.rename(unpacked, place)
    return os.path.join(place, os.path.basename(images[0]))
