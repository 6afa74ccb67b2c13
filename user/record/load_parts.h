/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parts of loading the kernel side: clew_load_programs() of load.h has them in order.
 */
#ifndef CLEW_RECORD_LOAD_PARTS_H
#define CLEW_RECORD_LOAD_PARTS_H

#include <stdbool.h>

struct clew_message;
struct clew_recorder;
struct clew_recorder_options;

#define LOAD_PROGRAMS_MOST 256 /* of the object, functions among them */
#define LOAD_REFUSED	   "the kernel refuses clew's programs"

/*
 * load_prepare.c: opens the kernel side, chooses its programs, and sets its constants and the sizes
 * of its maps. The kernel's verdict on a program depends on the constants.
 */
int load_prepare(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		 struct clew_message *message);

/*
 * load_taken.c: loads what the kernel takes; `taken` has one for each program of the object, false
 * at first. 0 or -errno.
 */
int load_taken(struct clew_recorder *recorder, const struct clew_recorder_options *options,
	       bool *taken, struct clew_message *message);
/* Destroys the kernel side, if there is one. */
void load_drop(struct clew_recorder *recorder);

#endif
