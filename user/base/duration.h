/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers with a unit of time, read exactly: "1.25s", "300ms". */
#ifndef CLEW_BASE_DURATION_H
#define CLEW_BASE_DURATION_H

#include <stddef.h>
#include <stdint.h>

/* The unit at the start of a text (ns, us, ms, s, m, h), in ns, and the bytes of its name; 0: there
 * is none. */
uint64_t duration_unit(const char *text, size_t size, size_t *ret_length);

/*
 * Reads one number, perhaps with decimals, and its unit from *at on, and adds it to *sum,
 * ns. Fractions of a ns are cut off. `bare_unit`: the ns that a number counts at the
 * text's end, without a unit; 0: it needs one.
 *
 * -EINVAL: not of that form; -ERANGE: *sum, is more than an
 * int64_t holds. In both cases *at is the byte where it went wrong, else behind the unit.
 */
int duration_part(const char *text, size_t size, uint64_t bare_unit, size_t *at,
		  unsigned __int128 *sum);

#endif
