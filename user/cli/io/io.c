/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew io: what became of what programs asked of files, by file, program and device;
 * with --file one file's story from write() to the disk.
 */
#include "explain/io.h"
#include <stdlib.h>
#include <string.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/io/io.h"
#include "cli/operand/open.h"
#include "cli/operand/selection.h"
#include "cli/operand/view.h"
#include "cli/operand/windows.h"
#include "cli/record/fresh.h"
#include "format/text.h"
#include "words/file.h"
#include "words/ledger.h"
#include "words/task.h"
#include "words/wait.h"

struct io_values {
	struct clew_selection selection;
	struct clew_view view;
	enum io_by by;
	enum io_sort sort;
	const char *file;
	bool json;
	struct clew_fresh fresh;
};

const struct clew_option clew_io_options[] = {
	{0, "file", "PATH", "this file alone, and what happened to it in order of time",
	 clew_take_string, offsetof(struct io_values, file)},
	CLEW_GROUP_OPTIONS(struct io_values, selection.group, "what was done by threads"),
	CLEW_WINDOW_OPTIONS(struct io_values, view.window),
	{0, "self", NULL, "show clew's own threads and files, too", clew_take_flag,
	 offsetof(struct io_values, view.self)},
	{0, "sort", "KEY", "size: the most bytes first (the default); waited; name", io_take_sort,
	 offsetof(struct io_values, sort)},
	{0, "by", "KEY", "only the sums by program, file or disk", io_take_by,
	 offsetof(struct io_values, by)},
	CLEW_FRESH_OPTIONS(struct io_values, fresh),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct io_values, json)},
	CLEW_OPTION_END,
};

/* Bytes written to the device for each byte asked for; 0: unknown. */
static double amplification(uint64_t written, uint64_t asked)
{
	return asked ? (double)written / (double)asked : 0;
}

/* ---- JSON ---- */

