/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sums over touches of files and waits. See io.h.
 *
 * A wait is charged to the file that it names. A wait that names none (for a
 * journal, a throttled device, a request) is charged to the file of its
 * request, else to the file that its task touched last.
 */
#include "base/sort.h"
#include "explain/io_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int io_file_of(struct sums *sums, uint64_t inode, uint32_t device, uint64_t at, uint32_t *ret_file)
{
	struct clew_file_key key = clew_trace_file_key(sums->trace, device, inode, at);
	const uint64_t *known = map_get(&sums->file_places, key.number, key.device);
	size_t count = sums->files.count;

	if (known) {
		*ret_file = (uint32_t)*known;
		return 0;
	}
	if (vector_reserve(&sums->files, count + 1) < 0 ||
	    map_set(&sums->file_places, key.number, key.device, count) < 0)
		return -ENOMEM;
	((struct clew_io_file *)sums->files.data)[count] =
		(struct clew_io_file){.inode = inode, .device = device, .at = at};
	sums->files.count++;
	*ret_file = (uint32_t)count;
	return 0;
}

struct clew_io_file *io_file_at(const struct sums *sums, uint32_t file)
{
	return (struct clew_io_file *)sums->files.data + file;
}

struct clew_io_share *io_share_of(struct sums *sums, uint32_t file, uint32_t task)
{
	const uint64_t *known = map_get(&sums->share_places, file, task);
	size_t count = sums->shares.count;

	if (known)
		return (struct clew_io_share *)sums->shares.data + *known;
	if (vector_reserve(&sums->shares, count + 1) < 0 ||
	    map_set(&sums->share_places, file, task, count) < 0)
		return NULL;
	sums->shares.count++;
	((struct clew_io_share *)sums->shares.data)[count] =
		(struct clew_io_share){.file = file, .task = task};
	return (struct clew_io_share *)sums->shares.data + count;
}

/* ---- touches ---- */

static int add_touch(struct sums *sums, const struct clew_touch *touch)
{
	struct clew_io_share *share;
	struct clew_io_file *file;
	uint32_t number;

	if (touch->event != CLEW_TOUCH_DELETED &&
	    !clew_is_chosen(sums->chosen, sums->trace, touch->task))
		return 0;
	if (io_file_of(sums, touch->inode, touch->device, touch->begin, &number) < 0)
		return -ENOMEM;
	share = io_share_of(sums, number, touch->task);
	if (!share)
		return -ENOMEM;
	file = io_file_at(sums, number);
	switch ((enum clew_touch_event)touch->event) {
	case CLEW_TOUCH_WRITE:
		share->asked_bytes += touch->bytes;
		file->asked_bytes += touch->bytes;
		break;
	case CLEW_TOUCH_STORE:
		share->stored_bytes += touch->bytes;
		file->stored_bytes += touch->bytes;
		break;
	case CLEW_TOUCH_DIRTY:
		/*
		 * The journal marks a disk's own pages dirty when it writes
		 * metadata back. Its thread is not the writer.
		 */
		if (!clew_is_disk_inode(touch->device, touch->inode))
			share->dirtied_bytes += touch->bytes;
		file->dirtied_bytes += touch->bytes;
		break;
	case CLEW_TOUCH_UNUSED:
		file->unused_bytes += touch->bytes;
		break;
	case CLEW_TOUCH_AGAIN:
		file->again_bytes += touch->bytes;
		break;
	case CLEW_TOUCH_DELETED:
		file->deleted = true;
		break;
	default:
		break;
	}
	return 0;
}

/* ---- waits ---- */

static bool may_be_for_file(const struct clew_sleep *sleep)
{
	switch ((enum clew_wait_kind)sleep->kind) {
	case CLEW_WAIT_READ:
	case CLEW_WAIT_WRITE:
	case CLEW_WAIT_FSYNC:
	case CLEW_WAIT_FILE:
	case CLEW_WAIT_IO:
	case CLEW_WAIT_FAULT:
	case CLEW_WAIT_JOURNAL:
	case CLEW_WAIT_THROTTLE:
	case CLEW_WAIT_IO_URING:
		return true;
	default:
		return false;
	}
}

static const struct clew_trace_request *request_of(const struct sums *sums,
						   const struct clew_sleep *sleep)
{
	const struct clew_link *last =
		sleep->link_count ? &sleep->links[sleep->link_count - 1] : NULL;

	return last && last->kind == CLEW_LINK_REQUEST && last->number < sums->request_count
		       ? &sums->requests[last->number]
		       : NULL;
}

