/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The steps of a start ask here if they are to go on. */
#include <errno.h>

#include "base/ending.h"
#include "record/stream/internal.h"

int clew_recorder_check_ending(struct clew_message *message)
{
	return ending_since() ? clew_say(message, -EINTR,
					 "nothing was recorded: the interrupt came while clew was "
					 "loading: let it record first")
			      : 0;
}
