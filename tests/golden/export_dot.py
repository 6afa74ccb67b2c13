#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Graphs of causal paths, read by Graphviz: a node for each segment that `clew why` tells, and edges
with the dependencies of its hops. Prints TAP.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _export import SHOWN, ask, clew, export, hostile, made, made_busy  # noqa: E402  pylint: disable=wrong-import-position
from _trace import HERE, Tap  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()


def graphviz(data, form):
    done = subprocess.run(["dot", "-T" + form],
                          input=data,
                          capture_output=True,
                          timeout=60,
                          check=False)
    assert not done.returncode and not done.stderr, done.stderr
    return done.stdout


def operations_shown(data):
    """Of each operation its nodes (label, and whether it stands for several) and edges."""
    read = json.loads(graphviz(data, "json0"))
    objects = {o["_gvid"]: o for o in read.get("objects", [])}
    found = []
    for cluster in (o for o in read.get("objects", []) if o["name"].startswith("cluster")):
        nodes = sorted(cluster.get("nodes", []),
                       key=lambda node: int(objects[node]["name"].split("s")[1]))
        place = {number: place for place, number in enumerate(nodes)}
        edges = {}
        for edge in read.get("edges", []):
            if edge["tail"] in place:
                assert place[edge["head"]] == place[edge["tail"]] + 1, "nodes follow each other"
                edges[place[edge["tail"]]] = (edge.get("label", ""), edge.get("style", ""))
        found.append(([objects[node] for node in nodes], [edges[i] for i in sorted(edges)]))
    return found


def in_label(name):
    return re.sub("[\x00-\x1f\x7f-\x9f]", " ", name)


def node_told(segment):
    return in_label("%s-%s" % (segment["comm"], segment["tid"])), segment["kind"]


def node_shown(node):
    task, what = node["label"].split("\\n")[:2]
    return task, what.split(" ")[0].rstrip(":")


def edge_told(one, two):
    """The label of the edge from a segment to the next one, and its style."""
    if one["tid"] == two["tid"]:
        return "", ""
    waiting = one["chain"]
    if two["tid"] in waiting:
        led = [(hop["via"], hop["evidence"]) for hop in one["hops"]]
        led.append((one["via"]["type"], one["via"]["evidence"]) if one["via"] else (None, None))
        via, evidence = led[len(waiting) - waiting[::-1].index(two["tid"])]
        if via is None:
            return "other end", "dashed"
        sure = evidence == "exact"
        return via + ("" if sure else ", " + evidence), "" if sure else "dashed"
    waited = [hop for hop in two["hops"] if hop["tid"] == one["tid"]]
    if waited:
        return "waits: " + waited[-1]["kind"], "dotted"
    return "", "dotted"


def problem_of(told, shown):
    nodes, edges = shown
    if [node_told(s) for s in told] != [node_shown(node) for node in nodes]:
        return "nodes %r instead of %r" % ([node_shown(node) for node in nodes],
                                           [node_told(s) for s in told])
    for one, two, edge in zip(told, told[1:], edges):
        label, style = edge_told(one, two)
        if not edge[0].startswith(label) or bool(label) != bool(edge[0]) or edge[1] != style:
            return "edge %r instead of %r" % (edge, (label, style))
    return "" if len(edges) == max(len(nodes) - 1, 0) else "%d edges" % len(edges)


def test_dot(name, capture):
    choice = ["--call", "*", "--slowest", "5"]
    if clew("why", capture, "--json", *choice, stdout=subprocess.DEVNULL).returncode:
        choice = ["--slowest", "5"]
    told = ask(capture, "why", *choice)["operations"]
    if not told:
        done = clew("export", capture, "--to", "dot", stdout=subprocess.PIPE)
        tap.same("%s: no operation" % name,
                 (done.returncode, done.stderr.count(b"\n"), done.stdout), (1, 1, b""))
        return
    shown = operations_shown(export(capture, "dot", *choice))
    tap.same("%s: operations" % name, len(shown), len(told))
    for number, (one, two) in enumerate(zip(told, shown)):
        tap.report("%s: operation %d" % (name, number), problem_of(one["segments"], two))


def steps_of(label):
    found = re.search(r"(\d+) (?:other )?short step", label)
    return int(found[1]) if found else 1


def test_max(title, capture, most, *choice):
    """Short segments of one cause are drawn together; the time of all is still told."""
    told = ask(capture, "why", *choice, "--slowest", "1")["operations"][0]
    read = json.loads(
        graphviz(export(capture, "dot", *choice, *(["--max", str(most)] if most != 200 else [])),
                 "json0"))
    nodes = {o["_gvid"]: o for o in read["objects"] if not o["name"].startswith("cluster")}
    labels = [node["label"] for node in nodes.values()]
    tap.same("%s: nodes" % title, len(labels) <= most < len(told["segments"]), True)
    tap.same("%s: steps" % title, sum(map(steps_of, labels)), len(told["segments"]))
    causes = ["\n".join(label.split("\\n")[:2]) for label in labels if "short step" in label]
    tap.same("%s: a cause is there once" % title, len(set(causes)), len(causes))
    shares = sum(float(re.search(r", ([\d.]+) %", label)[1]) for label in labels)
    tap.same("%s: all of the time" % title, 100 - len(labels) / 20 <= shares <= 100.5, True)
    kept = {node_shown({"label": label}) for label in labels if "short step" not in label}
    tap.same("%s: the longest are kept" % title, kept <= set(map(node_told, told["segments"])),
             True)
    edges = [(edge["tail"], edge["head"], edge.get("label")) for edge in read["edges"]]
    tap.same("%s: an edge is there once" % title, len(set(edges)), len(edges))
    return labels


def test_hostile(capture):
    picture = graphviz(export(capture, "dot", "--call", "*", "--slowest", "50"), "svg")
    texts = "".join(xml.etree.ElementTree.fromstring(picture).itertext())
    name = in_label(SHOWN).rstrip()
    tap.same("a hostile name in a picture", name in texts, True)


if not shutil.which("dot"):
    tap.skip("Graphviz reads it", "graphviz is not installed")
    sys.exit(tap.end())
for records in sorted(glob.glob(os.path.join(HERE, "*.records"))):
    title = os.path.basename(records)[:-len(".records")]
    if title not in ("empty", "own"):
        test_dot(title, made(title))
test_max("--max", made("life"), 5, "--call", "*")
test_max("many steps", made_busy(3000), 200, "--pid", "200", "--call", "*")
test_hostile(hostile())
sys.exit(tap.end())
