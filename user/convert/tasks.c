/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The spans of threads and of strangers. A stranger is a task that some finding
 * names although nothing else is known of it; all of its time is unknown. A
 * thread is in the category of its process, which is in that of the process
 * that spawned it. tasks_back.c is the way back.
 */
#include "convert/to_model.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static int add_name(struct conversion *conversion, const char *name)
{
	const char *copy = arena_copy(&conversion->arena, name, strlen(name));

	if (!copy || vector_reserve(&conversion->names, conversion->names.count + 1) < 0)
		return -ENOMEM;
	((const char **)conversion->names.data)[conversion->names.count++] = copy;
	return 0;
}

static int meet(struct conversion *conversion, uint32_t serial)
{
	char name[32] = "unknown";

	if (capture_span_of(conversion, serial) != CLEW_NONE)
		return 0;
	if (map_set(&conversion->strangers, serial, 0, conversion->names.count) < 0)
		return -ENOMEM;
	if (!trace_nobody(serial))
		snprintf(name, sizeof(name), "unknown#%u", serial);
	return add_name(conversion, name);
}

static int meet_if_any(struct conversion *conversion, uint32_t serial)
{
	return serial == CLEW_NO_TASK ? 0 : meet(conversion, serial);
}

static int meet_those_of_links(struct conversion *conversion, const struct clew_link *links,
			       unsigned count)
{
	int r = 0;

	for (unsigned i = 0; i < count && r == 0; i++) {
		r = meet_if_any(conversion, links[i].task);
		if (r == 0)
			r = meet_if_any(conversion, links[i].worker);
	}
	return r;
}

static int meet_those_of_sleep(struct conversion *conversion, const struct clew_sleep *sleep)
{
	int r = meet_if_any(conversion, sleep->ended_by);

	if (r == 0 && sleep->edge_type >= 0)
		r = meet(conversion, sleep->from);
	for (uint32_t i = 0; i < sleep->holder_count && r == 0; i++)
		r = meet(conversion, sleep->holders[i].task);
	return r < 0 ? r
		     : meet_those_of_links(conversion, sleep->links,
					   (unsigned)sleep->link_count + sleep->and_count);
}

/* The tasks whose stays, ticks and tallies are known. */
static int meet_running(struct conversion *conversion)
{
	const struct vector *const stays[] = {&conversion->trace->stays, &conversion->trace->ticks};
	const struct clew_tally *tallies = conversion->trace->tallies.data;
	int r = 0;

	for (unsigned i = 0; i < 2; i++)
		for (size_t k = 0; k < stays[i]->count && r == 0; k++)
			r = meet(conversion, ((const struct clew_stay *)stays[i]->data)[k].task);
	for (size_t i = 0; i < conversion->trace->tallies.count && r == 0; i++)
		r = meet(conversion, tallies[i].task);
	return r;
}

static int meet_all(struct conversion *conversion)
{
	const struct clew_trace *trace = conversion->trace;
	const struct clew_edge *lone = trace->lone_edges.data;
	const struct clew_spin *spins = trace->spins.data;
	int r = 0;

	for (uint32_t i = 0; i < conversion->task_count && r == 0; i++) {
		r = meet_if_any(conversion, trace_task_at(trace, i)->task.parent);
		if (r == 0)
			r = meet_if_any(conversion, trace_task_at(trace, i)->task.process);
	}
	for (size_t i = 0; i < conversion->sleep_count && r == 0; i++)
		r = meet_those_of_sleep(conversion, &conversion->sleeps[i]);
	for (size_t i = 0; i < trace->lone_edges.count && r == 0; i++) {
		r = meet(conversion, lone[i].from);
		if (r == 0)
			r = meet(conversion, lone[i].to);
	}
	for (size_t i = 0; i < conversion->request_count && r == 0; i++) {
		const struct clew_trace_request *request = &conversion->requests[i];

		r = meet_if_any(conversion, request->block.submitter);
		if (r == 0)
			r = meet_if_any(conversion, request->block.reason_task);
		for (uint32_t k = 0; k < request->page_count && r == 0; k++)
			for (uint32_t w = 0; w < request->pages[k].writer_count && r == 0; w++)
				r = meet_if_any(conversion, request->pages[k].writers[w]);
	}
	for (size_t i = 0; i < trace->spins.count && r == 0; i++) {
		r = meet(conversion, spins[i].task);
		if (r == 0)
			r = meet_if_any(conversion, spins[i].holder);
	}
	return r < 0 ? r : meet_running(conversion);
}

