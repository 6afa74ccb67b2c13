/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names without what is another one in each run of a program. */
#ifndef CLEW_COMPARE_NORMAL_H
#define CLEW_COMPARE_NORMAL_H

#include <stdbool.h>

/*
 * Replaces volatile numbers of a text by "*", in place: hexadecimal ones behind 0x, decimal ones of
 * four digits and more, inode numbers in brackets, and ports that the kernel chose. A port below
 * 32768 stays, as it names a service. `numbered`: the text names threads as COMM-TID, whose tid
 * goes, too.
 */
void normal_text(char *text, bool numbered);

#endif
