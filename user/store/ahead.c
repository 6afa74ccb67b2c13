/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The thread that decodes ahead. The index tells the order in which the chunks will
 * be needed: a stream needs its next one at the time of its last record before. That
 * order is only a guess (times may be wrong, chunks damaged), so each chunk is the
 * thread's or the reader's, whoever comes first.
 *
 * Rows lie in slots until the reader takes them, and its own used memory takes their
 * place. As that moves from stream to stream, a slot keeps no more than its chunk can need.
 */
#include "ahead.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "encoding.h"

#define SLOTS	 4
#define ROWS_MAX STORE_PACKED_ROWS_MAX /* larger chunks, which clew does not write, are the reader's */

/* When a chunk will be needed. */
struct turn {
	uint64_t time;
	size_t entry;
};

struct slot {
	const struct store_index_entry *entry; /* NULL: free */
	bool ready;			       /* else the thread is at it, with no lock held */
	int result;
	struct store_rows rows;
};

struct store_ahead {
	const struct store_file *file;
	struct store_decoder *decoder; /* the thread's, as the buffer */
	struct store_payload payload;
	pthread_t thread;
	pthread_mutex_t lock;	/* of all below */
	pthread_cond_t decoded; /* a slot became ready */
	pthread_cond_t freed;	/* one became free, or the end has come */
	bool closing;
	bool *begun; /* by entry, from the file's first records on: somebody has it */
	struct slot slots[SLOTS];
	size_t count; /* does not change, like the turns */
	struct turn turns[];
};

bool store_ahead_pays(void)
{
	cpu_set_t set;

	/* It fails where there are more CPUs than a set has. */
	return sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) > 1;
}

static int compare_turns(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

/* First comes each stream's first chunk. */
static void order_turns(struct store_ahead *ahead)
{
	const struct store_index_entry *entries = ahead->file->entries + ahead->file->records;
	uint64_t time = 0;

	for (size_t i = 0; i < ahead->count; i++) {
		bool first = i == 0 || entries[i].stream != entries[i - 1].stream;

		if (first)
			time = 0;
		else if (entries[i - 1].last_time > time)
			time = entries[i - 1].last_time;
		ahead->turns[i] = (struct turn){.time = time, .entry = i};
	}
	qsort(ahead->turns, ahead->count, sizeof(*ahead->turns), compare_turns);
}

static struct slot *find_slot(struct store_ahead *ahead, const struct store_index_entry *entry)
{
	for (unsigned i = 0; i < SLOTS; i++)
		if (ahead->slots[i].entry == entry)
			return &ahead->slots[i];
	return NULL;
}

/* Reads a chunk into a slot, in the thread, with no lock held. */
static int fill(struct store_ahead *ahead, struct slot *slot)
{
	struct store_chunk_header header;
	int r;

	if (slot->rows.memory_size + slot->rows.tails_capacity > slot->entry->rows * sizeof(struct clew_socket_record))
		store_rows_done(&slot->rows);
	r = store_file_read(ahead->file, slot->entry, &ahead->payload, &header);
	return r < 0 ? r : store_decode(ahead->decoder, &header, ahead->payload.bytes, &slot->rows);
}

static void *ahead_main(void *context)
{
	struct store_ahead *ahead = context;

	pthread_mutex_lock(&ahead->lock);
	for (size_t i = 0; i < ahead->count && !ahead->closing; i++) {
		const struct store_index_entry *entry = &ahead->file->entries[ahead->file->records + ahead->turns[i].entry];
		struct slot *slot = NULL;

		while (!ahead->closing && !(slot = find_slot(ahead, NULL)))
			pthread_cond_wait(&ahead->freed, &ahead->lock);
		if (ahead->closing || ahead->begun[ahead->turns[i].entry] || entry->rows > ROWS_MAX)
			continue;
		ahead->begun[ahead->turns[i].entry] = true;
		slot->entry = entry;
		pthread_mutex_unlock(&ahead->lock);
		slot->result = fill(ahead, slot);
		pthread_mutex_lock(&ahead->lock);
		slot->ready = true;
		pthread_cond_signal(&ahead->decoded);
	}
	pthread_mutex_unlock(&ahead->lock);
	return NULL;
}

bool store_ahead_take(struct store_ahead *ahead, const struct store_index_entry *entry, struct store_rows *rows, int *ret_result)
{
	bool *begun = &ahead->begun[entry - ahead->file->entries - ahead->file->records];
	struct slot *slot = NULL;

	pthread_mutex_lock(&ahead->lock);
	if (*begun)
		slot = find_slot(ahead, entry);
	*begun = true;
	if (slot) {
		while (!slot->ready)
			pthread_cond_wait(&ahead->decoded, &ahead->lock);
		*ret_result = slot->result;
		if (slot->result == 0) {
			struct store_rows used = *rows;

			*rows = slot->rows;
			slot->rows = used;
		}
		slot->ready = false;
		slot->entry = NULL;
		pthread_cond_signal(&ahead->freed);
	}
	pthread_mutex_unlock(&ahead->lock);
	return slot;
}

/* Frees all, when there is no thread. */
static void discard(struct store_ahead *ahead)
{
	for (unsigned i = 0; i < SLOTS; i++)
		store_rows_done(&ahead->slots[i].rows);
	pthread_cond_destroy(&ahead->freed);
	pthread_cond_destroy(&ahead->decoded);
	pthread_mutex_destroy(&ahead->lock);
	store_decoder_free(ahead->decoder);
	free(ahead->payload.bytes);
	free(ahead->begun);
	free(ahead);
}

int store_ahead_new(const struct store_file *file, const struct store_schema *schema, struct store_ahead **ret_ahead)
{
	size_t count = file->count - file->records;
	struct store_ahead *ahead = calloc(1, sizeof(*ahead) + count * sizeof(*ahead->turns));
	int r;

	if (!ahead)
		return -ENOMEM;
	ahead->file = file;
	ahead->count = count;
	ahead->begun = calloc(count, sizeof(*ahead->begun));
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->decoded, NULL);
	pthread_cond_init(&ahead->freed, NULL);
	r = ahead->begun ? store_decoder_new(schema, &ahead->decoder) : -ENOMEM;
	if (r == 0) {
		order_turns(ahead);
		r = store_thread_start(&ahead->thread, ahead_main, ahead);
	}
	if (r < 0) {
		discard(ahead);
		return r;
	}
	*ret_ahead = ahead;
	return 0;
}

void store_ahead_free(struct store_ahead *ahead)
{
	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->lock);
	ahead->closing = true;
	pthread_cond_signal(&ahead->freed);
	pthread_mutex_unlock(&ahead->lock);
	pthread_join(ahead->thread, NULL);
	discard(ahead);
}
