/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * UTF-8: what is a character, and what is not.
 */
#ifndef CLEW_BASE_UTF8_H
#define CLEW_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Length of the UTF-8 sequence at `text` and its character; 0 if the bytes there
 * are no valid sequence (overlong, a surrogate, cut short).
 */
size_t clew_utf8_length(const char *text, uint32_t *ret_character);

#endif
