#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What a recorder opens by name itself: only names that no traced process chooses. Everything else goes
through user/opener/. Each call that is allowed is listed here with its reason; prints TAP.
"""
import glob
import os
import re

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
count = 0

FIXED = "a fixed name of /proc, /sys or /etc"
OWN = "clew's own process"
GIVEN = "whoever runs clew named it"
SEGMENTS = "the folder of the recording's own segments"
NUMBERS = "a file of /proc or /sys that waits for no process's memory"

# Functions that follow a name.
CALLS = re.compile(
    r"(?<![\w.>\"/-])(open|openat|openat2|creat|fopen|freopen|opendir|scandir|fts_open|nftw|ftw|glob|"
    r"realpath|stat|lstat|fstatat|statx|statfs|access|faccessat|readlink|readlinkat|regular_open|"
    r"open_by_handle_at|SYS_open\w*|inotify_add_watch|truncate|dlopen|execv\w*|posix_spawn\w*)\s*"
    r"\(([^,()]*(?:\([^()]*\)[^,()]*)*)")
# (file, function, first argument) -> why nobody else chooses the name
ALLOWED = {
    ("user/containers/names.c", "open", "path"): "a process's folder in /proc, which is only pinned",
    ("user/containers/names.c", "fopen", "path"): NUMBERS,
    ("user/containers/names.c", "opendir", '"/proc"'): FIXED,
    ("user/record/stream/verdict.c", "open", '"/dev/null"'): FIXED,
    ("user/record/group.c", "fts_open", "roots"): "the tree of control groups",
    ("user/record/group.c", "fopen", '"/proc/self/mounts"'): FIXED,
    ("user/record/group.c", "stat", "wanted->cgroup"): GIVEN,
    ("user/record/command.c", "faccessat", "AT_FDCWD"): GIVEN,
    ("user/record/command.c", "stat", "path"): GIVEN,
    ("user/record/command.c", "execvp", "argv[0]"): GIVEN,
    ("user/record/functions/probe.c", "access", "POSSIBLE"): FIXED,
    ("user/record/functions/runtimes.c", "glob", "pattern"): GIVEN,
    ("user/record/functions/choice.c", "access", "choice->object"): GIVEN,
    ("user/record/stacks/mappings.c", "opendir", '"/proc"'): FIXED,
    ("user/record/filter.c", "fopen", '"/proc/self/mounts"'): FIXED,
    ("user/record/filter.c", "realpath", "given"): GIVEN,
    ("user/record/filter.c", "stat", "path"): GIVEN,
    ("user/record/filter.c", "statfs", "path"): GIVEN,
    ("user/record/filter.c", "fopen", "path"): NUMBERS,
    ("user/record/filter.c", "access", "path"): NUMBERS,
    ("user/record/stream/programs.c", "access", "path"): FIXED,
    ("user/record/stream/left_behind.c", "fopen", "path"): NUMBERS,
    ("user/record/environment.c", "fopen", '"/etc/passwd"'): FIXED,
    ("user/record/stacks/direct_map.c", "fopen", '"/proc/cpuinfo"'): FIXED,
    ("user/record/meta.c", "fopen", '"/proc/cpuinfo"'): FIXED,
    ("user/record/stacks/jit.c", "openat", "process->proc"): NUMBERS,
    ("user/record/stacks/jit.c", "faccessat", "process->proc"): NUMBERS,
    ("user/record/stacks/jit.c", "open", "path"): "a process's folder in /proc, which is only pinned",
    ("user/record/segments.c", "openat", "segments->descriptor"): SEGMENTS,
    ("user/record/segments.c", "openat", "descriptor"): SEGMENTS,
    ("user/record/segments.c", "fstatat", "segments->descriptor"): SEGMENTS,
    ("user/record/segments.c", "opendir", "directory"): GIVEN,
    ("user/record/segments.c", "open", "directory"): GIVEN,
    ("user/record/stream/pid_namespace.c", "stat", '"/proc/self/ns/pid"'): OWN,
    ("user/record/stream/pid_namespace.c", "readlink", '"/proc/self"'): OWN,
    ("user/record/functions/traced_kernel.c", "access", "LIST"): FIXED,
    ("user/record/functions/traced_kernel.c", "access", "NAMES"): FIXED,
    ("user/record/functions/traced_kernel.c", "fopen", "REFUSED"): FIXED,
    ("user/record/functions/traced_kernel.c", "fopen", "list.multi ? LIST : NAMES"): FIXED,
    ("user/record/functions/probe_kernel.c", "access", "PMU_TYPE"): FIXED,
    ("user/record/stream/kernel.c", "fopen", '"/proc/sys/net/core/bpf_jit_enable"'): FIXED,
    ("user/record/stream/kernel.c", "fopen", '"/sys/kernel/security/lockdown"'): FIXED,
    ("user/record/stream/kernel.c", "access", '"/sys/kernel/btf/vmlinux"'): FIXED,
    ("user/record/stream/topology.c", "fopen", "path"): FIXED,
    ("user/record/stream/missing.c", "opendir", "TYPES"): FIXED,
    ("user/record/stream/topology.c", "opendir", "path"): FIXED,
    ("user/record/file.c", "open", '"/proc/sys/kernel/random/uuid"'): FIXED,
    ("user/record/functions/probe.c", "fopen", "path"): FIXED,
    ("user/record/stacks/objects.c", "access", "ret_path"): "a folder of PATH, and nothing is opened",
    ("user/record/features.c", "access", '"/sys/bus/event_source/devices/kprobe/type"'): FIXED,
    ("user/record/load_prepare.c", "fopen", '"/proc/loadavg"'): FIXED,
    ("user/record/disks.c", "fopen", "path"): FIXED,
    ("user/record/disks.c", "fopen", '"/proc/partitions"'): FIXED,
    ("user/record/hidden.c", "fopen", "path"): NUMBERS,
    ("user/record/hidden.c", "opendir", '"/proc"'): FIXED,
    ("user/record/hidden.c", "opendir", "path"): NUMBERS,
    ("user/record/functions/probe_event.c", "open", "EVENTS"): FIXED,
    ("user/record/functions/probe_event.c", "fopen", "EVENTS"): FIXED,
    ("user/record/functions/probe_event.c", "fopen", "path"): FIXED,
    ("user/symbol/elf/debug_file.c", "regular_open", "path"): "below /usr/lib/debug",
    ("user/symbol/elf/debug_file.c", "readlink", "link"): "one of clew's own descriptors",
    ("user/symbol/elf/kernel.c", "fopen", '"/proc/kallsyms"'): FIXED,
    ("user/symbol/elf/debug_server.c", "dlopen", '"libdebuginfod.so.1"'): FIXED,
    ("user/symbol/code/signature.c", "open", "path:str"): "an example in a text",
    ("user/symbol/elf/library.c", "open", "CACHE"): FIXED,
    ("user/symbol/elf/library.c", "access", "ret_path"): "a folder of the system's, and nothing is opened",
}


def ok(good, name, why=""):
    global count
    count += 1
    print(f"{'ok' if good else 'not ok'} {count} - {name}" + ("" if good else f": {why}"))


def code(text):
    """Without comments, and with lines joined."""
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", " ", text, flags=re.S))


found = set()
for path in sorted(glob.glob("user/record/**/*.c", recursive=True) + glob.glob("user/containers/*.c") +
                   glob.glob("user/symbol/**/*.c", recursive=True)):
    with open(path, encoding="utf-8") as file:
        found |= {(path, name, argument.strip()) for name, argument in CALLS.findall(code(file.read()))}
unknown = sorted(found - set(ALLOWED))
gone = sorted(set(ALLOWED) - found)
ok(not unknown, "nothing opens a name that a traced process may have chosen",
   "; ".join(map(str, unknown)) + ": call user/opener/, or list it here with its reason")
ok(not gone, "each call that is allowed is there", "; ".join(map(str, gone)))
ok(all(ALLOWED.values()), "each has its reason")
print(f"1..{count}")
