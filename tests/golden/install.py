#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What `make install` puts into a folder is enough to build with: each header by
itself, and a program with the library; prints TAP.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
# Options of a make around this one are not for it: it installs the usual build.
PLAIN = {
    name: value
    for name, value in os.environ.items()
    if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CFLAGS", "LDFLAGS")
}
PROGRAM = """
#include <clew/notation.h>

int main(int argc, char **argv)
{
	struct clew_load_options options = {.size = sizeof(options), .name = "it"};
	struct clew_model *model;
	char message[300];

	if (argc < 2 || clew_model_load(argv[1], &options, &model, message, sizeof(message)) < 0)
		return 1;
	printf("%u\\n", model->span_count);
	clew_model_free(model);
	return 0;
}
"""
EXAMPLES = ("slowest", "longest", "explain", "threads")
MOST_LISTED = 10  # waits by longest.c
count = 0


def ok(good, name, why=""):
    global count
    count += 1
    print(f"{'ok' if good else 'not ok'} {count} - {name}" + ("" if good else f": {why}"))


def run(*command, **more):
    return subprocess.run(command,
                          cwd=ROOT,
                          capture_output=True,
                          text=True,
                          check=False,
                          env=PLAIN,
                          **more)


def numbers_of(lines):
    """The number that each line begins with."""
    return [int(line.split()[0]) for line in lines]


def longest_told(printed, answer):
    """longest.c lists what `clew waits` does."""
    waits = answer("waits")["waits"]
    lengths = [(w["end"] or 1000003000000) - w["start"] for w in waits]
    said = [
        f"{w['comm']}-{w['tid']}" in line and w["kind"] in line
        and (not w["ended_by"] or not w["ended_by"]["comm"]
             or f"by {w['ended_by']['comm']}-{w['ended_by']['tid']}" in line)
        for w, line in zip(waits, printed)
    ]
    return len(waits) > 1 and all(said) and numbers_of(printed) == lengths[:MOST_LISTED]


def explain_told(printed, answer):
    """explain.c has the operation, the tree's sum and the chains of `clew why`."""
    why = answer("why", "--slowest", "1")["operations"][0]
    at = printed.index(f"{len(why['segments'])} segments")
    behind = collections.Counter()
    for segment in why["segments"]:
        behind[len(segment["hops"])] += segment["ns"]
    roots = [line for line in printed[1:at] if line[16] != " "]
    said = {int(line.split()[3]): int(line.split()[0]) for line in printed[at + 1:]}
    return (printed[0] == f"{why['comm']}-{why['tid']} of {why['process']}: {why['total_ns']} ns"
            and sum(numbers_of(roots)) == why["total_ns"] and len(roots) < at - 1
            and said == dict(behind))


def threads_told(printed, answer):
    """threads.c has the sums of `clew report`, by thread."""
    told, said = collections.Counter(), collections.Counter()
    for program in answer("report")["programs"]:
        told.update(program["spent_ns"])
    for line in printed:
        said.update({name: int(ns) for name, ns in re.findall(r" ([a-z]+)=([0-9]+)", line)})
    return len(printed) > 1 and said == +told


TOLD = {"longest": longest_told, "explain": explain_told, "threads": threads_told}

