/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls that programs announce. */
#include "live/announced.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NONE SIZE_MAX

/* The parts of an announcement. */
struct said {
	char name[sizeof(((struct announced_call *)0)->name)]; /* "": no operation */
	bool is_async;
};

/* Whom to call for what ended. */
struct end_taker {
	int (*ended)(void *context, const struct announced_call *call, uint64_t end);
	void *context;
	uint64_t at;
};

void announced_init(struct announced *announced)
{
	*announced = (struct announced){.calls.item = sizeof(struct announced_call)};
}

void announced_done(struct announced *announced)
{
	vector_done(&announced->calls);
}

static struct announced_call *call_at(const struct announced *announced, size_t i)
{
	return (struct announced_call *)announced->calls.data + i;
}

static void remove_call(struct announced *announced, size_t i)
{
	memmove(call_at(announced, i), call_at(announced, i + 1),
		(--announced->calls.count - i) * sizeof(struct announced_call));
}

static void read_words(const struct clew_announce *record, struct said *ret_said)
{
	const char *words[2] = {}, *at = (const char *)(record + 1), *end = at + record->size;

	*ret_said = (struct said){};
	for (size_t i = 0; at < end; i++, at += strnlen(at, (size_t)(end - at)) + 1) {
		if (i < 2)
			words[i] = at;
		else
			ret_said->is_async |= end - at > 5 && !strcmp(at, "async");
	}
	if (words[1])
		snprintf(ret_said->name, sizeof(ret_said->name), "%.*s.%.*s",
			 (int)(words[1] - words[0]), words[0], (int)(end - words[1]), words[1]);
}

/*
 * The open call that an end is about: by its token, of any thread of the process; else the
 * innermost one of the thread that has its name.
 */
static size_t find_call(const struct announced *announced, const struct clew_announce *record,
			uint32_t process, const char *name)
{
	for (size_t i = announced->calls.count; i-- > 0;) {
		const struct announced_call *call = call_at(announced, i);

		if (record->token ? call->token == record->token && call->process == process
				  : call->task == record->task && !call->is_async &&
					    (!name[0] || !strcmp(call->name, name)))
			return i;
	}
	return NONE;
}

/* Ends a call, and those of its thread that began within it. */
static int end_call(struct announced *announced, size_t place, const struct end_taker *taker)
{
	const struct announced_call ended = *call_at(announced, place);
	int r = 0;

	for (size_t i = announced->calls.count; i-- > place && r >= 0;) {
		const struct announced_call call = *call_at(announced, i);

		if (i > place && (ended.is_async || call.is_async || call.task != ended.task))
			continue;
		remove_call(announced, i);
		r = taker->ended(taker->context, &call, taker->at);
	}
	return r;
}

static int begin_call(struct announced *announced, const struct clew_announce *record,
		      uint32_t process, const struct said *said)
{
	struct announced_call *call;

	if (announced->calls.count >= ANNOUNCED_MOST)
		announced->calls.count = 0;
	if (vector_reserve(&announced->calls, announced->calls.count + 1) < 0)
		return -ENOMEM;
	call = call_at(announced, announced->calls.count++);
	*call = (struct announced_call){.begin = record->header.time,
					.token = record->token,
					.task = record->task,
					.process = process,
					.is_async = said->is_async};
	strcpy(call->name, said->name);
	return 0;
}

int announced_take(struct announced *announced, const struct clew_announce *record,
		   uint32_t process,
		   int (*ended)(void *context, const struct announced_call *call, uint64_t end),
		   void *context)
{
	const struct end_taker taker = {ended, context, record->header.time};
	struct said said;
	size_t place = NONE;
	int r = 0;

	read_words(record, &said);
	/* A token that is used anew ends the call that had it. */
	if (record->event || record->token)
		place = find_call(announced, record, process, said.name);
	if (place != NONE)
		r = end_call(announced, place, &taker);
	return r < 0 || record->event ? r : begin_call(announced, record, process, &said);
}

void announced_forget(struct announced *announced, uint32_t task)
{
	for (size_t i = announced->calls.count; i-- > 0;)
		if (call_at(announced, i)->task == task)
			remove_call(announced, i);
}
