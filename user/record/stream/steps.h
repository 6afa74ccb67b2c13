/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the steps of a recording: waiting, ending early, and saying what failed. */
#ifndef CLEW_RECORD_STREAM_STEPS_H
#define CLEW_RECORD_STREAM_STEPS_H

#include "base/message.h"

struct clew_recorder;

/* Waits until the programs that run now have ended. */
void clew_wait_for_programs(void);
/* -EINTR, with a message, once the end is wished for while the recording begins; else 0. */
int clew_recorder_check_ending(struct clew_message *message);
/* Say, and return `error`: the kernel refused `what`; a file cannot be written, `what` being its
 * name, or words for it. */
int clew_say_refused(struct clew_message *message, const char *what, int error);
int clew_say_unwritable(const struct clew_recorder *recorder, struct clew_message *message,
			const char *what, int error);

#endif
