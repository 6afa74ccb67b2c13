/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes what a capture file says of the machine, of the options and of clocks. */
#ifndef CLEW_RECORD_META_H
#define CLEW_RECORD_META_H

#include <stdint.h>

struct clew_recorder;
struct clew_writer;

/* Write what the capture says of the machine and of the options; a number; a reading of the
 * clocks. 0 or the file's error. */
int clew_meta_write(const struct clew_recorder *recorder, struct clew_writer *writer);
int clew_meta_number(struct clew_writer *writer, const char *key, uint64_t value);
int clew_meta_clock(struct clew_recorder *recorder, struct clew_writer *writer);

#endif
