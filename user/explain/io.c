/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums over touches of files, and the answer. */
#include "explain/io_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int io_file_by_key(struct sums *sums, struct clew_file_key key, const struct clew_io_file *file,
		   uint32_t *ret_file)
{
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
		(struct clew_io_file){.inode = file->inode, .device = file->device, .at = file->at};
	sums->files.count++;
	*ret_file = (uint32_t)count;
	return 0;
}

int io_file_of(struct sums *sums, uint64_t inode, uint32_t device, uint64_t at, uint32_t *ret_file)
{
	const struct clew_io_file file = {.inode = inode, .device = device, .at = at};

	return io_file_by_key(sums, clew_trace_file_key(sums->trace, device, inode, at), &file,
			      ret_file);
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

int io_add_touch(struct sums *sums, const struct clew_touch *touch)
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

/* ---- the answer ---- */

static bool is_anything(const struct clew_io_file *file)
{
	return file->asked_bytes || file->stored_bytes || file->dirtied_bytes ||
	       file->written_bytes || file->read_bytes || file->unused_bytes || file->waited_ns;
}

struct rank {
	uint64_t bytes, waited_ns;
	struct clew_file_key key;
	uint32_t index;
};

/* Most bytes moved and longest waits first; equal ones in order of the numbers that they have
 * however the sums came about. */
static int compare_ranks(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->waited_ns != b->waited_ns)
		return a->waited_ns > b->waited_ns ? -1 : 1;
	if (a->key.device != b->key.device)
		return a->key.device < b->key.device ? -1 : 1;
	return a->key.number < b->key.number ? -1 : a->key.number > b->key.number;
}

static struct rank rank_of(const struct sums *sums, uint32_t index)
{
	const struct clew_io_file *file = io_file_at(sums, index);

	return (struct rank){
		.bytes = file->written_bytes + file->read_bytes + file->asked_bytes +
			 file->dirtied_bytes,
		.waited_ns = file->waited_ns,
		.key = clew_trace_file_key(sums->trace, file->device, file->inode, file->at),
		.index = index,
	};
}

static int order_files(struct sums *sums, struct clew_io *io)
{
	size_t count = sums->files.count, kept = 0, sleep_count;
	struct rank *ranks = malloc((count + 1) * sizeof(*ranks));
	uint32_t *place_of = malloc((count + 1) * sizeof(*place_of));

	io->files = calloc(count + 1, sizeof(*io->files));
	if (!ranks || !place_of || !io->files) {
		free(ranks);
		free(place_of);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		place_of[i] = NO_FILE;
		if (is_anything(io_file_at(sums, (uint32_t)i)))
			ranks[kept++] = rank_of(sums, (uint32_t)i);
	}
	qsort(ranks, kept, sizeof(*ranks), compare_ranks);
	for (size_t i = 0; i < kept; i++) {
		const struct clew_file_record *record;
		const char *path;

		io->files[i] = *io_file_at(sums, ranks[i].index);
		record = clew_trace_file_at(sums->trace, io->files[i].device, io->files[i].inode,
					    io->files[i].at, &path);
		io->files[i].deleted |= record && record->header.flags & CLEW_FILE_DELETED;
		place_of[ranks[i].index] = (uint32_t)i;
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
	for (size_t i = 0; sums->sleep_files && i < sleep_count; i++)
		if (sums->sleep_files[i] != NO_FILE)
			sums->sleep_files[i] = place_of[sums->sleep_files[i]];
	free(ranks);
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

int io_finish(struct sums *sums, struct clew_io *io)
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

void io_sums_init(struct sums *sums, const struct clew_trace *trace,
		  const struct clew_chosen *chosen)
{
	*sums = (struct sums){
		.trace = trace,
		.chosen = chosen,
		.to = CLEW_TIME_OPEN,
		.files.item = sizeof(struct clew_io_file),
		.shares.item = sizeof(struct clew_io_share),
		.devices.item = sizeof(struct clew_io_device),
		.levels.item = sizeof(struct clew_io_level),
	};
}

void io_sums_done(struct sums *sums)
{
	vector_done(&sums->files);
	vector_done(&sums->shares);
	vector_done(&sums->devices);
	vector_done(&sums->levels);
	map_done(&sums->file_places);
	map_done(&sums->share_places);
	map_done(&sums->device_places);
	map_done(&sums->level_places);
	map_done(&sums->last_touched);
	map_done(&sums->counted);
	free(sums->origins);
	free(sums->uppers);
	free(sums->sleep_files);
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
