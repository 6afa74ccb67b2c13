/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Block requests of other tracers. They have no identity but their place: a request is the one that
 * was issued there last and has not completed. Its bio is made up, so that its submitter is known.
 */
#include "import/state.h"

#include <errno.h>

/* Requests that were never seen to complete are forgotten when their place is used again. */
static struct import_request *find(struct import *import, const struct event *event)
{
	uint64_t *index = map_get(&import->requests, event->sector, event->device);

	return index ? (struct import_request *)import->flying.data + *index : NULL;
}

static struct import_request *add(struct import *import, const struct event *event)
{
	struct vector *flying = &import->flying;
	struct import_request *request = find(import, event);

	if (!request) {
		if (vector_reserve(flying, flying->count + 1) < 0 ||
		    map_set(&import->requests, event->sector, event->device, flying->count) < 0)
			return NULL;
		request = (struct import_request *)flying->data + flying->count++;
	}
	*request = (struct import_request){.number = ++import->request << 8,
					   .sector = event->sector,
					   .device = event->device,
					   .bytes = event->bytes,
					   .operation = event->operation};
	return request;
}

static int put_bio(struct import *import, const struct line *line,
		   const struct import_request *request, uint32_t task)
{
	struct clew_bio bio = {.header.flags = CLEW_BIO_QUEUE,
			       .bio = request->number | 1,
			       .sector = request->sector,
			       .bytes = request->bytes,
			       .device = request->device,
			       .operation = request->operation,
			       .task = task};

	return import_put(import, line->cpu, &bio.header, CLEW_KIND_BIO, sizeof(bio));
}

int import_queue(struct import *import, const struct line *line, const struct event *event)
{
	struct import_request *request = add(import, event);
	int r = request ? 0 : -ENOMEM;
	struct import_task *task = r < 0 ? NULL : import_task(import, line->tid, line->comm, &r);

	return r < 0 ? r : put_bio(import, line, request, task ? task->serial : 0);
}

static int put_request(struct import *import, const struct line *line,
		       const struct import_request *request, uint8_t what, uint32_t task)
{
	struct clew_request record = {
		.header.flags = what,
		.request = request->number,
		.sector = request->sector,
		.bio = request->number | 1,
		.bytes = request->bytes,
		.device = request->device,
		.operation = request->operation,
		.task = task,
		.context = task ? CLEW_WAKE_TASK : CLEW_WAKE_SOFTIRQ,
		.bio_count = 1,
	};

	return import_put(import, line->cpu, &record.header, CLEW_KIND_REQUEST, sizeof(record));
}

/* One that is issued at once was never queued. One that was queued has all that was merged into it
 * since. */
int import_issue(struct import *import, const struct line *line, const struct event *event)
{
	struct import_request *request = find(import, event);
	struct import_task *task;
	int r = 0;

	task = import_task(import, line->tid, line->comm, &r);
	if (r < 0)
		return r;
	if (!request || request->issued) {
		request = add(import, event);
		r = request ? put_bio(import, line, request, task ? task->serial : 0) : -ENOMEM;
	}
	if (r < 0)
		return r;
	request->issued = true;
	request->bytes = event->bytes;
	return put_request(import, line, request, CLEW_REQUEST_ISSUE, task ? task->serial : 0);
}

/* A completion may be of a part: sectors are then those of the rest. Unknown ones are left out. */
int import_complete(struct import *import, const struct line *line, const struct event *event)
{
	struct import_request *request = find(import, event);
	struct import_request part;
	uint64_t index;

	if (!request || !request->issued)
		return 0;
	part = *request;
	if (event->bytes && event->bytes < request->bytes) {
		part.bytes = event->bytes;
		request->bytes -= event->bytes;
		request->sector += event->bytes / 512;
		index = *map_get(&import->requests, event->sector, event->device);
		map_remove(&import->requests, event->sector, event->device);
		if (map_set(&import->requests, request->sector, request->device, index) < 0)
			return -ENOMEM;
		return put_request(import, line, &part, CLEW_REQUEST_COMPLETE, 0);
	}
	import->cpus[line->cpu].request = request->number;
	map_remove(&import->requests, event->sector, event->device);
	return put_request(import, line, &part, CLEW_REQUEST_COMPLETE, 0);
}
