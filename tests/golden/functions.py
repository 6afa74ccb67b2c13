#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
clew functions: of a library written for this its whole answer, of this system's C
library every entry against what objdump shows; prints TAP.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
CLEW = os.environ.get("CLEW", os.path.join(ROOT, "clew"))
LIBRARY = os.path.join(ROOT, "build/tests/objects/functions.so")
CARRIER = os.path.join(ROOT, "build/tests/objects/carried.so")
PREFIXES = {"bnd", "notrack", "rep", "repz", "repnz", "lock", "data16", "cs", "ds", "es", "ss"}
# What reads its last operand, too, but does not write it.
ONLY_READS = ("cmp", "test", "bt", "ucomis", "comis", "prefetch", "ptest", "vptest")
results = 0
failed = 0


def report(name, problem=""):
    global results, failed
    results += 1
    failed += bool(problem)
    print(f"{'not ok' if problem else 'ok'} {results} - {name}" +
          (f": {problem}" if problem else ""),
          flush=True)


def ask(*arguments):
    done = subprocess.run([CLEW, "functions", *arguments, "--json"],
                          capture_output=True,
                          text=True,
                          timeout=60,
                          check=False)
    if done.returncode or done.stderr:
        raise SystemExit(f"clew functions {arguments}: {done.stderr}")
    return json.loads(done.stdout)


def listing(path):
    """The functions of a file as text."""
    return subprocess.run([CLEW, "functions", path],
                          capture_output=True,
                          text=True,
                          timeout=60,
                          check=True).stdout


class Disassembly:
    """objdump's: instructions by address, and what direct jumps lead to."""

    def __init__(self, path):
        self.instructions, self.targets = {}, set()
        text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path],
                              capture_output=True,
                              text=True,
                              timeout=120,
                              check=True).stdout
        addresses = []
        for line in text.splitlines():
            found = re.match(r"^ *([0-9a-f]+):\t(.*?)(?:#.*)?$", line)
            if not found:
                continue
            words = found[2].split(None)
            while len(words) > 1 and words[0] in PREFIXES:
                words = words[1:]
            if not words:
                continue
            address = int(found[1], 16)
            mnemonic, operands = words[0], " ".join(words[1:])
            addresses.append(address)
            self.instructions[address] = (mnemonic, operands, found[2])
            jump = re.match(r"([0-9a-f]+) <", operands)
            if jump and (mnemonic.startswith("j") or mnemonic == "call"):
                self.targets.add(int(jump[1], 16))
        self.next = dict(zip(addresses, addresses[1:]))


def is_emulated(mnemonic, operands, text):
    """Of an instruction that the kernel does not single-step."""
    if mnemonic == "push":
        return bool(re.fullmatch(r"%r\w+", operands))
    if mnemonic.startswith("nop"):
        return not re.match(r"(cs|data16 cs|ds|es|ss) ", text)
    if mnemonic == "call" or (mnemonic.startswith("j") and mnemonic != "jrcxz"):
        return not operands.startswith("*") and not text.startswith(("bnd", "notrack"))
    return False


def memory_use(mnemonic, operands):
    """Whether an instruction reads memory, and whether it writes it."""
    parts = [part.strip() for part in re.split(r",(?![^(]*\))", operands)]
    memory = ["(" in part or re.match(r"0x[0-9a-f]+$", part) is not None for part in parts]
    if mnemonic.startswith(("lea", "nop")) or not any(memory):
        return False, False
    if all(part.startswith("%fs:") for part, is_memory in zip(parts, memory) if is_memory):
        memory_reads = False
    else:
        memory_reads = True
    last = memory[-1] and not mnemonic.startswith(ONLY_READS)
    return memory_reads, last


def slide_problem(function, code):
    """What is wrong with the entry of a function that objdump has."""
    start, at = function["address"], function["entry"]["at"]
    slid = function["entry"]["slid_bytes"]
    loads = False
    address = start
    if at != start + slid or at not in code.instructions:
        return "is at no instruction"
    while address < at:
        mnemonic, operands, text = code.instructions[address]
        if is_emulated(mnemonic, operands, text) and function["entry"]["class"] == "emulated":
            return f"passes {text}"
        if mnemonic.startswith(
            ("j", "call", "ret", "syscall", "int", "hlt", "push", "pop", "leave")):
            return f"passes {text}"
        reads, writes = memory_use(mnemonic, operands)
        if writes:
            return f"passes the store {text}"
        loads = loads or reads
        address = code.next[address]
        if address in code.targets:
            return f"passes a place that something jumps to, {address:x}"
    if address != at:
        return "is within an instruction"
    if loads != function["entry"]["past_load"]:
        return f"past_load is {function['entry']['past_load']}"
    emulated = is_emulated(*code.instructions[at])
    if emulated != (function["entry"]["class"] == "emulated") and \
            function["entry"]["class"] != "nop5":
        return f"is {function['entry']['class']}: {code.instructions[at][2]}"
    return ""


