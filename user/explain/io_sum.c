/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sums over all of a trace.
 *
 * Invariant: the calling process knows of each task which file it had to do with last, and lately;
 * and the origins of waits that may still be open. A window's process goes on from there.
 */
#include "explain/io_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "explain/io_internal.h"
#include "trace/internal.h"

#define SIFT_LEAST   16384	    /* touches or origins: fewer are not worth a look */
#define TOUCHES_KEPT 10000000000ull /* ns: a later one may go on with them */
#define ORIGINS_KEPT 60000000000ull /* ns: a wait that they are for may be so long */

struct clew_io_sum {
	const struct clew_chosen *chosen;
	uint64_t from, to; /* ns */
	bool alone;	   /* `all` has its trace */
	struct sums all;   /* of the windows that were added */
	/* Findings: */
	struct vector touches; /* struct clew_touch */
	struct trace_touches joined;
	struct vector origins; /* struct clew_edge, without links */
	size_t sift_touches_at, sift_origins_at;
	/* In a window's process, acts by file, task and event: */
	struct vector here; /* struct clew_touch, with the sums of bytes */
	struct map here_files, here_places;
};

/* The sums that a window leaves, or those of all together. */
struct left {
	struct clew_io_file *files;
	struct clew_file_key *keys; /* of the files */
	struct clew_io_share *shares;
	struct clew_io_device *devices;
	struct clew_io_level *levels;
	size_t file_count, share_count, device_count, level_count;
};

/* ---- findings ---- */

/* Finds the last touch of each task: task -> index. */
static int find_last(const struct vector *touches, struct map *last)
{
	const struct clew_touch *all = touches->data;
	int r = 0;

	for (size_t i = 0; i < touches->count && r == 0; i++) {
		const uint64_t *known = map_get(last, all[i].task, 0);

		if (!known || all[*known].begin <= all[i].begin)
			r = map_set(last, all[i].task, 0, i);
	}
	return r;
}

/* Drops touches that are long past; not the last one of a task. `places`: room for as many. */
static int drop_touches(struct clew_io_sum *sum, const struct map *last, uint32_t *places)
{
	struct clew_touch *all = sum->touches.data;
	struct map kept_last = {};
	size_t kept = 0;
	uint64_t newest = 0;
	int r = 0;

	for (size_t i = 0; i < sum->touches.count; i++)
		newest = all[i].end > newest ? all[i].end : newest;
	for (size_t i = 0; i < sum->touches.count; i++) {
		bool keep =
			all[i].end + TOUCHES_KEPT >= newest || *map_get(last, all[i].task, 0) == i;

		places[i] = keep ? (uint32_t)kept : UINT32_MAX;
		if (keep)
			all[kept++] = all[i];
	}
	for (size_t i = 0; i < sum->joined.last.capacity && r == 0; i++) {
		const struct map_slot *slot = &sum->joined.last.slots[i];

		if (slot->used && places[slot->value] != UINT32_MAX)
			r = map_set(&kept_last, slot->key, slot->part, places[slot->value]);
	}
	map_done(&sum->joined.last);
	sum->joined.last = kept_last;
	sum->touches.count = kept;
	return r;
}

static int sift_touches(struct clew_io_sum *sum)
{
	uint32_t *places = malloc(sum->touches.count * sizeof(*places));
	struct map last = {};
	int r = places ? find_last(&sum->touches, &last) : -ENOMEM;

	if (r == 0)
		r = drop_touches(sum, &last, places);
	map_done(&last);
	free(places);
	sum->sift_touches_at = 2 * sum->touches.count + SIFT_LEAST;
	return r;
}

static void sift_origins(struct clew_io_sum *sum, uint64_t newest)
{
	struct clew_edge *all = sum->origins.data;
	size_t kept = 0;

	for (size_t i = 0; i < sum->origins.count; i++)
		if (all[i].to_at + ORIGINS_KEPT >= newest)
			all[kept++] = all[i];
	sum->origins.count = kept;
	sum->sift_origins_at = 2 * kept + SIFT_LEAST;
}

