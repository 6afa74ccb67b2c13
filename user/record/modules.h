/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs for file systems whose modules are loaded during the recording. */
#ifndef CLEW_RECORD_MODULES_H
#define CLEW_RECORD_MODULES_H

#include <stdbool.h>

struct clew_recorder;

/*
 * Programs for file systems whose modules are loaded during the
 * recording. Close: before the rings are closed.
 */
void clew_modules_open(struct clew_recorder *recorder, bool page_cache);
void clew_modules_tick(struct clew_recorder *recorder);
void clew_modules_close(struct clew_recorder *recorder);

#endif
