/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The user stream: records that clew makes in user space, and those of the task
 * iterator. Several threads put records. A lock keeps them apart; the drain does
 * not wait for it.
 */
#include <pthread.h>
#include <string.h>

#include "record/internal.h"

static int put(struct clew_recorder *recorder, const struct clew_header *record, size_t size)
{
	recorder->user_reads[record->kind]++;
	return clew_takers_put(recorder, CLEW_STREAM_USER, record, size);
}

int clew_put_user(struct clew_recorder *recorder, const void *record, size_t size)
{
	int r;

	pthread_mutex_lock(&recorder->user_lock);
	r = put(recorder, record, size);
	pthread_mutex_unlock(&recorder->user_lock);
	return r;
}

int clew_put_user_now(struct clew_recorder *recorder, struct clew_header *record, size_t size)
{
	int r;

	pthread_mutex_lock(&recorder->user_lock);
	record->time = clew_now();
	record->cpu = CLEW_STREAM_USER;
	r = put(recorder, record, size);
	pthread_mutex_unlock(&recorder->user_lock);
	return r;
}

static void end_round(struct clew_recorder *recorder, uint64_t now, bool flush)
{
	const struct clew_round round = {.now = now, .horizon = now, .flush = flush};

	clew_takers_round(recorder, CLEW_STREAM_USER, &round);
}

void clew_user_round(struct clew_recorder *recorder, uint64_t now, bool flush)
{
	pthread_mutex_lock(&recorder->user_lock);
	end_round(recorder, now, flush);
	pthread_mutex_unlock(&recorder->user_lock);
}

void clew_user_try_round(struct clew_recorder *recorder, uint64_t now)
{
	if (pthread_mutex_trylock(&recorder->user_lock))
		return;
	end_round(recorder, now, false);
	pthread_mutex_unlock(&recorder->user_lock);
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
