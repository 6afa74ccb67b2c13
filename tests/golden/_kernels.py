# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The fields that clew reads, held against the BTF of the kernels that it supports, without booting
them. tests/kernels/btf.tar.xz has their structures (tests/vm/fields makes it), and
tests/kernels/changes.toml lists what a kernel lacks and why that is right.
"""
import collections
import concurrent.futures
import fnmatch
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import textwrap
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
KERNELS = os.path.join(ROOT, "tests", "kernels")
DOCUMENT = os.path.join(ROOT, "docs", "kernels.md")
OBJECTS = {
    "amd64": os.path.join(ROOT, "build", "clew.bpf.o"),
    "arm64": os.path.join(ROOT, "build", "clew-arm64.bpf.o")
}
MISSING_FIELDS = os.path.join(ROOT, "build", "missing_fields")
TABLE = os.path.join(ROOT, "user", "record", "stream", "program_table.c")
RELOCATION = re.compile(r"libbpf: prog '([^']+)': relo #(\d+): "
                        r"(?:<(\w+)> \[\d+\] (?:struct |union |enum )?(\S+)|(no matching targets))")
# A program asks with these whether there is something.
QUESTIONS = {"field_exists", "type_exists"}


def changes():
    with open(os.path.join(KERNELS, "changes.toml"), "rb") as file:
        return tomllib.load(file)["change"]


def object_for(btf):
    """The kernel side of a kernel's machine."""
    return OBJECTS["arm64" if "arm64" in os.path.basename(btf) else "amd64"]


def lacking(btf):
    """Fields and types that the kernel lacks and clew's programs read: name -> programs."""
    bpftool = shutil.which("bpftool") or "/usr/sbin/bpftool"
    with tempfile.NamedTemporaryFile() as out:
        said = subprocess.run([bpftool, "-d", "gen", "min_core_btf", btf, out.name,
                               object_for(btf)],
                              capture_output=True,
                              text=True,
                              check=True).stderr
    specs, found = {}, collections.defaultdict(set)
    for program, number, kind, name, wrong in RELOCATION.findall(said):
        if not wrong:
            specs[program, number] = (kind, name)
        elif specs[program, number][0] not in QUESTIONS:
            found[specs[program, number][1]].add(program)
    if not specs:
        raise ValueError("bpftool lists no relocation")
    return found


def before_load(btf, *hidden):
    """
    What clew finds out before the load: fields and types that the kernel lacks, and program -> the
    field that the kernel would refuse it for. `hidden`: members that it lacks, too, as "mutex.owner".
    """
    said = subprocess.run([MISSING_FIELDS, object_for(btf), btf, *hidden],
                          capture_output=True,
                          text=True,
                          check=True).stdout
    lines = [line.split() for line in said.splitlines()]
    return ({words[1] for words in lines if words[0] == "lacks"},
            {words[1]: words[2] for words in lines if words[0] == "refuses"})


def of_modules():
    """The programs that are loaded only with a module of a file system."""
    with open(TABLE, encoding="ascii") as file:
        rows = re.findall(r"ROW\(\"(\w+)\", \"(?:\w+/)?([\w.]+)\", \w+,([^,)]*)", file.read())
    return {
        program
        for program, tracepoint, flags in rows
        if re.match("btrfs_|ext4_|jbd2_|xfs_|xlog_", tracepoint) or re.search("XFS|JBD2", flags)
    }


def of_all(find):
    """kernel -> find(its BTF's file), of all kernels."""
    with tempfile.TemporaryDirectory() as place:
        with tarfile.open(os.path.join(KERNELS, "btf.tar.xz")) as tar:
            names = sorted(tar.getnames())
            tar.extractall(place)
        with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            return dict(zip(names, pool.map(find, [os.path.join(place, n) for n in names])))


def all_lacking():
    """kernel -> lacking(), of all kernels."""
    return of_all(lacking)


def matches(kernel, patterns):
    """True if one of the words matches, and none of those that begin with "!"."""
    words = patterns.split()
    return any(fnmatch.fnmatchcase(kernel, word) for word in words if word[0] != "!") and not any(
        fnmatch.fnmatchcase(kernel, word[1:]) for word in words if word[0] == "!")


def expected(kernel, listed):
    """Patterns of the fields that a kernel is listed to lack."""
    return [
        field for change in listed for patterns, fields in change["lacks"].items()
        if matches(kernel, patterns) for field in fields
    ]


def wrong_with(kernel, lacks, listed):
    """What disagrees between a kernel and the list, in words."""
    patterns = expected(kernel, listed)
    wrong = [
        "it lacks %s, which %s reads, and changes.toml does not say why" %
        (field, sorted(lacks[field])[0]) for field in sorted(lacks)
        if not any(fnmatch.fnmatchcase(field, pattern) for pattern in patterns)
    ]
    return wrong + [
        "changes.toml says that it lacks %s, but it does not" % pattern for pattern in patterns
        if not fnmatch.filter(lacks, pattern)
    ]


def document(kernels):
    """docs/kernels.md."""
    rows = "".join(
        "| %s | %s | %s | %s |\n" % (change["since"], change["what"], change["bridge"],
                                     change.get("lost", "nothing")) for change in changes())
    names = ", ".join(name for name in sorted(kernels, key=version) if "+" not in name)
    return TEXT % (textwrap.fill(names + ".", 96, break_on_hyphens=False), rows)


def version(name):
    return [int(number) for number in name.split("-")[0].split(".")], name


