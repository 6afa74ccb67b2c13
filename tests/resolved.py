# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A JSON answer with what its tables have in place of their numbers (docs/answers.md, Tables)."""


def _stacks(value, stacks):
    """Puts stacks into fields, at any depth."""
    if isinstance(value, list):
        for element in value:
            _stacks(element, stacks)
    elif isinstance(value, dict):
        for key in ("stack", "waker_stack"):
            if isinstance(value.get(key), int):
                value[key] = stacks[value[key]]
        for part in value.get("sampled", []):
            part.update(stacks[part.pop("stack")])
        for key, field in value.items():
            if key not in ("stack", "waker_stack", "sampled", "stacks"):
                _stacks(field, stacks)


def _put(where, key, table):
    if where.get(key) is not None:
        where[key] = table[where[key]]


def _merge(where, key, table):
    """Puts the fields of what a number stands for beside the others."""
    if key in where:
        where.update(table[where.pop(key)])


def _segment(segment, answer):
    tasks = answer["tasks"]
    _merge(segment, "task", tasks)
    segment["hops"] = [answer["hops"][hop] for hop in segment["hops"]]
    segment["chain"] = [hop["tid"] for hop in segment["hops"]]
    for key in ("object", "below"):
        _put(segment, key, answer["objects"])
    _put(segment, "holder", tasks)
    _put(segment, "activity", answer.get("activities"))
    if segment["via"]:
        _put(segment["via"], "to", tasks)
        _merge(segment["via"], "called", answer.get("calls"))
    if "perhaps" in segment:
        _merge(segment["perhaps"], "task", tasks)
        _merge(segment["perhaps"], "called", answer.get("calls"))


def resolved(answer):
    """Changes the answer, and returns it. A segment of a why gets `chain`, the tids of its hops."""
    if "stacks" in answer:
        _stacks(answer, answer["stacks"])
    if "hops" not in answer:
        return answer
    for thing in answer["objects"]:
        _put(thing, "by", answer["tasks"])
        _put(thing, "on", answer["objects"])
    for hop in answer["hops"]:
        _merge(hop, "task", answer["tasks"])
        _put(hop, "object", answer["objects"])
    for why in answer.get("operations", [answer]):
        for segment in why["segments"]:
            _segment(segment, answer)
    return answer
