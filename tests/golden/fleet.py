#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What operations people get: the alerts of fleet/alerts.yml, by promtool with made series and against
their list in docs/fleet.md, and the dashboard of fleet/grafana.json, whose metrics the daemon has.
Prints TAP.
"""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from prometheus import program  # noqa: E402  pylint: disable=wrong-import-position

ALERTS = os.path.join(ROOT, "fleet", "alerts.yml")
SERIES = os.path.join(HERE, "alerts.test.yml")
BUILT_IN = {"up"}
count = 0


def ok(good, name, why=""):
    global count
    count += 1
    print(f"{'ok' if good else 'not ok'} {count} - {name}" + ("" if good else f": {why}"))


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def metrics_of(expression):
    """Names of metrics, as they are before braces or ranges; without the endings of a histogram."""
    names = set(re.findall(r"\b(clew_\w+|up)\s*[{\[]", expression + "["))
    return {re.sub(r"_(bucket|count|sum)$", "", name) for name in names}


def check_alerts():
    alerts = re.findall(r"alert: (\w+)", read("fleet", "alerts.yml"))
    told = re.findall(r"^\| `(Clew\w+)` \|", read("docs", "fleet.md"), re.M)
    tested = set(
        re.findall(r"alertname: (\w+)\n\s*exp_alerts:\n", read("tests", "golden",
                                                               "alerts.test.yml")))
    ok(alerts == told, "docs/fleet.md says what to do about each alert, in their order",
       (alerts, told))
    ok(set(alerts) == tested, "each alert has a series that it fires for", set(alerts) ^ tested)
    promtool, why = program("promtool")
    if not promtool:
        print(f"ok {count + 1} - promtool # SKIP {why}")
        return 1
    for name, words in (("check", ["check", "rules", ALERTS]), ("test", ["test", "rules", SERIES])):
        done = subprocess.run([promtool, *words],
                              capture_output=True,
                              text=True,
                              check=False,
                              timeout=120)
        ok(done.returncode == 0, f"promtool {name} rules", done.stdout + done.stderr)
    return 0


def check_metrics():
    has = set(re.findall(r"`(clew_\w+)(?:\{[^`]*)?`", read("docs", "daemon.md")))
    has = {re.sub(r"_total$", "", name) for name in has} | has | BUILT_IN
    dashboard = json.loads(read("fleet", "grafana.json"))
    wanted = {"fleet/alerts.yml": re.findall(r"expr: '(.*)'", read("fleet", "alerts.yml"))}
    wanted["fleet/grafana.json"] = [
        target["expr"] for panel in dashboard["panels"] for target in panel["targets"]
    ]
    for name, expressions in wanted.items():
        missing = set().union(*map(metrics_of, expressions)) - has
        ok(not missing and len(expressions) > 9, f"{name} asks for metrics of docs/daemon.md",
           missing or len(expressions))
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    sources = set(re.findall(r'"uid": "([^"]*)"', json.dumps(dashboard["panels"])))
    ok(sources == {"${datasource}"} and "datasource" in variables,
       "the dashboard's data source is a variable", sources)
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    inside = all(place["x"] + place["w"] <= 24 for place in places)
    apart = not any(a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and a["y"] < b["y"] +
                    b["h"] and b["y"] < a["y"] + a["h"] for i, a in enumerate(places)
                    for b in places[:i])
    ok(inside and apart, "its panels lie beside each other", places)


skipped = check_alerts()
count += skipped
check_metrics()
print(f"1..{count}")
