/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads, from the names and attributes of their spans. tasks.c is the way
 * there.
 */
#include "convert/stays.h"
#include "convert/to_trace.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The length of a name without the "-TID" or "-TID#INSTANCE" at its end. */
static size_t suffix_of(const char *name, uint64_t *ret_tid)
{
	size_t length = strlen(name), at = length, digits = 0;
	uint64_t tid = 0;

	while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	if (at < length && at > 0 && name[at - 1] == '#') {
		length = at - 1;
		at = length;
		while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9')
			at--;
	}
	if (at == length || at == 0 || name[at - 1] != '-' || length - at > 9)
		return strlen(name);
	for (digits = at; digits < length; digits++)
		tid = tid * 10 + (uint64_t)(name[digits] - '0');
	*ret_tid = tid;
	return at - 1;
}

/* The host that a name begins with, of those that were stitched; it is cut off the name then. */
static int take_host(struct back *back, const char **name, const char **ret_host)
{
	const char *host = clew_trace_meta(back->trace, "hosts");

	for (; host && *host; host += strcspn(host, ","), host += *host == ',') {
		size_t length = strcspn(host, " ,");

		if (strncmp(*name, host, length) || (*name)[length] != ':')
			continue;
		*name += length + 1;
		*ret_host = arena_copy(&back->trace->arena, host, length);
		return *ret_host ? 0 : -ENOMEM;
	}
	return 0;
}

static int add_name(struct back *back, struct trace_task *task, uint64_t since, const char *name,
		    size_t length)
{
	struct trace_name *names = realloc(task->names, (task->name_count + 1) * sizeof(*names));
	char *copy;

	if (!names)
		return -ENOMEM;
	task->names = names;
	copy = arena_copy(&back->trace->arena, name, length);
	if (!copy)
		return -ENOMEM;
	back->trace->number_bytes += sizeof(*names);
	names[task->name_count++] = (struct trace_name){.since = since, .name = copy};
	task->name_capacity = task->name_count;
	task->task.comm = copy;
	return 0;
}

static int take_name(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	const char *name = row->count > 1 ? fields[1].word : "";

	return add_name(back, row->context, fields[0].number, name, strnlen(name, CLEW_COMM_SIZE));
}

/* Rows come with the last one first; each becomes the head of the list. */
static int take_scheduled(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	const struct clew_priority record = {
		.header = {.time = fields[0].number, .kind = CLEW_KIND_PRIORITY},
		.task = ((const struct trace_task *)row->context)->task.serial,
		.policy = (uint8_t)fields[1].number,
		.value = (uint8_t)fields[2].number,
	};

	return trace_priority_add(back->trace, &record);
}

static void reverse(struct trace_priority **list)
{
	struct trace_priority *turned = NULL, *next;

	for (struct trace_priority *one = *list; one; one = next) {
		next = one->older;
		one->older = turned;
		turned = one;
	}
	*list = turned;
}

static int take_text(struct back *back, const char *value, const char **ret_text)
{
	if (!value)
		return 0;
	*ret_text = arena_copy(&back->trace->arena, value, strlen(value));
	return *ret_text ? 0 : -ENOMEM;
}

static int take_numbers(struct back *back, const struct values *values, struct trace_task *task)
{
	struct clew_trace_task *to = &task->task;
	uint64_t tid = to->tid, pid, user = 0, flags = 0, cgroup = 0, inner = 0;
	int r = back_number(back, values, ATTRIBUTE_TID, &tid);

	pid = tid;
	if (r == 0)
		r = BACK_NUMBERS(back, values, {ATTRIBUTE_PID, &pid}, {ATTRIBUTE_USER, &user},
				 {ATTRIBUTE_TASK_FLAGS, &flags}, {ATTRIBUTE_CGROUP, &cgroup},
				 {ATTRIBUTE_BORN, &to->birth}, {ATTRIBUTE_DIED, &to->death},
				 {ATTRIBUTE_INNER_TID, &inner});
	if (r == 0)
		r = back_row(back, ATTRIBUTE_NAMESPACES, values);
	if (r < 0)
		return r;
	to->tid = (uint32_t)tid;
	to->pid = (uint32_t)pid;
	to->inner_tid = (uint32_t)inner;
	to->user = (uint32_t)user;
	to->flags = (uint32_t)flags;
	to->cgroup = cgroup;
	to->pid_namespace = r ? (uint32_t)row_fields(&back->row)[0].number : 0;
	to->mount_namespace = r ? (uint32_t)row_fields(&back->row)[1].number : 0;
	trace_note_mounts(back->trace, to);
	return 0;
}