static int json_writers(struct clew_json *json, const struct io_answer *answer,
			const struct clew_io_file *file)
{
	size_t count;
	struct io_process *shares = io_by_process(answer, file->shares, file->share_count, &count);

	if (!shares)
		return clew_fail_memory();
	clew_json_array(json, "writers");
	for (size_t i = 0; i < count; i++) {
		if (!io_wrote(&shares[i]) && !shares[i].written_bytes)
			continue;
		clew_json_object(json, NULL);
		clew_json_unsigned(json, "pid", shares[i].pid);
		clew_json_string(json, "comm", io_process_name(answer, &shares[i]));
		clew_json_unsigned(json, "bytes", io_wrote(&shares[i]));
		clew_json_unsigned(json, "written_bytes", shares[i].written_bytes);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	free(shares);
	return 0;
}

static void json_tasks(struct clew_json *json, const struct io_answer *answer,
		       const struct clew_io_file *file, bool caused)
{
	clew_json_array(json, caused ? "causes" : "waiters");
	for (uint32_t i = 0; i < file->share_count; i++) {
		const struct clew_io_share *share = &file->shares[i];
		uint64_t ns = caused ? share->caused_ns : share->waited_ns;

		if (!ns)
			continue;
		clew_json_object(json, NULL);
		clew_json_task_fields(json, answer->trace, share->task,
				      clew_trace_end(answer->trace));
		clew_json_unsigned(json, "ns", ns);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static bool is_of_file(const struct io_answer *answer, const struct clew_io_level *level,
		       const void *file)
{
	return &answer->io.files[level->file] == file;
}

static int json_file(struct clew_json *json, const struct io_answer *answer,
		     const struct clew_io_file *file)
{
	int status;

	clew_json_object(json, NULL);
	clew_json_string(json, "path", io_path(answer, file));
	io_json_device(json, file->device);
	clew_json_unsigned(json, "ino", file->inode);
	clew_json_bool(json, "deleted", file->deleted);
	clew_json_unsigned(json, "asked_bytes", file->asked_bytes);
	clew_json_unsigned(json, "stored_bytes", file->stored_bytes);
	clew_json_unsigned(json, "dirtied_bytes", file->dirtied_bytes);
	clew_json_unsigned(json, "written_bytes", file->written_bytes);
	clew_json_unsigned(json, "unknown_bytes", file->unknown_bytes);
	clew_json_unsigned(json, "read_bytes", file->read_bytes);
	clew_json_unsigned(json, "unused_bytes", file->unused_bytes);
	clew_json_unsigned(json, "again_bytes", file->again_bytes);
	clew_json_unsigned(json, "requests", file->requests);
	status = io_json_levels(json, answer, is_of_file, file);
	if (!status)
		status = json_writers(json, answer, file);
	clew_json_unsigned(json, "waited_ns", file->waited_ns);
	json_tasks(json, answer, file, false);
	json_tasks(json, answer, file, true);
	clew_json_object_end(json);
	return status;
}

static void json_devices(struct clew_json *json, const struct io_answer *answer)
{
	clew_json_array(json, "devices");
	for (size_t i = 0; i < answer->io.device_count; i++) {
		const struct clew_io_device *device = &answer->io.devices[i];

		clew_json_object(json, NULL);
		io_json_device(json, device->device);
		clew_json_unsigned(json, "requests", device->requests);
		clew_json_unsigned(json, "read_bytes", device->bytes[CLEW_REQUEST_READ]);
		clew_json_unsigned(json, "written_bytes", device->bytes[CLEW_REQUEST_WRITE]);
		clew_json_unsigned(json, "discarded_bytes", device->bytes[CLEW_REQUEST_DISCARD]);
		clew_json_unsigned(json, "zeroed_bytes", device->bytes[CLEW_REQUEST_ZEROES]);
		clew_json_unsigned(json, "file_bytes", device->file_bytes);
		clew_json_object(json, "reasons");
		for (unsigned k = 0; k < CLEW_REQUEST_REASON_COUNT; k++)
			if (device->reason_bytes[k])
				clew_json_unsigned(json, clew_request_reason_name(k),
						   device->reason_bytes[k]);
		clew_json_object_end(json);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static const char *const touch_words[CLEW_TOUCH_COUNT] = {
	[CLEW_TOUCH_DIRTY] = "dirty",	  [CLEW_TOUCH_WRITE] = "write",
	[CLEW_TOUCH_STORE] = "store",	  [CLEW_TOUCH_DROP] = "drop",
	[CLEW_TOUCH_ADD] = "ask",	  [CLEW_TOUCH_USE] = "use",
	[CLEW_TOUCH_UNUSED] = "unused",	  [CLEW_TOUCH_SYNC] = "sync",
	[CLEW_TOUCH_DELETED] = "deleted", [CLEW_TOUCH_AGAIN] = "again",
};

static void json_event(struct clew_json *json, const struct io_answer *answer,
		       const struct clew_io_event *event)
{
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(answer->trace, &count);

	clew_json_object(json, NULL);
	clew_json_unsigned(json, "at", event->at);
	switch ((enum clew_io_event_kind)event->kind) {
	case CLEW_IO_TOUCH:
		clew_json_string(json, "what",
				 event->touch->event < CLEW_TOUCH_COUNT
					 ? touch_words[event->touch->event]
					 : NULL);
		clew_json_unsigned(json, "end", event->touch->end);
		clew_json_unsigned(json, "offset", event->touch->offset);
		clew_json_unsigned(json, "bytes", event->touch->bytes);
		clew_json_task_fields(json, answer->trace, event->touch->task, event->at);
		break;
	case CLEW_IO_REQUEST: {
		const struct clew_block_request *block = &requests[event->extent->request].block;

		clew_json_string(json, "what", "request");
		clew_json_known(json, "end", block->completed, 0);
		clew_json_unsigned(json, "offset", event->extent->offset);
		clew_json_unsigned(json, "bytes", event->extent->bytes);
		clew_json_task_fields(json, answer->trace, block->submitter, event->at);
		clew_json_unsigned(json, "index", event->extent->request);
		clew_json_string(json, "op",
				 clew_request_operation_name(block->operation, block->bytes));
		clew_json_string(json, "reason", clew_request_reason_name(block->reason));
		break;
	}
	case CLEW_IO_WAIT:
		clew_json_string(json, "what", "wait");
		clew_json_known(json, "end", event->sleep->end, CLEW_TIME_OPEN);
		clew_json_task_fields(json, answer->trace, event->sleep->task, event->at);
		clew_json_string(json, "kind", clew_wait_kind_name(event->sleep->kind));
		break;
	}
	clew_json_object_end(json);
}

static int json_answer(const struct io_answer *answer, bool story)
{
	struct clew_json json = {.out = stdout};
	int status = 0;

	clew_json_object(&json, NULL);
	if (io_shows(answer, IO_BY_FILE)) {
		clew_json_array(&json, "files");
		for (size_t i = 0; i < answer->file_count && !status; i++)
			status = json_file(&json, answer, &answer->io.files[answer->files[i]]);
		clew_json_array_end(&json);
	}
	if (!status && io_shows(answer, IO_BY_PROGRAM))
		status = io_json_programs(&json, answer);
	if (io_shows(answer, IO_BY_DISK))
		json_devices(&json, answer);
	if (story) {
		clew_json_array(&json, "story");
		for (size_t i = 0; i < answer->event_count; i++)
			json_event(&json, answer, &answer->events[i]);
		clew_json_array_end(&json);
	}
	clew_json_left_out(&json, &answer->view->left_out);
	clew_json_ledger(&json, answer->trace, answer->view->window.from, answer->view->window.to);
	clew_json_object_end(&json);
	clew_json_end(&json);
	return status;
}

/* ---- text ---- */

/* Prints the separator of a part of a line, and the part. */
static void print_part(bool *begun, const char *what)
{
	printf("%s%s", *begun ? "; " : "    ", what);
	*begun = true;
}

static void print_tasks(const struct io_answer *answer, const struct clew_io_file *file,
			bool caused, bool *begun)
{
	enum { MOST_SHOWN = 4 };
	unsigned shown = 0;

	for (uint32_t i = 0; i < file->share_count; i++) {
		const struct clew_io_share *share = &file->shares[i];
		uint64_t ns = caused ? share->caused_ns : share->waited_ns;

		if (!ns || shown++ >= MOST_SHOWN)
			continue;
		if (shown > 1)
			fputs(", ", stdout);
		else
			print_part(begun, caused ? "because of " : "waited: ");
		clew_print_task(stdout, answer->trace, share->task, clew_trace_end(answer->trace));
		printf(" %s", CLEW_DURATION(ns));
	}
	if (shown > MOST_SHOWN)
		printf(" and %u more", shown - MOST_SHOWN);
}

static int print_file(const struct io_answer *answer, const struct clew_io_file *file)
{
	enum { MOST_SHOWN = 4 };
	size_t count, shown = 0;
	bool begun = false;
	struct io_process *shares = io_by_process(answer, file->shares, file->share_count, &count);

	if (!shares)
		return clew_fail_memory();
	printf("%10s %10s %10s ", CLEW_BYTES(file->asked_bytes + file->stored_bytes),
	       CLEW_BYTES(file->dirtied_bytes), CLEW_BYTES(file->written_bytes));
	if (file->asked_bytes + file->stored_bytes)
		printf("%6.2f ",
		       amplification(file->written_bytes, file->asked_bytes + file->stored_bytes));
	else
		printf("%6s ", "-");
	printf("%10s %10s", CLEW_BYTES(file->read_bytes), CLEW_DURATION(file->waited_ns));
	io_print_name(answer, file);
	for (size_t i = 0; i < count; i++) {
		if (!io_wrote(&shares[i]) || shown++ >= MOST_SHOWN)
			continue;
		if (shown > 1)
			fputs(", ", stdout);
		else
			print_part(&begun, "by ");
		clew_print_safe(stdout, io_process_name(answer, &shares[i]));
		printf("-%u %s", shares[i].pid, CLEW_BYTES(io_wrote(&shares[i])));
	}
	if (shown > MOST_SHOWN)
		printf(" and %zu more", shown - MOST_SHOWN);
	free(shares);
	print_tasks(answer, file, false, &begun);
	print_tasks(answer, file, true, &begun);
	if (file->unknown_bytes) {
		print_part(&begun, "");
		printf("%s by unknown writers", CLEW_BYTES(file->unknown_bytes));
	}
	if (file->again_bytes) {
		print_part(&begun, "");
		printf("%s read again, as a group's memory limit had evicted them",
		       CLEW_BYTES(file->again_bytes));
	}
	if (file->unused_bytes) {
		print_part(&begun, "");
		printf("%s read ahead for nobody", CLEW_BYTES(file->unused_bytes));
	}
	if (begun)
		putchar('\n');
	return 0;
}

static void print_devices(const struct io_answer *answer)
{
	printf("%10s %10s %10s %6s  %s\n", "requests", "read", "written", "x", "DEVICE");
	for (size_t i = 0; i < answer->io.device_count; i++) {
		const struct clew_io_device *device = &answer->io.devices[i];

		printf("%10u %10s %10s ", device->requests,
		       CLEW_BYTES(device->bytes[CLEW_REQUEST_READ]),
		       CLEW_BYTES(device->bytes[CLEW_REQUEST_WRITE]));
		if (device->file_bytes)
			printf("%6.2f", amplification(device->bytes[CLEW_REQUEST_WRITE],
						      device->file_bytes));
		else
			printf("%6s", "-");
		printf("  %s", CLEW_DISK(answer->trace, device->device));
		for (unsigned k = 0, shown = 0; k < CLEW_REQUEST_REASON_COUNT; k++)
			if (device->reason_bytes[k])
				printf("%s %s %s", shown++ ? "," : ":", clew_request_reason_name(k),
				       CLEW_BYTES(device->reason_bytes[k]));
		if (device->bytes[CLEW_REQUEST_DISCARD])
			printf("; %s discarded", CLEW_BYTES(device->bytes[CLEW_REQUEST_DISCARD]));
		if (device->bytes[CLEW_REQUEST_ZEROES])
			printf("; %s zeroed", CLEW_BYTES(device->bytes[CLEW_REQUEST_ZEROES]));
		putchar('\n');
	}
	putchar('\n');
}

static void print_event(const struct io_answer *answer, const struct clew_io_event *event)
{
	static const char *const did[CLEW_TOUCH_COUNT] = {
		[CLEW_TOUCH_DIRTY] = "made dirty",
		[CLEW_TOUCH_WRITE] = "wrote",
		[CLEW_TOUCH_STORE] = "stored to",
		[CLEW_TOUCH_DROP] = "dropped",
		[CLEW_TOUCH_ADD] = "asked for",
		[CLEW_TOUCH_USE] = "used",
		[CLEW_TOUCH_UNUSED] = "had asked in vain for",
		[CLEW_TOUCH_SYNC] = "asked for it to be written",
		[CLEW_TOUCH_DELETED] = "released, as it is deleted,",
		[CLEW_TOUCH_AGAIN] = "asked again, after a memory limit had evicted it, for",
	};
	uint64_t start = clew_trace_start(answer->trace);
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(answer->trace, &count);

	printf("+%-13s ", CLEW_OFFSET(event->at > start ? event->at - start : 0,
				      clew_trace_end(answer->trace) - start));
	if (event->kind == CLEW_IO_TOUCH) {
		clew_print_task(stdout, answer->trace, event->touch->task, event->at);
		printf(" %s", event->touch->event < CLEW_TOUCH_COUNT ? did[event->touch->event]
								     : "touched");
		if (event->touch->event != CLEW_TOUCH_SYNC)
			printf(" %s from +%s, in %s", CLEW_BYTES(event->touch->bytes),
			       CLEW_BYTES(event->touch->offset),
			       CLEW_DURATION(event->touch->end - event->touch->begin));
	} else if (event->kind == CLEW_IO_REQUEST) {
		const struct clew_block_request *block = &requests[event->extent->request].block;

		clew_print_task(stdout, answer->trace, block->submitter, event->at);
		printf(" (%s) queued %s of %s at +%s", clew_request_reason_name(block->reason),
		       strcmp(clew_request_operation_name(block->operation, block->bytes), "read")
			       ? "the writing"
			       : "the reading",
		       CLEW_BYTES(event->extent->bytes), CLEW_BYTES(event->extent->offset));
		for (uint32_t i = 0; i < event->extent->writer_count; i++) {
			fputs(i ? ", " : " by ", stdout);
			clew_print_task(stdout, answer->trace, event->extent->writers[i],
					event->at);
		}
		if (block->completed && block->queued)
			printf(", done after %s", CLEW_DURATION(block->completed - block->queued));
		else if (!block->completed && requests[event->extent->request].end_lost)
			fputs("; its end was not recorded", stdout);
		else if (!block->completed)
			printf(", not done %s", clew_end_words(answer->trace));
	} else {
		uint64_t end = clew_trace_until(answer->trace, event->sleep->end);

		clew_print_task(stdout, answer->trace, event->sleep->task, event->at);
		printf(" waited %s (%s)", CLEW_DURATION(end - event->sleep->start),
		       clew_wait_kind_name(event->sleep->kind));
		if (event->sleep->ended_by != CLEW_NO_TASK) {
			fputs(", woken by ", stdout);
			clew_print_task(stdout, answer->trace, event->sleep->ended_by, end);
		}
	}
	putchar('\n');
}

static int print_files(const struct io_answer *answer)
{
	int status = 0;

	printf("%10s %10s %10s %6s %10s %10s  %s\n", "asked", "dirtied", "written", "x", "read",
	       "waited", "FILE");
	for (size_t i = 0; i < answer->file_count && !status; i++)
		status = print_file(answer, &answer->io.files[answer->files[i]]);
	putchar('\n');
	return status;
}

static int print_answer(const struct io_answer *answer, bool story)
{
	int status = 0;

	if (io_shows(answer, IO_BY_FILE))
		status = print_files(answer);
	for (size_t i = 0; story && i < answer->event_count; i++)
		print_event(answer, &answer->events[i]);
	if (!status && !story && io_shows(answer, IO_BY_PROGRAM))
		status = io_print_programs(answer);
	if (!story && io_shows(answer, IO_BY_DISK))
		print_devices(answer);
	if (story)
		putchar('\n');
	clew_print_left_out(stdout, &answer->view->left_out, "idle ones");
	clew_print_ledger(stdout, answer->trace, answer->view->window.from,
			  answer->view->window.to);
	clew_print_cost(stdout, clew_trace_info(answer->trace));
	return status;
}

static int analyse(struct io_answer *answer, struct io_values *values)
{
	const struct clew_trace *trace = answer->trace;
	bool whole = !clew_window_given(&values->view.window);
	/* All of the trace has no limits: what began before it counts. */
	uint64_t from = whole ? 0 : values->view.window.from,
		 to = whole ? CLEW_TIME_OPEN : values->view.window.to;
	struct clew_chosen chosen = {};
	int status = 0, r;

	if (values->selection.groups)
		chosen = (struct clew_chosen){clew_selection_wants, &values->selection};
	r = clew_io_analyse(trace, &chosen, from, to, &answer->io);
	if (r >= 0)
		status = io_choose(answer, values->file);
	if (r >= 0 && !status && values->file)
		r = clew_io_story(trace, &answer->io, answer->wanted, from, to, &answer->events,
				  &answer->event_count);
	return r < 0 ? clew_fail_memory() : status;
}

/* *ret_trace is to be freed after the answer. */
static int find_whole(const char *operand, struct io_values *values, struct io_answer *answer,
		      struct clew_trace **ret_trace)
{
	int status = clew_open_window(operand, 0, &values->view.window, ret_trace);

	answer->trace = *ret_trace;
	if (!status)
		status = clew_selection_resolve(&values->selection, *ret_trace);
	return status ?: analyse(answer, values);
}

static int find_in_windows(const char *operand, struct clew_reader *reader,
			   struct io_values *values, struct io_answer *answer,
			   struct clew_trace **ret_trace)
{
	int status = io_sum_windows(operand, reader, &values->selection, &answer->io, ret_trace);

	answer->trace = *ret_trace;
	if (!status)
		status = clew_window_take(&values->view.window, *ret_trace);
	return status ?: io_choose(answer, NULL);
}

static int question_answer(void *context, char **operands)
{
	struct io_values *values = context;
	struct io_answer answer = {.view = &values->view};
	struct clew_reader *reader = NULL;
	struct clew_trace *trace = NULL;
	int status = 0;

	answer.by = values->by;
	answer.sort = values->sort;
	values->selection.self = true;
	/* A story has single events. */
	if (!values->file && !clew_window_given(&values->view.window))
		status = clew_windows_open(operands[0], &reader);
	if (!status)
		status = reader ? find_in_windows(operands[0], reader, values, &answer, &trace)
				: find_whole(operands[0], values, &answer, &trace);
	if (!status)
		status = values->json ? json_answer(&answer, values->file)
				      : print_answer(&answer, values->file);
	if (reader)
		clew_reader_close(reader);
	clew_selection_done(&values->selection);
	free(answer.events);
	io_choice_done(&answer);
	clew_io_done(&answer.io);
	clew_trace_free(trace);
	return status;
}

int clew_command_io(const struct clew_command *command, int argc, char **argv)
{
	static const struct clew_fresh_question question = {.answer = question_answer};
	struct io_values values = {};

	return clew_fresh_answer(command, argc, argv, &values, &values.fresh, &question);
}