def test_library():
    answer = ask(LIBRARY)
    report(
        "the library: its file", "" if answer["object"]["build_id"] == "0123456789abcdef"
        and answer["object"]["path"] == os.path.realpath(LIBRARY)
        and not answer["object"]["stripped"] and answer["object"]["returns"] == "closed" else repr(
            answer["object"]))
    by_name = {function["name"]: function for function in answer["functions"]}
    past = by_name["past_load"]
    report(
        "the library: a function's entry", "" if past["entry"] == {
            "at": past["address"] + 12, "class": "emulated", "slid_bytes": 12, "past_load": True,
            "below": 0, "arguments": [0, 1, 3, 4, 5]
        } and past["exits"] == {"ret": 2, "jump": 0, "conditional": 0, "indirect": 0, "stepped": 2}
        and past["returns"] == "trampoline"
        and past["cost_ns"] == answer["calibration"]["emulated_ns"] +
        answer["calibration"]["return_ns"] else repr(past))
    refused = {
        name: function["refused"]
        for name, function in by_name.items() if function["refused"]
    }
    report(
        "the library: what cannot be probed", "" if refused == {
            "begins_vex": "vex", "begins_syscall": "syscall", "begins_lock": "prefix",
            "begins_int3": "int3", "cut_off": "undecodable", "unranged": "no-range", "resolved":
            "ifunc"
        } and all(
            by_name[name]["entry"] is by_name[name]["cost_ns"] is by_name[name]["returns"] is None
            for name in refused) else repr(refused))
    one = ask(LIBRARY, "thunk")
    report("the library: entry and exit at one instruction are one probe",
           "" if len(one["functions"]) == 1 and one["cost"]["probes"] == 1 else repr(one))
    exits = ask(LIBRARY, "past_load", "--returns", "exits")
    report(
        "the library: exits as asked",
        "" if exits["cost"]["probes"] == 3 and exits["cost"]["process_kb"] == 4
        and exits["functions"][0]["cost_ns"] == exits["calibration"]["emulated_ns"] +
        exits["calibration"]["stepped_ns"] and exits["object"]["returns"] == "exits" else
        repr(exits))


def test_arguments():
    path = os.path.join(ROOT, "build/tests/objects/arguments-O2.so")
    by_name = {function["name"]: function for function in ask(path)["functions"]}
    report(
        "arguments: registers and types",
        "" if by_name["floats"]["parameters"] == [{
            "name": "a", "type": None, "argument": None, "refused": "floating point"
        }, {"name": "b", "type": "i32", "argument": 0, "refused": None}, {
            "name": "c", "type": None, "argument": None, "refused": "floating point"
        }, {"name": "d", "type": "u32", "argument": 1, "refused": None}, ]
        and by_name["floats"]["result"] == {"type": "i32", "refused": None}
        and by_name["nothing"]["result"] is None else repr(by_name["floats"]))
    report(
        "arguments: inlined copies", "" if by_name["both"]["inlined"] == 3
        and not by_name["simple"]["inlined"] else repr(by_name["both"]))
    text = listing(path)
    missing = [
        words
        for words in ("simple(path:str, count:i32) -> i32", "both(a:i32) -> i32, inlined 3 times",
                      "these calls are not seen", "f:i64, g:?)") if words not in text
    ]
    report("arguments: as text", repr(missing) if missing else "")


