# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A place with what workloads need and only root can make.

Small file systems on loop devices (ext4 on one that passes its requests on directly, xfs on one
that goes through the page cache, ext4 on a linear mapping), two network namespaces joined by a
veth pair, by a bridge and by a router, a group with a CPU quota and one with a memory limit, a
swap device with a group that has to use it, and who answers outside, also by way of a bridge; on
demand btrfs, an ext4 that journals data and a group with a hard limit. This kernel's missing features are in `lacks`, with the
reason. All of it goes when the place is left, also what a killed test left over.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import shutil
import struct
import subprocess
import time

PREFIX = "clew-live-place-"
TOP = "/var/tmp"
MEGABYTE = 1 << 20
LOOP_CTL_GET_FREE = 0x4C82
LOOP_CONFIGURE = 0x4C0A
LOOP_SET_DIRECT_IO = 0x4C08
LO_FLAGS_AUTOCLEAR = 4
FITHAW = 0xC0045878
SWAP_PREFER = 0x8000 | 0x7fff  # before all others
MAPPED_FROM = 2048  # sectors
ON_DEMAND = ("btrfs", "limit", "journalled")


class Lacking(Exception):
    """Something that this machine does not have."""


def command(*words):
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    program = shutil.which(words[0], path=path)
    if not program:
        raise Lacking(f"no such program: {words[0]}")
    done = subprocess.run([program, *map(str, words[1:])],
                          capture_output=True,
                          text=True,
                          errors="replace",
                          check=False,
                          timeout=120)
    if done.returncode:
        raise Lacking(
            f"{' '.join(map(str, words[:3]))} is refused: {' '.join((done.stderr or done.stdout).split())}"
        )
    return done.stdout


def quietly(*words):
    try:
        command(*words)
    except (Lacking, OSError, subprocess.SubprocessError):
        pass


def module(name):
    """Loads a module where the kernel has them."""
    if os.path.isdir(f"/lib/modules/{os.uname().release}"):
        quietly("modprobe", name)


def mounts():
    with open("/proc/mounts", encoding="utf-8", errors="replace") as file:
        return [line.split()[:4] for line in file]


def controller(name):
    """Where the groups of a controller are, and whether that is the unified hierarchy."""
    for kind, directory, system, options in mounts():
        if system == "cgroup" and name in options.split(","):
            return directory, False
    for kind, directory, system, options in mounts():
        if system != "cgroup2":
            continue
        try:
            with open(f"{directory}/cgroup.controllers", encoding="ascii") as file:
                if name not in file.read().split():
                    continue
            write(f"{directory}/cgroup.subtree_control", f"+{name}")
        except OSError as error:
            raise Lacking(f"the {name} controller is refused: {error}") from error
        return directory, True
    raise Lacking(f"no such controller: {name}")


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(str(text))


class Loop:
    """A loop device that the kernel frees when its last user closes it."""

    def __init__(self, image, megabytes, direct):
        with open(image, "wb") as file:
            file.truncate(megabytes * MEGABYTE)
        with open(image, "r+b") as backing:
            for _ in range(20):
                with open("/dev/loop-control", "rb") as control:
                    number = fcntl.ioctl(control, LOOP_CTL_GET_FREE)
                self.path = f"/dev/loop{number}"
                self.fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
                # struct loop_config: the file, block size, struct loop_info64, reserved.
                info = struct.pack("<QQQQQIIII", 0, 0, 0, 0, 0, 0, 0, 0,
                                   LO_FLAGS_AUTOCLEAR) + bytes(232 - 56)
                try:
                    fcntl.ioctl(
                        self.fd, LOOP_CONFIGURE,
                        bytearray(struct.pack("<II", backing.fileno(), 0) + info + bytes(64)))
                    break
                except OSError:
                    os.close(self.fd)
                    self.fd = -1
                    time.sleep(0.05)
        if self.fd < 0:
            raise Lacking("no such loop device is free")
        # What a killed test left over.
        self.unlimit()
        self.direct = False
        if direct:
            try:
                fcntl.ioctl(self.fd, LOOP_SET_DIRECT_IO, 1)
                self.direct = True
            except OSError:
                pass

    def number(self):
        device = os.stat(self.path).st_rdev
        return f"{os.major(device)}:{os.minor(device)}"

    def unlimit(self):
        """The limits of what may be dirty stay with the device when it is used anew."""
        for name, value in (("strict_limit", 0), ("max_ratio", 100)):
            try:
                write(f"/sys/class/bdi/{self.number()}/{name}", value)
            except OSError:
                pass

    def release(self):
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


