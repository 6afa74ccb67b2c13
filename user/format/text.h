/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text for people: names that cannot disturb a terminal, durations and sizes
 * in the unit that suits them.
 */
#ifndef CLEW_FORMAT_TEXT_H
#define CLEW_FORMAT_TEXT_H

#include "base/utf8.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Prints text on one line: control characters and what is no UTF-8 as \xNN. */
void clew_print_safe(FILE *out, const char *text);
/* The same, of a long text only that many bytes, and then "..". */
void clew_print_cut(FILE *out, const char *text, size_t most);

/* Prints text for a string in double quotes of Graphviz: as it is, on one line. */
void clew_print_dot(FILE *out, const char *text);

/*
 * Prints a line of text in lines of at most 80 columns, broken at blanks; those after the
 * first begin with two blanks. A word that is longer has a line of its own.
 */
void clew_print_folded(FILE *out, const char *text);
__attribute__((format(printf, 2, 3))) void clew_print_folds(FILE *out, const char *format, ...);

/* Prints something. */
typedef void clew_text_print(FILE *out, const void *context);
/* The text that `print` writes; the caller frees it. NULL: there is no memory. */
char *clew_text_of(clew_text_print *print, const void *context);
/* The same of what clew_print_safe() prints. */
char *clew_safe(const char *text);

/* "850 ns", "3.10 us", "12.3 ms", "1.234 s". Returns buffer. */
const char *clew_format_duration(uint64_t ns, char *buffer, size_t size);

/*
 * A moment within something of that length, in its unit and to a thousandth or
 * better, so that moments of a list can be told apart: "4.031 ms". Returns buffer.
 */
const char *clew_format_offset(uint64_t ns, uint64_t length, char *buffer, size_t size);

/* "512 B", "3.4 KiB", "12.3 MiB". Returns buffer. */
const char *clew_format_bytes(uint64_t bytes, char *buffer, size_t size);

/* The same with buffers of their own, as arguments. */
#define CLEW_OFFSET(ns, length) clew_format_offset(ns, length, (char[40]){0}, 40)
#define CLEW_DURATION(ns)	clew_format_duration(ns, (char[32]){0}, 32)
#define CLEW_BYTES(bytes)	clew_format_bytes(bytes, (char[32]){0}, 32)

/* A part of a whole in percent, rounded; 0 of nothing. */
static inline unsigned clew_percent(uint64_t part, uint64_t whole)
{
	return whole ? (unsigned)((part * 100 + whole / 2) / whole) : 0;
}

/* Prints the share and the length (ns) of a part, with which a line about it begins. */
void clew_print_part(FILE *out, uint64_t ns, uint64_t whole);

#endif