static int file_of_sleep(struct sums *sums, const struct clew_sleep *sleep, uint32_t *ret_file)
{
	const struct clew_trace_request *request = request_of(sums, sleep);
	const uint64_t *last = map_get(&sums->last_touched, sleep->task, 0);

	*ret_file = NO_FILE;
	if (!may_be_for_file(sleep))
		return 0;
	if (sleep->object.kind == CLEW_OBJECT_FILE)
		return io_file_of(sums, sleep->object.number, sleep->object.device, sleep->start,
				  ret_file);
	if (sleep->kind == CLEW_WAIT_THROTTLE && sleep->object.kind == CLEW_OBJECT_CGROUP)
		return 0;
	if (request && request->page_count)
		return io_file_of(sums, request->pages[0].inode, request->pages[0].device,
				  request->block.queued, ret_file);
	if (request && request->block.inode)
		return io_file_of(sums, request->block.inode, request->block.file_device,
				  request->block.queued, ret_file);
	if (last && (sleep->kind == CLEW_WAIT_JOURNAL || sleep->kind == CLEW_WAIT_THROTTLE ||
		     sleep->kind == CLEW_WAIT_FSYNC))
		*ret_file = (uint32_t)*last;
	return 0;
}

static int blame(struct sums *sums, uint32_t file, uint32_t waiter, uint32_t task, double ns)
{
	struct clew_io_share *share;

	if (task == waiter || task == CLEW_NO_TASK)
		return 0;
	share = io_share_of(sums, file, task);
	if (!share)
		return -ENOMEM;
	share->caused_ns += (uint64_t)ns;
	return 0;
}

/*
 * Charges a wait for a request to the tasks that wrote its pages, by how much
 * each wrote.
 */
static int blame_writers(struct sums *sums, uint32_t file, const struct clew_sleep *sleep,
			 const struct clew_trace_request *request, double ns)
{
	uint64_t all = 0;
	int r = 0;

	for (uint32_t i = 0; i < request->page_count; i++)
		all += request->pages[i].bytes;
	for (uint32_t i = 0; i < request->page_count && r >= 0; i++) {
		const struct clew_page_extent *extent = &request->pages[i];

		for (uint32_t k = 0; k < extent->writer_count && r >= 0; k++)
			r = blame(sums, file, sleep->task, extent->writers[k],
				  ns * (double)extent->bytes / (double)all / extent->writer_count);
	}
	return r;
}

static int compare_origins(const void *left, const void *right)
{
	const struct clew_edge *a = *(const struct clew_edge *const *)left,
			       *b = *(const struct clew_edge *const *)right;

	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->to_at < b->to_at ? -1 : a->to_at > b->to_at;
}

static int find_origins(struct sums *sums)
{
	size_t count, used = 0;
	const struct clew_edge *edges = clew_trace_edges(sums->trace, &count);

	if (!edges)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		used += !edges[i].ends_sleep &&
			(edges[i].type == CLEW_EDGE_JOURNAL || edges[i].type == CLEW_EDGE_THROTTLE);
	sums->origins = malloc((used + 1) * sizeof(*sums->origins));
	if (!sums->origins)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (!edges[i].ends_sleep &&
		    (edges[i].type == CLEW_EDGE_JOURNAL || edges[i].type == CLEW_EDGE_THROTTLE))
			sums->origins[sums->origin_count++] = &edges[i];
	if (used)
		qsort(sums->origins, used, sizeof(*sums->origins), compare_origins);
	return 0;
}

/*
 * Charges a wait to the origins of dependencies that lead to a task within an
 * interval, by their weights. The task itself is not charged.
 */
static int blame_origins(struct sums *sums, uint32_t file, const struct clew_sleep *sleep,
			 uint32_t to, uint64_t from, uint64_t until, double ns)
{
	size_t low = 0, high = sums->origin_count, end;
	double all = 0;
	int r = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct clew_edge *edge = sums->origins[middle];

		if (edge->to < to || (edge->to == to && edge->to_at < from))
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < sums->origin_count && sums->origins[end]->to == to &&
			sums->origins[end]->to_at <= until;
	     end++)
		all += sums->origins[end]->weight ? (double)sums->origins[end]->weight : 1;
	if (low < end)
		all += (double)sums->origins[low]->own;
	for (; low < end && r >= 0; low++)
		r = blame(
			sums, file, sleep->task, sums->origins[low]->from,
			ns * (sums->origins[low]->weight ? (double)sums->origins[low]->weight : 1) /
				all);
	return r;
}