static int name_tasks(struct conversion *conversion)
{
	char name[CLEW_COMM_SIZE + HOST_NAME_MAX + 64];
	int r = 0;

	for (uint32_t i = 0; i < conversion->task_count && r == 0; i++) {
		const struct clew_trace_task *task = &trace_task_at(conversion->trace, i)->task;
		const char *host = task->host ?: "", *colon = task->host ? ":" : "";

		if (task->tid == 0)
			snprintf(name, sizeof(name), "%s%s%s-0#%u", host, colon, task->comm,
				 task->serial);
		else if (task->instance > 1)
			snprintf(name, sizeof(name), "%s%s%s-%u#%u", host, colon, task->comm,
				 task->tid, task->instance);
		else
			snprintf(name, sizeof(name), "%s%s%s-%u", host, colon, task->comm,
				 task->tid);
		r = add_name(conversion, name);
	}
	return r;
}

/* ---- processes ---- */

/* The process that spawned a process; CLEW_NO_TASK: unknown. */
static uint32_t parent_of(const struct conversion *conversion, uint32_t process)
{
	const struct trace_task *leader = trace_task_find(conversion->trace, process), *maker;
	const struct clew_edge *fork = clew_trace_fork_of(conversion->trace, process);
	uint32_t serial = fork ? fork->from : leader ? leader->task.parent : CLEW_NO_TASK;

	maker = trace_task_find(conversion->trace, serial);
	return maker && maker->task.process != process ? maker->task.process : CLEW_NO_TASK;
}

/* Makes the category of a process and those above it. `categories`: process ->
 * category + 1, 0 while it is being searched for. */
static int category_of(struct conversion *conversion, struct map *categories, uint32_t process,
		       uint32_t *ret_category)
{
	struct vector chain = {.item = sizeof(uint32_t)};
	uint32_t category = CLEW_NONE, *steps;
	const uint64_t *known;
	int r = 0;

	for (; process != CLEW_NO_TASK; process = parent_of(conversion, process)) {
		known = map_get(categories, process, 0);
		if (known) {
			category = *known ? (uint32_t)*known - 1 : CLEW_NONE;
			break;
		}
		if (vector_reserve(&chain, chain.count + 1) < 0 ||
		    map_set(categories, process, 0, 0) < 0) {
			r = -ENOMEM;
			break;
		}
		((uint32_t *)chain.data)[chain.count++] = process;
	}
	steps = chain.data;
	for (size_t i = chain.count; i-- > 0 && r == 0;) {
		r = clew_maker_category(conversion->maker, conversion->processes, category,
					capture_name_of(conversion, steps[i]), &category);
		if (r == 0 && map_set(categories, steps[i], 0, (uint64_t)category + 1) < 0)
			r = -ENOMEM;
	}
	vector_done(&chain);
	*ret_category = category;
	return r;
}

/* ---- attributes ---- */

static void describe_names(struct pairs *pairs, const struct trace_task *task)
{
	for (uint32_t i = 0; i < task->name_count && task->name_count > 1; i++)
		PAIRS_ROW(pairs, ATTRIBUTE_NAMES, {task->names[i].since},
			  {.word = task->names[i].name});
}

/* The last one comes first. A nice value is written as a byte without a sign. */
static void describe_scheduled(struct pairs *pairs, const struct trace_task *task)
{
	for (const struct trace_priority *one = task->priority; one; one = one->older)
		PAIRS_ROW(pairs, ATTRIBUTE_SCHEDULED, {one->since}, {one->scheduled.policy},
			  {(uint8_t)one->scheduled.value});
}

static void describe_spins(struct conversion *conversion, uint32_t serial)
{
	const struct clew_spin *spins = conversion->trace->spins.data,
			       *first_spin = clew_trace_spin(conversion->trace, serial, 0);
	size_t count = conversion->trace->spins.count;

	for (size_t i = first_spin ? (size_t)(first_spin - spins) : count;
	     i < count && spins[i].task == serial; i++)
		PAIRS_ROW(&conversion->pairs, ATTRIBUTE_SPINS, {spins[i].start}, {spins[i].end},
			  {spins[i].lock}, {spins[i].type},
			  {.word = capture_name_or_dash(conversion, spins[i].holder)});
}

