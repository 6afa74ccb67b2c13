/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The files that a stream's records go to. While the recording goes over to another file there are
 * two; which of them is a record's follows from its time alone.
 */
#ifndef CLEW_RECORD_STREAM_OUTLET_H
#define CLEW_RECORD_STREAM_OUTLET_H

#include <clew/kernel/records.h>
#include <stddef.h>
#include <stdint.h>

struct clew_recorder;
struct clew_writer;

/* The file that a stream's records go to, and how many of them went there. A keyframe is a further
 * outlet to the same file. */
struct outlet {
	struct clew_writer *writer;
	uint64_t names; /* in outlets of different numbers everything is named again */
	uint64_t read[CLEW_KIND_COUNT];
	uint64_t made[CLEW_KIND_COUNT]; /* records made by clew itself, not by a program */
};

/* `next.writer` is NULL but while the recording goes over to another file: records from `boundary`
 * on are that file's. */
struct outlets {
	struct outlet now, next;
	uint64_t boundary;
};

/* The outlets of a stream, and the one of them for a record of that time. */
struct outlets *clew_outlets_of(struct clew_recorder *recorder, unsigned stream);
static inline struct outlet *clew_outlet(struct outlets *outlets, uint64_t time)
{
	return outlets->next.writer && time >= outlets->boundary ? &outlets->next : &outlets->now;
}

#endif
