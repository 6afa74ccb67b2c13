/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files of a recording: going over to another one, and ending each. */
#ifndef CLEW_RECORD_FILE_H
#define CLEW_RECORD_FILE_H

#include <stdint.h>

struct clew_recorder;

/* Says of a recording of several files which it is. 0 or -errno. */
int clew_file_name_recording(struct clew_recorder *recorder);
/* Writes the ends of the last file at the time `end`. 0 or the file's error. */
int clew_file_end_last(struct clew_recorder *recorder, uint64_t end);

#endif