static void describe_failed(struct conversion *conversion, uint32_t serial)
{
	size_t count;
	const struct clew_failed *failed =
		clew_trace_failed(conversion->trace, serial, 0, UINT64_MAX, &count);

	for (size_t i = 0; i < count; i++)
		PAIRS_ROW(&conversion->pairs, ATTRIBUTE_FAILED, {failed[i].header.time},
			  {failed[i].device}, {failed[i].object}, {failed[i].header.flags},
			  {failed[i].listener}, {failed[i].queued}, {failed[i].call},
			  {failed[i].owner},
			  {.word = capture_name_or_dash(conversion, failed[i].holder)});
}

/* Flags of a row of exchanges. */
static uint64_t exchange_flags(const struct clew_exchange *exchange)
{
	return (exchange->client ? CLEW_EXCHANGE_CLIENT : 0) |
	       (exchange->pipelined ? CLEW_EXCHANGE_PIPELINED : 0) |
	       (exchange->goes_on ? CLEW_EXCHANGE_GOES_ON : 0) |
	       (exchange->outside ? CLEW_EXCHANGE_OUTSIDE : 0) |
	       (exchange->full ? CLEW_EXCHANGE_FULL : 0);
}

static void describe_exchanges(struct conversion *conversion, uint32_t serial)
{
	size_t first, count = clew_trace_exchange_count(conversion->trace, serial, &first);

	for (size_t i = first; i < first + count; i++) {
		const struct clew_exchange *exchange = clew_trace_exchange(conversion->trace, i);

		PAIRS_ROW(&conversion->pairs, ATTRIBUTE_EXCHANGES, {exchange->from}, {exchange->to},
			  {exchange->socket}, {exchange->questions}, {exchange->end},
			  {exchange_flags(exchange)},
			  {.word = capture_name_or_dash(conversion, exchange->other)},
			  {exchange->sent}, {exchange->first}, {exchange->last},
			  {exchange->round_trip}, {exchange->resent}, {exchange->query});
	}
}

static void describe_messages(struct conversion *conversion, uint32_t serial)
{
	size_t count;
	const struct clew_placed *placed = clew_trace_placed(conversion->trace, serial, &count);

	for (size_t i = 0; i < count; i++)
		PAIRS_ROW(&conversion->pairs, ATTRIBUTE_MESSAGES, {placed[i].time}, {placed[i].at},
			  {placed[i].socket}, {placed[i].position}, {placed[i].bytes},
			  {placed[i].flags});
}

/* The places that the task ran in. A tick is a stay without a length. */
static void describe_running(struct conversion *conversion, uint32_t serial)
{
	const struct clew_trace *trace = conversion->trace;
	const struct clew_stay *const firsts[] = {clew_trace_stay(trace, serial, 0),
						  clew_trace_tick(trace, serial, 0)};

	for (unsigned i = 0; i < 2; i++)
		for (const struct clew_stay *stay = firsts[i]; stay;
		     stay = clew_trace_next_stay(trace, stay))
			PAIRS_ROW(&conversion->pairs, ATTRIBUTE_STAYS, {stay->start}, {stay->end},
				  {stay->call}, {stay->reason}, {stay->evidence});
	for (const struct clew_tally *tally = clew_trace_tally(trace, serial, 0); tally;
	     tally = clew_trace_next_tally(trace, tally))
		PAIRS_ROW(&conversion->pairs, ATTRIBUTE_TALLIES, {tally->start}, {tally->end},
			  {tally->what}, {tally->number});
}

