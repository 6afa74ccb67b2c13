/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Synthetic records for the tests of the builder and of what reads its traces.
 * A `struct synthetic` collects them in order; synthetic_trace() builds a trace, and
 * synthetic_feed() hands the findings to any takers.
 */
#ifndef CLEW_TESTS_SYNTHETIC_H
#define CLEW_TESTS_SYNTHETIC_H

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "builder/build.h"
#include "store/kinds.h"
#include "trace/internal.h"
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define UNUSED __attribute__((unused))
#define START  1000u
#define IDLE   0u

struct synthetic {
	char *bytes;
	size_t size, capacity;
};

static UNUSED void *synthetic_put(struct synthetic *s, const void *record, size_t size)
{
	size_t room = (size + 7) & ~(size_t)7;
	void *place;

	if (s->size + room > s->capacity) {
		s->capacity = (s->size + room) * 2;
		s->bytes = realloc(s->bytes, s->capacity);
		assert_non_null(s->bytes);
	}
	place = memset(s->bytes + s->size, 0, room);
	memcpy(place, record, size);
	s->size += room;
	return place;
}

static size_t record_size(const struct clew_header *header)
{
	size_t size = store_record_size(header, SIZE_MAX);

	assert_true(size > 0);
	return (size + 7) & ~(size_t)7;
}

static void feed_all(struct clew_builder *builder, const struct synthetic *s)
{
	for (size_t at = 0; at < s->size;
	     at += record_size((const struct clew_header *)(s->bytes + at)))
		assert_int_equal(
			clew_builder_feed(builder, (const struct clew_header *)(s->bytes + at)), 0);
}

/* Feeds all records so far to a builder, and removes them. */
static UNUSED void synthetic_flush(struct clew_builder *builder, struct synthetic *s)
{
	feed_all(builder, s);
	s->size = 0;
}

/* Feeds all records to a new builder, and ends it. */
static UNUSED void synthetic_feed(const struct synthetic *s, uint64_t end, uint32_t drop_types,
				  const struct clew_finding_taker *takers, size_t count)
{
	struct clew_builder_options options = {
		.size = sizeof(options), .start = START, .drop_types = drop_types};
	struct clew_builder *builder;

	assert_int_equal(clew_builder_new(&options, takers, count, &builder), 0);
	feed_all(builder, s);
	assert_int_equal(clew_builder_finish(builder, end), 0);
	clew_builder_free(builder);
}

static UNUSED int finding_ignore(void *context, struct clew_finding finding)
{
	(void)context;
	(void)finding;
	return 0;
}

/* Wants everything, so that all is made, and keeps nothing. */
static UNUSED const struct clew_finding_taker taker_of_all = {.wants = CLEW_FINDINGS_ALL,
							      .take = finding_ignore};

static UNUSED struct clew_trace *synthetic_trace(const struct synthetic *s, uint64_t end,
						 uint32_t drop_types)
{
	struct clew_trace_options options = {.size = sizeof(options), .drop_types = drop_types};
	struct clew_finding_taker taker;
	struct clew_trace *trace;

	assert_int_equal(clew_trace_new(&options, START, &trace), 0);
	taker = clew_trace_taker(trace);
	synthetic_feed(s, end, drop_types, &taker, 1);
	assert_int_equal(clew_trace_finish(trace, end), 0);
	return trace;
}

static UNUSED void synthetic_done(struct synthetic *s)
{
	free(s->bytes);
	*s = (struct synthetic){0};
}

/* ---- identities ---- */

struct identity {
	uint32_t task, process, tid, pid, parent;
	uint32_t pid_namespace;
	uint32_t own_tid; /* in the namespace `pid_namespace` if it is not the initial one */
	const char *comm, *command_line;
	uint64_t at, start_time;
	uint32_t flags; /* CLEW_TASK_* */
	uint32_t memory;
};