static int take_executable_file(struct back *back, const struct values *values,
				struct trace_task *task)
{
	int r = back_row(back, ATTRIBUTE_EXECUTABLE_FILE, values);

	if (r <= 0)
		return r;
	task->executable_device = (uint32_t)row_fields(&back->row)[0].number;
	task->executable_inode = row_fields(&back->row)[1].number;
	return 0;
}

static int take_task(struct back *back, uint32_t span, struct map *tids)
{
	const struct clew_span *from = &back->model->spans[span];
	const struct values *values = back_values(back, from->attributes);
	const char *name = clew_model_string(back->model, from->name);
	uint32_t serial = back->serials[span];
	struct trace_task *task;
	uint64_t tid = 0;
	size_t length;
	int r;

	if (values->of[ATTRIBUTE_UNSEEN])
		return 0;
	task = trace_task_get(back->trace, serial);
	if (!task)
		return -ENOMEM;
	r = take_host(back, &name, &task->task.host);
	if (r < 0)
		return r;
	length = suffix_of(name, &tid);
	task->bounded = true;
	task->begin = (uint64_t)from->start;
	task->end = (uint64_t)from->end;
	task->task.tid = (uint32_t)tid;
	if (!back->from_capture && (uint64_t)from->start > back->trace->start)
		task->task.birth = (uint64_t)from->start;
	if (!back->from_capture && (uint64_t)from->end < back->trace->end)
		task->task.death = (uint64_t)from->end;
	r = take_numbers(back, values, task);
	if (r < 0)
		return r;
	if (task->task.tid && map_set(tids, task->task.tid, 0, 1) < 0)
		return -ENOMEM;
	if (values->of[ATTRIBUTE_PROCESS])
		task->task.process = back_serial(back, values->of[ATTRIBUTE_PROCESS]) ?: serial;
	if (values->of[ATTRIBUTE_PARENT])
		task->task.parent = back_serial(back, values->of[ATTRIBUTE_PARENT]);
	r = take_executable_file(back, values, task);
	if (r == 0)
		r = take_text(back, values->of[ATTRIBUTE_COMMAND], &task->task.command_line);
	if (r == 0)
		r = take_text(back, values->of[ATTRIBUTE_EXECUTABLE], &task->task.executable);
	if (r == 0 && values->of[ATTRIBUTE_SCHEDULED])
		r = back_rows(back, ATTRIBUTE_SCHEDULED, values, take_scheduled, task);
	if (r < 0)
		return r;
	reverse(&task->priority);
	if (values->of[ATTRIBUTE_NAMES])
		return back_rows(back, ATTRIBUTE_NAMES, values, take_name, task);
	return length ? add_name(back, task, 0, name, length) : 0;
}

static int take_spin(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct clew_spin spin = {.task = *(const uint32_t *)row->context,
				 .start = fields[0].number,
				 .end = fields[1].number,
				 .lock = fields[2].number,
				 .type = (uint32_t)fields[3].number,
				 .holder = back_serial(back, fields[4].word)};

	return trace_take(back->trace,
			  (struct clew_finding){.tag = CLEW_FINDING_SPIN, .spin = &spin});
}

static int take_failed(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	const struct clew_failed failed = {
		.header = {.time = fields[0].number,
			   .kind = CLEW_KIND_FAILED,
			   .flags = (uint8_t)fields[3].number},
		.task = *(const uint32_t *)row->context,
		.device = (uint32_t)fields[1].number,
		.object = fields[2].number,
		.listener = fields[4].number,
		.queued = (uint32_t)fields[5].number,
		.call = (uint16_t)fields[6].number,
		.owner = (uint32_t)fields[7].number,
		.holder = back_serial(back, fields[8].word),
	};

	return trace_take(back->trace, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
							     .identity = &failed.header});
}

