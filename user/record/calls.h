/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables of system calls for the kernel side. */
#ifndef CLEW_RECORD_CALLS_H
#define CLEW_RECORD_CALLS_H

#include <stdint.h>
#include <stdlib.h>

#include <clew/kernel/calls.h>
#include <clew/kernel/records.h>

/* enum clew_call_class by 64-bit number. 0 or -errno. */
int clew_call_classes(uint8_t ret_classes[CLEW_CALL_COUNT]);

/* 64-bit number by 32-bit number, CLEW_NO_CALL where there is none. */
void clew_compat_calls(uint16_t ret_numbers[CLEW_CALL_COUNT]);

#endif
