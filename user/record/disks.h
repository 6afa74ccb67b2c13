/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The machine's disks. */
#ifndef CLEW_RECORD_DISKS_H
#define CLEW_RECORD_DISKS_H

#include <stdint.h>

struct clew_recorder;

/*
 * Puts the names of the machine's disks, as records of that time. 0 or
 * the file's error.
 */
int clew_disks_read(struct clew_recorder *recorder, uint64_t time);

#endif
