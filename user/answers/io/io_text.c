/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `io` as text. */
#include "answers/io/io.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/text.h"
#include "words/file.h"
#include "words/ledger.h"
#include "words/task.h"
#include "words/wait.h"

/* Bytes written to the device for each byte asked for; 0: unknown. */
static double amplification(uint64_t written, uint64_t asked)
{
	return asked ? (double)written / (double)asked : 0;
}

/* Prints the separator of a part of a line, and the part. */
static void print_part(FILE *out, bool *begun, const char *what)
{
	fprintf(out, "%s%s", *begun ? "; " : "    ", what);
	*begun = true;
}

static void print_tasks(FILE *out, const struct io_answer *answer, const struct clew_io_file *file,
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
			fputs(", ", out);
		else
			print_part(out, begun, caused ? "because of " : "waited: ");
		clew_print_task(out, answer->trace, share->task, clew_trace_end(answer->trace));
		fprintf(out, " %s", CLEW_DURATION(ns));
	}
	if (shown > MOST_SHOWN)
		fprintf(out, " and %u more", shown - MOST_SHOWN);
}

static int print_file(FILE *out, const struct io_answer *answer, const struct clew_io_file *file)
{
	enum { MOST_SHOWN = 4 };
	size_t count, shown = 0;
	bool begun = false;
	struct io_process *shares = io_by_process(answer, file->shares, file->share_count, &count);

	if (!shares)
		return -ENOMEM;
	fprintf(out, "%10s %10s %10s ", CLEW_BYTES(file->asked_bytes + file->stored_bytes),
		CLEW_BYTES(file->dirtied_bytes), CLEW_BYTES(file->written_bytes));
	if (file->asked_bytes + file->stored_bytes)
		fprintf(out, "%6.2f ",
			amplification(file->written_bytes, file->asked_bytes + file->stored_bytes));
	else
		fprintf(out, "%6s ", "-");
	fprintf(out, "%10s %10s", CLEW_BYTES(file->read_bytes), CLEW_DURATION(file->waited_ns));
	io_print_name(out, answer, file);
	for (size_t i = 0; i < count; i++) {
		if (!io_wrote(&shares[i]) || shown++ >= MOST_SHOWN)
			continue;
		if (shown > 1)
			fputs(", ", out);
		else
			print_part(out, &begun, "by ");
		clew_print_safe(out, io_process_name(answer, &shares[i]));
		fprintf(out, "-%u %s", shares[i].pid, CLEW_BYTES(io_wrote(&shares[i])));
	}
	if (shown > MOST_SHOWN)
		fprintf(out, " and %zu more", shown - MOST_SHOWN);
	free(shares);
	print_tasks(out, answer, file, false, &begun);
	print_tasks(out, answer, file, true, &begun);
	if (file->unknown_bytes) {
		print_part(out, &begun, "");
		fprintf(out, "%s by unknown writers", CLEW_BYTES(file->unknown_bytes));
	}
	if (file->again_bytes) {
		print_part(out, &begun, "");
		fprintf(out, "%s read again, as a group's memory limit had evicted them",
			CLEW_BYTES(file->again_bytes));
	}
	if (file->unused_bytes) {
		print_part(out, &begun, "");
		fprintf(out, "%s read ahead for nobody", CLEW_BYTES(file->unused_bytes));
	}
	if (begun)
		putc('\n', out);
	return 0;
}

static void print_devices(FILE *out, const struct io_answer *answer)
{
	fprintf(out, "%10s %10s %10s %6s  %s\n", "requests", "read", "written", "x", "DEVICE");
	for (size_t i = 0; i < answer->io.device_count; i++) {
		const struct clew_io_device *device = &answer->io.devices[i];

		fprintf(out, "%10u %10s %10s ", device->requests,
			CLEW_BYTES(device->bytes[CLEW_REQUEST_READ]),
			CLEW_BYTES(device->bytes[CLEW_REQUEST_WRITE]));
		if (device->file_bytes)
			fprintf(out, "%6.2f",
				amplification(device->bytes[CLEW_REQUEST_WRITE],
					      device->file_bytes));
		else
			fprintf(out, "%6s", "-");
		fprintf(out, "  %s", CLEW_DISK(answer->trace, device->device));
		for (unsigned k = 0, shown = 0; k < CLEW_REQUEST_REASON_COUNT; k++)
			if (device->reason_bytes[k])
				fprintf(out, "%s %s %s", shown++ ? "," : ":",
					clew_request_reason_name(k),
					CLEW_BYTES(device->reason_bytes[k]));
		if (device->bytes[CLEW_REQUEST_DISCARD])
			fprintf(out, "; %s discarded",
				CLEW_BYTES(device->bytes[CLEW_REQUEST_DISCARD]));
		if (device->bytes[CLEW_REQUEST_ZEROES])
			fprintf(out, "; %s zeroed", CLEW_BYTES(device->bytes[CLEW_REQUEST_ZEROES]));
		putc('\n', out);
	}
	putc('\n', out);
}