static UNUSED void identify(struct synthetic *s, struct identity id)
{
	char bytes[sizeof(struct clew_task_record) + 256] = {0};
	struct clew_task_record *record = (struct clew_task_record *)bytes;

	record->header.kind = CLEW_KIND_TASK;
	record->header.time = id.at ? id.at : START - 10;
	record->task = id.task;
	record->process = id.process ? id.process : id.task;
	record->tid = id.tid ? id.tid : 100 + id.task;
	record->pid = id.pid ? id.pid : 100 + record->process;
	record->parent = id.parent;
	record->task_flags = id.flags;
	record->start_time = id.start_time ? id.start_time : 1;
	record->pid_namespace = id.pid_namespace ? id.pid_namespace : 1;
	record->memory = id.memory;
	record->nspid[0] = record->tid;
	record->nspid_count = 1;
	if (id.own_tid) {
		record->nspid[1] = id.own_tid;
		record->nspid_count = 2;
	}
	strncpy(record->comm, id.comm ? id.comm : "task", sizeof(record->comm) - 1);
	if (id.command_line) {
		record->command_line_size = (uint16_t)(strlen(id.command_line) + 1);
		memcpy(record + 1, id.command_line, record->command_line_size);
	}
	synthetic_put(s, record, sizeof(*record) + record->command_line_size);
}

/* Tasks 1..count of one process, tids 101.. */
static UNUSED void threads(struct synthetic *s, unsigned count)
{
	for (unsigned task = 1; task <= count; task++)
		identify(s, (struct identity){.task = task, .process = 1});
}

static UNUSED void life(struct synthetic *s, unsigned kind, uint64_t at, uint32_t task,
			uint32_t other)
{
	struct clew_life record = {
		.header = {.time = at, .kind = (__u8)kind}, .task = task, .other = other};

	synthetic_put(s, &record, sizeof(record));
}

static UNUSED void rename_task(struct synthetic *s, uint64_t at, uint32_t task, const char *comm)
{
	struct clew_rename record = {.header = {.time = at, .kind = CLEW_KIND_RENAME},
				     .task = task};

	strncpy(record.comm, comm, sizeof(record.comm) - 1);
	synthetic_put(s, &record, sizeof(record));
}

static UNUSED void gap(struct synthetic *s, unsigned cpu, uint64_t from, uint64_t at)
{
	struct clew_gap record = {.header = {.time = at, .kind = CLEW_KIND_GAP, .cpu = (__u16)cpu},
				  .from = from,
				  .count = 3};

	synthetic_put(s, &record, sizeof(record));
}

/* The CPU's stream ends at `from`, as the recording was killed. */
static UNUSED void cut_off(struct synthetic *s, unsigned cpu, uint64_t from, uint64_t at)
{
	struct clew_gap record = {.header = {.time = at,
					     .kind = CLEW_KIND_GAP,
					     .cpu = (__u16)cpu,
					     .flags = CLEW_GAP_IN_FILE},
				  .from = from,
				  .count = CLEW_GAP_UNCOUNTED};

	synthetic_put(s, &record, sizeof(record));
}

/* ---- waits ---- */

static UNUSED struct clew_wait wait_in(unsigned call)
{
	return (struct clew_wait){.call = (__u16)call, .descriptor = -1};
}

static UNUSED struct clew_wait wait_on(unsigned call, unsigned kind, uint64_t object)
{
	return (struct clew_wait){
		.call = (__u16)call, .descriptor = 3, .object_kind = (__u8)kind, .object = object};
}

static UNUSED struct clew_wait wait_futex(unsigned class, uint64_t address, uint32_t owner_tid)
{
	return (struct clew_wait){
		.call = SYS_futex,
		.descriptor = -1,
		.object_kind = CLEW_OBJECT_FUTEX,
		.object = address,
		.futex_class = (__u8) class,
		.futex_operation = FUTEX_WAIT | FUTEX_PRIVATE_FLAG,
		.owner = owner_tid,
	};
}