static int add_sleep(struct sums *sums, const struct clew_sleep *sleep, uint32_t file)
{
	uint64_t end = clew_trace_until(sums->trace, sleep->end);
	const struct clew_trace_request *request = request_of(sums, sleep);
	uint64_t from = sleep->start > sums->from ? sleep->start : sums->from;
	uint64_t ns = (end < sums->to ? end : sums->to) - from;
	const struct clew_trace_task *task = clew_trace_task(sums->trace, sleep->task);
	struct clew_io_share *share;

	/*
	 * Flusher and journal threads work for others, whose waits are counted.
	 */
	if ((task && task->flags & CLEW_TASK_KTHREAD) ||
	    !clew_is_chosen(sums->chosen, sums->trace, sleep->task))
		return 0;
	if (end < sums->from || sleep->start > sums->to || (end < sums->to ? end : sums->to) < from)
		return 0;
	share = io_share_of(sums, file, sleep->task);
	if (!share)
		return -ENOMEM;
	share->waited_ns += ns;
	io_file_at(sums, file)->waited_ns += ns;
	if (sleep->kind == CLEW_WAIT_THROTTLE)
		return blame_origins(sums, file, sleep, sleep->task, sleep->start, sleep->start,
				     (double)ns);
	if (sleep->kind == CLEW_WAIT_JOURNAL && sleep->ended_by != CLEW_NO_TASK)
		return blame_origins(sums, file, sleep, sleep->ended_by, sleep->start, end,
				     (double)ns);
	return request && io_does(&request->block, CLEW_REQUEST_WRITE)
		       ? blame_writers(sums, file, sleep, request, (double)ns)
		       : 0;
}

static int add_sleeps(struct sums *sums)
{
	size_t count, touch_count, next = 0;
	const struct clew_sleep *sleeps = clew_trace_sleeps(sums->trace, &count);
	const struct clew_touch *touches = clew_trace_touches(sums->trace, &touch_count);
	int r = 0;

	sums->sleep_files = malloc((count + 1) * sizeof(*sums->sleep_files));
	if (!sums->sleep_files)
		return -ENOMEM;
	for (size_t i = 0; i < count && r >= 0; i++) {
		uint32_t file;

		for (; next < touch_count && touches[next].begin <= sleeps[i].start; next++) {
			if (touches[next].event == CLEW_TOUCH_UNUSED ||
			    touches[next].event == CLEW_TOUCH_DELETED ||
			    touches[next].event == CLEW_TOUCH_DROP)
				continue;
			if (io_file_of(sums, touches[next].inode, touches[next].device,
				       touches[next].begin, &file) < 0 ||
			    map_set(&sums->last_touched, touches[next].task, 0, file) < 0)
				return -ENOMEM;
		}
		r = file_of_sleep(sums, &sleeps[i], &file);
		sums->sleep_files[i] = file;
		if (r >= 0 && file != NO_FILE)
			r = add_sleep(sums, &sleeps[i], file);
	}
	return r;
}

/* ---- the answer ---- */

static bool is_anything(const struct clew_io_file *file)
{
	return file->asked_bytes || file->stored_bytes || file->dirtied_bytes ||
	       file->written_bytes || file->read_bytes || file->unused_bytes || file->waited_ns;
}

/* Most bytes moved and longest waits first; equal ones keep their order. */
static int order_files(struct sums *sums, struct clew_io *io)
{
	size_t count = sums->files.count, kept = 0, sleep_count;
	struct sort_key *keys = malloc((2 * count + 1) * sizeof(*keys));
	uint32_t *place_of = malloc((count + 1) * sizeof(*place_of));

	io->files = calloc(count + 1, sizeof(*io->files));
	if (!keys || !place_of || !io->files) {
		free(keys);
		free(place_of);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		const struct clew_io_file *file = io_file_at(sums, (uint32_t)i);

		place_of[i] = NO_FILE;
		if (is_anything(file))
			keys[kept++] = (struct sort_key){
				.key = UINT64_MAX - (file->written_bytes + file->read_bytes +
						     file->asked_bytes + file->dirtied_bytes),
				.index = (uint32_t)i};
	}
	sort_keys(keys, keys + count, kept);
	for (size_t i = 0; i < kept; i++) {
		const struct clew_file_record *record;
		const char *path;

		io->files[i] = *io_file_at(sums, keys[i].index);
		record = clew_trace_file_at(sums->trace, io->files[i].device, io->files[i].inode,
					    io->files[i].at, &path);
		io->files[i].deleted |= record && record->header.flags & CLEW_FILE_DELETED;
		place_of[keys[i].index] = (uint32_t)i;
	}
	io->file_count = kept;
	for (size_t i = 0; i < sums->shares.count; i++) {
		struct clew_io_share *share = (struct clew_io_share *)sums->shares.data + i;

		share->file = place_of[share->file];
	}
	for (size_t i = 0; i < sums->levels.count; i++) {
		struct clew_io_level *level = (struct clew_io_level *)sums->levels.data + i;

		level->file = place_of[level->file];
	}
	clew_trace_sleeps(sums->trace, &sleep_count);
	for (size_t i = 0; i < sleep_count; i++)
		if (sums->sleep_files[i] != NO_FILE)
			sums->sleep_files[i] = place_of[sums->sleep_files[i]];
	free(keys);
	free(place_of);
	return 0;
}

