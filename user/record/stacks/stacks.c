/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two threads take messages of the kernel side. One opens files without a table, at once, as their
 * processes may end. The other one names the functions of stacks that were not sent lately, and
 * may be behind on a busy machine. Names come before the stack that they are in, so that a capture
 * that was cut off has the names of all its stacks, but for files that are opened later.
 */
#include "record/stacks/stacks.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/thread.h"
#include "base/vector.h"
#include "clew.skel.h"
#include "record/stacks/addresses.h"
#include "record/stacks/images.h"
#include "record/stacks/jit.h"
#include "record/stacks/mappings.h"
#include "record/stream/clock.h"
#include "record/stream/iterator.h"
#include "record/stream/recorder_state.h"
#include "record/stream/user_stream.h"
#include "symbol/elf/kernel.h"

#define HEAP_BLOCKS  64 /* of 1 MiB: tables of a gigabyte of code */
#define BUDGET	     50 /* one part in 50 of a CPU */
#define POLL_MS	     100
#define JIT_NS	     1000000000ull
#define WAIT_NS	     5000000000ull
#define WAITING_MOST 65536

/* A frame whose image is not open yet. */
struct waiting {
	uint64_t frame;
	uint64_t since; /* ns */
};

struct clew_stacks {
	struct clew_recorder *recorder;
	struct clew_images *images;
	struct clew_jit *jit;
	uint64_t jit_ticked;
	struct ring_buffer *image_news;
	struct ring_buffer *news;
	struct map named;      /* frames whose functions were looked for */
	struct map symbols;    /* functions that were put: (start, image) */
	uint64_t file;	       /* both are about the file that begins with records of this time */
	struct vector waiting; /* struct waiting */
	bool opening, started; /* the threads run */
	atomic_bool opener_stopping, stopping;
	atomic_bool pressed; /* half of what is held is to be dropped */
	pthread_t opener, thread;
};

int clew_stacks_prepare(struct clew_bpf *bpf, uint64_t threshold)
{
	struct bpf_map *const maps[] = {
		bpf->maps.clew_stack_news,    bpf->maps.clew_stacks_sent,
		bpf->maps.clew_walks,	      bpf->maps.clew_mappings_seen,
		bpf->maps.clew_images,	      bpf->maps.clew_unwind_heap,
		bpf->maps.clew_stack_budgets, bpf->maps.clew_image_news,
	};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		bpf_map__set_autocreate(maps[i], threshold != 0);
	if (!threshold)
		return 0;
	bpf->rodata->stack_threshold = threshold;
	bpf->rodata->stack_budget = BUDGET;
	return bpf_map__set_max_entries(bpf->maps.clew_unwind_heap, HEAP_BLOCKS);
}

static void put_symbol(void *context, uint32_t image, const struct clew_named *named)
{
	struct clew_stacks *stacks = context;
	struct {
		struct clew_symbol_record symbol;
		char name[CLEW_SYMBOL_NAME];
	} record = {.symbol = {.header.kind = CLEW_KIND_SYMBOL,
			       .header.flags = (uint8_t)named->from,
			       .start = named->start,
			       .length = named->size,
			       .image = image}};
	size_t length = strnlen(named->name, sizeof(record.name));

	if (map_get(&stacks->symbols, named->start, image) ||
	    map_set(&stacks->symbols, named->start, image, 1) < 0)
		return;
	record.symbol.size = (uint16_t)length;
	memcpy(record.name, named->name, length);
	clew_put_user_now(stacks->recorder, &record.symbol.header, sizeof(record.symbol) + length);
}

static bool find_kernel(const struct clew_stacks *stacks, uint64_t address,
			struct clew_named *ret_named)
{
	const struct clew_kernel_symbols *symbols = stacks->recorder->symbols;
	/* An address to return to may be behind the end of its function. */
	const char *name = symbols ? clew_kernel_symbol_at(symbols, address - 1) : NULL;

	if (!name)
		return false;
	*ret_named = (struct clew_named){
		.name = name, .start = address, .size = 1, .from = CLEW_SYMBOL_KERNEL};
	return true;
}

/* False: its file may yet be opened. */
static bool name_file_frame(struct clew_stacks *stacks, uint64_t frame)
{
	struct clew_named named;
	int r = clew_images_find(stacks->images, frame, &named);

	if (r > 0)
		put_symbol(stacks, CLEW_FRAME_IMAGE(frame), &named);
	return r != -EAGAIN;
}

/* Files are opened at once. A file that is not there by then could not be opened, or was dropped
 * since. */
static void wait_for_file(struct clew_stacks *stacks, uint64_t frame)
{
	if (stacks->waiting.count < WAITING_MOST &&
	    vector_reserve(&stacks->waiting, stacks->waiting.count + 1) >= 0)
		((struct waiting *)stacks->waiting.data)[stacks->waiting.count++] =
			(struct waiting){.frame = frame, .since = clew_now()};
}

