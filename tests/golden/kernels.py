#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Each field that clew's programs read is in each supported kernel, or tests/kernels/changes.toml says
why it is not. docs/kernels.md is made of that list. Prints TAP.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _kernels import DOCUMENT, all_lacking, changes, document, wrong_with  # noqa: E402  pylint: disable=wrong-import-position
from _trace import Tap  # noqa: E402  pylint: disable=wrong-import-position


def main():
    tap = Tap()
    found, listed = all_lacking(), changes()
    for kernel, lacks in found.items():
        tap.report("%s has the fields that clew reads" % kernel,
                   "; ".join(wrong_with(kernel, lacks, listed)))
    with open(DOCUMENT, encoding="utf-8") as file:
        tap.report("docs/kernels.md is current",
                   "" if file.read() == document(found) else "run tools/kernels-doc")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