static int note_origin(struct clew_io_sum *sum, const struct clew_edge *edge)
{
	struct vector *origins = &sum->origins;
	struct clew_edge *own;

	if (origins->count >= sum->sift_origins_at)
		sift_origins(sum, edge->to_at);
	if (vector_reserve(origins, origins->count + 1) < 0)
		return -ENOMEM;
	own = (struct clew_edge *)origins->data + origins->count++;
	*own = *edge;
	own->links = NULL;
	own->link_count = own->and_count = 0;
	return 0;
}

/* Counts an act for the window. */
static int count_touch(struct clew_io_sum *sum, const struct clew_trace *trace,
		       const struct clew_touch *touch)
{
	struct clew_file_key key =
		clew_trace_file_key(trace, touch->device, touch->inode, touch->begin);
	const uint64_t *file = map_get(&sum->here_files, key.number, key.device), *known;
	uint64_t number = file ? *file : sum->here_files.count;

	if (!file && map_set(&sum->here_files, key.number, key.device, number) < 0)
		return -ENOMEM;
	known = map_get(&sum->here_places, number << 32 | touch->task, touch->event);
	if (known) {
		((struct clew_touch *)sum->here.data)[*known].bytes += touch->bytes;
		return 0;
	}
	if (vector_reserve(&sum->here, sum->here.count + 1) < 0 ||
	    map_set(&sum->here_places, number << 32 | touch->task, touch->event, sum->here.count) <
		    0)
		return -ENOMEM;
	((struct clew_touch *)sum->here.data)[sum->here.count++] = *touch;
	return 0;
}

static int tell(void *context, const struct clew_trace *trace, const struct clew_finding *finding,
		bool here)
{
	struct clew_io_sum *sum = context;
	int r = 0;

	if (finding->tag == CLEW_FINDING_EDGE && io_is_origin(finding->edge))
		return note_origin(sum, finding->edge);
	if (finding->tag != CLEW_FINDING_TOUCH)
		return 0;
	if (here)
		r = count_touch(sum, trace, finding->touch);
	if (r < 0 || !io_is_by_task(finding->touch))
		return r;
	if (sum->touches.count >= sum->sift_touches_at)
		r = sift_touches(sum);
	return r < 0 ? r : trace_join_touch(trace, &sum->joined, finding->touch);
}

/* ---- in the process of a window ---- */

