# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A guest's disk: a tree of what the host has, with the libraries that programs need, and the ext4
image that is made of it.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from kernel import fail, get_kernel, release_of

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# File systems' tools are where not everybody looks.
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
# Programs of the host that the live tests may call, besides busybox's.
PROGRAMS = ["bpftool", "strace", "dmsetup", "ip", "mkfs.btrfs", "mkfs.ext4", "mkfs.xfs"]
# Parts of Python's library that no test needs; they are most of its size.
UNWANTED = {
    "test", "tests", "idlelib", "tkinter", "ensurepip", "lib2to3", "distutils", "site-packages",
    "dist-packages", "turtledemo", "pydoc_data", "config-3"
}
MEGABYTES = 1024


def libraries(path, root):
    """
    Shared libraries, loader included, that a program or library needs. `root`: the folder that has
    another machine's; "": they are this machine's own.
    """
    if not root:
        out = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
        return [match.group(1) for match in re.finditer(r"(/[^ ]+) \(0x", out)]
    out = subprocess.run(["readelf", "-dlW", path], capture_output=True, text=True,
                         check=False).stdout
    names = re.findall(r"\(NEEDED\).*\[(.*)\]", out)
    interpreter = re.findall(r"interpreter: (.*)\]", out)
    found = [root + "/" + name.lstrip("/") for name in interpreter]
    return found + [
        place for name in names for place in glob.glob(root + "/lib/aarch64-linux-gnu/" + name) +
        glob.glob(root + "/usr/lib/aarch64-linux-gnu/" + name) + glob.glob(root + "/lib/" + name)
    ]


class Tree:
    """
    A directory that becomes the guest's root. `root`: the folder that has the files of another
    machine, as in libraries().
    """

    def __init__(self, top, root=""):
        self.top = top
        self.root = root

    def path(self, inside):
        return os.path.join(self.top, inside.lstrip("/"))

    def copy(self, source, inside=None):
        if not inside and self.root and source.startswith(self.root):
            inside = source[len(self.root):]
        target = self.path(inside or source)
        if os.path.exists(target):
            return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(source, target)

    def program(self, source, inside=None):
        self.copy(source, inside)
        for library in libraries(source, self.root):
            if self.root and not os.path.exists(self.path(library[len(self.root):])):
                self.program(library)
            elif not self.root:
                self.copy(library)

    def find(self, name):
        """A program that may be called by its name, None: there is none."""
        path = ":".join(self.root + place for place in PATH.split(":") if place)
        found = shutil.which(name, path=path)
        # A link from the root on means the other root.
        while found and os.path.islink(found) and os.readlink(found)[0] == "/":
            found = self.root + os.readlink(found)
        return found


def add_python(tree):
    library = sysconfig.get_path("stdlib")
    program = os.path.realpath(sys.executable)
    if tree.root:
        library = max(glob.glob(tree.root + "/usr/lib/python3.*"))
        program = tree.root + "/usr/bin/" + os.path.basename(library)
    tree.program(program)
    link = tree.path("/usr/bin/python3")
    if not os.path.lexists(link):
        os.symlink(program[len(tree.root):], link)
    for directory, below, files in os.walk(library):
        below[:] = [
            name for name in below if name not in UNWANTED and not name.startswith("config-")
        ]
        for name in files:
            source = os.path.join(directory, name)
            if name.endswith(".so"):
                tree.program(source)
            elif not name.endswith((".a", ".opt-1.pyc", ".opt-2.pyc")):
                tree.copy(source)


def add_cancellation(tree):
    """The C library loads it when a thread is canceled or ends by pthread_exit()."""
    for directory in ("/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib/aarch64-linux-gnu"):
        source = os.path.join(tree.root + directory, "libgcc_s.so.1")
        if os.path.exists(source):
            tree.program(source)
            return


def add_modules(tree, series):
    image = get_kernel(series)
    for path in glob.glob(os.path.join(os.path.dirname(image), "modules", "*")):
        tree.copy(path, "/modules/%s/%s" % (release_of(image), os.path.basename(path)))


