/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the control group that a recording is to be about. */
#ifndef CLEW_RECORD_GROUP_H
#define CLEW_RECORD_GROUP_H

#include <stddef.h>

#include "record/stream/recording.h"

/*
 * The directory of the one group that is wanted. 0 or, after clew_say(), -errno: also if there is
 * none, or several of which none is below another.
 */
int clew_group_find(const struct clew_group_wanted *wanted, char *ret_path, size_t size,
		    struct clew_message *message);

#endif
