#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Each field that clew's programs read is in each supported kernel, or tests/kernels/changes.toml says
why it is not. docs/kernels.md is made of that list. What clew finds out of that before it loads its
programs is the same, and it leaves out none that this kernel takes. Prints TAP.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _kernels import (  # noqa: E402  pylint: disable=wrong-import-position
    DOCUMENT, all_lacking, before_load, changes, document, of_all, of_modules, wrong_with)
from _trace import Tap  # noqa: E402  pylint: disable=wrong-import-position


# Programs that a 6.18 would refuse if it lacked a member: the member is read without a check that
# it exists, behind such a check, or behind a constant that is set at load.
MADE_UP = {
    "hrtimer.function":
    {"clew_hrtimer_expire_entry", "clew_hrtimer_expire_exit", "clew_hrtimer_start"},
    "timer_list.function": {"clew_timer_expire_entry"},
    "mutex.owner": set(),
    "loop_device.lo_backing_file": set(),
}


def wrong_early(kernel, lacks, early):
    """What is wrong with what is found out about a kernel before the load, in words."""
    found, refused = early
    wrong = ["it differs about %s" % field for field in sorted(found ^ set(lacks))]
    allowed = set() if "+modules" in kernel or kernel.startswith("6.18") else of_modules()
    return wrong + [
        "%s is left out for %s" % (program, refused[program])
        for program in sorted(set(refused) - allowed)
    ]


def made_up(btf):
    return {field: before_load(btf, field)[1] for field in MADE_UP} if "6.18" in btf else {}


def main():
    tap = Tap()
    found, listed = all_lacking(), changes()
    early = of_all(before_load)
    for kernel, lacks in found.items():
        tap.report("%s has the fields that clew reads" % kernel,
                   "; ".join(wrong_with(kernel, lacks, listed)))
        tap.report("%s: they are known before the load" % kernel,
                   "; ".join(wrong_early(kernel, lacks, early[kernel])))
    for field, refused in of_all(made_up)["6.18-amd64"].items():
        tap.report(
            "without %s the programs that need it are left out before the load" % field,
            "" if refused == dict.fromkeys(MADE_UP[field], field) else "refused: %s" % refused)
    with open(DOCUMENT, encoding="utf-8") as file:
        tap.report("docs/kernels.md is current",
                   "" if file.read() == document(found) else "run tools/kernels-doc")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
