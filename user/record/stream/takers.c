/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hands records to the takers of a recording. The first taker is the capture's writer.
 */
#include <errno.h>

#include "record/stream/drain.h"
#include "record/stream/outlet.h"
#include "record/stream/recorder_state.h"
#include "record/stream/takers.h"

#define CHUNK_AGE                                                                                  \
	300000000ULL /* ns: records of that age are encoded, so that a kill loses less             \
			than a second */

struct outlets *clew_outlets_of(struct clew_recorder *recorder, unsigned stream)
{
	return stream == CLEW_STREAM_USER ? &recorder->user.outlets
					  : &recorder->streams[stream].outlets;
}

static int write_record(void *context, unsigned stream, const struct clew_header *record,
			size_t size)
{
	struct outlet *outlet = clew_outlet(clew_outlets_of(context, stream), record->time);

	return clew_writer_put(outlet->writer, stream, record, size);
}

static void write_round(void *context, unsigned stream, const struct clew_round *round)
{
	const struct outlets *outlets = clew_outlets_of(context, stream);
	uint64_t age = round->flush ? 0 : CHUNK_AGE;

	clew_writer_flush(outlets->now.writer, stream, round->now, age);
	if (outlets->next.writer)
		clew_writer_flush(outlets->next.writer, stream, round->now, age);
}

void clew_takers_add_writer(struct clew_recorder *recorder)
{
	recorder->takers.of[recorder->takers.count++] = (struct clew_record_taker){
		.context = recorder,
		.take = write_record,
		.round = write_round,
	};
}

int clew_takers_add(struct clew_recorder *recorder, const struct clew_record_taker *takers,
		    size_t count)
{
	if (count > TAKERS_MOST - recorder->takers.count)
		return -EINVAL;
	for (size_t i = 0; i < count; i++)
		recorder->takers.of[recorder->takers.count++] = takers[i];
	return 0;
}

void clew_takers_begin(const struct clew_recorder *recorder, uint64_t start)
{
	for (unsigned i = 0; i < recorder->takers.count; i++)
		if (recorder->takers.of[i].begin)
			recorder->takers.of[i].begin(recorder->takers.of[i].context, start);
}

int clew_takers_put(const struct clew_recorder *recorder, unsigned stream, const void *record,
		    size_t size)
{
	int r = 0;

	for (unsigned i = 0; i < recorder->takers.count; i++) {
		const struct clew_record_taker *taker = &recorder->takers.of[i];
		int error = taker->take(taker->context, stream, record, size);

		r = r ? r : error;
	}
	return r;
}

void clew_takers_round(const struct clew_recorder *recorder, unsigned stream,
		       const struct clew_round *round)
{
	for (unsigned i = 0; i < recorder->takers.count; i++)
		if (recorder->takers.of[i].round)
			recorder->takers.of[i].round(recorder->takers.of[i].context, stream, round);
}

void clew_takers_end(const struct clew_recorder *recorder, uint64_t end)
{
	for (unsigned i = 0; i < recorder->takers.count; i++)
		if (recorder->takers.of[i].end)
			recorder->takers.of[i].end(recorder->takers.of[i].context, end);
}
