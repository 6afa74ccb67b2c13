/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A capture of a moment. */
#include "cli/record/found.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/front/fail.h"
#include "record/recorder.h"
#include "record/stream/pid_namespace.h"

static int record(const char *path, struct clew_message *message)
{
	/* The passes fill rings of the usual size: with files and sockets of all threads at once.
	 */
	const struct clew_recorder_options options = {
		.output = path, .found_only = true, .no_page_cache = true};
	struct clew_recorder_summary summary;
	struct clew_recorder *recorder;
	struct clew_message stop_message;
	int r, stopped;

	clew_recorder_raise_files();
	r = clew_recorder_open(&options, &recorder, message);
	if (r)
		return r;
	r = clew_recorder_start(recorder, message);
	if (!r)
		r = clew_recorder_keep(recorder, message);
	stopped = clew_recorder_stop(recorder, &summary, &stop_message);
	clew_recorder_summary_done(&summary);
	if (!r && stopped)
		*message = stop_message;
	return r ?: stopped;
}

int clew_found_now(struct clew_trace **ret_trace)
{
	const struct clew_trace_options options = {.size = sizeof(options)};
	int file = memfd_create("clew-now", MFD_CLOEXEC), r, status = 0;
	struct clew_message message;
	char path[64], text[300] = "";

	if (file < 0)
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "no memory to look at the threads: %s: free some",
				 strerror(errno));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	r = record(path, &message);
	if (r)
		status = clew_fail(CLEW_EXIT_SYSTEM, "%s", message.text);
	else if (clew_trace_load(path, &options, ret_trace, text, sizeof(text)) < 0)
		status = clew_fail(CLEW_EXIT_SYSTEM,
				   "what was found cannot be read: %s: try it again", text);
	close(file);
	return status;
}

/* When the scheduler last counted time of a task, in ms of its own clock; negative: unknown. */
static double last_counted(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[256];
	double at = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "se.exec_start : %lf", &at) == 1)
			break;
	if (file)
		fclose(file);
	return at;
}

uint64_t clew_found_age(const struct clew_trace *trace, const struct clew_trace_task *task)
{
	char path[64];
	double now, then;

	(void)trace;
	/* In a PID namespace /proc has other numbers. */
	if (clew_pid_namespace())
		return UINT64_MAX;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/sched", task->pid, task->tid);
	then = last_counted(path);
	now = last_counted("/proc/thread-self/sched");
	return then < 0 || now < then ? UINT64_MAX : (uint64_t)((now - then) * 1e6);
}
