/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew record: records until the duration, a signal or the end of the command.
 *
 * Standard output is the command's alone. Records that were reserved when the end came are
 * in the file; the command is not killed by clew's own end.
 */
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/record/record_took.h"
#include "cli/record/recording.h"

#define KEYFRAME_LEAST 200000000u

struct record_values {
	struct clew_recording recording;
};

static int take_pids(const struct clew_option *option, const char *argument, void *value)
{
	struct clew_pid_list *list = value;
	const char *at = argument;
	char *end;

	do {
		long pid = strtol(at, &end, 10);

		if (end == at || pid <= 0 || pid > 4194304 || (*end && (*end != ',' || !end[1])))
			return clew_fail(
				CLEW_EXIT_INPUT,
				"--%s: '%s' is no list of pids: write numbers with commas between",
				option->name, argument);
		if (list->count == CLEW_PIDS_MOST)
			return clew_fail(CLEW_EXIT_INPUT,
					 "--%s: more than %d pids: use --cgroup or --comm",
					 option->name, CLEW_PIDS_MOST);
		list->pids[list->count++] = pid;
		at = end + 1;
	} while (*end);
	return 0;
}

static int take_bytes(const struct clew_option *option, const char *argument, void *value)
{
	char *end;
	unsigned long long bytes = strtoull(argument, &end, 10);
	unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;

	if (end == argument || end[shift != 0] || bytes == 0 || bytes > 1ULL << 20 << 10)
		return clew_fail(CLEW_EXIT_INPUT, "--%s: '%s' is no size: write bytes, or 64K, 8M",
				 option->name, argument);
	bytes <<= shift;
	if (bytes > 1ULL << 30)
		return clew_fail(CLEW_EXIT_INPUT, "--%s: '%s' is too large: at most 1G",
				 option->name, argument);
	*(uint64_t *)value = bytes;
	return 0;
}

/* Waits of any length have one of 1 ns or more. */
static int take_stack_min(const struct clew_option *option, const char *argument, void *value)
{
	int status = clew_take_duration(option, argument, value);

	if (!status && !*(uint64_t *)value)
		*(uint64_t *)value = 1;
	return status;
}

/* To make a keyframe takes a part of the shortest time. */
static int take_keyframe(const struct clew_option *option, const char *argument, void *value)
{
	int status = clew_take_seconds(option, argument, value);
	uint64_t *length = value;

	if (!status && *length && *length < KEYFRAME_LEAST)
		return clew_fail(CLEW_EXIT_INPUT, "--%s: '%s' is too little: at least 200ms",
				 option->name, argument);
	return status;
}

static int take_output(const struct clew_option *option, const char *argument, void *value)
{
	if (!strcmp(argument, "-"))
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: '-': a capture cannot go to standard output: name a file",
				 option->name);
	return clew_take_string(option, argument, value);
}