static void print_touch(FILE *out, const struct io_answer *answer,
			const struct clew_io_event *event)
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
	unsigned kind = event->touch->event;

	clew_print_task(out, answer->trace, event->touch->task, event->at);
	fprintf(out, " %s", kind < CLEW_TOUCH_COUNT ? did[kind] : "touched");
	if (kind != CLEW_TOUCH_SYNC)
		fprintf(out, " %s from +%s, in %s", CLEW_BYTES(event->touch->bytes),
			CLEW_BYTES(event->touch->offset),
			CLEW_DURATION(event->touch->end - event->touch->begin));
}

static void print_request(FILE *out, const struct io_answer *answer,
			  const struct clew_io_event *event)
{
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(answer->trace, &count);
	const struct clew_trace_request *request = &requests[event->extent->request];
	const struct clew_block_request *block = &request->block;
	bool reads = !strcmp(clew_request_operation_name(block->operation, block->bytes), "read");

	clew_print_task(out, answer->trace, block->submitter, event->at);
	fprintf(out, " (%s) queued %s of %s at +%s", clew_request_reason_name(block->reason),
		reads ? "the reading" : "the writing", CLEW_BYTES(event->extent->bytes),
		CLEW_BYTES(event->extent->offset));
	for (uint32_t i = 0; i < event->extent->writer_count; i++) {
		fputs(i ? ", " : " by ", out);
		clew_print_task(out, answer->trace, event->extent->writers[i], event->at);
	}
	if (block->completed && block->queued)
		fprintf(out, ", done after %s", CLEW_DURATION(block->completed - block->queued));
	else if (!block->completed && request->end_lost)
		fputs("; its end was not recorded", out);
	else if (!block->completed)
		fprintf(out, ", not done %s", clew_end_words(answer->trace));
}

static void print_waited(FILE *out, const struct io_answer *answer,
			 const struct clew_io_event *event)
{
	uint64_t end = clew_trace_until(answer->trace, event->sleep->end);

	clew_print_task(out, answer->trace, event->sleep->task, event->at);
	fprintf(out, " waited %s (%s)", CLEW_DURATION(end - event->sleep->start),
		clew_wait_kind_name(event->sleep->kind));
	if (event->sleep->ended_by != CLEW_NO_TASK) {
		fputs(", woken by ", out);
		clew_print_task(out, answer->trace, event->sleep->ended_by, end);
	}
}

static void print_event(FILE *out, const struct io_answer *answer,
			const struct clew_io_event *event)
{
	uint64_t start = clew_trace_start(answer->trace);

	fprintf(out, "+%-13s ",
		CLEW_OFFSET(event->at > start ? event->at - start : 0,
			    clew_trace_end(answer->trace) - start));
	if (event->kind == CLEW_IO_TOUCH)
		print_touch(out, answer, event);
	else if (event->kind == CLEW_IO_REQUEST)
		print_request(out, answer, event);
	else
		print_waited(out, answer, event);
	putc('\n', out);
}

static int print_files(FILE *out, const struct io_answer *answer)
{
	int r = 0;

	fprintf(out, "%10s %10s %10s %6s %10s %10s  %s\n", "asked", "dirtied", "written", "x",
		"read", "waited", "FILE");
	for (size_t i = 0; i < answer->file_count && r == 0; i++)
		r = print_file(out, answer, &answer->io.files[answer->files[i]]);
	putc('\n', out);
	return r;
}

int clew_print_io(FILE *out, const struct io_answer *answer)
{
	bool story = answer->asked.path;
	int r = 0;

	if (io_shows(answer, IO_BY_FILE))
		r = print_files(out, answer);
	for (size_t i = 0; story && i < answer->event_count; i++)
		print_event(out, answer, &answer->events[i]);
	if (r == 0 && !story && io_shows(answer, IO_BY_PROGRAM))
		r = io_print_programs(out, answer);
	if (!story && io_shows(answer, IO_BY_DISK))
		print_devices(out, answer);
	if (story)
		putc('\n', out);
	clew_print_left_out(out, &answer->left_out, "idle ones");
	clew_print_ledger(out, answer->trace, answer->asked.from, answer->asked.to);
	clew_print_cost(out, clew_trace_info(answer->trace));
	return r;
}