/* `process`: of a frame in code that no file has; else NULL. */
static void name_frame(struct clew_stacks *stacks, struct clew_jit_process *process, uint64_t frame,
		       bool kernel)
{
	struct clew_named named;

	if (map_get(&stacks->named, frame, kernel) || map_set(&stacks->named, frame, kernel, 1) < 0)
		return;
	if (process)
		clew_jit_want(process, frame);
	else if (kernel && find_kernel(stacks, frame, &named))
		put_symbol(stacks, CLEW_IMAGE_KERNEL, &named);
	else if (!kernel && !name_file_frame(stacks, frame))
		wait_for_file(stacks, frame);
}

static void name_waiting(struct clew_stacks *stacks)
{
	struct waiting *waiting = stacks->waiting.data;
	const uint64_t now = clew_now();
	size_t left = 0;

	for (size_t i = 0; i < stacks->waiting.count; i++)
		if (!name_file_frame(stacks, waiting[i].frame) && now - waiting[i].since < WAIT_NS)
			waiting[left++] = waiting[i];
	stacks->waiting.count = left;
}

/* The next file of the recording has no names yet. */
static void forget_names(struct clew_stacks *stacks)
{
	uint64_t file = __atomic_load_n(&stacks->recorder->bpf->bss->named_from, __ATOMIC_ACQUIRE);

	if (file == stacks->file || clew_now() < file)
		return;
	stacks->file = file;
	map_done(&stacks->named);
	map_done(&stacks->symbols);
}

static void take_stack(struct clew_stacks *stacks, const struct clew_stack_news_header *news,
		       size_t size)
{
	struct {
		struct clew_stack stack;
		uint64_t frames[CLEW_STACK_MOST];
	} record = {.stack = {.header.kind = CLEW_KIND_STACK,
			      .header.flags = news->flags,
			      .hash = news->hash,
			      .end = news->end}};
	size_t bytes = news->count * sizeof(uint64_t);
	struct clew_jit_process *process = NULL;

	if (news->count > CLEW_STACK_MOST || size < sizeof(*news) + bytes)
		return;
	memcpy(record.frames, news + 1, bytes);
	forget_names(stacks);
	for (unsigned i = 0; i < news->count; i++) {
		bool kernel = news->flags & CLEW_STACK_KERNEL,
		     jit = !kernel && (record.frames[i] & CLEW_FRAME_ADDRESS);

		if (jit && !process)
			process = clew_jit_process(stacks->jit, news->pid);
		if (jit && process)
			record.frames[i] = clew_jit_frame(stacks->jit, process, record.frames[i]);
		name_frame(stacks, jit ? process : NULL, record.frames[i], kernel);
	}
	record.stack.size = (uint16_t)bytes;
	clew_put_user_now(stacks->recorder, &record.stack.header, sizeof(record.stack) + bytes);
}

static int take_news(void *context, void *data, size_t size)
{
	if (size >= sizeof(struct clew_stack_news_header))
		take_stack(context, data, size);
	return 0;
}

static int take_image_news(void *context, void *data, size_t size)
{
	struct clew_stacks *stacks = context;

	if (size >= sizeof(struct clew_image_news))
		clew_images_take(stacks->images, data);
	return 0;
}

/* Each file of a recording that goes on in the next one has names of its own, as each keyframe. */
static void tick_jit(struct clew_stacks *stacks)
{
	uint64_t now = clew_now();

	if (now - stacks->jit_ticked < JIT_NS)
		return;
	stacks->jit_ticked = now;
	if (stacks->recorder->files.states_again)
		clew_jit_name(stacks->jit, put_symbol, stacks);
	clew_jit_tick(stacks->jit, put_symbol, stacks);
}

/* Bytes of what is bounded together. */
static size_t held(const struct clew_stacks *stacks)
{
	return clew_images_memory(stacks->images) + clew_jit_memory(stacks->jit) +
	       clew_addresses_memory(stacks->recorder->addresses) + map_memory(&stacks->named) +
	       map_memory(&stacks->symbols);
}

/* Names take no more memory than is allowed: those used least recently go first. */
static void bound(struct clew_stacks *stacks)
{
	size_t most = clew_names_most(stacks->recorder), bytes;

	/* These are remembered only so that nothing is put twice. */
	if (map_memory(&stacks->named) + map_memory(&stacks->symbols) > most / 4) {
		map_done(&stacks->named);
		map_done(&stacks->symbols);
	}
	bytes = held(stacks);
	if (atomic_exchange(&stacks->pressed, false))
		most = bytes / 2 < most ? bytes / 2 : most;
	while (bytes > most &&
	       (clew_images_drop(stacks->images) || clew_jit_drop(stacks->jit, put_symbol, stacks)))
		bytes = held(stacks);
}

void clew_stacks_press(struct clew_stacks *stacks)
{
	if (stacks)
		atomic_store(&stacks->pressed, true);
}

