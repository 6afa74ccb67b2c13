/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables of system calls for the kernel side. */
#ifndef CLEW_RECORD_STREAM_CALLS_H
#define CLEW_RECORD_STREAM_CALLS_H

#include <stdint.h>
#include <stdlib.h>

#include <clew/kernel/calls.h>
#include <clew/kernel/records.h>

/*
 * The class (enum clew_call_class) of each call, by 64-bit number. 0 or -errno.
 */
int clew_call_classes(uint8_t ret_classes[CLEW_CALL_COUNT]);

/*
 * The 64-bit number of each call, by 32-bit number. CLEW_NO_CALL: it has none.
 */
void clew_compat_calls(uint16_t ret_numbers[CLEW_CALL_COUNT]);

/*
 * The number of each call of arm64, by its own number. CLEW_NO_CALL: it has none.
 */
void clew_translated_calls(uint16_t ret_numbers[CLEW_CALL_COUNT]);

#endif
