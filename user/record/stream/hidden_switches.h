/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Notices that this kernel hid context switches from the recording. */
#ifndef CLEW_RECORD_STREAM_HIDDEN_SWITCHES_H
#define CLEW_RECORD_STREAM_HIDDEN_SWITCHES_H

#include "record/stream/taker.h"
#include <stdbool.h>

struct clew_hidden_switches;

/* NULL: no memory. */
struct clew_hidden_switches *clew_hidden_switches_new(void);
void clew_hidden_switches_free(struct clew_hidden_switches *hidden);

/* The taker that follows the switches of each CPU. It refers to `hidden`. */
struct clew_record_taker clew_hidden_switches_taker(struct clew_hidden_switches *hidden);

/*
 * After the recording: true if switches are missing that no loss explains. Only then can waits be
 * hidden, though none need be: the builder alone knows which ones are.
 */
bool clew_hidden_switches_found(const struct clew_hidden_switches *hidden);

#endif
