#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The tables of `clew sql` have what `waits`, `edges`, `requests` and `spans` say, and the database
of `clew export --to sqlite` has the same; docs/sql.md is true. Prints TAP.
"""
import csv
import glob
import io
import json
import os
import re
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _export import HOSTILE, SHOWN, altered, ask, clew, hostile, made, made_busy, place  # noqa: E402  pylint: disable=wrong-import-position
from _trace import HERE, Tap  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()
DOCS = os.path.join(HERE, "..", "..", "docs", "sql.md")


def ok(good, name, why=""):
    tap.report(name, "" if good else str(why) or "no")


def sql(capture, question, *arguments):
    done = clew("sql", capture, question, "--json", *arguments, stdout=subprocess.PIPE)
    assert not done.returncode and not done.stderr, done
    return json.loads(done.stdout)["rows"]


def known(task):
    return (task["tid"], task["comm"]) if task and task["tid"] else (None, None)


def name_of(value):
    return (value["kind"], value["name"]) if value else (None, None)


def check_waits(capture):
    """Rows of the table against `clew waits --idle --self`."""
    idle = {(w["tid"], w["start"], w["kind"]) for w in ask(capture, "waits", "--self")["waits"]}
    expected = [(w["tid"], w["pid"], w["comm"], w["process"], w["start"], w["end"], w["kind"],
                 w["call"], *name_of(w["object"]), w["runqueue_ns"], *known(w["ended_by"]),
                 w["ended_by"] and w["ended_by"]["context"], w["open"], int(w["blind"]),
                 int((w["tid"], w["start"], w["kind"]) not in idle))
                for w in ask(capture, "waits", "--idle", "--self")["waits"]]
    rows = [
        tuple(row.values()) for row in sql(
            capture, 'SELECT tid, pid, comm, process, start, "end", kind, call, object_kind, '
            "object, runqueue_ns, ended_by_tid, ended_by, context, open, blind, idle FROM waits")
    ]
    return sorted(map(repr, rows)), sorted(map(repr, expected))


def check_holders(capture):
    expected = []
    for wait in ask(capture, "waits", "--idle", "--self")["waits"]:
        for holder in wait["holders"] + wait.get("coming", []):
            expected.append((wait["tid"], wait["start"], holder["tid"], holder["comm"],
                             holder["from"], holder["to"], holder["evidence"]))
    rows = [
        tuple(row.values())
        for row in sql(capture, 'SELECT w.tid AS a, w.start AS b, h.tid, h.comm, h.start, h."end", '
                       "h.evidence FROM holders h JOIN waits w ON w.id = h.wait")
    ]
    return sorted(map(repr, rows)), sorted(map(repr, expected))


def check_edges(capture):
    """Each destination of `clew edges` is a row; calls are none."""
    expected = []
    for edge in ask(capture, "edges", "--idle", "--self")["edges"]:
        if edge["type"] == "call":
            continue
        for end in edge["to"]:
            expected.append((edge["type"], edge["evidence"], end["tid"], end["comm"], end["at"]))
    choices = {row["choice"] for row in sql(capture, "SELECT DISTINCT choice FROM edges")}
    rows = [
        tuple(row.values()) for row in sql(
            capture, "SELECT type, evidence, to_tid, to_comm, to_at FROM edges" +
            (" WHERE choice IS NULL" if choices - {None} else ""))
    ]
    if choices - {None}:
        expected = [row for row in expected if row[1] != "candidate"]
    return sorted(map(repr, rows)), sorted(map(repr, expected))


def check_requests(capture):
    expected = [(r["index"], r["op"], r["sector"], r["bytes"], r["queued"], r["issued"],
                 r["completed"], *known(r["submitter"]), r["reason"], *known(r["reason_by"]),
                 r["path"], len(r["woke"])) for r in ask(capture, "requests", "--idle", "--self")["requests"]]
    rows = [
        tuple(row.values())
        for row in sql(capture, "SELECT id, op, sector, bytes, queued, issued, completed, tid, comm, "
                       "reason, reason_tid, reason_by, path, woke FROM requests")
    ]
    return sorted(map(repr, rows)), sorted(map(repr, expected))


def check_files(capture):
    expected = []
    for request in ask(capture, "requests", "--idle", "--self")["requests"]:
        for page in request["pages"]:
            for writer in page["writers"] or [None]:
                expected.append((request["index"], page["offset"], page["bytes"], *known(writer)))
    rows = [
        tuple(row.values()) for row in sql(
            capture, 'SELECT request, "offset", bytes, writer_tid, writer FROM request_files')
    ]
    return sorted(map(repr, rows)), sorted(map(repr, expected))


def check_spans(capture):
    if clew("spans", capture, "--json", stdout=subprocess.PIPE).returncode:
        return sql(capture, "SELECT * FROM spans"), []  # no function was traced
    expected = [(s["name"], s["start_tid"], s["start"], s["end"], s["closed"])
                for s in ask(capture, "spans", "--list")["list"]]
    rows = [
        tuple(row.values())
        for row in sql(capture, 'SELECT name, tid, start, "end", closed FROM spans')
    ]
    return sorted(map(repr, rows)), sorted(map(repr, expected))


CHECKS = {
    "waits": check_waits,
    "holders": check_holders,
    "edges": check_edges,
    "requests": check_requests,
    "request_files": check_files,
    "spans": check_spans,
}


def test_capture(title, capture):
    count = 0
    for table, check in CHECKS.items():
        rows, expected = check(capture)
        count += len(rows)
        different = sorted(set(rows) ^ set(expected))
        ok(rows == expected, f"{title}: {len(rows)} rows of {table}",
           f"{len(rows)} rows, not {len(expected)}: {different[:2]}")
    return count


def database_of(capture, name, *arguments):
    path = place(name)
    done = clew("export", capture, "--to", "sqlite", "-o", path, *arguments)
    assert not done.returncode and not done.stderr, done
    database = sqlite3.connect(path)
    database.text_factory = bytes
    return database


def test_database(title, capture):
    database = database_of(capture, "copy.db")
    whole = database.execute("PRAGMA integrity_check").fetchone()
    names = [row["name"] for row in sql(capture, "SELECT name FROM clew_tables")]
    wrong = []
    for name in names:
        copied = [
            tuple(v.decode(errors="replace") if isinstance(v, bytes) else v for v in row)
            for row in database.execute(f"SELECT * FROM {name}")
        ]
        rows = [tuple(row.values()) for row in sql(capture, f"SELECT * FROM {name}")]
        if copied != rows:
            wrong.append(f"{name}: {copied[:1]} {rows[:1]}")
    ok(whole == (b"ok", ) and not wrong, f"{title}: the database has the same {len(names)} tables",
       wrong[:2])


def test_csv(title, capture):
    """A folder of CSV has the rows of each table, as text."""
    folder = place("folder")
    subprocess.run(["rm", "-rf", folder], check=True)
    done = clew("export", capture, "--to", "csv", "-o", folder, stdout=subprocess.PIPE)
    wrong = [done] if done.returncode or done.stderr else []
    names = [row["name"] for row in sql(capture, "SELECT name FROM clew_tables")]
    if sorted(os.listdir(folder)) != sorted(name + ".csv" for name in names):
        wrong.append(os.listdir(folder))
    for name in names:
        with open(os.path.join(folder, name + ".csv"), encoding="utf-8", newline="") as file:
            table = list(csv.reader(file))
        rows = sql(capture, f"SELECT * FROM {name}")
        expected = [["" if v is None else str(v) for v in row.values()] for row in rows]
        if table[1:] != expected or (rows and table[0] != list(rows[0])):
            wrong.append(f"{name}: {table[1:2]} {expected[:1]}")
    ok(not wrong, f"{title}: a folder of CSV has the same {len(names)} tables", wrong[:2])
    fails(f"{title}: a folder that has files", ["export", capture, "--to", "csv", "-o", folder], 3,
          folder)
    ok(not glob.glob(folder + ".*"), f"{title}: nothing is left beside it")


def test_csv_names():
    """CSV of names that are no UTF-8, or that a spreadsheet takes for formulas."""
    capture = altered("disk", "formula", ('comm="db"', 'comm="=1+\\xff"'))
    question = "SELECT DISTINCT comm, -1 FROM waits WHERE comm GLOB '=*'"
    for option, cell in (("--csv", "=1+\ufffd"), ("--spreadsheet", "'=1+\ufffd")):
        done = clew("sql", capture, question, option, stdout=subprocess.PIPE)
        rows = list(csv.reader(io.StringIO(done.stdout.decode("utf-8"), newline="")))
        ok(rows[1:] == [[cell, "-1"]], f"clew sql {option}: a name", rows)
        folder = place("formula" + option)
        arguments = [] if option == "--csv" else [option]
        clew("export", capture, "--to", "csv", "-o", folder, *arguments)
        with open(os.path.join(folder, "tasks.csv"), encoding="utf-8", newline="") as file:
            names = {row["comm"] for row in csv.DictReader(file)}
        ok(cell in names, f"clew export {option}: the same name", names)
    fails("--spreadsheet of another format",
          ["export", capture, "--to", "chrome", "--spreadsheet"], 2, "--spreadsheet")


def test_size():
    """A large export says so before it is written, and goes on; another one says nothing."""
    small, large = made_busy(5), made_busy(6000)
    for capture, arguments, told in ((large, [], True), (large, ["--to", "1ms"], False),
                                     (small, [], False)):
        path = place("sized")
        done = clew("export", capture, "--to", "chrome", "-o", path, *arguments)
        text = done.stderr.decode()
        ok(not done.returncode and bool(text) == told == text.startswith("clew: chrome: about "),
           f"{len(arguments)} options: the size is {'' if told else 'not '}said", text)
        if told:
            size = float(re.search(r"about ([\d.]+) MiB, \d+ times the capture: ", text)[1])
            real = os.path.getsize(path) / 2**20
            ok(text.count("\n") == 1 and real / 2 < size < real * 2, "it is about right",
               f"{size} and {real}")


def test_one_item(capture):
    """A number of the first column finds its rows alone."""
    wrong = []
    for name, column in sql_columns(capture):
        every = sql(capture, f"SELECT * FROM {name}")
        for number in {row[column] for row in every} | {-1, 10**6}:
            found = sql(capture, f'SELECT * FROM {name} WHERE "{column}" = {number}')
            if found != [row for row in every if row[column] == number]:
                wrong.append(f"{name} {number}: {found[:2]}")
        if sql(capture, f"SELECT * FROM {name} WHERE \"{column}\" = 'x'"):
            wrong.append(f"{name}: 'x' is found")
    ok(not wrong, "rows of one number are those of the whole table", wrong[:2])


def sql_columns(capture):
    found = {}
    for row in sql(capture, "SELECT * FROM clew_columns"):
        found.setdefault(row["table_name"], row["name"])
    return found.items()


def test_filters(capture):
    info = ask(capture, "info")
    middle = (info["start"] + info["end"]) // 2
    rows = database_of(capture, "late.db", "--from", str(middle)).execute(
        'SELECT start, "end" FROM waits').fetchall()
    ok(rows and all(end is None or end >= middle for _, end in rows), "--from limits the database")
    tids = [row["tid"] for row in sql(capture, "SELECT DISTINCT tid FROM waits")]
    rows = database_of(capture, "one.db", "--tid", str(tids[0])).execute(
        "SELECT DISTINCT tid FROM waits").fetchall()
    ok(rows == [(tids[0], )], "--tid limits the database", rows)


def test_hostile():
    capture = hostile()
    rows = sql(capture, "SELECT DISTINCT comm FROM waits")
    ok(SHOWN in [row["comm"] for row in rows], "a hostile name in JSON", rows)
    out = clew("sql", capture, "SELECT DISTINCT comm, process FROM waits", "--csv",
               stdout=subprocess.PIPE).stdout
    cells = [cell for row in csv.reader(io.StringIO(out.decode(errors="replace"), newline=""))
             for cell in row]
    ok(SHOWN in cells, "a hostile name in CSV", cells)
    names = [row[0] for row in database_of(capture, "hostile.db").execute(
        "SELECT DISTINCT comm FROM waits")]
    ok(HOSTILE.encode("latin-1") in names, "a hostile name in the database, byte by byte", names)
    text = clew("sql", capture, "SELECT DISTINCT comm FROM waits", stdout=subprocess.PIPE).stdout
    ok(b"\x01" not in text and b"\\x01" in text, "a hostile name in text", text)


def fails(name, arguments, status, *words, **options):
    done = clew(*arguments, stdout=subprocess.PIPE, **options)
    error = done.stderr.decode()
    ok(done.returncode == status and error.count("\n") == 1 and error.startswith("clew: ") and
       all(word in error for word in words), name, repr(done))


def test_refused(capture):
    for question in ("INSERT INTO waits VALUES (1)", "ATTACH '/tmp/x' AS x", "CREATE TABLE a (b)",
                     "PRAGMA user_version = 3", "VACUUM INTO '/tmp/x'", "DROP TABLE waits",
                     "CREATE TEMP VIEW a AS SELECT 1"):
        fails(f"refused: {question}", ["sql", capture, question], 2, "SELECT")
    fails("an unknown table", ["sql", capture, "SELECT * FROM tea"], 2, "tea")
    fails("an unknown column", ["sql", capture, "SELECT tea FROM waits"], 2, "tea")
    fails("no end", ["sql", capture, "SELECT"], 2, "incomplete")
    fails("an empty question", ["sql", capture, " ; "], 2, "empty")
    fails("a percentile out of range", ["sql", capture, "SELECT percentile(ns, 101) FROM waits"], 2,
          "0 to 100")
    fails("two statements as JSON", ["sql", capture, "SELECT 1; SELECT 2", "--json"], 2, "one")
    fails("CSV and JSON", ["sql", capture, "SELECT 1", "--csv", "--json"], 2, "one of them")
    fails("a question in no file", ["sql", capture, "@/no/such/file"], 2, "/no/such/file")
    fails("no such capture", ["sql", "/no/such/capture", "SELECT 1"], 2, "/no/such/capture")
    fails("a database in a pipe", ["export", capture, "--to", "sqlite", "-o", "-"], 2, "-o")
    fails("CSV without a folder", ["export", capture, "--to", "csv"], 2, "-o")
    fails("CSV in no folder", ["export", capture, "--to", "csv", "-o", "/no/such/x"], 3,
          "/no/such/x")
    fails("a database in no folder", ["export", capture, "--to", "sqlite", "-o", "/no/such/x"], 3,
          "/no/such/x")


def test_forms(capture):
    out = clew("sql", capture, stdout=subprocess.PIPE).stdout.decode()
    ok("waits" in out and "holder_tid" in out, "without a question: tables and columns", out[:200])
    path = place("question.sql")
    with open(path, "w", encoding="utf-8") as file:
        file.write("-- a comment\nSELECT 41 + 1 AS answer; SELECT 'b';\n")
    out = clew("sql", capture, "@" + path, stdout=subprocess.PIPE).stdout.decode()
    ok(out.split() == ["answer", "42", "'b'", "b"], "a file of two questions", out)
    numbers = sql(capture, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT "
                  "1000) SELECT percentile(x, 0) a, percentile(x, 50) b, percentile(x, 99) c, "
                  "percentile(x, 99.95) d, percentile(x, 100) e, duration(1234567) f FROM c")[0]
    ok(list(numbers.values()) == [1, 500, 990, 1000, 1000, "1.23 ms"], "percentile and duration",
       numbers)


def test_docs(captures):
    with open(DOCS, encoding="utf-8") as file:
        text = file.read()
    questions = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    wrong, filled = [], set()
    for capture in captures:
        for number, question in enumerate(questions):
            done = clew("sql", capture, question, "--json", stdout=subprocess.PIPE)
            if done.returncode or done.stderr:
                wrong.append(done)
            elif json.loads(done.stdout)["rows"]:
                filled.add(number)
    ok(len(questions) == 10 and not wrong, "the ten questions of docs/sql.md are answered",
       wrong[:1])
    ok(filled == set(range(10)), "each has rows for some capture", filled)
    told = re.findall(r"^\| (\w+) \| (integer|text) \| (.*) \|$", text, re.MULTILINE)
    have = [(row["name"], row["type"], row["meaning"])
            for row in sql(captures[0], "SELECT * FROM clew_columns")]
    ok(told == have, "docs/sql.md has all columns",
       [it for it in have if it not in told] + [it for it in told if it not in have])


if __name__ == "__main__":
    rows = 0
    titles = [
        os.path.basename(path)[:-len(".records")]
        for path in sorted(glob.glob(os.path.join(HERE, "*.records")))
    ]
    titles.remove("empty")
    for it in titles:
        rows += test_capture(it, made(it))
    ok(rows > 200, f"{rows} rows were compared in all")
    for it in ("disk", "locks", "functions", "stacks", "doubt"):
        test_database(it, made(it))
    for it in ("disk", "locks"):
        test_csv(it, made(it))
    test_csv_names()
    test_size()
    test_one_item(made("locks"))
    test_filters(made("locks"))
    test_hostile()
    test_refused(made("disk"))
    test_forms(made("disk"))
    test_docs([made(it) for it in titles])
    sys.exit(tap.end())