static int take_exchange(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	const uint64_t flags = fields[5].number;
	const struct clew_exchange exchange = {
		.from = fields[0].number,
		.to = fields[1].number,
		.socket = fields[2].number,
		.questions = (uint32_t)fields[3].number,
		.end = (uint32_t)fields[4].number,
		.task = *(const uint32_t *)row->context,
		.other = back_serial(back, fields[6].word),
		.client = flags & CLEW_EXCHANGE_CLIENT,
		.pipelined = flags & CLEW_EXCHANGE_PIPELINED,
		.goes_on = flags & CLEW_EXCHANGE_GOES_ON,
		.outside = flags & CLEW_EXCHANGE_OUTSIDE,
		.full = flags & CLEW_EXCHANGE_FULL,
		.sent = fields[7].number,
		.first = fields[8].number,
		.last = fields[9].number,
		.round_trip = (uint32_t)fields[10].number,
		.resent = (uint32_t)fields[11].number,
		.query = fields[12].number,
	};

	return trace_add_exchange(back->trace, &exchange);
}

static int take_message(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);

	return trace_take_placed(back->trace,
				 &(struct clew_placed){.time = fields[0].number,
						       .at = fields[1].number,
						       .socket = fields[2].number,
						       .position = fields[3].number,
						       .bytes = (uint32_t)fields[4].number,
						       .task = *(const uint32_t *)row->context,
						       .flags = (uint8_t)fields[5].number});
}

static int take_stay(struct back *back, const struct row *row)
{
	struct clew_stay stay;

	if (!row_stay(row, *(const uint32_t *)row->context, &stay))
		return back_fail_row(back);
	return trace_take(back->trace,
			  (struct clew_finding){.tag = CLEW_FINDING_STAY, .stay = &stay});
}

static int take_tally(struct back *back, const struct row *row)
{
	struct clew_tally tally;

	if (!row_tally(row, *(const uint32_t *)row->context, &tally))
		return back_fail_row(back);
	return trace_take(back->trace,
			  (struct clew_finding){.tag = CLEW_FINDING_TALLY, .tally = &tally});
}

/* Spins, stays, tallies, frames, touches, announcements, other ends and environment of a thread. */
static int take_acts(struct back *back, uint32_t span)
{
	const struct values *values = back_values(back, back->model->spans[span].attributes);
	uint32_t serial = back->serials[span];
	int r = back_rows(back, ATTRIBUTE_SPINS, values, take_spin, &serial);

	if (r == 0)
		r = back_rows(back, ATTRIBUTE_FAILED, values, take_failed, &serial);
	if (r == 0)
		r = back_rows(back, ATTRIBUTE_EXCHANGES, values, take_exchange, &serial);
	if (r == 0)
		r = back_rows(back, ATTRIBUTE_MESSAGES, values, take_message, &serial);
	if (r == 0)
		r = back_rows(back, ATTRIBUTE_STAYS, values, take_stay, &serial);
	if (r == 0)
		r = back_rows(back, ATTRIBUTE_TALLIES, values, take_tally, &serial);
	if (r == 0)
		r = back_frames(back, serial, values);
	if (r == 0)
		r = back_touches(back, serial, values);
	if (r == 0)
		r = back_announcements(back, serial, values);
	if (r == 0)
		r = back_moments(back, serial, values);
	if (r == 0)
		r = back_ends(back, serial, values);
	return r < 0 ? r : back_environment(back, serial, values);
}

int back_tasks(struct back *back)
{
	const struct clew_model *model = back->model;
	struct map tids = {0};
	uint32_t free_tid = 0;
	int r = 0;

	for (uint32_t span = model->first_root; span != CLEW_NONE && r == 0;
	     span = model->spans[span].next_sibling) {
		if (!back->serials[span])
			continue;
		r = take_task(back, span, &tids);
		if (r == 0)
			r = take_acts(back, span);
	}
	back_order_announcements(back);
	back_order_moments(back);
	/* Threads without a tid get one, so that the command line can select
	 * them. */
	for (size_t i = 0; i < back->trace->tasks.count && r == 0 && !back->from_capture; i++) {
		struct trace_task *task = trace_task_at(back->trace, i);

		if (task->task.tid)
			continue;
		do
			free_tid++;
		while (map_get(&tids, free_tid, 0));
		task->task.tid = free_tid;
		if (!task->task.pid)
			task->task.pid = free_tid;
	}
	map_done(&tids);
	return r;
}
