/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes that a program carries (USDT, symbol/code/probes.h) among what is recorded of a file. Each
 * time that a task meets one is an activation without a length, with its arguments.
 */
#ifndef CLEW_RECORD_FUNCTIONS_TRACED_POINTS_H
#define CLEW_RECORD_FUNCTIONS_TRACED_POINTS_H

#include "record/functions/choice.h"
#include "record/functions/probe_judge.h"
#include "record/functions/traced_file.h"

/* Where they are looked for. */
struct traced_points_file {
	struct traced *traced;
	struct traced_file *file;
	int descriptor;
	const char *path;
	struct probe_judge *judge;
};

/* A choice of probes. */
struct traced_points_choice {
	const struct clew_function_choice *choice; /* its glob is for PROVIDER:NAME */
	const char *title;			   /* as it was given, for messages */
	uint8_t filters;			   /* the processes that it is for, 0: all */
	bool strict; /* a value that cannot be had is an error; else the probe has none */
};

/*
 * Adds the probes of a file that a choice is for. One that was added before stays as it is.
 * *ret_found: how many fit, those too that may not be probed. 0, -EINVAL with a message, or
 * -errno; -ENOSPC: there is no number for a site any more.
 */
int traced_points_add(const struct traced_points_file *in, const struct traced_points_choice *want,
		      size_t *ret_found, struct clew_message *message);
/* True if the file has a probe that fits. */
bool traced_points_fit(int descriptor, const char *glob);
/* Why no probe of a file fits: a text for a message, with the name that is most alike. */
void traced_points_say_none(int descriptor, const char *path, const char *glob, char *ret_text,
			    size_t size);

#endif