static UNUSED struct clew_wait shared(struct clew_wait wait)
{
	wait.futex_operation &= (__u8)~FUTEX_PRIVATE_FLAG;
	return wait;
}

static UNUSED struct clew_wait wait_file_lock(uint64_t number, uint32_t owner_tid)
{
	return (struct clew_wait){
		.call = SYS_fcntl,
		.descriptor = 3,
		.object_kind = CLEW_OBJECT_FILE,
		.object = 1234,
		.argument = number,
		.owner = owner_tid,
		.reason = CLEW_REASON_FILE_LOCK,
		.flags = CLEW_WAIT_FLAG_TAKER,
	};
}

/* ---- switches ---- */

struct woken {
	uint64_t at;
	uint32_t by;
	uint8_t context; /* 0: task */
	uint8_t flags, operation, object_kind;
	uint64_t object;
	struct clew_cause cause; /* kind 0: none is told */
};

struct switched {
	uint64_t at;
	unsigned cpu;
	uint32_t prev, next;
	unsigned flags;
	const struct clew_wait *wait;
	unsigned state;
	unsigned high;	    /* flags_high */
	struct woken woken; /* at 0: next did not sleep, unless flags say so */
};

static UNUSED void put_switch(struct synthetic *s, unsigned kind, struct switched w)
{
	struct {
		struct clew_switch head;
		struct clew_wait wait;
		struct clew_cause cause;
	} record = {
		.head =
			{
				.header = {.time = w.at,
					   .cpu = (__u16)w.cpu,
					   .kind = (__u8)kind,
					   .flags = (__u8)w.flags},
				.prev = w.prev,
				.next = w.next,
				.prev_state = (__u16)w.state,
				.flags_high = (__u8)w.high,
				.wake_time = w.woken.at,
				.waker = w.woken.by,
				.wake_context = w.woken.context ? w.woken.context : CLEW_WAKE_TASK,
				.wake_flags = w.woken.flags,
				.wake_operation = w.woken.operation,
				.wake_object = w.woken.object,
				.wake_object_kind = w.woken.object_kind,
				.wake_descriptor = -1,
				.wake_call = CLEW_NO_CALL,
			},
	};
	bool caused;

	if (w.wait) {
		record.head.header.flags |= CLEW_SWITCH_SLEEP | CLEW_SWITCH_WAIT;
		record.wait = *w.wait;
		if (!w.state)
			record.head.prev_state = 1;
	}
	if (w.woken.at && !(w.flags & CLEW_SWITCH_NEXT_NEW))
		record.head.header.flags |= CLEW_SWITCH_NEXT_SLEPT;
	caused = kind == CLEW_KIND_SWITCH && (w.woken.cause.kind || w.flags & CLEW_SWITCH_CAUSE);
	if (caused) {
		struct clew_cause *behind =
			w.wait ? &record.cause : (struct clew_cause *)&record.wait;

		record.head.header.flags |= CLEW_SWITCH_CAUSE;
		memcpy(behind, &w.woken.cause, sizeof(*behind));
	}
	synthetic_put(s, &record,
		      sizeof(record.head) + (w.wait ? sizeof(record.wait) : 0) +
			      (caused ? sizeof(record.cause) : 0));
}

#define SWITCH(s, ...) put_switch(s, CLEW_KIND_SWITCH, (struct switched){__VA_ARGS__})

/* A task that had its CPU to itself sleeps. */
static UNUSED void sleeps(struct synthetic *s, uint64_t at, unsigned cpu, uint32_t task,
			  struct clew_wait wait)
{
	SWITCH(s, .at = at, .cpu = cpu, .prev = task, .next = IDLE, .wait = &wait);
}

/* It comes on its idle CPU again. */
static UNUSED void comes(struct synthetic *s, uint64_t at, unsigned cpu, uint32_t task,
			 struct woken woken)
{
	SWITCH(s, .at = at, .cpu = cpu, .prev = IDLE, .next = task, .woken = woken);
}

