/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The thread that decodes ahead. The order in which the reader needs chunks
 * follows from the index: a stream needs its next chunk at the time of the last
 * record of the chunk before. The order is a guess, as times may be wrong and
 * chunks damaged. A chunk is therefore decoded by the thread or by the reader,
 * whichever is first.
 *
 * Decoded rows lie in slots until the reader takes them. In exchange it leaves
 * the memory of rows that it has read. As this memory moves from stream to
 * stream, a slot frees what is larger than its next chunk can need.
 */
#include "store/ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/thread.h"

#define SLOTS 4
/* Larger chunks, which clew does not write, are left to the reader. */
#define ROWS_MAX STORE_PACKED_ROWS_MAX

/* A chunk, and the time at which the reader is expected to need it. */
struct turn {
	uint64_t time;
	size_t entry;
};

struct slot {
	const struct store_index_entry *entry; /* NULL: free */
	bool ready;			       /* false: it is being decoded, without the lock */
	int result;
	struct store_rows rows;
};

/* A decoder and a buffer, for the thread and for the reader. */
struct worker {
	struct store_decoder *decoder;
	struct store_payload payload;
};

struct store_ahead {
	const struct store_file *file;
	struct worker own;    /* of the thread */
	struct worker reader; /* of the reader, which decodes another chunk while it waits */
	pthread_t thread;
	pthread_mutex_t lock;	/* protects all members below */
	pthread_cond_t decoded; /* a slot became ready */
	pthread_cond_t freed;	/* a slot became free, or `closing` is set */
	bool closing;
	bool *begun; /* for each chunk of records: it is decoded, or not wanted */
	size_t next; /* index of the next turn */
	struct slot slots[SLOTS];
	size_t count; /* of the turns; constant, as they are */
	struct turn turns[];
};

static int compare_turns(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

/* The first chunks of all streams come first. */
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

/*
 * Decodes the chunk whose turn is next into a free slot. False: no chunk is
 * left. The caller holds the lock, which is released during the work.
 */
static bool do_turn(struct store_ahead *ahead, struct worker *worker, struct slot *slot)
{
	const struct store_index_entry *entries = ahead->file->entries + ahead->file->records;
	struct store_chunk_header header;
	size_t turn;

	do {
		if (ahead->next == ahead->count)
			return false;
		turn = ahead->turns[ahead->next++].entry;
	} while (ahead->begun[turn] || entries[turn].rows > ROWS_MAX);
	ahead->begun[turn] = true;
	slot->entry = &entries[turn];
	pthread_mutex_unlock(&ahead->lock);
	if (slot->rows.memory_size + slot->rows.tails_capacity >
	    entries[turn].rows * sizeof(struct clew_socket_record))
		store_rows_done(&slot->rows);
	slot->result = store_file_read(ahead->file, slot->entry, &worker->payload, &header);
	if (slot->result == 0)
		slot->result =
			store_decode(worker->decoder, &header, worker->payload.bytes, &slot->rows);
	pthread_mutex_lock(&ahead->lock);
	slot->ready = true;
	pthread_cond_signal(&ahead->decoded);
	return true;
}

static void *ahead_main(void *context)
{
	struct store_ahead *ahead = context;
	bool more = true;

	pthread_mutex_lock(&ahead->lock);
	while (more && !ahead->closing) {
		struct slot *slot = find_slot(ahead, NULL);

		if (slot)
			more = do_turn(ahead, &ahead->own, slot);
		else
			pthread_cond_wait(&ahead->freed, &ahead->lock);
	}
	pthread_mutex_unlock(&ahead->lock);
	return NULL;
}

/*
 * Waits for a chunk that the thread is decoding, and decodes another one
 * meanwhile, which takes as long.
 */
static void wait_for(struct store_ahead *ahead, const struct slot *wanted)
{
	while (!wanted->ready) {
		struct slot *slot = find_slot(ahead, NULL);

		if (!slot || !do_turn(ahead, &ahead->reader, slot))
			pthread_cond_wait(&ahead->decoded, &ahead->lock);
	}
}

bool store_ahead_take(struct store_ahead *ahead, const struct store_index_entry *entry,
		      struct store_rows *rows, int *ret_result)
{
	bool *begun = &ahead->begun[entry - ahead->file->entries - ahead->file->records];
	struct slot *slot = NULL;

	pthread_mutex_lock(&ahead->lock);
	if (*begun)
		slot = find_slot(ahead, entry);
	*begun = true;
	if (slot) {
		wait_for(ahead, slot);
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

/* Frees everything. The thread has ended. */
static void discard(struct store_ahead *ahead)
{
	for (unsigned i = 0; i < SLOTS; i++)
		store_rows_done(&ahead->slots[i].rows);
	pthread_cond_destroy(&ahead->freed);
	pthread_cond_destroy(&ahead->decoded);
	pthread_mutex_destroy(&ahead->lock);
	store_decoder_free(ahead->own.decoder);
	free(ahead->own.payload.bytes);
	store_decoder_free(ahead->reader.decoder);
	free(ahead->reader.payload.bytes);
	free(ahead->begun);
	free(ahead);
}

int store_ahead_new(const struct store_file *file, const struct store_schema *schema, uint64_t from,
		    struct store_ahead **ret_ahead)
{
	size_t count = file->count - file->records;
	struct store_ahead *ahead = calloc(1, sizeof(*ahead) + count * sizeof(*ahead->turns));
	int r;

	if (!ahead)
		return -ENOMEM;
	ahead->file = file;
	ahead->count = count;
	ahead->begun = calloc(count, sizeof(*ahead->begun));
	for (size_t i = 0; ahead->begun && i < count; i++)
		ahead->begun[i] = file->entries[file->records + i].last_time < from;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->decoded, NULL);
	pthread_cond_init(&ahead->freed, NULL);
	r = ahead->begun ? store_decoder_new(schema, &ahead->own.decoder) : -ENOMEM;
	if (r == 0)
		r = store_decoder_new(schema, &ahead->reader.decoder);
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
