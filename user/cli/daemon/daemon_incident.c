/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes an incident: joins the segments around it, has clew why explain it, and writes down which
 * rule it was.
 */
#include "cli/daemon/daemon_incident.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answers/daemon/incidents.h"
#include "base/clock.h"
#include "cli/front/fail.h"
#include "cli/front/write.h"
#include "cli/segments/joining.h"
#include "daemon/incident.h"

#define BEFORE	     5000000000ull /* ns before the wait that the capture has at least, if kept */
#define PATIENCE     20		   /* s for an explanation */
#define MEMORY_MOST  (2ull << 30)  /* bytes for an explanation */
#define TEXT_OF_MOST 4200

/* ---- the capture ---- */

uint64_t daemon_incident_from(const struct daemon_request *request)
{
	const struct clew_slow *slow = &request->firing.slow;

	return slow->start > BEFORE ? slow->start - BEFORE : 0;
}

/* Chooses the segments from a while before the wait up to the last that has ended. */
static int choose(struct clew_joining *joining, uint64_t from)
{
	const struct clew_join *join = joining->join;

	joining->count = clew_join_sort(joining->join);
	while (joining->count && !clew_join_at(join, joining->count - 1)->info->complete)
		joining->count--;
	while (joining->count > 1 && clew_join_at(join, joining->first)->info->end <= from) {
		joining->first++;
		joining->count--;
	}
	if (!joining->count)
		return clew_fail(CLEW_EXIT_SYSTEM, "incident: the ring has no segment: raise keep");
	return 0;
}

static int write_capture(const struct daemon_request *request, const char *folder)
{
	char path[TEXT_OF_MOST];
	struct clew_joining joining = {.name = path, .quiet = true};
	int status;

	snprintf(path, sizeof(path), "%s/capture.clew", folder);
	if (clew_join_new(&joining.join) < 0)
		return clew_fail_memory();
	status = clew_joining_directory(joining.join, request->ring);
	if (!status)
		status = choose(&joining, daemon_incident_from(request));
	if (!status)
		status = clew_joining_write(&joining);
	clew_join_free(joining.join);
	return status;
}

/* ---- the explanation ---- */

/* Runs clew why in the child; only returns if it cannot. */
static void run_why(const struct daemon_request *request, const char *folder, int output, bool json)
{
	const struct clew_slow *slow = &request->firing.slow;
	const struct rlimit memory = {MEMORY_MOST, MEMORY_MOST};
	char capture[TEXT_OF_MOST], tid[16], from[24], to[24];

	snprintf(capture, sizeof(capture), "%s/capture.clew", folder);
	snprintf(tid, sizeof(tid), "%u", request->firing.tid);
	snprintf(from, sizeof(from), "%llu", (unsigned long long)slow->start);
	snprintf(to, sizeof(to), "%llu", (unsigned long long)slow->end);
	setrlimit(RLIMIT_AS, &memory);
	/* Too late is as good as never. */
	alarm(PATIENCE);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	execl("/proc/self/exe", "clew", "why", capture, "--tid", tid, "--from", from, "--to", to,
	      json ? "--json" : NULL, NULL);
}

/* The request, as clew why is about the task alone. */
static void write_request(const struct clew_firing *firing, int output)
{
	int copy = dup(output);
	FILE *out = copy < 0 ? NULL : fdopen(copy, "w");

	if (out) {
		clew_print_fired_request(out, firing);
		fclose(out);
	} else if (copy >= 0) {
		close(copy);
	}
}

/* Writes why.txt or why.json. Where there is no explanation, the text says why not. */
static int explain(const struct daemon_request *request, const char *folder, bool json)
{
	const struct clew_firing *firing = &request->firing;
	bool of_disk = firing->slow.kind == CLEW_SLOW_REQUEST;
	char path[TEXT_OF_MOST];
	int output, status;
	pid_t pid;

	if (of_disk && !firing->tid && json)
		return 0;
	snprintf(path, sizeof(path), "%s/why.%s", folder, json ? "json" : "txt");
	output = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (output < 0)
		return clew_fail_to_write(path, errno);
	if (of_disk && !json)
		write_request(firing, output);
	if (of_disk && !firing->tid) {
		close(output);
		return 0;
	}
	pid = fork();
	if (!pid) {
		run_why(request, folder, output, json);
		_exit(CLEW_EXIT_SYSTEM);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		status = 1;
	if (status && json)
		unlink(path);
	else if (WIFSIGNALED(status))
		dprintf(output, "clew: the explanation took too long: ask clew why for it\n");
	close(output);
	return 0;
}

static int write_trigger(void *context, FILE *out)
{
	const struct daemon_request *request = context;

	clew_json_firing(out, &request->firing, request->id, request->wall);
	return 0;
}

static int make(void *context, const char *folder)
{
	struct daemon_request *request = context;
	char path[TEXT_OF_MOST];
	int status = write_capture(request, folder);

	if (!status)
		status = explain(request, folder, false);
	if (!status)
		status = explain(request, folder, true);
	snprintf(path, sizeof(path), "%s/trigger.json", folder);
	if (!status)
		status = clew_write_file(path, write_trigger, request);
	return status;
}

int daemon_incident_name(struct daemon_request *request)
{
	char *id;
	int r;

	request->wall = clock_read(CLOCK_REALTIME) -
			(clock_read(CLOCK_MONOTONIC) - request->firing.slow.at);
	r = clew_incident_name(request->incidents, request->firing.rule, request->wall, &id);
	if (r < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: %s: name another directory of incidents",
				 request->incidents, strerror(-r));
	snprintf(request->id, sizeof(request->id), "%s", id);
	free(id);
	return 0;
}

int daemon_incident_make(struct daemon_request *request)
{
	char path[TEXT_OF_MOST];

	snprintf(path, sizeof(path), "%s/%s", request->incidents, request->id);
	return clew_write_folder(path, make, request);
}
