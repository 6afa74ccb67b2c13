#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
docs/accuracy.md has a row for each kind of wait and type of dependency, and no number that
docs/accuracy.json does not have. Prints TAP.
"""
import importlib.machinery
import importlib.util
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _trace import HERE, Tap  # noqa: E402  pylint: disable=wrong-import-position

ROOT = os.path.join(HERE, "..", "..")
tap = Tap()


def text_of(*names):
    with open(os.path.join(ROOT, *names), encoding="utf-8") as file:
        return file.read()


def program():
    """tools/accuracy as a module."""
    loader = importlib.machinery.SourceFileLoader("accuracy_tool",
                                                  os.path.join(ROOT, "tools", "accuracy"))
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def ok(good, name, why=""):
    tap.report(name, "" if good else str(why) or "no")


def rows_below(page, title):
    part = page.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return [line.split("|")[1].strip() for line in part.splitlines() if line.startswith("| ")][2:]


tool, page = program(), text_of("docs", "accuracy.md")
data = json.loads(text_of("docs", "accuracy.json"))
ok(tool.page_of(data) == page, "tools/accuracy writes the page of docs/accuracy.json",
   "they differ: run tools/accuracy --write")
for file, title in (("wait_kinds.def", "Kinds of waits"), ("edge_types.def", "Dependencies")):
    words = re.findall(r"^CLEW_(?:WAIT_KIND|EDGE_TYPE)\([A-Z_]+, (\w+),",
                       text_of("include", "clew", file), re.M)
    rows = rows_below(page, title)
    ok(len(words) > 20 and list(dict.fromkeys(rows)) == words, f"each row of {file} has one there",
       set(words) ^ set(rows))
subjects = ({f"wait {it}" for it in tool.kinds()} | {f"dependency {it}" for it in tool.types()}
            | {f"program {it}" for it in tool.PROGRAMS}
            | {it for _, _, those in tool.OTHERS for it in those})
wrong = [row for row in data["rows"] if row["subject"] not in subjects]
ok(not wrong, "each subject has a table", wrong[:2])
wrong = [row for row in data["rows"] if not (
    row["checked"] > 0 and 0 <= row["wrong"] <= row["checked"] and
    0 <= row["unknown"] <= row["checked"] and row["witness"] and row["kernel"])]
ok(data["rows"] and not wrong, "each row says what was compared with what, and where", wrong[:2])
ok(re.fullmatch("[0-9a-f]{12}", data["commit"]) and re.fullmatch(r"\d{4}-\d\d-\d\d", data["date"]),
   "the page names its commit and its day", (data["commit"], data["date"]))
missing = [name for name in tool.TESTS
           if "measured(" not in text_of("tests", "live", name)]
ok(not missing, "each test of tools/accuracy counts", missing)
ok("(docs/accuracy.md)" in text_of("README.md"), "the README links the page")
sys.exit(tap.end())