static UNUSED void found_asleep(struct synthetic *s, uint64_t at, uint32_t task,
				struct clew_wait wait)
{
	put_switch(s, CLEW_KIND_STATE,
		   (struct switched){.at = at, .prev = task, .next = task, .wait = &wait});
}

static UNUSED void found_ready(struct synthetic *s, uint64_t at, uint32_t task)
{
	put_switch(s, CLEW_KIND_STATE,
		   (struct switched){
			   .at = at, .prev = task, .next = task, .flags = CLEW_STATE_RUNNABLE});
}

static UNUSED void found_dead(struct synthetic *s, uint64_t at, uint32_t task)
{
	put_switch(
		s, CLEW_KIND_STATE,
		(struct switched){.at = at, .prev = task, .next = task, .flags = CLEW_STATE_DEAD});
}

/* The stop's look at a sleeper; `woken.at` 0: it sleeps on. */
static UNUSED void stop_asleep(struct synthetic *s, uint64_t at, uint32_t task,
			       struct clew_wait wait, struct woken woken)
{
	put_switch(s, CLEW_KIND_STATE,
		   (struct switched){.at = at,
				     .prev = task,
				     .next = task,
				     .wait = &wait,
				     .flags = CLEW_STATE_STOP,
				     .woken = woken});
}

/* ---- announcements ---- */

/* One announcement; words have blanks between them here. */
static UNUSED void announce(struct synthetic *s, uint64_t at, uint32_t task, bool end,
			    uint64_t token, const char *words)
{
	struct {
		struct clew_announce announce;
		char text[300];
	} record = {.announce = {.header = {.time = at, .kind = CLEW_KIND_ANNOUNCE},
				 .task = task,
				 .token = token,
				 .event = end}};

	record.announce.size = (uint16_t)(*words ? strlen(words) + 1 : 0);
	memcpy(record.text, words, record.announce.size);
	for (unsigned i = 0; i < record.announce.size; i++)
		if (record.text[i] == ' ')
			record.text[i] = '\0';
	synthetic_put(s, &record, sizeof(record.announce) + record.announce.size);
}

static UNUSED void begins(struct synthetic *s, uint64_t at, uint32_t task, uint64_t token,
			  const char *words)
{
	announce(s, at, task, false, token, words);
}

static UNUSED void ends(struct synthetic *s, uint64_t at, uint32_t task, uint64_t token)
{
	announce(s, at, task, true, token, "");
}

/* ---- devices, work, locks ---- */

static UNUSED void text(struct synthetic *s, uint64_t at, uint64_t hash, const char *words)
{
	char bytes[sizeof(struct clew_text_record) + 256] = {0};
	struct clew_text_record *record = (struct clew_text_record *)bytes;

	record->header = (struct clew_header){.time = at, .kind = CLEW_KIND_TEXT};
	record->hash = hash;
	record->text_size = (uint16_t)strlen(words);
	memcpy(record + 1, words, record->text_size);
	synthetic_put(s, record, sizeof(*record) + record->text_size);
}

#define WORK(s, at, ...)                                                                           \
	synthetic_put(                                                                             \
		s,                                                                                 \
		&(struct clew_work){.header = {.time = at, .kind = CLEW_KIND_WORK}, __VA_ARGS__},  \
		sizeof(struct clew_work))
#define BIO(s, at, event, ...)                                                                     \
	synthetic_put(                                                                             \
		s,                                                                                 \
		&(struct clew_bio){.header = {.time = at, .kind = CLEW_KIND_BIO, .flags = event},  \
				   __VA_ARGS__},                                                   \
		sizeof(struct clew_bio))
#define LIMIT(s, at, ...)                                                                          \
	synthetic_put(s,                                                                           \
		      &(struct clew_limit){.header = {.time = at, .kind = CLEW_KIND_LIMIT},        \
					   __VA_ARGS__},                                           \
		      sizeof(struct clew_limit))
