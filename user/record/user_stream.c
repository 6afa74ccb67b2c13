/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The user stream: records that clew makes in user space, and those of the task
 * iterator. While it records, one thread puts what it finds in new files, and
 * another ends the rounds.
 */
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
	/* Not before a round that has ended. */
	record->time = clew_now();
	r = put(recorder, record, size);
	pthread_mutex_unlock(&recorder->user_lock);
	return r;
}

void clew_user_round(struct clew_recorder *recorder, uint64_t now, bool flush)
{
	const struct clew_round round = {.now = now, .horizon = now, .flush = flush};

	pthread_mutex_lock(&recorder->user_lock);
	clew_takers_round(recorder, CLEW_STREAM_USER, &round);
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
