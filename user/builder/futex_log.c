/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The events of a futex, in order of time: its releases, and the attempts to take it
 * that ended in a sleep. Both are kept from the begin of the oldest wait on that is not
 * emitted yet. A release becomes known late, so it may belong before later ones.
 */
#include "base/map.h"
#include "builder/builder.h"
#include "builder/futex.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Each kind of entry begins with its time. */
_Static_assert(offsetof(struct release, at) == 0, "at comes first");
_Static_assert(offsetof(struct attempt, at) == 0, "at comes first");

static uint64_t time_of(const struct futex_log *log, size_t size, size_t index)
{
	uint64_t at;

	memcpy(&at, (const char *)log->entries + index * size, sizeof(at));
	return at;
}

static int make_room(struct futex_table *table, struct futex_log *log, size_t size)
{
	size_t capacity = log->capacity ? log->capacity * 2 : 16;
	void *entries;

	if (log->first + log->count < log->capacity)
		return 0;
	if (log->first > log->capacity / 2) {
		memmove(log->entries, (char *)log->entries + log->first * size, log->count * size);
		log->first = 0;
		return 0;
	}
	entries = realloc(log->entries, capacity * size);
	if (!entries)
		return -ENOMEM;
	table->memory += (capacity - log->capacity) * size;
	log->entries = entries;
	log->capacity = capacity;
	return 0;
}

static int add(struct futex_table *table, struct futex_log *log, size_t size, const void *entry)
{
	int r = make_room(table, log, size);
	uint64_t time;
	size_t at;

	if (r < 0)
		return r;
	memcpy(&time, entry, sizeof(time));
	at = log->first + log->count;
	while (at > log->first && time_of(log, size, at - 1) > time)
		at--;
	memmove((char *)log->entries + (at + 1) * size, (char *)log->entries + at * size,
		(log->first + log->count - at) * size);
	memcpy((char *)log->entries + at * size, entry, size);
	log->count++;
	return 0;
}

/* The first entry after a moment, or the end of all. */
static size_t find(const struct futex_log *log, size_t size, uint64_t moment)
{
	size_t low = log->first, count = log->count;

	while (count > 0) {
		size_t half = count / 2;

		if (time_of(log, size, low + half) <= moment) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low;
}

static void drop_first(struct futex_log *log)
{
	log->first++;
	log->count--;
}

static void prune(struct futex *futex)
{
	uint64_t oldest = futex->active.first ? futex->active.first->start : UINT64_MAX;
	size_t kept = futex->shared ? BUILD_ALIAS_LOG : BUILD_WOKEN_LATELY;

	for (const struct futex_wait *wait = futex->pending.first; wait; wait = wait->next)
		oldest = earlier(oldest, wait->start);
	oldest -= earlier(oldest, BUILD_FALLING_ASLEEP);
	while (futex->releases.count > kept && futex_releases(futex)->at <= oldest &&
	       futex_releases(futex)->ran_at <= oldest)
		drop_first(&futex->releases);
	while (futex->attempts.count > kept && futex_attempts(futex)->at <= oldest)
		drop_first(&futex->attempts);
	futex->prune_at = 2 * (futex->releases.count + futex->attempts.count) + 64;
}

int futex_release_add(struct futex_table *table, struct futex *futex, const struct release *release)
{
	if (futex->releases.count + futex->attempts.count >= futex->prune_at)
		prune(futex);
	return add(table, &futex->releases, sizeof(*release), release);
}

int futex_attempt_add(struct futex_table *table, struct futex *futex, const struct attempt *attempt)
{
	if (futex->releases.count + futex->attempts.count >= futex->prune_at)
		prune(futex);
	return add(table, &futex->attempts, sizeof(*attempt), attempt);
}

struct release *futex_release_after(const struct futex *futex, uint64_t moment)
{
	const struct futex_log *log = &futex->releases;

	return log->entries
		       ? (struct release *)log->entries + find(log, sizeof(struct release), moment)
		       : NULL;
}

const struct attempt *futex_attempt_after(const struct futex *futex, uint64_t moment)
{
	const struct futex_log *log = &futex->attempts;

	return log->entries
		       ? (struct attempt *)log->entries + find(log, sizeof(struct attempt), moment)
		       : NULL;
}

static void log_trim(struct futex_log *log, size_t kept)
{
	while (log->count > kept)
		drop_first(log);
}

void futex_logs_trim(struct futex *futex, size_t kept)
{
	log_trim(&futex->releases, kept);
	log_trim(&futex->attempts, kept);
}

static void log_reset(struct futex_table *table, struct futex_log *log, size_t size, size_t most)
{
	if (log->capacity > most) {
		table->memory -= log->capacity * size;
		free(log->entries);
		*log = (struct futex_log){0};
	}
	log->first = log->count = 0;
}

void futex_logs_reset(struct futex_table *table, struct futex *futex, size_t most)
{
	log_reset(table, &futex->releases, sizeof(struct release), most);
	log_reset(table, &futex->attempts, sizeof(struct attempt), most);
}

int futex_logs_join(struct futex_table *table, struct futex *futex, const struct futex *other)
{
	int r = 0;

	for (const struct release *release = futex_releases(other);
	     r >= 0 && release < futex_releases_end(other); release++)
		r = futex_release_add(table, futex, release);
	for (const struct attempt *attempt = futex_attempts(other);
	     r >= 0 && attempt < futex_attempts_end(other); attempt++)
		r = futex_attempt_add(table, futex, attempt);
	return r;
}
