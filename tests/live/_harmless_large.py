# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs of other languages, and large ones, for harmless.py. `tools/deps --all` installs them."""

import bisect
import os
import re
import shutil
import subprocess

import _postgres
from _live import PATIENCE, answer, ok, scratch, skip

FUNCTIONS_MOST = 2000  # of Java's and Node's own
GLOBS_MOST = 40
OPENSSL_PATIENCE = 900  # s
BREAKPOINT = "marker"


def _missing(name, *programs):
    for program in programs:
        if not shutil.which(program):
            skip(name, f"no {program}: tools/deps --all installs it")
            return True
    return False


def _compile(*command):
    return subprocess.run(command, check=True, timeout=PATIENCE)


def _some_functions(path):
    """Globs for the first functions of a file that are not too many together."""
    names = [function["name"] for function in answer("functions", path)["functions"]]
    ordered = sorted(names)
    globs, count = [], 0
    # Node has 77,000.
    for prefix in dict.fromkeys(name[:14] for name in names):
        more = bisect.bisect(ordered, prefix + "\U0010ffff") - bisect.bisect_left(ordered, prefix)
        if count + more <= FUNCTIONS_MOST and len(globs) < GLOBS_MOST:
            globs.append(prefix + "*")
            count += more
    return [f"{path}:{glob}" for glob in globs]


def _of_boost(sources):
    program = scratch("harmless-boost")
    _compile("g++", "-O2", os.path.join(sources, "context.cc"), "-Wl,-Bstatic", "-lboost_context",
             "-Wl,-Bdynamic", "-pthread", "-o", program)
    return program


def _debugged(plainly, sources):
    """A program under gdb, which stops it in a function that nobody probes."""
    source, program = scratch("marker.c"), scratch("harmless-gdb")
    with open(os.path.join(sources, "twice.c"), encoding="utf-8") as file:
        text = file.read().replace("return 3;", f"{BREAKPOINT}();\n\treturn 3;")
    with open(source, "w", encoding="utf-8") as file:
        file.write(f"void {BREAKPOINT}(void);\n{text}\n"
                   f"__attribute__((noinline)) void {BREAKPOINT}(void) {{ __asm__(\"\"); }}\n")
    _compile("gcc", "-g", "-O0", source, "-o", program)

    def debug():
        status, out, _ = plainly("gdb", "-nx", "-batch", "-ex", f"break {BREAKPOINT}", "-ex", "run",
                                 "-ex", "backtrace", "-ex", "continue", program)
        return status, re.sub(r"process \d+", "process", out), ""

    return debug


def _languages(plainly, sources):
    programs = []
    if not _missing("rust", "rustc"):
        rust = scratch("harmless-rust")
        _compile("rustc", "-O", os.path.join(sources, "program.rs"), "-o", rust)
        programs.append(("rust", lambda: plainly(rust), rust))
    if not _missing("go", "go"):
        go = scratch("harmless-go")
        environment = dict(os.environ, GOFLAGS="-mod=mod", GOCACHE=scratch("go-cache"),
                           GO111MODULE="off")
        subprocess.run(["go", "build", "-o", go, os.path.join(sources, "program.go")], check=True,
                       timeout=PATIENCE, env=environment)
        programs.append(("go", lambda: plainly(go), go))
    if not _missing("perl", "perl"):
        perl = os.path.realpath(shutil.which("perl"))
        script = os.path.join(sources, "program.pl")
        programs.append(("perl", lambda: plainly(perl, script), perl))
    if os.path.exists("/usr/include/boost/context/fiber.hpp"):
        boost = _of_boost(sources)
        programs.append(("boost", lambda: plainly(boost), boost))
    else:
        skip("boost", "no boost.context: tools/deps --all installs it")
    if not _missing("gdb", "gdb"):
        programs.append(("under gdb", _debugged(plainly, sources), None))
    return programs


def _java(compare, plainly, sources):
    if _missing("java", "javac", "java"):
        return
    place = scratch("java")
    _compile("javac", "-d", place, os.path.join(sources, "Program.java"))
    home = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("java"))))
    library = os.path.join(home, "lib", "server", "libjvm.so")
    compare([("java", lambda: plainly("java", "-cp", place, "Program"), None)],
            ["libc.so.6:*", *_some_functions(library)], "java: ")


def _node(compare, plainly, sources):
    if _missing("node", "node"):
        return
    script, node = os.path.join(sources, "program.js"), os.path.realpath(shutil.which("node"))
    compare([("node", lambda: plainly(node, script), None)],
            ["libc.so.6:*", *_some_functions(node)], "node: ")


def _openssl(compare, plainly):
    """Digests, ciphers, numbers, and the program's own measure of itself."""
    if _missing("openssl", "openssl"):
        return
    script = r"""
        text=$1; seq 1 3000 >$text
        for digest in $(openssl list -digest-commands); do
            echo $digest; openssl dgst -$digest -hex <$text 2>&1; done
        key=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
        for cipher in $(openssl list -cipher-commands | tr -s ' ' '\n' | grep -v '^base64$'); do
            echo $cipher; openssl enc -$cipher -K $key -iv ${key} <$text 2>&1 | sha256sum; done
        openssl prime -generate -bits 64 >/dev/null; openssl prime 2147483647 18446744073709551557
        openssl ecparam -name prime256v1 -genkey -noout -out $text.ec
        openssl dgst -sha256 -sign $text.ec -out $text.sig $text
        openssl ec -in $text.ec -pubout -out $text.pub 2>/dev/null
        openssl dgst -sha256 -verify $text.pub -signature $text.sig $text
        openssl genrsa -out $text.rsa 1024 2>/dev/null; openssl rsa -in $text.rsa -check -noout
        openssl pkeyutl -kdf TLS1-PRF -kdflen 48 -pkeyopt md:SHA256 -pkeyopt hexsecret:0303 \
            -pkeyopt hexseed:0404 | sha256sum
    """
    words = ["sh", "-c", script, "sh", scratch("openssl-text")]
    # It starts openssl 150 times, each time a second with all its functions recorded.
    compare([("openssl", lambda: plainly(*words, timeout=OPENSSL_PATIENCE), None)],
            ["libc.so.6:*", "libcrypto.so.3:*", "libssl.so.3:*"], "openssl: ")


def _database(compare, plainly, sources):
    programs = _postgres.programs()
    if not programs:
        skip("postgres", "no PostgreSQL: tools/deps installs it")
        return
    script = os.path.join(sources, "queries.sql")
    with open(script, encoding="utf-8") as file:
        queries = file.read()
    try:
        with _postgres.Cluster(1) as cluster:

            def ask():
                plainly(f"{programs}/dropdb", "-h", cluster.place, "--if-exists", "one",
                        **cluster.user)
                plainly(f"{programs}/createdb", "-h", cluster.place, "one", **cluster.user)
                return plainly(f"{programs}/psql", "-X", "-h", cluster.place, "one", input=queries,
                               **cluster.user)

            compare([("postgres", ask, None)], ["libc.so.6:*", f"{programs}/postgres:*"],
                    "postgres: ")
    except _postgres.Refused as error:
        ok(False, "postgres: there is a cluster", str(error))


def check(compare, plainly, sources):
    """`compare` and `plainly` of harmless.py; `sources`: where the programs are."""
    compare(_languages(plainly, sources), title="languages: ")
    _java(compare, plainly, sources)
    _node(compare, plainly, sources)
    _openssl(compare, plainly)
    _database(compare, plainly, sources)