#define REQUEST(s, at, event, ...)                                                                 \
	synthetic_put(s,                                                                           \
		      &(struct clew_request){                                                      \
			      .header = {.time = at, .kind = CLEW_KIND_REQUEST, .flags = event},   \
			      __VA_ARGS__},                                                        \
		      sizeof(struct clew_request))
#define EXTENT(s, at, event, ...)                                                                  \
	synthetic_put(s,                                                                           \
		      &(struct clew_extent){                                                       \
			      .header = {.time = at, .kind = CLEW_KIND_EXTENT, .flags = event},    \
			      __VA_ARGS__},                                                        \
		      sizeof(struct clew_extent))
#define PAGES(s, at, ...)                                                                          \
	synthetic_put(s,                                                                           \
		      &(struct clew_pages){.header = {.time = at, .kind = CLEW_KIND_PAGES},        \
					   __VA_ARGS__},                                           \
		      sizeof(struct clew_pages))
#define WRITEBACK(s, at, event, ...)                                                               \
	synthetic_put(s,                                                                           \
		      &(struct clew_writeback){                                                    \
			      .header = {.time = at, .kind = CLEW_KIND_WRITEBACK, .flags = event}, \
			      __VA_ARGS__},                                                        \
		      sizeof(struct clew_writeback))
#define JOURNAL(s, at, event, ...)                                                                 \
	synthetic_put(s,                                                                           \
		      &(struct clew_journal){                                                      \
			      .header = {.time = at, .kind = CLEW_KIND_JOURNAL, .flags = event},   \
			      __VA_ARGS__},                                                        \
		      sizeof(struct clew_journal))
#define RING(s, at, event, ...)                                                                    \
	synthetic_put(s,                                                                           \
		      &(struct clew_ring){                                                         \
			      .header = {.time = at, .kind = CLEW_KIND_RING, .flags = event},      \
			      __VA_ARGS__},                                                        \
		      sizeof(struct clew_ring))
#define SPIN(s, at, ...)                                                                           \
	synthetic_put(                                                                             \
		s,                                                                                 \
		&(struct clew_lock){.header = {.time = at, .kind = CLEW_KIND_LOCK}, __VA_ARGS__},  \
		sizeof(struct clew_lock))
#define WHERE(s, at, event, ...)                                                                   \
	synthetic_put(s,                                                                           \
		      &(struct clew_where){                                                        \
			      .header = {.time = at, .kind = CLEW_KIND_WHERE, .flags = event},     \
			      __VA_ARGS__},                                                        \
		      sizeof(struct clew_where))
#define REFILL(s, at, event, group)                                                                \
	synthetic_put(s,                                                                           \
		      &(struct clew_refill){                                                       \
			      .header = {.time = at, .kind = CLEW_KIND_REFILL, .flags = event},    \
			      .cgroup = group},                                                    \
		      sizeof(struct clew_refill))

static UNUSED struct woken interrupted(uint64_t at, unsigned context, struct clew_cause cause)
{
	return (struct woken){.at = at, .by = 77, .context = (uint8_t)context, .cause = cause};
}

/* ---- reading ---- */

/* The n-th sleep of a task, or NULL. */
static UNUSED const struct clew_sleep *sleep_of(const struct clew_trace *trace, uint32_t task,
						unsigned n)
{
	size_t count;
	const struct clew_sleep *all = clew_trace_sleeps(trace, &count);

	for (size_t i = 0; i < count; i++)
		if (all[i].task == task && n-- == 0)
			return &all[i];
	return NULL;
}

static UNUSED struct clew_piece piece_of(const struct clew_trace *trace, uint32_t task, uint64_t at)
{
	struct clew_piece piece;

	assert_true(clew_trace_piece(trace, task, at, false, &piece));
	assert_true(piece.start <= at && at < piece.end);
	return piece;
}

