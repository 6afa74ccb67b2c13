/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One line of a trace in text. The forms are
 *
 *	COMM-TID ( TGID) [CPU] FLAGS SECONDS: EVENT: ARGUMENTS		ftrace, trace-cmd
 *	COMM PID/TID [CPU] SECONDS: PERIOD SYSTEM:EVENT: ARGUMENTS	perf script
 *
 * where the process, the flags and the period may be missing.
 */
#ifndef CLEW_IMPORT_LINE_H
#define CLEW_IMPORT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/kernel/records.h>

#define LINE_FLAGS 8
#define LINE_EVENT 64
#define LINE_CPUS  4096 /* a CPU has a smaller number */

struct line {
	uint64_t time; /* ns */
	uint32_t tid;
	uint32_t pid; /* 0 unknown */
	uint16_t cpu;
	char comm[CLEW_COMM_SIZE];
	char flags[LINE_FLAGS]; /* "" none */
	char event[LINE_EVENT];
	const char *arguments; /* in the text */
};

/* Reads a line without its end. False: it is none of these. */
bool line_read(const char *text, struct line *ret_line);

/* A number behind `key`, which ends in '=' or a colon, at the begin of a word. */
bool line_number(const char *arguments, const char *key, uint64_t *ret_number);
/* The text from `key` up to `end`; NULL `end`: up to a blank. The last `end` counts, so that a name
 * may contain it. False: there is no such key. */
bool line_text(const char *arguments, const char *key, const char *end, char *buffer, size_t size);

/* Reads "NAME:TID [PRIORITY]", as trace-cmd writes tasks, and says where it ends. */
bool line_task(const char *text, char comm[CLEW_COMM_SIZE], uint32_t *ret_tid,
	       const char **ret_end);

#endif
