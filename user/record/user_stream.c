/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The user stream: records that clew makes in user space, and those of the task
 * iterator.
 */
#include <string.h>

#include "record/internal.h"

int clew_put_user(struct clew_recorder *recorder, const void *record, size_t size)
{
	recorder->user_reads[((const struct clew_header *)record)->kind]++;
	return clew_takers_put(recorder, CLEW_STREAM_USER, record, size);
}

void clew_user_round(struct clew_recorder *recorder, uint64_t now, bool flush)
{
	const struct clew_round round = {.now = now, .horizon = now, .flush = flush};

	clew_takers_round(recorder, CLEW_STREAM_USER, &round);
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
