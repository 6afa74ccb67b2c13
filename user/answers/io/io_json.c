/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `io` as JSON. */
#include "answers/io/io.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>

#include "words/ledger.h"
#include "words/object.h"
#include "words/task.h"

static int json_writers(struct clew_json *json, const struct io_answer *answer,
			const struct clew_io_file *file)
{
	size_t count;
	struct io_process *shares = io_by_process(answer, file->shares, file->share_count, &count);

	if (!shares)
		return -ENOMEM;
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
	int r;

	clew_json_object(json, NULL);
	clew_json_string(json, "path", io_path(answer, file));
	clew_json_device(json, file->device);
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
	r = io_json_levels(json, answer, is_of_file, file);
	if (r == 0)
		r = json_writers(json, answer, file);
	clew_json_unsigned(json, "waited_ns", file->waited_ns);
	json_tasks(json, answer, file, false);
	json_tasks(json, answer, file, true);
	clew_json_object_end(json);
	return r;
}

static void json_devices(struct clew_json *json, const struct io_answer *answer)
{
	clew_json_array(json, "devices");
	for (size_t i = 0; i < answer->io.device_count; i++) {
		const struct clew_io_device *device = &answer->io.devices[i];

		clew_json_object(json, NULL);
		clew_json_device(json, device->device);
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

int clew_json_io(struct clew_json *json, const struct io_answer *answer)
{
	bool story = answer->asked.path;
	int r = 0;

	clew_json_answer(json);
	if (io_shows(answer, IO_BY_FILE)) {
		clew_json_array(json, "files");
		for (size_t i = 0; i < answer->file_count && r == 0; i++)
			r = json_file(json, answer, &answer->io.files[answer->files[i]]);
		clew_json_array_end(json);
	}
	if (r == 0 && io_shows(answer, IO_BY_PROGRAM))
		r = io_json_programs(json, answer);
	if (io_shows(answer, IO_BY_DISK))
		json_devices(json, answer);
	if (story) {
		clew_json_array(json, "story");
		for (size_t i = 0; i < answer->event_count; i++)
			json_event(json, answer, &answer->events[i]);
		clew_json_array_end(json);
	}
	clew_json_left_out(json, &answer->left_out);
	clew_json_ledger(json, answer->trace, answer->asked.from, answer->asked.to);
	clew_json_object_end(json);
	clew_json_end(json);
	return r;
}