def test_carried():
    """Probes that a library carries, whose notes tests/unit/objects/carried.s has."""
    symbols = {}
    for line in subprocess.run(["nm", CARRIER], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        words = line.split()
        symbols[words[-1]] = words[0]
    address = {name: int(symbols[name], 16) for name in ("first", "second", "called")}
    # arguments: type of each, and at each instruction as its note has them
    expected = {
        "store:begin": (("u64", "i32", "u64"), True,
                        (("first", "8@%rdi -4@$3 8@8+known(%rip)", None),
                         ("second", "4@%edi -4@16(%rsp) 8@nowhere(%rip)", None))),
        "store:end": ((None, "i16"), False, (("second", "8f@%xmm0 -2@known(%rip)", None),)),
        "store:call": ((), False, (("called", "", "syscall"),)),
    }
    answer = ask(CARRIER)
    got = {
        probe["name"]: (tuple(argument["type"] for argument in probe["arguments"]),
                        probe["semaphore"] is not None,
                        tuple((place["address"], " ".join(place["arguments"]), place["refused"])
                              for place in probe["instructions"]))
        for probe in answer["probes"]
    }
    wanted = {
        name: (types, counted, tuple((address[place], text, refused)
                                     for place, text, refused in places))
        for name, (types, counted, places) in expected.items()
    }
    report("probes that a library carries",
           "" if got == wanted and len(answer["probes"]) == 3 else f"{got} instead of {wanted}")
    some = ask(CARRIER, "store:e*")
    report("a pattern selects functions and probes",
           "" if [probe["name"] for probe in some["probes"]] == ["store:end"]
           and not some["functions"] else repr(some))
    text = listing(CARRIER)
    missing = [
        words for words in ("yes  store:begin(arg0:u64, arg1:i32, arg2:u64), at 2 instructions\n",
                            "no  store:end(arg0:?, arg1:i16)\n",
                            "no  store:call(), 1 left alone for the program's sake (syscall)\n",
                            "carrier\n") if words not in text
    ]
    report("probes that a library carries, as text", f"{missing}: {text}" if missing else "")


def test_only_probes():
    text = subprocess.run([CLEW, "functions", CARRIER, "store:*"], capture_output=True, text=True,
                          timeout=60, check=True).stdout
    first = text.split("\n", maxsplit=1)[0]
    report("a pattern of probes alone begins with how many there are",
           "" if re.fullmatch(r".*: [1-9]\d* probes that it carries", first) else first)


def test_system():
    answer = ask("libc.so.6")
    code = Disassembly(answer["object"]["path"])
    strict = ask("libc.so.6", "--strict-entry")
    for kind, functions in (("", answer["functions"]), (", strict", strict["functions"])):
        seen = [function for function in functions if not function["refused"]]
        # objdump does not look at what it takes for data.
        seen = [function for function in seen if function["address"] in code.instructions]
        problems = [(function["name"], problem) for function in seen
                    for problem in [slide_problem(function, code)] if problem]
        slid = sum(function["entry"]["slid_bytes"] > 0 for function in seen)
        report(f"libc: {len(seen)} entries, {slid} of them slid, are as objdump shows{kind}",
               f"{len(problems)}: {problems[:5]}" if problems else "")
        if slid < 100:
            report(f"libc: entries slide{kind}", f"{slid} of {len(seen)}")
    passed = [
        function["name"] for function in strict["functions"]
        if function["entry"] and function["entry"]["past_load"]
    ]
    report("libc: no strict entry is past a load", ", ".join(passed[:5]))
    locks = ask("libc.so.6", "pthread_mutex_*lock")["functions"]
    wrong = [function["name"] for function in locks if function["entry"]["class"] != "emulated"]
    report(f"libc: {len(locks)} functions of mutexes are emulated",
           ", ".join(wrong) if wrong or not locks else "")


def built(directory, name, number):
    """A library with a function that only its debug file names; both, by their paths."""
    source, whole = (os.path.join(directory, name + end) for end in (".c", ".whole"))
    library, debug = (os.path.join(directory, name + end) for end in (".so", ".debug"))
    with open(source, "w", encoding="ascii") as file:
        file.write("static __attribute__((noinline, noipa)) int hidden_one(int a)"
                   "{ return a * 3 + 1; }\n"
                   f"int seen_one(int a) {{ return hidden_one(a) + {number}; }}\n")
    for command in (["cc", "-O1", "-g", "-shared", "-fPIC", "-Wl,--build-id", "-o", whole, source],
                    ["objcopy", "--only-keep-debug", whole, debug],
                    ["objcopy", "--strip-all", "--add-gnu-debuglink=" + debug, whole, library]):
        subprocess.run(command, check=True, timeout=60)
    return library, debug


def test_debug_file():
    """Names that only the debug file has, which is one of the same build-id."""
    with tempfile.TemporaryDirectory(prefix="clew-names-") as directory:
        library, debug = built(directory, "one", 1)
        found = ask(library)
        names = {f["name"]: f for f in found["functions"]}
        report("a stripped library has the names of its debug file",
               "" if found["object"]["stripped"] and found["object"]["debug_names"] and "hidden_one" in names and
               names["hidden_one"]["refused"] is None else f"{list(names)}")
        report("it is said that they are",
               "" if "have the names of its debug file" in " ".join(listing(library).split())
               else listing(library))
        _, other = built(directory, "other", 2)
        os.replace(other, debug)
        found = ask(library)
        names = [f["name"] for f in found["functions"]]
        report("a debug file of another build-id has none of its names",
               "" if not found["object"]["debug_names"] and "hidden_one" not in names and
               "seen_one" in names else f"{names}")


def main():
    test_library()
    test_arguments()
    test_carried()
    test_only_probes()
    if subprocess.run(["which", "objdump"], capture_output=True, check=False).returncode:
        print(f"ok {results + 1} - objdump # SKIP it is not installed")
        print(f"1..{results + 1}")
        return failed
    test_debug_file()
    test_system()
    print(f"1..{results}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
