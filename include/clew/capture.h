/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A capture in memory, to ask about its tasks, its waits (waits.h), why something took so long
 * (why.h), and what threads spent their time on (report.h). Notation that was made of a capture
 * gives the same answers.
 *
 * Times are ns of CLOCK_MONOTONIC. Tasks have numbers of the capture's own, as tids are used again;
 * 0 is no task, or an unknown one. A capture that is open is only read, by any number of threads.
 * Results of functions live until it is closed, unless they are said to be freed.
 */
#ifndef CLEW_CAPTURE_H
#define CLEW_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

struct clew_capture;

struct clew_capture_options {
	size_t size; /* of this structure */
	/* ns: only what overlaps this interval is read from a capture. `to` 0: all of it. */
	uint64_t from;
	uint64_t to;
	/* Called from time to time with the progress, 0..1; may be NULL. */
	void (*progress)(void *context, double done);
	void *progress_context;
};

/*
 * Loads the file. `options` may be NULL. -EINVAL: it is neither a capture nor notation, or invalid;
 * -ENODATA: it is empty; `message` says what is wrong. Other errors: -errno of opening and reading,
 * -ENOMEM; `message` may be "" then.
 */
int clew_capture_open(const char *path, const struct clew_capture_options *options,
		      struct clew_capture **ret_capture, char *message, size_t message_size);
void clew_capture_close(struct clew_capture *capture);

/* When recording began and ended. */
uint64_t clew_capture_start(const struct clew_capture *capture);
uint64_t clew_capture_end(const struct clew_capture *capture);
/* In how many intervals that overlap from..to records were lost. Answers about these may be wrong.
 */
size_t clew_capture_gaps(const struct clew_capture *capture, uint64_t from, uint64_t to);

struct clew_capture_task {
	uint32_t task;	  /* its number */
	uint32_t process; /* the number of its process's first thread */
	uint32_t tid;
	uint32_t pid;
	uint64_t birth;	  /* 0: before the capture */
	uint64_t death;	  /* UINT64_MAX: not in the capture */
	const char *comm; /* its last name */
	const char *command_line;
	const char *executable; /* path; "" unknown */
};

/* All tasks, from 0 in order of their numbers. */
size_t clew_capture_task_count(const struct clew_capture *capture);
/* -ENOENT: there are not so many. */
int clew_capture_task_at(const struct clew_capture *capture, size_t index,
			 struct clew_capture_task *ret_task);
/* The same by number. -ENOENT: there is none. */
int clew_capture_task(const struct clew_capture *capture, uint32_t task,
		      struct clew_capture_task *ret_task);
/*
 * The name of a task in answers, with the names of a moment: "worker-75 of server". Safe for a
 * terminal. To be freed; NULL: no memory.
 */
char *clew_capture_task_words(const struct clew_capture *capture, uint32_t task, uint64_t at);

#endif
