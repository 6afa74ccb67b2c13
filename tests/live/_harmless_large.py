# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
def check(compare, plainly, sources):
    pass
