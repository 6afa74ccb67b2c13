/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Things of no thread for Chrome's trace events: who ran on each CPU, requests of each disk,
 * the operations that are explained, and losses of records.
 */
#include "export/chrome.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vector.h"
#include "format/text.h"
#include "trace/name.h"
#include "words/beside.h"
#include "words/segment_text.h"

static void put_runs(struct chrome *it)
{
	const struct clew_capture_info *info = clew_trace_info(it->trace);
	size_t count;
	const struct clew_run *runs = clew_trace_runs(it->trace, &count);
	char name[EXPORT_TASK_SIZE];

	chrome_name(it, CHROME_CPUS, 0, "clew: CPUs");
	for (unsigned cpu = 0; info && cpu < info->cpus; cpu++) {
		snprintf(name, sizeof(name), "CPU %u", cpu);
		chrome_name(it, CHROME_CPUS, CHROME_CPUS + 1 + cpu, name);
	}
	for (size_t i = 0; i < count; i++)
		if (runs[i].task != CLEW_NO_TASK &&
		    clew_export_has(it->export, runs[i].start, runs[i].end) &&
		    chrome_open(it, &(struct chrome_event){
					    .name = export_task_name(it->trace, runs[i].task,
								     runs[i].start, name),
					    .category = "run",
					    .start = runs[i].start,
					    .end = runs[i].end,
					    .pid = CHROME_CPUS,
					    .tid = CHROME_CPUS + 1 + runs[i].cpu}))
			chrome_close(it);
}

/* ---- requests ---- */

/* The process of a disk, named when it is first met. 0: no memory. */
static uint32_t disk_of(struct chrome *it, struct vector *disks, uint32_t device)
{
	uint32_t *known = disks->data;
	size_t i = 0;

	while (i < disks->count && known[i] != device)
		i++;
	if (i == disks->count) {
		char name[CLEW_TEXT_SIZE + 16];

		if (vector_reserve(disks, i + 1) < 0)
			return 0;
		known = disks->data;
		known[disks->count++] = device;
		snprintf(name, sizeof(name), "clew: disk %s", CLEW_DISK(it->trace, device));
		chrome_name(it, CHROME_DISKS + (uint32_t)i, 0, name);
	}
	return CHROME_DISKS + (uint32_t)i;
}

static void put_request_fields(struct chrome *it, const struct clew_block_request *block,
			       uint64_t begin)
{
	const char *path = NULL;
	char name[EXPORT_TASK_SIZE];

	clew_json_unsigned(&it->json, "bytes", block->bytes);
	clew_json_string(&it->json, "reason", clew_request_reason_name(block->reason));
	if (block->submitter != CLEW_NO_TASK)
		clew_json_string(&it->json, "submitter",
				 export_task_name(it->trace, block->submitter, begin, name));
	if (block->issued)
		clew_json_unsigned(&it->json, "issued", block->issued);
	if (block->inode &&
	    clew_trace_file_at(it->trace, block->file_device, block->inode, begin, &path) && path)
		clew_json_string(&it->json, "path", path);
}

/* Requests overlap, so they are asynchronous. */
static void put_request(struct chrome *it, const struct clew_block_request *block, size_t number,
			uint32_t pid)
{
	uint64_t begin = block->queued ? block->queued : block->issued;

	it->count += 2;
	if (it->counting)
		return;
	for (unsigned ends = 0; ends < (block->completed ? 2u : 1u); ends++) {
		clew_json_object(&it->json, NULL);
		clew_json_string(&it->json, "ph", ends ? "e" : "b");
		clew_json_microseconds(&it->json, "ts", ends ? block->completed : begin);
		clew_json_unsigned(&it->json, "pid", pid);
		clew_json_unsigned(&it->json, "tid", pid);
		clew_json_unsigned(&it->json, "id", number + 1);
		clew_json_string(&it->json, "cat", "request");
		clew_json_string(&it->json, "name",
				 clew_request_operation_name(block->operation, block->bytes));
		clew_json_object(&it->json, "args");
		if (!ends)
			put_request_fields(it, block, begin);
		chrome_close(it);
	}
}