/* Puts the touches in order of `begin`. */
static int sort_touches(struct vector *touches)
{
	size_t count = touches->count;
	struct clew_touch *all = touches->data, *sorted = malloc((count + 1) * sizeof(*sorted));
	struct sort_key *keys = malloc((2 * count + 1) * sizeof(*keys));

	if (!sorted || !keys) {
		free(sorted);
		free(keys);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		keys[i] = (struct sort_key){.key = all[i].begin, .index = (uint32_t)i};
	sort_keys(keys, keys + count, count);
	for (size_t i = 0; i < count; i++)
		sorted[i] = all[keys[i].index];
	if (count)
		memcpy(all, sorted, count * sizeof(*all));
	free(sorted);
	free(keys);
	return 0;
}

/* When a request was made, as far as is known. */
static uint64_t made_at(const struct clew_block_request *block)
{
	return block->queued ?: block->issued ?: block->completed;
}

/* When a request was over; CLEW_TIME_OPEN: it was not. */
static uint64_t over_at(const struct clew_block_request *block)
{
	return block->completed ?: block->reused ?: CLEW_TIME_OPEN;
}

/* Adds acts, and requests that the window has. 0 or -errno. */
static int sum_up(struct sums *sums, const struct clew_touch *acts, size_t act_count,
		  const struct clew_edge *edges, size_t edge_count)
{
	int r = io_find_origins(sums, edges, edge_count);

	sums->requests = clew_trace_requests(sums->trace, &sums->request_count);
	if (r >= 0)
		r = io_find_uppers(sums);
	for (size_t i = 0; i < act_count && r >= 0; i++)
		if (io_is_within(sums, acts[i].begin))
			r = io_add_touch(sums, &acts[i]);
	for (size_t i = 0; i < sums->request_count && r >= 0; i++) {
		const struct clew_block_request *block = &sums->requests[i].block;

		if (io_is_within(sums, made_at(block)) &&
		    clew_window_counts(sums->window, over_at(block)))
			r = io_add_request(sums, &sums->requests[i]);
	}
	return r;
}

static struct left left_of(const struct sums *sums)
{
	return (struct left){
		.files = sums->files.data,
		.file_count = sums->files.count,
		.shares = sums->shares.data,
		.share_count = sums->shares.count,
		.devices = sums->devices.data,
		.device_count = sums->devices.count,
		.levels = sums->levels.data,
		.level_count = sums->levels.count,
	};
}

static int leave(const struct sums *sums, struct shared *out)
{
	struct left all = left_of(sums), *left = out->root = shared_copy(out, &all, sizeof(all));

	if (!left)
		return -ENOMEM;
	left->files = shared_copy(out, all.files, all.file_count * sizeof(*all.files));
	left->keys = shared_take(out, all.file_count * sizeof(*all.keys));
	left->shares = shared_copy(out, all.shares, all.share_count * sizeof(*all.shares));
	left->devices = shared_copy(out, all.devices, all.device_count * sizeof(*all.devices));
	left->levels = shared_copy(out, all.levels, all.level_count * sizeof(*all.levels));
	if (!left->files || !left->keys || !left->shares || !left->devices || !left->levels)
		return -ENOMEM;
	for (size_t i = 0; i < all.file_count; i++)
		left->keys[i] = clew_trace_file_key(sums->trace, all.files[i].device,
						    all.files[i].inode, all.files[i].at);
	return 0;
}

/* The trace has all, and stays: nothing is left. */
static int look_alone(struct clew_io_sum *sum, const struct clew_trace *trace,
		      const struct clew_trace_window *window)
{
	struct sums *sums = &sum->all;
	size_t touch_count, edge_count;
	const struct clew_touch *touches = clew_trace_touches(trace, &touch_count);
	const struct clew_edge *edges = clew_trace_edges(trace, &edge_count);
	int r;

	io_sums_done(sums);
	io_sums_init(sums, trace, sum->chosen);
	sum->alone = true;
	sums->window = window;
	sums->from = sum->from;
	sums->to = sum->to;
	r = edges ? sum_up(sums, touches, touch_count, edges, edge_count) : -ENOMEM;
	if (r >= 0)
		r = io_add_sleeps(sums, touches, touch_count);
	sums->window = NULL;
	return r < 0 ? r : 0;
}

/* Memory is not freed: the process of a window ends with it. */
static int look(void *context, const struct clew_trace *trace,
		const struct clew_trace_window *window, struct shared *out)
{
	struct clew_io_sum *sum = context;
	struct sums sums;
	int r;

	if (window->alone)
		return look_alone(sum, trace, window);
	io_sums_init(&sums, trace, sum->chosen);
	sums.window = window;
	r = sum_up(&sums, sum->here.data, sum->here.count, sum->origins.data, sum->origins.count);
	if (r >= 0)
		r = sort_touches(&sum->touches);
	if (r >= 0)
		r = io_add_sleeps(&sums, sum->touches.data, sum->touches.count);
	return r < 0 ? r : leave(&sums, out);
}

/* ---- in the calling process ---- */

static void add_file(struct clew_io_file *file, const struct clew_io_file *left)
{
	file->requests += left->requests;
	file->deleted |= left->deleted;
	file->asked_bytes += left->asked_bytes;
	file->stored_bytes += left->stored_bytes;
	file->dirtied_bytes += left->dirtied_bytes;
	file->written_bytes += left->written_bytes;
	file->read_bytes += left->read_bytes;
	file->unknown_bytes += left->unknown_bytes;
	file->unused_bytes += left->unused_bytes;
	file->again_bytes += left->again_bytes;
	file->waited_ns += left->waited_ns;
}

static int add_share(struct sums *sums, uint32_t file, const struct clew_io_share *left)
{
	struct clew_io_share *share = io_share_of(sums, file, left->task);

	if (!share)
		return -ENOMEM;
	share->asked_bytes += left->asked_bytes;
	share->stored_bytes += left->stored_bytes;
	share->dirtied_bytes += left->dirtied_bytes;
	share->written_bytes += left->written_bytes;
	share->passed_bytes += left->passed_bytes;
	share->waited_ns += left->waited_ns;
	share->caused_ns += left->caused_ns;
	return 0;
}

static int add_device(struct sums *sums, const struct clew_io_device *left)
{
	struct clew_io_device *device = io_device_of(sums, left->device);

	if (!device)
		return -ENOMEM;
	device->requests += left->requests;
	for (unsigned k = 0; k < CLEW_REQUEST_OPERATION_COUNT; k++)
		device->bytes[k] += left->bytes[k];
	device->file_bytes += left->file_bytes;
	for (unsigned k = 0; k < CLEW_REQUEST_REASON_COUNT; k++)
		device->reason_bytes[k] += left->reason_bytes[k];
	return 0;
}

/* Adds what was left to the sums; places[i] is made the sums' number of file i. */
static int add_left(struct sums *sums, const struct left *left, uint32_t *places)
{
	int r = 0;

	for (size_t i = 0; i < left->file_count && r >= 0; i++) {
		const struct clew_io_file *file = &left->files[i];

		r = left->keys ? io_file_by_key(sums, left->keys[i], file, &places[i])
			       : io_file_of(sums, file->inode, file->device, file->at, &places[i]);
		if (r >= 0)
			add_file(io_file_at(sums, places[i]), file);
	}
	for (size_t i = 0; i < left->share_count && r >= 0; i++)
		r = add_share(sums, places[left->shares[i].file], &left->shares[i]);
	for (size_t i = 0; i < left->device_count && r >= 0; i++)
		r = add_device(sums, &left->devices[i]);
	for (size_t i = 0; i < left->level_count && r >= 0; i++) {
		const struct clew_io_level *level = &left->levels[i];

		r = io_add_level(sums, places[level->file], level->task, level->device,
				 level->bytes);
	}
	return r;
}

static int add_all(struct sums *sums, const struct left *left)
{
	uint32_t *places = malloc((left->file_count + 1) * sizeof(*places));
	int r = places ? add_left(sums, left, places) : -ENOMEM;

	free(places);
	return r;
}

static int add(void *context, const struct shared *found)
{
	struct clew_io_sum *sum = context;

	return sum->alone ? 0 : add_all(&sum->all, found->root);
}

struct clew_io_sum *clew_io_sum_begin(const struct clew_chosen *chosen, uint64_t from, uint64_t to)
{
	struct clew_io_sum *sum = calloc(1, sizeof(*sum));

	if (!sum)
		return NULL;
	sum->chosen = chosen;
	sum->from = from;
	sum->to = to;
	io_sums_init(&sum->all, NULL, chosen);
	sum->touches.item = sum->here.item = sizeof(struct clew_touch);
	sum->joined.all = &sum->touches;
	sum->origins.item = sizeof(struct clew_edge);
	sum->sift_touches_at = sum->sift_origins_at = SIFT_LEAST;
	return sum;
}

void clew_io_sum_free(struct clew_io_sum *sum)
{
	if (!sum)
		return;
	io_sums_done(&sum->all);
	trace_touches_done(&sum->joined);
	vector_done(&sum->touches);
	vector_done(&sum->origins);
	free(sum);
}

struct clew_windows_taker clew_io_sum_taker(struct clew_io_sum *sum)
{
	return (struct clew_windows_taker){.look = look, .add = add, .tell = tell, .context = sum};
}

int clew_io_sum_finish(struct clew_io_sum *sum, const struct clew_trace *names,
		       struct clew_io *ret_io)
{
	const struct left left = left_of(&sum->all);
	struct clew_io io = {};
	struct sums sums;
	int r;

	/* A name that was recorded later may show that two files are one. */
	io_sums_init(&sums, names, sum->chosen);
	r = sum->alone ? io_finish(&sum->all, &io) : add_all(&sums, &left);
	if (r >= 0 && !sum->alone)
		r = io_finish(&sums, &io);
	io_sums_done(&sums);
	if (r < 0)
		clew_io_done(&io);
	else
		*ret_io = io;
	return r < 0 ? r : 0;
}

int clew_io_analyse(const struct clew_trace *trace, const struct clew_chosen *chosen, uint64_t from,
		    uint64_t to, struct clew_io *ret_io)
{
	struct clew_io_sum *sum = clew_io_sum_begin(chosen, from, to);
	const struct clew_trace_window all = {.to = UINT64_MAX, .alone = true};
	int r = sum ? look_alone(sum, trace, &all) : -ENOMEM;

	if (r == 0)
		r = clew_io_sum_finish(sum, trace, ret_io);
	clew_io_sum_free(sum);
	return r;
}