TEXT = """<!-- SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause -->
<!-- Made by tools/kernels-doc from tests/kernels/changes.toml. -->
# Kernels

One binary records on all kernels from 6.1 on. It finds the fields of the kernel's structures at
load, by the kernel's BTF. Where a field moved, clew has both ways to it, and the kernel's verifier
removes the one that does not apply: a bridge costs nothing while recording. What a kernel lacks
costs its own feature and no other, and what rests on it is `unknown`. `clew doctor` says what this
kernel gives.

A program that needs a missing field is left out before the load: clew looks for all fields in the
BTF itself, and follows the code as far as the answers to its questions decide the way. Where a
value decides that is known only at load, the kernel's verifier finds out, and clew loads the others
again.

## Checked

`make check` holds every field that clew's programs read against the structures of these kernels,
without booting them, each without modules and with them:

%s

They are Debian's, 6.12 and before from Debian 12, later ones from the backports of Debian 13, and
for 6.18 a kernel without modules. `tests/vm/fields` makes the files anew from the packages. A field
that is newly read and that one of these kernels lacks fails the test until the list says how it is
bridged or what it costs.

`make vm` and `make check-all` boot 6.1 and 6.12 for clouds, the real-time 6.1, 7.3, and arm64's
6.12 with the Debian package. Each records without any module first, then with each one alone that
clew has programs for. One more guest of 6.12 has eight CPUs.

## Tiers

clew takes the cheapest way that a kernel has. `clew doctor` says which there are, and `clew record`
decides by the same function.

| way | kernels | what it adds | what it costs |
| --- | --- | --- | --- |
| tracepoints | all | everything but what follows | docs/daemon.md |
| probes at functions of the kernel, all at once | 6.5 and newer with CONFIG_FPROBE | `record -k` | `record` measures it, and says what a call takes longer |
| single probes at functions of the kernel | CONFIG_KPROBES, where the way above is missing: 6.1 and arm64's 6.12 | `record -k`, but functions that share a name are left out | the same, and some milliseconds for each function at the start and at the end |
| probes in programs, all at once | 6.6 and newer | `record -f`, `--usdt`, layers, announcements | `record` measures it |
| probes in programs as trace events | before 6.6, with tracefs | the same | the same |
| fentry | where `clew doctor` says so | nothing: no answer rests on it. It takes a program for each function | nothing |

Each way sees every call. The ways differ in what a call takes longer, and in the returns that they
see of calls of a function that go on at the same time: a call whose return is not seen is without
its end. `tests/live/tiers.py` attaches each way to vfs_write and vfs_read by itself. In emulated
guests of two CPUs, where a call of vfs_write took 0.6 to 0.9 us, it found:

| way | kernel | an entry takes longer | and its return | returns seen of 64 at the same time |
| --- | --- | --- | --- | --- |
| fentry | 6.1 | 280 ns | 592 ns | 64 |
| fentry | 6.12 | 311 ns | 684 ns | 64 |
| fentry | 7.3 | 213 ns | 476 ns | 64 |
| all at once | 6.12 | 352 ns | 1,231 ns | 4: two for each CPU and each function that is probed |
| all at once | 7.3 | 334 ns | 1,329 ns | 64 |
| single | 6.1 | 485 ns | 1,360 ns | 10: ten, or two for each CPU |
| single | 6.12 | 644 ns | 1,588 ns | 10 |
| single | 7.3 | 536 ns | 1,304 ns | 10 |

No two ways are used for one edge. A call of `-k` is as exact in time by single probes as by all at once:
`kernel_functions.py` compares each with the program's own clock, and it passes on 6.1 and on arm64's
6.12. In emulated guests, which are many times slower, a call of `-k 'vfs_*'` (73 and 78 functions)
took 1.4 us longer on 6.1 and 7 to 11 us on arm64's 6.12, both by single probes.

On x86-64 a task's kernel stack is not read while returns of its calls are probed, as the kernel
would warn in its log: the stack of a wait inside a function of `-k` begins in the program. On arm64
it is read.

## Settings that take something away

| setting | what is lost |
| --- | --- |
| kernel.perf_event_paranoid at 3, as Debian has it, without CAP_SYS_ADMIN | ticks, stacks, announcements of programs |
| without CAP_SYS_ADMIN | programs for file systems that are modules; before 6.2 the recording: one line says so |
| memory.high or memory.max below what a recording needs | the recording: one line says so |

## arm64

The kernel side is one object for each machine. System calls have x86-64's numbers in captures of
both, so that a capture means the same wherever it is read. What differs:

* The kernel has no tracepoint at page faults. Whether a wait in a system call is a page fault's is
  seen in the kernel's stack, which is read at each such wait.
* A function's return is seen at the instructions that leave it, never by a replaced return address.
  A function that is left by a jump whose condition is a register's value, or by an instruction that
  checks a signature itself (`retaa`), is recorded without its returns.
* A `longjmp` of glibc ends no function: where it goes is known to the dynamic linker alone. What it
  leaves ends where a caller returns.
* Before 6.13 the kernel single-steps a probe at a `nop`, and so at all USDT probes. `record` says
  what a call takes longer.
* Signatures are taken off return addresses. A place above 48 bits of addresses, which a program gets
  if it asks for one, ends a stack there.
* Only pages of 4 kB: `record` refuses others in words.

## What changed, and how it is bridged

A line is about the kernels since that version, or of that kind.

| kernels | what is different | how clew reads it | what is lost |
| --- | --- | --- | --- |
%s"""