static int put_requests(struct chrome *it)
{
	struct vector disks = {.item = sizeof(uint32_t)};
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(it->trace, &count);
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		const struct clew_block_request *block = &requests[i].block;
		uint64_t begin = block->queued ? block->queued : block->issued;
		uint32_t pid;

		if (!begin ||
		    (it->export->wanted && !clew_export_wants(it->export, block->submitter)) ||
		    !clew_export_has(it->export, begin,
				     block->completed ? block->completed : CLEW_TIME_OPEN))
			continue;
		pid = disk_of(it, &disks, block->device);
		if (pid)
			put_request(it, block, i, pid);
		else
			r = -ENOMEM;
	}
	vector_done(&disks);
	return r;
}

/* ---- operations ---- */

static int put_segment(struct chrome *it, const struct clew_segment *segment, uint32_t tid)
{
	struct clew_beside beside;
	char task[EXPORT_TASK_SIZE], name[EXPORT_TASK_SIZE + 32], *text;
	int r;

	/* The name at the segment's end: a new process soon gets that of its program. */
	snprintf(name, sizeof(name), "%s %s",
		 export_task_name(it->trace, segment->task, segment->end - 1, task),
		 clew_wait_kind_name(segment->kind));
	if (!chrome_open(it, &(struct chrome_event){.name = name,
						    .category = "why",
						    .start = segment->start,
						    .end = segment->end,
						    .pid = CHROME_WHY,
						    .tid = tid}))
		return 0;
	r = clew_beside_find(it->trace, &segment, 1, &beside);
	text = r < 0 ? NULL : clew_segment_text(it->trace, it->export->relations, segment, &beside);
	clew_json_string(&it->json, "text", text);
	clew_json_string(&it->json, "kind", clew_wait_kind_name(segment->kind));
	if (segment->via_type >= 0) {
		clew_json_string(&it->json, "type",
				 clew_trace_type_name(it->trace, (unsigned)segment->via_type));
		clew_json_string(&it->json, "evidence", clew_evidence_name(segment->via_evidence));
	}
	chrome_close(it);
	r = text ? 0 : -ENOMEM;
	free(text);
	return r;
}

static int put_operations(struct chrome *it)
{
	const struct clew_export *export = it->export;
	int r = 0;

	if (export->operation_count)
		chrome_name(it, CHROME_WHY, 0, "clew: why");
	for (size_t i = 0; i < export->operation_count && r >= 0; i++) {
		const struct clew_operation *operation = &export->operations[i];
		uint32_t tid = CHROME_WHY + 1 + (uint32_t)i;
		char task[EXPORT_TASK_SIZE], title[200];
		struct clew_why why = {};

		snprintf(title, sizeof(title), "%s at +%s, %s",
			 export_task_name(it->trace, operation->task, operation->from, task),
			 CLEW_OFFSET(operation->from - clew_trace_start(it->trace),
				     clew_trace_end(it->trace) - clew_trace_start(it->trace)),
			 CLEW_DURATION(operation->to - operation->from));
		chrome_name(it, CHROME_WHY, tid, title);
		r = clew_why_operation(export->trace, export->relations, operation, &why);
		for (size_t k = 0; k < why.segment_count && r >= 0; k++)
			r = put_segment(it, &why.segments[k], tid);
		clew_why_done(&why);
	}
	return r;
}

/* ---- losses ---- */

static void put_losses(struct chrome *it)
{
	const struct clew_capture_info *info = clew_trace_info(it->trace);
	bool named = false;

	for (size_t i = 0; info && i < info->gap_count; i++) {
		const struct clew_gap *gap = &info->gaps[i];

		if (!clew_export_has(it->export, gap->from, gap->header.time))
			continue;
		if (!named)
			chrome_name(it, CHROME_LOST, 0, "clew: lost");
		named = true;
		/* Losses may overlap: an event marks where each begins, and has its length. */
		if (chrome_open(it, &(struct chrome_event){.name = "records lost",
							   .category = "lost",
							   .start = gap->from,
							   .end = gap->from,
							   .pid = CHROME_LOST,
							   .tid = CHROME_LOST})) {
			clew_json_unsigned(&it->json, "records", gap->count);
			clew_json_unsigned(&it->json, "ns", gap->header.time - gap->from);
			clew_json_unsigned(&it->json, "cpu", gap->header.cpu);
			chrome_close(it);
		}
	}
}

int chrome_other(struct chrome *it)
{
	int r;

	put_runs(it);
	put_losses(it);
	r = put_requests(it);
	return r < 0 ? r : put_operations(it);
}
