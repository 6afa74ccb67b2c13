/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tasks, system calls and objects waited for, in JSON and in words: the same in
 * every answer. docs/answers.md lists the fields.
 */
#ifndef CLEW_WORDS_OBJECT_H
#define CLEW_WORDS_OBJECT_H

#include "trace/trace.h"
#include <stdio.h>

#include "words/json.h"

/* The fields "pid", "tid" and "comm" (as of `at`) of the object that is open; null where the task
 * is unknown. */
void clew_json_task_fields(struct clew_json *json, const struct clew_trace *trace, uint32_t serial,
			   uint64_t at);
/* COMM-TID, safe to print. Serial 0 is "the idle task". */
void clew_print_task(FILE *out, const struct clew_trace *trace, uint32_t serial, uint64_t at);

/* What a disk is called, safe to print: its name, or MAJOR:MINOR if the capture has none such.
 * Returns buffer. */
const char *clew_disk_name(const struct clew_trace *trace, uint32_t device, char *buffer,
			   size_t size);
/* The above with a buffer of its own, as an argument. */
#define CLEW_DISK(trace, device)                                                                   \
	clew_disk_name(trace, device, (char[CLEW_TEXT_SIZE]){0}, CLEW_TEXT_SIZE)

/* What sort of kernel lock CLEW_LOCK_* are. */
const char *clew_lock_type_name(uint32_t type);
/* The field "sector": null where a request has none. */
void clew_json_sector(struct clew_json *json, const struct clew_block_request *block);

/*
 * Whether a wait's object is what it waits for: a page fault and a stop come in
 * the middle of a call, and the call's object has nothing to do with them.
 */
bool clew_waits_for_object(const struct clew_sleep *sleep);

/*
 * An object; null if there is none and the wait has no name of its own. `sleep`
 * is the wait it belongs to, or NULL.
 */
void clew_json_object_of(struct clew_json *json, const char *key, const struct clew_trace *trace,
			 const struct clew_object *object, const struct clew_sleep *sleep);
/* What people call it, safe to print. False: there is none, nothing was printed. */
bool clew_print_object(FILE *out, const struct clew_trace *trace, const struct clew_object *object,
		       const struct clew_sleep *sleep);

#endif