static void *opener_main(void *argument)
{
	struct clew_stacks *stacks = argument;

	pthread_setname_np(pthread_self(), "clew-images");
	store_thread_hurry();
	while (!atomic_load(&stacks->opener_stopping)) {
		ring_buffer__poll(stacks->image_news, POLL_MS);
	}
	ring_buffer__consume(stacks->image_news);
	return NULL;
}

static void *stacks_main(void *argument)
{
	struct clew_stacks *stacks = argument;

	pthread_setname_np(pthread_self(), "clew-stacks");
	while (!atomic_load(&stacks->stopping)) {
		ring_buffer__poll(stacks->news, POLL_MS);
		/* Stacks alone wake nobody. */
		ring_buffer__consume(stacks->news);
		name_waiting(stacks);
		tick_jit(stacks);
		clew_images_tick(stacks->images);
		bound(stacks);
	}
	ring_buffer__consume(stacks->news);
	name_waiting(stacks);
	clew_jit_name(stacks->jit, put_symbol, stacks);
	return NULL;
}

static int start_threads(struct clew_stacks *stacks)
{
	struct clew_bpf *bpf = stacks->recorder->bpf;
	int r;

	stacks->image_news = ring_buffer__new(bpf_map__fd(bpf->maps.clew_image_news),
					      take_image_news, stacks, NULL);
	if (!stacks->image_news)
		return -errno;
	stacks->news =
		ring_buffer__new(bpf_map__fd(bpf->maps.clew_stack_news), take_news, stacks, NULL);
	if (!stacks->news)
		return -errno;
	r = store_thread_start(&stacks->opener, opener_main, stacks);
	stacks->opening = r >= 0;
	if (r >= 0)
		r = store_thread_start(&stacks->thread, stacks_main, stacks);
	stacks->started = r >= 0;
	return r;
}

int clew_stacks_open(struct clew_recorder *recorder, struct clew_stacks **ret,
		     struct clew_message *message)
{
	struct clew_bpf *bpf = recorder->bpf;
	struct clew_stacks *stacks;
	int r;

	*ret = NULL;
	if (!bpf->rodata->stack_threshold)
		return 0;
	stacks = calloc(1, sizeof(*stacks));
	r = stacks ? clew_images_open(recorder, bpf_map__fd(bpf->maps.clew_images),
				      bpf_map__fd(bpf->maps.clew_unwind_heap), HEAP_BLOCKS,
				      &bpf->bss->last_image, &stacks->images)
		   : -ENOMEM;
	if (r >= 0)
		r = clew_jit_new(recorder, &bpf->bss->last_image, &stacks->jit);
	if (r >= 0) {
		stacks->recorder = recorder;
		stacks->waiting.item = sizeof(struct waiting);
		r = start_threads(stacks);
	}
	if (r < 0) {
		clew_stacks_close(stacks);
		return clew_say(message, r, "stacks cannot be taken: %s: free some memory",
				strerror(-r));
	}
	*ret = stacks;
	return 0;
}

void clew_stacks_offer(struct clew_stacks *stacks, const struct clew_open_mapping *mapping,
		       const struct clew_opened *file)
{
	struct clew_image_key key;

	if (!stacks)
		return;
	key = (struct clew_image_key){
		.inode = mapping->inode,
		.device = mapping->major << 20 | mapping->minor,
		.generation = file->generation,
	};
	clew_images_offer(stacks->images, &key, file, mapping->path);
}

void clew_stacks_wait(struct clew_stacks *stacks)
{
	if (stacks)
		clew_images_wait(stacks->images);
}

void clew_stacks_of_sleepers(struct clew_stacks *stacks)
{
	struct clew_task_stacks *waited;
	char *data;
	size_t size;

	if (!stacks || !stacks->recorder->started ||
	    clew_iterate_read(stacks->recorder->bpf->progs.clew_waiting, &data, &size) < 0)
		return;
	for (size_t at = 0; at + sizeof(*waited) <= size; at += sizeof(*waited)) {
		waited = (struct clew_task_stacks *)(data + at);
		clew_put_user_now(stacks->recorder, &waited->header, sizeof(*waited));
	}
	free(data);
}

void clew_stacks_stop(struct clew_stacks *stacks)
{
	if (!stacks)
		return;
	/* All files are open then that the names need. */
	atomic_store(&stacks->opener_stopping, true);
	if (stacks->opening)
		store_thread_join(stacks->opener);
	stacks->opening = false;
	clew_images_stop(stacks->images);
	atomic_store(&stacks->stopping, true);
	if (stacks->started)
		store_thread_join(stacks->thread);
	stacks->started = false;
}

void clew_stacks_close(struct clew_stacks *stacks)
{
	if (!stacks)
		return;
	clew_stacks_stop(stacks);
	ring_buffer__free(stacks->image_news);
	ring_buffer__free(stacks->news);
	vector_done(&stacks->waiting);
	clew_images_close(stacks->images);
	clew_jit_free(stacks->jit);
	map_done(&stacks->named);
	map_done(&stacks->symbols);
	free(stacks);
}