static int compare_shares(const void *left, const void *right)
{
	const struct clew_io_share *a = left, *b = right;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return a->task < b->task ? -1 : a->task > b->task;
}

static int compare_devices(const void *left, const void *right)
{
	const struct clew_io_device *a = left, *b = right;

	return a->device < b->device ? -1 : a->device > b->device;
}

static void *keep(const struct vector *vector)
{
	void *copy = malloc(vector->count * vector->item + 1);

	return copy && vector->count ? memcpy(copy, vector->data, vector->count * vector->item)
				     : copy;
}

static int finish(struct sums *sums, struct clew_io *io)
{
	int r = order_files(sums, io);

	if (r < 0)
		return r;
	io->shares = keep(&sums->shares);
	io->devices = keep(&sums->devices);
	io->levels = keep(&sums->levels);
	if (!io->shares || !io->devices || !io->levels)
		return -ENOMEM;
	io->level_count = sums->levels.count;
	io->share_count = sums->shares.count;
	io->device_count = sums->devices.count;
	io->sleep_files = sums->sleep_files;
	sums->sleep_files = NULL;
	qsort(io->shares, io->share_count, sizeof(*io->shares), compare_shares);
	qsort(io->devices, io->device_count, sizeof(*io->devices), compare_devices);
	for (size_t i = 0; i < io->share_count && io->shares[i].file != NO_FILE; i++) {
		struct clew_io_file *file = &io->files[io->shares[i].file];

		if (file->share_count++ == 0)
			file->shares = &io->shares[i];
	}
	return 0;
}

static bool is_within(const struct sums *sums, uint64_t at)
{
	return at >= sums->from && at <= sums->to;
}

/* When a request was made, as far as is known. */
static uint64_t made_at(const struct clew_block_request *block)
{
	return block->queued ?: block->issued ?: block->completed;
}

int clew_io_analyse(const struct clew_trace *trace, const struct clew_chosen *chosen, uint64_t from,
		    uint64_t to, struct clew_io *ret_io)
{
	struct sums sums = {
		.trace = trace,
		.chosen = chosen,
		.from = from,
		.to = to,
		.files.item = sizeof(struct clew_io_file),
		.shares.item = sizeof(struct clew_io_share),
		.devices.item = sizeof(struct clew_io_device),
		.levels.item = sizeof(struct clew_io_level),
	};
	struct clew_io io = {0};
	size_t touch_count;
	const struct clew_touch *touches = clew_trace_touches(trace, &touch_count);
	int r = find_origins(&sums);

	sums.requests = clew_trace_requests(trace, &sums.request_count);
	if (r >= 0)
		r = io_find_uppers(&sums);
	for (size_t i = 0; i < touch_count && r >= 0; i++)
		if (is_within(&sums, touches[i].begin))
			r = add_touch(&sums, &touches[i]);
	for (size_t i = 0; i < sums.request_count && r >= 0; i++)
		if (is_within(&sums, made_at(&sums.requests[i].block)))
			r = io_add_request(&sums, &sums.requests[i]);
	if (r >= 0)
		r = add_sleeps(&sums);
	if (r >= 0)
		r = finish(&sums, &io);
	vector_done(&sums.files);
	vector_done(&sums.shares);
	vector_done(&sums.devices);
	vector_done(&sums.levels);
	map_done(&sums.file_places);
	map_done(&sums.share_places);
	map_done(&sums.device_places);
	map_done(&sums.level_places);
	map_done(&sums.last_touched);
	map_done(&sums.counted);
	free(sums.origins);
	free(sums.uppers);
	free(sums.sleep_files);
	if (r < 0) {
		clew_io_done(&io);
		return r;
	}
	*ret_io = io;
	return 0;
}

void clew_io_done(struct clew_io *io)
{
	free(io->files);
	free(io->devices);
	free(io->shares);
	free(io->levels);
	free(io->sleep_files);
	*io = (struct clew_io){0};
}