const struct clew_option clew_record_options[] = {
	{'o', "output", "FILE", "write the capture there (" CLEW_DEFAULT_TRACE ")", take_output,
	 offsetof(struct record_values, recording.output)},
	{0, "rotate", "TIME[,SIZE]",
	 "go on in a new file after that long or that many bytes; -o is a directory",
	 clew_take_rotate, offsetof(struct record_values, recording.rotation.rotate)},
	{0, "keep", "TIME[,SIZE]", "with --rotate: remove files that are older or in excess",
	 clew_take_span, offsetof(struct record_values, recording.rotation.keep)},
	{0, "keyframe", "DURATION",
	 "say again that often what reading needs to begin there (10s; 0: never)", take_keyframe,
	 offsetof(struct record_values, recording.keyframe)},
	{'d', "duration", "DURATION", "stop after that long (10s, 500ms)", clew_take_length,
	 offsetof(struct record_values, recording.duration)},
	{'p', "pid", "PID,..", "full detail only for waits of these processes and their children",
	 take_pids, offsetof(struct record_values, recording.pids)},
	{'t', "tid", "TID,..", "full detail only for waits of these threads and their children",
	 take_pids, offsetof(struct record_values, recording.tids)},
	{0, "comm", "GLOB", "full detail only for waits of threads of such a name",
	 clew_take_string, offsetof(struct record_values, recording.comm)},
	{0, "cgroup", "GLOB", "full detail only for waits in this cgroup and below",
	 clew_take_string, offsetof(struct record_values, recording.group.cgroup)},
	{0, "container", "NAME", "full detail only for waits in this container: name or id",
	 clew_take_string, offsetof(struct record_values, recording.group.container)},
	{0, "pod", "NAME", "full detail only for waits in this pod: NAME or NAMESPACE/NAME",
	 clew_take_string, offsetof(struct record_values, recording.group.pod)},
	{0, "unit", "NAME", "full detail only for waits in this unit of systemd", clew_take_string,
	 offsetof(struct record_values, recording.group.unit)},
	CLEW_FUNCTION_OPTIONS(struct record_values, recording),
	{'k', "kernel-functions", "GLOB",
	 "record when threads are in these functions of the kernel", clew_take_kernel_functions,
	 offsetof(struct record_values, recording.kernel_functions)},
	{0, "usdt", "PROVIDER:NAME",
	 "record when threads meet these probes that programs carry (OBJECT:PROVIDER:NAME)",
	 clew_take_points, offsetof(struct record_values, recording.points)},
	{0, "lock-holds", "OBJECT",
	 "record each lock that threads take and release by this library, program or process",
	 clew_take_objects, offsetof(struct record_values, recording.lock_objects)},
	{0, "environment", "NAME,..", "keep these environment variables of each process",
	 clew_take_string, offsetof(struct record_values, recording.environment)},
	{0, "layer", "FILE,..", "record the calls of the layers that these files describe",
	 clew_take_string, offsetof(struct record_values, recording.layer_files)},
	{0, "runtime", "NAME,..",
	 "record the work of these runtimes: go, uv, .., a FILE.runtime, or auto", clew_take_string,
	 offsetof(struct record_values, recording.runtimes)},
	{0, "stacks", NULL,
	 "do not record without stacks of long waits and of what runs (see clew-record(1))",
	 clew_take_flag, offsetof(struct record_values, recording.stacks)},
	{0, "no-stacks", NULL, "take no stacks", clew_take_flag,
	 offsetof(struct record_values, recording.no_stacks)},
	{0, "stack-min", "DURATION", "take them of waits of that length or longer (1ms)",
	 take_stack_min, offsetof(struct record_values, recording.stack_min)},
	{0, "no-page-cache", NULL,
	 "leave out who dirties, writes and reads pages of files, and the journals", clew_take_flag,
	 offsetof(struct record_values, recording.no_page_cache)},
	{0, "messages", NULL, "record what all threads with full detail send and receive",
	 clew_take_flag, offsetof(struct record_values, recording.messages)},
	{0, "no-messages", NULL, "do not do so for the threads or the command that is chosen",
	 clew_take_flag, offsetof(struct record_values, recording.no_messages)},
	{0, "network", "WHICH",
	 "record messages of connections with other hosts (outside), or of all of TCP (all)",
	 clew_take_string, offsetof(struct record_values, recording.network)},
	{0, "no-network", NULL, "do not record connections with other hosts", clew_take_flag,
	 offsetof(struct record_values, recording.no_network)},
	{0, "outside", "DEVICE",
	 "other hosts are behind this network device, such as a tunnel or a virtual machine's",
	 clew_take_objects, offsetof(struct record_values, recording.outside)},
	{0, "sync", NULL, "each chunk reaches the medium: a power loss costs a second at most",
	 clew_take_flag, offsetof(struct record_values, recording.sync)},
	{0, "ring-size", "BYTES", "size of each CPU's ring (8M, less on many CPUs)", take_bytes,
	 offsetof(struct record_values, recording.ring_size)},
	{0, "pause-drain", "DURATION", "for tests: leave the rings alone that long",
	 clew_take_duration, offsetof(struct record_values, recording.pause_drain)},
	{0, "trace-events", NULL, "for tests: attach to functions as before Linux 6.6",
	 clew_take_flag, offsetof(struct record_values, recording.trace_events)},
	{0, "few-task-slots", NULL, "for tests: most tasks find no slot for their state",
	 clew_take_flag, offsetof(struct record_values, recording.few_task_slots)},
	{0, "verify-counters", NULL, "for tests: count switches twice and compare", clew_take_flag,
	 offsetof(struct record_values, recording.verify)},
	CLEW_OPTION_END,
};

/* 0 or, after clew_fail(), an exit status. */
static int check_network(const struct clew_recording *recording)
{
	const char *wanted = recording->network;

	if (recording->no_network && (wanted || recording->outside.count))
		return clew_fail(CLEW_EXIT_INPUT,
				 "--no-network: --%s records some: give one of them",
				 wanted ? "network" : "outside");
	if (wanted && strcmp(wanted, "all") && strcmp(wanted, "outside"))
		return clew_fail(CLEW_EXIT_INPUT,
				 "--network: unknown choice '%s': give outside or all", wanted);
	if (recording->outside.count > CLEW_OUTSIDE_MOST)
		return clew_fail(CLEW_EXIT_INPUT, "--outside: too many devices: give at most %d",
				 CLEW_OUTSIDE_MOST);
	for (size_t i = 0; i < recording->outside.count; i++)
		if (strlen(recording->outside.texts[i]) >= IF_NAMESIZE)
			return clew_fail(CLEW_EXIT_INPUT,
					 "--outside: no device is called '%s': a name has at most "
					 "15 characters",
					 recording->outside.texts[i]);
	return 0;
}

int clew_command_record(const struct clew_command *command, int argc, char **argv)
{
	struct record_values values = {.recording.output = CLEW_DEFAULT_TRACE,
				       .recording.keyframe = CLEW_KEYFRAME_USUAL};
	struct clew_recording *recording;
	char **operands;
	bool recorded;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	recording = &values.recording;
	if (recording->no_stacks && (recording->stacks || recording->stack_min))
		return clew_fail(CLEW_EXIT_INPUT, "--no-stacks: --%s takes some: give one of them",
				 recording->stacks ? "stacks" : "stack-min");
	if (recording->no_messages && recording->messages)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--no-messages: --messages records them: give one of them");
	status = check_network(recording);
	if (status)
		return status;
	recording->stacks_if_possible = !recording->stacks && !recording->stack_min &&
					!recording->rotation.rotate.ns &&
					!recording->rotation.rotate.bytes;
	recording->says_took = !recording->rotation.rotate.ns &&
			       !recording->rotation.rotate.bytes && clew_record_took_wanted();
	return clew_recording_run(recording, operands, &recorded);
}