static void describe_task(struct conversion *conversion, const struct trace_task *inner)
{
	const struct clew_trace_task *task = &inner->task;
	struct pairs *pairs = &conversion->pairs;

	pairs_add_number(pairs, ATTRIBUTE_TID, task->tid);
	pairs_add_number(pairs, ATTRIBUTE_PID, task->pid);
	if (task->inner_tid)
		pairs_add_number(pairs, ATTRIBUTE_INNER_TID, task->inner_tid);
	if (task->process != task->serial)
		pairs_add(pairs, ATTRIBUTE_PROCESS, capture_name_of(conversion, task->process));
	if (task->parent)
		pairs_add(pairs, ATTRIBUTE_PARENT, capture_name_of(conversion, task->parent));
	describe_names(pairs, inner);
	describe_scheduled(pairs, inner);
	if (task->command_line[0])
		pairs_add(pairs, ATTRIBUTE_COMMAND, task->command_line);
	if (task->executable[0])
		pairs_add(pairs, ATTRIBUTE_EXECUTABLE, task->executable);
	if (inner->executable_inode)
		PAIRS_ROW(pairs, ATTRIBUTE_EXECUTABLE_FILE, {inner->executable_device},
			  {inner->executable_inode});
	pairs_add_number(pairs, ATTRIBUTE_USER, task->user);
	if (task->flags)
		pairs_add_number(pairs, ATTRIBUTE_TASK_FLAGS, task->flags);
	if (task->pid_namespace || task->mount_namespace)
		PAIRS_ROW(pairs, ATTRIBUTE_NAMESPACES, {task->pid_namespace},
			  {task->mount_namespace});
	if (task->cgroup)
		pairs_add_number(pairs, ATTRIBUTE_CGROUP, task->cgroup);
	if (task->birth)
		pairs_add_number(pairs, ATTRIBUTE_BORN, task->birth);
	if (task->death != CLEW_TIME_OPEN)
		pairs_add_number(pairs, ATTRIBUTE_DIED, task->death);
	describe_spins(conversion, task->serial);
	describe_failed(conversion, task->serial);
	describe_exchanges(conversion, task->serial);
	describe_messages(conversion, task->serial);
	describe_running(conversion, task->serial);
	capture_describe_left_out(conversion, (uint64_t)UINT32_MAX + 1 + inner->index);
	capture_describe_frames(conversion, task->serial);
}

static int make_actor(struct conversion *conversion, uint32_t number, uint32_t category)
{
	const struct clew_trace *trace = conversion->trace;
	const struct trace_task *task =
		number < conversion->task_count ? trace_task_at(trace, number) : NULL;
	const char *name = ((const char **)conversion->names.data)[number];
	uint32_t span, attributes;
	int r;

	r = clew_maker_root(conversion->maker, name, (clew_time)(task ? task->begin : trace->start),
			    (clew_time)(task ? task->end : conversion->end), &span);
	if (r == 0)
		r = clew_maker_place(conversion->maker, span, category);
	if (r < 0)
		return r;
	if (task)
		describe_task(conversion, task);
	else
		pairs_add(&conversion->pairs, ATTRIBUTE_UNSEEN, "yes");
	if (task)
		r = capture_describe_touches(conversion, task->task.serial);
	if (task && r >= 0)
		r = capture_describe_announcements(conversion, task->task.serial);
	if (task && r >= 0)
		r = capture_describe_moments(conversion, task->task.serial);
	if (task && r >= 0)
		r = capture_describe_ends(conversion, task->task.serial);
	if (task)
		capture_describe_environment(conversion, task->task.serial);
	if (r < 0)
		return r;
	r = pairs_make(&conversion->pairs, conversion->maker, &attributes);
	return r < 0 ? r : clew_maker_set_span_attributes(conversion->maker, span, attributes);
}

int capture_make_spans(struct conversion *conversion)
{
	const struct clew_trace *trace = conversion->trace;
	struct map categories = {0};
	uint32_t category;
	int r;

	conversion->task_count = (uint32_t)trace->tasks.count;
	r = name_tasks(conversion);
	if (r == 0)
		r = meet_all(conversion);
	conversion->actor_count = (uint32_t)conversion->names.count;
	for (uint32_t i = 0; i < conversion->actor_count && r == 0; i++) {
		if (i < conversion->task_count)
			r = category_of(conversion, &categories,
					trace_task_at(trace, i)->task.process, &category);
		else
			r = clew_maker_category(conversion->maker, conversion->processes, CLEW_NONE,
						"unknown", &category);
		if (r == 0)
			r = make_actor(conversion, i, category);
	}
	map_done(&categories);
	return r;
}