def make_initrd(series, target):
    """
    Makes the first file system of a guest whose kernel needs modules to find the disk. With it the
    guest records before any module is loaded; see tests/vm/alone.
    """
    with tempfile.TemporaryDirectory(prefix="clew-vm-") as top:
        tree = Tree(top)
        for name in ("bin", "dev", "proc", "sys", "tmp", "usr/lib", "disk"):
            os.makedirs(tree.path(name), exist_ok=True)
        for name in ("lib", "lib64"):
            if os.path.islink("/" + name):
                os.makedirs(tree.path("usr/" + name), exist_ok=True)
                os.symlink("usr/" + name, tree.path(name))
        tree.program(shutil.which("busybox") or "/bin/busybox", "/bin/busybox")
        tree.program(os.path.join(ROOT, "clew"), "/clew/clew")
        tree.copy(os.path.join(HERE, "init_first"), "/init")
        tree.copy(os.path.join(HERE, "alone"), "/sbin/alone")
        add_modules(tree, series)
        with open(target, "wb") as out:
            names = "\n".join(os.path.relpath(os.path.join(directory, name), top)
                              for directory, below, files in os.walk(top)
                              for name in below + files)
            subprocess.run(["busybox", "cpio", "-o", "-H", "newc"],
                           cwd=top,
                           input=names.encode(),
                           stdout=out,
                           stderr=subprocess.DEVNULL,
                           check=True)


def make_disk(image, series, add=None, root="", build=""):
    """
    `series`: the kernels of its guests. `add`: is given the tree, and puts more into it. `root`: as
    of Tree. `build`: where clew is built for that machine, "" in its usual places.
    """
    with tempfile.TemporaryDirectory(prefix="clew-vm-") as top:
        tree = Tree(top, root)
        for name in ("bin", "dev", "proc", "sys", "tmp", "run", "root", "sbin", "usr/bin",
                     "usr/sbin", "usr/lib", "results", "etc", "var/tmp"):
            os.makedirs(tree.path(name), exist_ok=True)
        # The host's /lib and /lib64 are links into /usr on a merged system: keep them so.
        for name in ("lib", "lib64", "lib32"):
            if os.path.islink("/" + name):
                os.makedirs(tree.path("usr/" + name), exist_ok=True)
                os.symlink("usr/" + name, tree.path(name))
        tree.program(tree.find("busybox"), "/bin/busybox")
        tree.copy(os.path.join(HERE, "init"), "/sbin/init")
        with open(tree.path("/etc/passwd"), "w", encoding="ascii") as out:
            out.write("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")
        with open(tree.path("/etc/group"), "w", encoding="ascii") as out:
            out.write("root:x:0:\nnogroup:x:65534:\n")
        for name in PROGRAMS:
            found = tree.find(name)
            if found:
                tree.program(found, "/usr/bin/" + name)
        for path in glob.glob("/etc/mke2fs.conf"):
            tree.copy(path)
        tree.copy(os.path.join(HERE, "alone"), "/sbin/alone")
        for one in series:
            add_modules(tree, one)
        add_python(tree)
        add_cancellation(tree)
        built = os.path.join(ROOT, build or "build")
        tree.program(os.path.join(built if build else ROOT, "clew"), "/clew/clew")
        for path in ["unwind_compare", "record_both", "tiers"] + glob.glob("workloads/*", root_dir=built):
            program = os.path.join(built, path)
            if os.access(program, os.X_OK) and os.path.isfile(program):
                tree.program(program, "/clew/build/" + path)
        for directory, below, files in os.walk(os.path.join(ROOT, "tests/live")):
            below[:] = [name for name in below if name != "__pycache__"]
            for name in files:
                source = os.path.join(directory, name)
                tree.copy(source, "/clew/" + os.path.relpath(source, ROOT))
        tree.copy(os.path.join(ROOT, "tests/resolved.py"), "/clew/tests/resolved.py")
        if add:
            add(tree)
        made = subprocess.run([
            "mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", top, image,
            "%dM" % MEGABYTES
        ],
                              env=dict(os.environ, PATH=PATH),
                              capture_output=True,
                              text=True,
                              check=False)
        if made.returncode:
            fail("mke2fs: " + made.stderr.strip())


def extract(image, inside, target):
    """Copies a directory out of a guest's disk, as target/NAME."""
    os.makedirs(target, exist_ok=True)
    subprocess.run(["debugfs", "-R", "rdump %s %s" % (inside, target), image],
                   env=dict(os.environ, PATH=PATH),
                   capture_output=True,
                   check=False)