static UNUSED void assert_piece(const struct clew_trace *trace, uint32_t task, uint64_t start,
				uint64_t end, unsigned kind)
{
	struct clew_piece piece = piece_of(trace, task, start);

	assert_int_equal(piece.kind, kind);
	assert_int_equal(piece.start, start);
	assert_int_equal(piece.end, end);
	assert_true(clew_trace_piece(trace, task, end, true, &piece));
	assert_int_equal(piece.start, start);
}

static UNUSED void assert_holder(const struct clew_sleep *sleep, unsigned index, uint32_t task,
				 uint64_t from, uint64_t to, bool barged)
{
	assert_non_null(sleep);
	assert_true(index < sleep->holder_count);
	assert_int_equal(sleep->holders[index].task, task);
	assert_int_equal(sleep->holders[index].from, from);
	assert_int_equal(sleep->holders[index].to, to);
	assert_int_equal(sleep->holders[index].barged, barged);
	assert_false(sleep->holders[index].coming);
	assert_int_equal(sleep->holders[index].evidence,
			 barged ? CLEW_EVIDENCE_OBSERVED : CLEW_EVIDENCE_EXACT);
}

/* It was woken for the lock and had no CPU yet. */
static UNUSED void assert_coming(const struct clew_sleep *sleep, unsigned index, uint32_t task,
				 uint64_t from, uint64_t to)
{
	assert_non_null(sleep);
	assert_true(index < sleep->holder_count);
	assert_int_equal(sleep->holders[index].task, task);
	assert_int_equal(sleep->holders[index].from, from);
	assert_int_equal(sleep->holders[index].to, to);
	assert_true(sleep->holders[index].coming);
	assert_int_equal(sleep->holders[index].evidence, CLEW_EVIDENCE_OBSERVED);
}

static UNUSED const struct clew_edge *edge_to(const struct clew_trace *trace, uint32_t to,
					      unsigned n)
{
	size_t count;
	const struct clew_edge *all = clew_trace_edges(trace, &count);

	for (size_t i = 0; i < count; i++)
		if (all[i].to == to && n-- == 0)
			return &all[i];
	return NULL;
}

/* Every ns of every task in one piece; sleeps in order. */
static UNUSED void assert_sane(const struct clew_trace *trace)
{
	size_t count;
	const struct clew_sleep *all = clew_trace_sleeps(trace, &count);

	for (size_t i = 0; i < count; i++) {
		assert_true(all[i].task != 0);
		assert_true(all[i].start <= all[i].end);
		assert_true(all[i].end <= all[i].switch_in);
		if (i > 0)
			assert_true(all[i - 1].start < all[i].start ||
				    (all[i - 1].start == all[i].start &&
				     all[i - 1].task <= all[i].task));
		for (unsigned h = 0; h < all[i].holder_count; h++) {
			assert_true(all[i].holders[h].from < all[i].holders[h].to);
			assert_true(all[i].holders[h].from >= all[i].start &&
				    all[i].holders[h].to <= all[i].end);
			assert_true(h == 0 || all[i].holders[h - 1].to <= all[i].holders[h].from);
		}
	}
	for (size_t i = 0; i < clew_trace_task_count(trace); i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);
		const struct trace_task *inner = trace_task_find(trace, task->serial);
		struct clew_piece piece;
		uint64_t at = inner->begin;

		for (uint32_t k = 1; k < inner->pieces.count; k++)
			assert_true(trace_piece_start(trace, inner->pieces.data[k - 1]) <=
				    trace_piece_start(trace, inner->pieces.data[k]));
		while (at < inner->end) {
			assert_true(clew_trace_piece(trace, task->serial, at, false, &piece));
			assert_int_equal(piece.start, at);
			assert_true(piece.end > at);
			at = piece.end;
		}
		assert_int_equal(at, inner->end);
		assert_false(clew_trace_piece(trace, task->serial, inner->end, false, &piece));
	}
}

#endif
