/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The user stream: records that clew makes in user space, and those of the task
 * iterator. Several threads put records. A lock keeps them apart; the drain does
 * not wait for it.
 */
#include <pthread.h>
#include <string.h>

#include "record/stream/clock.h"
#include "record/stream/outlet.h"
#include "record/stream/recorder_state.h"
#include "record/stream/takers.h"
#include "record/stream/user_stream.h"
#include "symbol/elf/kernel.h"

static int put(struct clew_recorder *recorder, const struct clew_header *record, size_t size)
{
	clew_outlet(&recorder->user.outlets, record->time)->read[record->kind]++;
	return clew_takers_put(recorder, CLEW_STREAM_USER, record, size);
}

int clew_put_user(struct clew_recorder *recorder, const void *record, size_t size)
{
	int r;

	pthread_mutex_lock(&recorder->user.lock);
	r = put(recorder, record, size);
	pthread_mutex_unlock(&recorder->user.lock);
	return r;
}

int clew_put_user_now(struct clew_recorder *recorder, struct clew_header *record, size_t size)
{
	int r;

	pthread_mutex_lock(&recorder->user.lock);
	record->time = clew_now();
	record->cpu = CLEW_STREAM_USER;
	r = put(recorder, record, size);
	pthread_mutex_unlock(&recorder->user.lock);
	return r;
}

/* Each record is kept behind its size, padded to 8 bytes. */
static int keep(struct clew_recorder *recorder, const void *record, size_t size)
{
	uint64_t kept = (size + 7) & ~(size_t)7;
	int r;

	recorder->user.kept.item = 1;
	r = vector_reserve(&recorder->user.kept, recorder->user.kept.count + sizeof(kept) + kept);
	if (r >= 0) {
		char *at = (char *)recorder->user.kept.data + recorder->user.kept.count;

		memcpy(at, &kept, sizeof(kept));
		memcpy(at + sizeof(kept), record, size);
		memset(at + sizeof(kept) + size, 0, kept - size);
		recorder->user.kept.count += sizeof(kept) + kept;
	}
	return r;
}

int clew_put_user_kept(struct clew_recorder *recorder, struct clew_header *record, size_t size)
{
	const bool early = !recorder->files.writer;
	int r = 0;

	if (recorder->files.states_again || early) {
		pthread_mutex_lock(&recorder->user.lock);
		r = keep(recorder, record, size);
		pthread_mutex_unlock(&recorder->user.lock);
	}
	return r < 0 || early ? r : clew_put_user_now(recorder, record, size);
}

int clew_put_user_first(struct clew_recorder *recorder)
{
	int r = clew_put_user_again(recorder);

	if (!recorder->files.states_again)
		vector_done(&recorder->user.kept);
	return r;
}

void clew_forget_user_kept(struct clew_recorder *recorder,
			   bool (*gone)(void *context, const struct clew_header *record),
			   void *context)
{
	uint64_t size;
	size_t left = 0;

	pthread_mutex_lock(&recorder->user.lock);
	for (size_t at = 0; at < recorder->user.kept.count; at += sizeof(size) + size) {
		char *kept = (char *)recorder->user.kept.data + at;

		memcpy(&size, kept, sizeof(size));
		if (gone(context, (const struct clew_header *)(kept + sizeof(size))))
			continue;
		memmove((char *)recorder->user.kept.data + left, kept, sizeof(size) + size);
		left += sizeof(size) + size;
	}
	recorder->user.kept.count = left;
	pthread_mutex_unlock(&recorder->user.lock);
}

int clew_put_user_again(struct clew_recorder *recorder)
{
	uint64_t size;
	int r = 0;

	pthread_mutex_lock(&recorder->user.lock);
	for (size_t at = 0; r >= 0 && at < recorder->user.kept.count; at += sizeof(size) + size) {
		char *record = (char *)recorder->user.kept.data + at + sizeof(size);
		struct clew_header *header = (struct clew_header *)record;

		memcpy(&size, record - sizeof(size), sizeof(size));
		header->time = clew_now();
		header->cpu = CLEW_STREAM_USER;
		r = put(recorder, header, size);
	}
	pthread_mutex_unlock(&recorder->user.lock);
	return r;
}

static void end_round(struct clew_recorder *recorder, uint64_t now, bool flush)
{
	const struct clew_round round = {.now = now, .horizon = now, .flush = flush};

	clew_takers_round(recorder, CLEW_STREAM_USER, &round);
}

void clew_user_round(struct clew_recorder *recorder, uint64_t now, bool flush)
{
	pthread_mutex_lock(&recorder->user.lock);
	end_round(recorder, now, flush);
	pthread_mutex_unlock(&recorder->user.lock);
}

void clew_user_try_round(struct clew_recorder *recorder, uint64_t now)
{
	if (pthread_mutex_trylock(&recorder->user.lock))
		return;
	end_round(recorder, now, false);
	pthread_mutex_unlock(&recorder->user.lock);
}

int clew_name_function(struct clew_recorder *recorder, const struct clew_wait *wait, uint64_t time)
{
	uint64_t addresses[] = {
		wait->object_kind == CLEW_OBJECT_FUNCTION || wait->object_kind == CLEW_OBJECT_TIMER
			? wait->object
			: 0,
		wait->reason == CLEW_REASON_FUNCTION ? wait->function : 0,
	};
	int r = 0;

	for (unsigned i = 0; i < 2 && r >= 0; i++) {
		const char *name = addresses[i] && recorder->symbols
					   ? clew_kernel_symbol_at(recorder->symbols, addresses[i])
					   : NULL;

		if (name)
			r = clew_put_text(recorder, addresses[i], name, time);
	}
	return r;
}

int clew_put_text(struct clew_recorder *recorder, uint64_t hash, const char *value, uint64_t time)
{
	struct {
		struct clew_text_record text;
		char bytes[CLEW_TEXT_SIZE];
	} record = {
		.text = {.header = {.time = time, .cpu = CLEW_STREAM_USER, .kind = CLEW_KIND_TEXT},
			 .hash = hash}};

	record.text.text_size = (uint16_t)strnlen(value, CLEW_TEXT_SIZE - 1);
	memcpy(record.bytes, value, record.text.text_size);
	return clew_put_user(recorder, &record, sizeof(record.text) + record.text.text_size);
}