with tempfile.TemporaryDirectory() as folder:
    made = run("make", "-s", "install", f"DESTDIR={folder}", "PREFIX=/usr")
    ok(made.returncode == 0, "make install goes where DESTDIR says", made.stderr.strip()[-300:])
    include, library = f"{folder}/usr/include", f"{folder}/usr/lib/libclew.a"
    headers = sorted(os.listdir(f"{include}/clew")) if os.path.isdir(f"{include}/clew") else []
    wanted = sorted(name for name in os.listdir(f"{ROOT}/include/clew")
                    if name.endswith((".h", ".def")))
    ok(headers == wanted, f"all {len(wanted)} public headers are installed, and no other",
       f"{headers} instead of {wanted}")
    for header in [name for name in headers if name.endswith(".h")]:
        text = f"#include <clew/{header}>\n"
        done = run("gcc",
                   "-std=gnu11",
                   "-Wall",
                   "-Wextra",
                   "-Werror",
                   "-fsyntax-only",
                   "-I",
                   include,
                   "-x",
                   "c",
                   "-",
                   input=text)
        ok(done.returncode == 0, f"{header} stands by itself in C",
           done.stderr.strip().partition("\n")[0])
    if shutil.which("g++"):
        done = run("g++",
                   "-Wall",
                   "-Wextra",
                   "-Werror",
                   "-fsyntax-only",
                   "-I",
                   include,
                   "-x",
                   "c++",
                   "-",
                   input="#include <clew/announce.h>\n")
        ok(done.returncode == 0, "announce.h stands by itself in C++",
           done.stderr.strip().partition("\n")[0])
    libraries = run("make", "-s", "print-libraries").stdout.split()
    done = run("gcc",
               "-std=gnu11",
               "-o",
               f"{folder}/program",
               "-I",
               include,
               "-x",
               "c",
               "-",
               "-x",
               "none",
               library,
               *libraries,
               "-pthread",
               input=PROGRAM)
    ok(done.returncode == 0, "a program builds with the header and the library",
       done.stderr.strip()[-300:])
    with open(f"{folder}/trace", "w", encoding="utf-8") as trace:
        trace.write("span a [0,10]\nspan b [5,20]\n")
    answer = run(f"{folder}/program", f"{folder}/trace") if done.returncode == 0 else None
    ok(answer is not None and answer.stdout == "2\n", "it loads a trace", answer
       and (answer.stdout, answer.returncode))
    path = {"PKG_CONFIG_SYSROOT_DIR": folder, "PKG_CONFIG_PATH": f"{folder}/usr/lib/pkgconfig"}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "clew"],
                           capture_output=True,
                           text=True,
                           check=False,
                           env=dict(PLAIN, **path)).stdout.split()
    examples = sorted(os.listdir(f"{ROOT}/docs/examples"))
    ok(examples == sorted(name + ".c" for name in EXAMPLES), "each example is tried", examples)
    for name in EXAMPLES:
        done = run("gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", f"{folder}/{name}",
                   f"docs/examples/{name}.c", *flags)
        ok(done.returncode == 0, f"{name}.c builds with what pkg-config says",
           done.stderr.strip()[-300:])
    with open("tests/golden/stacks.records", "rb") as records:
        subprocess.run(["build/make_capture", f"{folder}/capture"], stdin=records, check=True)
    answer = run(f"{folder}/slowest", f"{folder}/capture").stdout.splitlines()
    told = json.loads(
        run(f"{folder}/usr/bin/clew", "why", f"{folder}/capture", "--slowest", "1", "--json").stdout
        or "{}")
    expected = told.get("operations") and told["operations"][0]
    ok(
        expected and answer and answer[0].endswith(f": {expected['total_ns']} ns")
        and sum(int(line.split()[0]) for line in answer[1:]) == expected["total_ns"],
        "it finds the operation that clew why finds, and where all of its time went",
        f"{answer} {expected and expected['total_ns']}")

    def answer_of(command, *arguments, capture=f"{folder}/capture"):
        return json.loads(
            run(f"{folder}/usr/bin/clew", command, capture, *arguments, "--json").stdout)

    run(f"{folder}/usr/bin/clew", "convert", f"{folder}/capture", "-o", f"{folder}/notation")
    for name, told in TOLD.items():
        for kind in ("capture", "notation"):
            printed = run(f"{folder}/{name}", f"{folder}/{kind}").stdout.splitlines()
            ok(printed and told(printed, answer_of), f"{name}.c says of a {kind} what clew does",
               printed)
        wrong = run(f"{folder}/{name}", f"{folder}/program")
        ok(wrong.returncode == 2 and wrong.stderr.startswith(f"{folder}/program: "),
           f"{name}.c refuses what is neither", (wrong.returncode, wrong.stderr))
    program = run(f"{folder}/usr/bin/clew", "version")
    ok(program.stdout.startswith("clew "), "the installed program starts", program.stderr)

with tempfile.TemporaryDirectory() as folder:
    made = run("tools/make-deb", folder)
    packages = sorted(os.listdir(folder))
    ok(
        made.returncode == 0
        and [name.split("_")[0] for name in packages] == ["clew", "libclew-dev"],
        "make deb makes two packages",
        made.stderr.strip()[-300:] or packages)
    if shutil.which("lintian"):
        said = run("lintian", "--allow-root", *(f"{folder}/{name}" for name in packages)).stdout
        ok(not said, "lintian finds nothing in them", said[:300])
    run("dpkg-deb", "-x", f"{folder}/{packages[0]}", f"{folder}/tree")
    program = run(f"{folder}/tree/usr/bin/clew", "version")
    ok(program.stdout.startswith("clew "), "the packaged program starts", program.stderr)
    depends = run("dpkg-deb", "-f", f"{folder}/{packages[0]}", "Depends").stdout
    linked = run("readelf", "-d", f"{folder}/tree/usr/bin/clew").stdout.count("(NEEDED)")
    ok(
        depends.count(",") + 1 >= linked - 1, "each library is in a package that it depends on",
        f"{linked} libraries, {depends}")
print(f"1..{count}")