CLONE_NEWNET = 0x40000000


def enter(place, name):
    """From now on this process's sockets are made in that namespace of the place."""
    fd = os.open(os.path.join(place.path, name), os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(fd, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
    os.close(fd)


class Place:
    """Use with `with`; `path` is the directory, `lacks` what is not in it: {name: reason}."""

    def __init__(self, only=None, megabytes=0):
        """
        `only`: names of the parts to make; all but those on demand.
        `megabytes`: how large the file systems are at least.
        """
        self.only = only
        self.megabytes = megabytes
        self.path = os.path.join(TOP, f"{PREFIX}{os.getpid()}")
        self.lacks = {}
        self.loops = []
        self.direct = {
        }  # "major:minor" of a loop device -> whether it asks the disk below directly

    def __enter__(self):
        clean_leftovers()
        os.makedirs(self.path)
        try:
            makers = ((self._ext4, ["ext4"]), (self._xfs, ["xfs", "loop"]), (self._mapped, ["dm"]),
                      (self._namespaces, ["net"]), (self._bridge, ["bridge"]),
                      (self._routed, ["routed"]), (self._cpu, ["cpu"]), (self._memory, ["memory"]),
                      (self._swap, ["swap"]), (self._outside, ["outside"]),
                      (self._bridged, ["bridged"]), (self._btrfs, ["btrfs"]),
                      (self._limit, ["limit"]), (self._io, ["io"]), (self._journalled,
                                                                     ["journalled"]))
            for make, names in makers:
                if names[0] not in self.only if self.only else names[0] in ON_DEMAND:
                    continue
                try:
                    make()
                except (Lacking, OSError, subprocess.SubprocessError) as error:
                    reason = str(error) if isinstance(error, Lacking) else f"refused: {error}"
                    self.lacks.update({name: reason for name in names})
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind, value, trace):
        for loop in self.loops:
            loop.unlimit()
            loop.release()
        remove(self.path, os.getpid())

    def needs(self, workload):
        """
        What of this place a workload PROGRAM,VARIANT needs, and the reason if
        that is lacking.
        """
        program, _, variant = workload.partition(",")
        needed = []
        if program in ("disk", "uring", "ringwork"):
            needed = [variant.rpartition("-")[2]] if "-" in variant else []
        elif program in ("pagecache", "pagereason"):
            needed = [variant.rpartition("-")[2]
                      ] + (["limit"] if variant.startswith("memory") else [])
        elif program == "quota":
            needed = [variant]
        elif program == "limit":
            needed = ["io"]
        elif program == "net":
            needed = ["net"] + [variant.partition("-")[2]] if "-" in variant else []
        elif program == "outside":
            needed = ["bridged" if variant.endswith("-bridge") else "outside"]
        elif program == "deep" or workload == "kernellock,freeze":
            needed = ["ext4"]
        elif workload == "work,loop":
            needed = ["loop"]
        elif workload == "swap":
            needed = ["swap"]
        return next((self.lacks[name] for name in needed if name in self.lacks), None)

    def _system(self, name, kind, device, *options, mount=("-o", "defaults")):
        directory = os.path.join(self.path, name)
        module(kind)
        command(f"mkfs.{kind}", "-q", *options, device)
        os.makedirs(directory)
        command("mount", "-t", kind, *mount, device, directory)

    def _loop(self, name, megabytes, direct):
        module("loop")
        loop = Loop(os.path.join(self.path, name + ".image"), max(megabytes, self.megabytes),
                    direct)
        self.loops.append(loop)
        self.direct[loop.number()] = loop.direct
        return loop

    def _ext4(self):
        loop = self._loop("ext4", 64, True)
        self._system("ext4", "ext4", loop.path, "-b", 4096, "-E",
                     "lazy_itable_init=0,lazy_journal_init=0")
        loop.release()

    def _journalled(self):
        """An ext4 whose data goes through the journal."""
        loop = self._loop("journalled", 64, True)
        self._system("journalled",
                     "ext4",
                     loop.path,
                     "-b",
                     4096,
                     "-E",
                     "lazy_itable_init=0,lazy_journal_init=0",
                     mount=("-o", "data=journal"))
        loop.release()

    def _xfs(self):
        loop = self._loop("xfs", 320, False)
        self._system("xfs", "xfs", loop.path)
        loop.release()
        os.symlink("xfs", os.path.join(self.path, "loop"))

    def _btrfs(self):
        loop = self._loop("btrfs", 160, True)
        self._system("btrfs", "btrfs", loop.path, "-m", "single", "-d", "single")
        # Its files name a device of no disk.
        write(os.path.join(self.path, "btrfs.disk"), f"{loop.number()} 0\n")
        loop.release()

    def _mapped(self):
        module("dm-mod")
        name = os.path.basename(self.path)
        if not os.path.exists("/dev/mapper/control") and "device-mapper" not in open(
                "/proc/misc", encoding="ascii").read():
            raise Lacking("no such kernel part: the device mapper")
        loop = self._loop("dm", 64, True)
        sectors = 64 * MEGABYTE // 512 - MAPPED_FROM
        command("dmsetup", "create", "--noudevsync", name, "--table",
                f"0 {sectors} linear {loop.path} {MAPPED_FROM}")
        write(os.path.join(self.path, "mapped"), f"{loop.number()} {MAPPED_FROM}\n")
        quietly("dmsetup", "mknodes", "--noudevsync", name)
        self._system("dm", "ext4", f"/dev/mapper/{name}", "-b", 4096, "-E",
                     "lazy_itable_init=0,lazy_journal_init=0")

    def _join(self, one, other, addresses):
        """A pair of interfaces between two of the namespaces, with an address each, "" for none."""
        names = [f"clew-{one}{other}", f"clew-{other}{one}"]
        ends = [namespace(os.getpid(), end) for end in (one, other)]
        command("ip", "link", "add", names[0], "netns", ends[0], "type", "veth", "peer", "name",
                names[1], "netns", ends[1])
        for end, name, address in zip(ends, names, addresses):
            if address:
                command("ip", "-n", end, "address", "add", address, "dev", name)
            command("ip", "-n", end, "link", "set", name, "up")

    def _namespaces(self):
        module("veth")
        for end in "ab":
            command("ip", "netns", "add", namespace(os.getpid(), end))
            os.symlink(f"/run/netns/{namespace(os.getpid(), end)}",
                       os.path.join(self.path, f"net-{end}"))
        self._join("a", "b", ("10.231.77.1/30", "10.231.77.2/30"))

    def _bridge(self):
        """A namespace between the two that is a switch."""
        between = namespace(os.getpid(), "s")
        module("bridge")
        command("ip", "netns", "add", between)
        command("ip", "-n", between, "link", "add", "clew-s", "type", "bridge")
        command("ip", "-n", between, "link", "set", "clew-s", "up")
        for end, address in (("a", "10.231.78.1/30"), ("b", "10.231.78.2/30")):
            self._join("s", end, ("", address))
            command("ip", "-n", between, "link", "set", f"clew-s{end}", "master", "clew-s")

    def _routed(self):
        """A namespace between the two that is a router."""
        between = namespace(os.getpid(), "r")
        command("ip", "netns", "add", between)
        command("ip", "netns", "exec", between, "/bin/sh", "-c",
                "echo 1 >/proc/sys/net/ipv4/ip_forward")
        for end, address, hop in (("a", "10.231.79.1/30", "10.231.79.2"), ("b", "10.231.79.5/30",
                                                                           "10.231.79.6")):
            self._join("r", end, (f"{hop}/30", address))
            command("ip", "-n", namespace(os.getpid(), end), "route", "add", "10.231.79.0/24",
                    "via", hop)

    def _group(self, control, name=None):
        name = name or control
        directory, unified = controller(control)
        group = os.path.join(directory, f"{PREFIX}{os.getpid()}-{name}")
        os.makedirs(group)
        return group, unified

    def _cpu(self):
        group, unified = self._group("cpu")
        if unified:
            write(f"{group}/cpu.max", "4000 20000")
        else:
            write(f"{group}/cpu.cfs_period_us", 20000)
            write(f"{group}/cpu.cfs_quota_us", 4000)
        os.symlink(group, os.path.join(self.path, "cpu"))

    def _memory(self):
        group, unified = self._group("memory")
        if not unified:
            raise Lacking("no such limit in cgroup v1: memory.high")
        write(f"{group}/memory.high", 6 * MEGABYTE)
        # What could be swapped out would not be waited for.
        if os.path.exists(f"{group}/memory.swap.max"):
            write(f"{group}/memory.swap.max", 0)
        os.symlink(group, os.path.join(self.path, "memory"))

    def _io(self):
        """A group that may read and write 2 MiB a second each on the disk that the place is on."""
        try:
            controller("memory")  # by its groups writeback knows whose pages it writes
            group, unified = self._group("io")
        except Lacking:
            group, unified = self._group("blkio", "io")
        device = os.stat(self.path).st_dev
        number = f"{os.major(device)}:{os.minor(device)}"
        part = f"/sys/dev/block/{number}/partition"
        if os.path.exists(part):
            with open(os.path.join(os.path.dirname(part), "../dev"), encoding="ascii") as file:
                number = file.read().strip()
        if not os.path.exists(f"/sys/dev/block/{number}"):
            raise Lacking("no such place: it lies on no disk that takes requests")
        if not os.path.exists(
                f"{group}/io.max" if unified else f"{group}/blkio.throttle.read_bps_device"):
            raise Lacking("no such part of the kernel: limits of I/O")
        if unified:
            write(f"{group}/io.max", f"{number} rbps={2 * MEGABYTE} wbps={2 * MEGABYTE}")
        else:
            for what in ("read", "write"):
                write(f"{group}/blkio.throttle.{what}_bps_device", f"{number} {2 * MEGABYTE}")
        os.symlink(group, os.path.join(self.path, "io"))

    def _swap(self):
        group, unified = self._group("memory", "swap")
        write(f"{group}/memory.max" if unified else f"{group}/memory.limit_in_bytes", 16 * MEGABYTE)
        if not os.path.exists(
                f"{group}/memory.swap.max" if unified else f"{group}/memory.swappiness"):
            raise Lacking("no such part of the kernel: swapping in groups")
        try:
            with open("/sys/module/zswap/parameters/enabled", encoding="ascii") as file:
                if file.read().strip() == "Y":
                    raise Lacking("what is swapped out stays in memory: zswap is on")
        except FileNotFoundError:
            pass
        loop = self._loop("swap", 64, True)
        pages = 64 * MEGABYTE // 4096
        header = bytearray(4096)
        struct.pack_into("<III", header, 1024, 1, pages - 1, 0)
        header[-10:] = b"SWAPSPACE2"
        with open(loop.path, "r+b") as device:
            device.write(header)
            os.fsync(device.fileno())
        # The device goes when its last user does: the swap is one, and remove()
        # ends it, also after a kill that comes now.
        write(os.path.join(self.path, "swap.device"), loop.path)
        if swap_call("swapon", loop.path, SWAP_PREFER):
            raise Lacking(f"swapon is refused: {os.strerror(ctypes.get_errno())}")
        write(os.path.join(self.path, "swap.disk"), f"{loop.number()} 0\n")
        loop.release()
        os.symlink(group, os.path.join(self.path, "swap"))

    def _outside(self, name="outside"):
        """
        Somebody outside who answers (CLEW_LIVE_OUTSIDE: interface, address and
        port) and the interrupt by which that comes in.
        """
        interface, address, port = os.environ.get(f"CLEW_LIVE_{name.upper()}", ":::").split(":")[:3]
        if not interface:
            raise Lacking("no such machine: one outside that answers")
        device = os.path.realpath(f"/sys/class/net/{interface}/device")
        numbers = os.listdir(os.path.join(os.path.dirname(device), "msi_irqs"))
        with open("/proc/interrupts", encoding="ascii") as file:
            named = [(words[0].rstrip(":"), words[-1]) for words in map(str.split, file)]
        found = [(number, name) for number, name in named if number in numbers and "input" in name]
        if len(found) != 1:
            raise Lacking(f"{interface} has these interrupts: {found}")
        write(os.path.join(self.path, name), f"{address} {port} {found[0][0]} {found[0][1]}\n")
        return interface

    def _bridged(self):
        """
        The same (CLEW_LIVE_BRIDGED), with the interface at a bridge that leads
        into a namespace.
        """
        interface, inside, bridge = self._outside("bridged"), namespace(
            os.getpid(), "o"), bridge_name(os.getpid())
        module("veth")
        module("bridge")
        command("ip", "netns", "add", inside)
        command("ip", "link", "add", bridge, "type", "bridge")
        command("ip", "link", "add", bridge + "v", "type", "veth", "peer", "name", "clew-o",
                "netns", inside)
        for port in (interface, bridge + "v"):
            command("ip", "link", "set", port, "master", bridge)
            command("ip", "link", "set", port, "up")
        command("ip", "link", "set", bridge, "up")
        command("ip", "-n", inside, "address", "add", "10.0.3.15/24", "dev", "clew-o")
        command("ip", "-n", inside, "link", "set", "clew-o", "up")
        os.symlink(f"/run/netns/{inside}", os.path.join(self.path, "net-bridged"))

    def _limit(self):
        group, unified = self._group("memory", "limit")
        write(f"{group}/memory.max" if unified else f"{group}/memory.limit_in_bytes", 10 * MEGABYTE)
        os.symlink(group, os.path.join(self.path, "limit"))


def namespace(pid, end):
    return f"clew-live-{pid}-{end}"


def bridge_name(pid):
    return f"clew-o{pid}"


def swap_call(name, path, *arguments):
    """swapon(2) and swapoff(2)."""
    return getattr(ctypes.CDLL(None, use_errno=True), name)(path.encode(), *arguments)


def remove(path, pid):
    """Undoes a place; what is not there is no error."""
    try:
        with open(os.path.join(path, "swap.device"), encoding="ascii") as file:
            device = file.read()
        for _ in range(20):
            # EINVAL: it is no swap. Memory may lack for what is in it, and signals come between.
            if not swap_call("swapoff", device) or ctypes.get_errno() == errno.EINVAL:
                break
            time.sleep(0.1)
        else:
            # Whoever comes next tries again.
            return
    except (FileNotFoundError, NotADirectoryError):
        pass
    for _ in range(50):
        mounted = [directory for _, directory, _, _ in mounts() if directory.startswith(path + "/")]
        if not mounted:
            break
        for directory in reversed(mounted):
            try:
                fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    fcntl.ioctl(fd, FITHAW, 0)
                except OSError:
                    pass
                os.close(fd)
            except OSError:
                pass
            quietly("umount", directory)
        time.sleep(0.1)
    if os.path.exists(os.path.join(path, "mapped")):
        quietly("dmsetup", "remove", "--noudevsync", "--retry", os.path.basename(path))
    if os.path.exists(f"/sys/class/net/{bridge_name(pid)}"):
        quietly("ip", "link", "del", bridge_name(pid))
    for end in "abrso":
        if os.path.exists(f"/run/netns/{namespace(pid, end)}"):
            quietly("ip", "netns", "del", namespace(pid, end))
    for name, controlled in (("cpu", "cpu"), ("memory", "memory"), ("limit", "memory"),
                             ("swap", "memory"), ("io", "io"), ("io", "blkio")):
        try:
            group = os.path.join(controller(controlled)[0], f"{PREFIX}{pid}-{name}")
        except (Lacking, OSError):
            continue
        for _ in range(50):
            try:
                os.rmdir(group)
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.1)
    restore(path)
    shutil.rmtree(path, True)


@contextlib.contextmanager
def settings(place, values):
    """
    The kernel's settings {path: value}, for a while; a killed test's are put
    back with its place.
    """
    kept = os.path.join(place.path, "settings")
    with open(kept, "w", encoding="ascii") as file:
        # A limit in bytes is off when its ratio is set, and the other way
        # round: one of the two is 0.
        for path in dict.fromkeys([*values, *(p.replace("_bytes", "_ratio") for p in values)]):
            with open(path, encoding="ascii") as setting:
                file.write(f"{path} {setting.read().strip()}\n")
    try:
        for path, value in values.items():
            write(path, value)
        yield
    finally:
        restore(place.path)


def restore(path):
    try:
        with open(os.path.join(path, "settings"), encoding="ascii") as file:
            for line in file:
                if line.split()[1] != "0":
                    write(*line.split())
        os.unlink(os.path.join(path, "settings"))
    except (FileNotFoundError, NotADirectoryError):
        pass


def clean_leftovers():
    for name in os.listdir(TOP):
        pid = name[len(PREFIX):]
        if name.startswith(PREFIX) and pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
            remove(os.path.join(TOP, name), int(pid))


if __name__ == "__main__":
    with Place() as place:
        print(place.path, place.lacks)
        input()
