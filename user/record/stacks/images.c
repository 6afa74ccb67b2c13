/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A file is found once, as soon as a process maps it or the first stack leads through it: deleted
 * or replaced files and those of containers are still to be had then, by the mapping of the
 * process. It stays pinned as long as it is known. Its names are read when the first stack with it
 * arrives.
 * A process may end soon, so nothing that takes long is done before its files are found, nor with
 * the lock held.
 *
 * Invariant: the IMAGE record of a file comes before its table, so that frames found by a table
 * have their file.
 *
 * A process may be gone before its file is opened. The file is then asked for again after a
 * second, with another number.
 *
 * Files that no stack leads through lately are dropped: first their names, which can be read again
 * as the file is open, then the file. It is asked for anew when a stack leads through it.
 */
#include "record/stacks/images.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/thread.h"
#include "base/vector.h"
#include "record/stacks/addresses.h"
#include "record/stacks/table_maker.h"
#include "record/stream/clock.h"
#include "record/stream/recorder_state.h"
#include "record/stream/user_stream.h"

#define VDSO_BYTES 8192
#define AGAIN_NS   1000000000ull
#define READ_NS	   10000000000ull
#define IDLE_NS	   30000000000ull
#define TRIM_BYTES (4u << 20)
#define FILE_BYTES 4096 /* that an open file takes, about */

struct image {
	uint32_t number;
	struct clew_image_key key;
	enum { UNOPENED, OPENED } state;
	struct clew_opened file;  /* none: it could not be found */
	struct clew_names *names; /* of the thread that finds names */
	uint64_t used;		  /* ns: when it was opened, or a name was looked for last */
	uint64_t read;		  /* ns: when its names were read, 0: never */
};

struct failed {
	struct clew_image_key key;
	uint32_t number;
	uint64_t time;
};

struct clew_images {
	struct clew_recorder *recorder;
	int map;
	uint32_t *last;
	struct clew_table_maker *maker;
	pthread_mutex_t lock; /* for all that follows */
	struct vector images; /* struct image */
	struct map places;    /* number -> place in `images` */
	struct vector failed; /* struct failed, by time */
	size_t names_bytes, freed;
	uint64_t looked; /* ns: when files without a use were looked for last */
	size_t most;	 /* files that may be open */
	bool dropped;	 /* kept records of files are there that are no longer */
};

/* A quarter of what this process may open, and as many as the kernel side has room for. */
static size_t most_open(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 4 > CLEW_IMAGES_MOST / 4)
		return CLEW_IMAGES_MOST / 4;
	return limit.rlim_cur / 4;
}

int clew_images_open(struct clew_recorder *recorder, int map, int heap, size_t blocks,
		     uint32_t *last, struct clew_images **ret)
{
	struct clew_images *images = calloc(1, sizeof(*images));
	int r = images ? clew_table_maker_open(map, heap, blocks, &images->maker) : -ENOMEM;

	if (r < 0) {
		free(images);
		return r;
	}
	images->recorder = recorder;
	images->map = map;
	images->last = last;
	images->most = most_open();
	store_lock_init(&images->lock);
	images->images.item = sizeof(struct image);
	images->failed.item = sizeof(struct failed);
	*ret = images;
	return 0;
}

void clew_images_close(struct clew_images *images)
{
	struct image *all;

	if (!images)
		return;
	all = images->images.data;
	for (size_t i = 0; i < images->images.count; i++) {
		clew_names_close(all[i].names);
		clew_opened_close(&all[i].file);
	}
	vector_done(&images->images);
	map_done(&images->places);
	vector_done(&images->failed);
	clew_table_maker_close(images->maker);
	pthread_mutex_destroy(&images->lock);
	free(images);
}

/* The kernel's own code in each process, which is the same in all. */
static int find_vdso(struct clew_opened *ret_file)
{
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	int descriptor = vdso ? memfd_create("vdso", MFD_CLOEXEC) : -1;

	*ret_file = (struct clew_opened){.path = descriptor, .size = VDSO_BYTES};
	if (descriptor < 0)
		return -ENOENT;
	if (write(descriptor, vdso, VDSO_BYTES) == VDSO_BYTES)
		return 0;
	clew_opened_close(ret_file);
	return -ENOENT;
}

/* Finds the file of a mapping and its path, as the process sees it. */
static int find_file(const struct clew_image_news *news, struct clew_opened *ret_file,
		     char *ret_path, size_t size)
{
	const struct clew_open_mapping mapping = {.pid = (pid_t)news->pid,
						  .start = news->start,
						  .end = news->end,
						  .inode = news->key.inode,
						  .generation = news->key.generation,
						  .major = news->key.device >> 20,
						  .minor = news->key.device & 0xfffff,
						  .path = ""};
	char path[PATH_MAX] = "";
	int r = news->key.inode ? clew_open_mapped(&mapping, ret_file, path) : find_vdso(ret_file);

	snprintf(ret_path, size, "%s", news->key.inode ? path : "[vdso]");
	return r;
}

/* A file and the number that its frames have. */
struct source {
	struct clew_image_key key;
	uint32_t number;
	struct clew_opened file; /* none: it could not be found */
	const char *path;
};

/* The parts of the record that are about the file itself. */
static void describe_file(const struct clew_opened *file, struct clew_image_record *image)
{
	uint64_t bias;
	int copy;

	if (file->path < 0 || clew_open_read(file, 0, &copy) < 0)
		return;
	image->build_id_size = (uint8_t)clew_build_id(copy, image->build_id);
	if (clew_code_bias(copy, &bias)) {
		image->bias = bias;
		image->header.flags |= CLEW_IMAGE_LINKED;
	}
	close(copy);
}

static void put_image(struct clew_images *images, const struct source *source)
{
	struct {
		struct clew_image_record image;
		char path[CLEW_PATH_SIZE];
	} record = {.image = {.header.kind = CLEW_KIND_IMAGE,
			      .inode = source->key.inode,
			      .device = source->key.device,
			      .image = source->number}};
	size_t length = strnlen(source->path, sizeof(record.path));

	if (!source->key.inode)
		record.image.header.flags |= CLEW_IMAGE_VDSO;
	if (source->file.path < 0)
		record.image.header.flags |= CLEW_IMAGE_UNOPENED;
	describe_file(&source->file, &record.image);
	record.image.size = (uint16_t)length;
	memcpy(record.path, source->path, length);
	clew_put_user_kept(images->recorder, &record.image.header, sizeof(record.image) + length);
}

/* The entry of a number; NULL: there is none. The caller has the lock. */
static struct image *image_of(const struct clew_images *images, uint32_t number)
{
	const uint64_t *place = map_get(&images->places, number, 0);

	return place ? (struct image *)images->images.data + *place : NULL;
}

/* The same, which is made if it is not there; NULL: no memory. */
static struct image *image_at(struct clew_images *images, uint32_t number,
			      const struct clew_image_key *key)
{
	struct image *image = image_of(images, number);
	size_t count = images->images.count;

	if (image)
		return image;
	if (vector_reserve(&images->images, count + 1) < 0 ||
	    map_set(&images->places, number, 0, count) < 0)
		return NULL;
	image = (struct image *)images->images.data + images->images.count++;
	*image = (struct image){.number = number, .key = *key, .file.path = -1, .used = clew_now()};
	return image;
}

static void drop_names(struct clew_images *images, struct image *image)
{
	images->freed += clew_names_memory(image->names);
	images->names_bytes -= clew_names_memory(image->names);
	clew_names_close(image->names);
	image->names = NULL;
}

/* The next stack through the file has it asked for again. The caller has the lock. */
static void drop(struct clew_images *images, struct image *image)
{
	struct image *last = (struct image *)images->images.data + images->images.count - 1;
	struct clew_image known;

	drop_names(images, image);
	clew_opened_close(&image->file);
	if (bpf_map_lookup_elem(images->map, &image->key, &known) == 0 && known.id == image->number)
		bpf_map_delete_elem(images->map, &image->key);
	map_remove(&images->places, image->number, 0);
	if (image != last) {
		*image = *last;
		*map_get(&images->places, image->number, 0) =
			(uint64_t)(image - (struct image *)images->images.data);
	}
	images->images.count--;
	images->dropped = true;
}

static void keep_failed(struct clew_images *images, const struct source *source)
{
	if (vector_reserve(&images->failed, images->failed.count + 1) < 0)
		return;
	((struct failed *)images->failed.data)[images->failed.count++] =
		(struct failed){.key = source->key, .number = source->number, .time = clew_now()};
}

/* Puts the record and has the table made; the file is kept. The caller has the lock. */
static void take_source(struct clew_images *images, struct image *image,
			const struct source *source)
{
	put_image(images, source);
	if (source->file.path < 0) {
		keep_failed(images, source);
		return;
	}
	/* It is asked for again where too many files wait for their tables. */
	if (clew_table_maker_add(images->maker, &source->key, source->number, &source->file) < 0) {
		struct clew_opened file = source->file;

		clew_opened_close(&file);
		keep_failed(images, source);
		return;
	}
	image->state = OPENED;
	image->file = source->file;
}

void clew_images_take(struct clew_images *images, const struct clew_image_news *news)
{
	char path[CLEW_PATH_SIZE];
	struct source source = {.key = news->key, .number = news->image, .path = path};
	struct clew_image known;
	struct image *image;

	pthread_mutex_lock(&images->lock);
	image = image_at(images, news->image, &news->key);
	/* It may have been offered meanwhile; or another CPU asked first, whose number holds. */
	if (image && image->state == UNOPENED &&
	    (bpf_map_lookup_elem(images->map, &news->key, &known) || known.id == news->image)) {
		find_file(news, &source.file, path, sizeof(path));
		take_source(images, image, &source);
	}
	pthread_mutex_unlock(&images->lock);
}

void clew_images_offer(struct clew_images *images, const struct clew_image_key *key,
		       const struct clew_opened *file, const char *path)
{
	struct source source = {.key = *key, .path = path};
	struct clew_image known = {};
	struct image *image;

	pthread_mutex_lock(&images->lock);
	if (bpf_map_lookup_elem(images->map, key, &known)) {
		known = (struct clew_image){.id = __sync_add_and_fetch(images->last, 1)};
		/* A stack may lead through it right now. */
		if (bpf_map_update_elem(images->map, key, &known, BPF_NOEXIST) &&
		    bpf_map_lookup_elem(images->map, key, &known))
			known.state = CLEW_IMAGE_NONE;
	}
	image = known.state == CLEW_IMAGE_ASKED ? image_at(images, known.id, key) : NULL;
	if (image && image->state == UNOPENED) {
		source.number = known.id;
		clew_opened_copy(file, &source.file);
		take_source(images, image, &source);
	}
	pthread_mutex_unlock(&images->lock);
}

void clew_images_wait(struct clew_images *images)
{
	clew_table_maker_wait(images->maker);
}

void clew_images_stop(struct clew_images *images)
{
	if (images)
		clew_table_maker_stop(images->maker);
}

/* The caller has the lock. */
static void give_up(struct clew_images *images, const struct failed *failed)
{
	struct image *image = image_of(images, failed->number);

	/* It may have been offered since. */
	if (image && image->state != OPENED)
		drop(images, image);
}

/* For clew_forget_user_kept(). */
static bool is_gone(void *context, const struct clew_header *record)
{
	const struct clew_image_record *image = (const struct clew_image_record *)record;

	return record->kind == CLEW_KIND_IMAGE && !(record->flags & CLEW_IMAGE_JIT) &&
	       !image_of(context, image->image);
}

/*
 * Drops the file that no stack led through for the longest time, or only the names of one. The
 * caller has the lock. False: there is none.
 */
static bool drop_oldest(struct clew_images *images, bool names)
{
	struct image *all = images->images.data, *oldest = NULL;

	for (size_t i = 0; i < images->images.count; i++)
		if ((names ? all[i].names != NULL : all[i].state == OPENED) &&
		    (!oldest || all[i].used < oldest->used))
			oldest = &all[i];
	if (oldest && names && oldest->file.path >= 0)
		drop_names(images, oldest);
	else if (oldest)
		drop(images, oldest);
	return oldest;
}

/* True if the kernel side does not know the file by that number any more. */
static bool is_replaced(const struct clew_images *images, const struct image *image)
{
	struct clew_image known;

	return bpf_map_lookup_elem(images->map, &image->key, &known) || known.id != image->number;
}

/*
 * A file that is deleted keeps its space on the disk as long as it is open. Once its names are read
 * it is closed; one without, that no stack leads through, is dropped, and so is what has another
 * number by now. The caller has the lock.
 */
static void release_unused(struct clew_images *images, uint64_t now)
{
	struct stat status;

	for (size_t i = images->images.count; i > 0; i--) {
		struct image *image = (struct image *)images->images.data + i - 1;

		if (image->file.path < 0 || now - image->used < IDLE_NS)
			continue;
		if (is_replaced(images, image)) {
			drop(images, image);
			continue;
		}
		if (fstat(image->file.path, &status) < 0 || status.st_nlink)
			continue;
		if (!image->names) {
			drop(images, image);
			continue;
		}
		clew_opened_close(&image->file);
	}
}

void clew_images_tick(struct clew_images *images)
{
	struct failed *failed;
	uint64_t now = clew_now();
	size_t old = 0;
	bool trim;

	pthread_mutex_lock(&images->lock);
	failed = images->failed.data;
	while (old < images->failed.count && now - failed[old].time >= AGAIN_NS)
		give_up(images, &failed[old++]);
	images->failed.count -= old;
	if (old)
		memmove(failed, failed + old, images->failed.count * sizeof(*failed));
	while (images->images.count > images->most && drop_oldest(images, false))
		;
	if (now - images->looked > READ_NS) {
		images->looked = now;
		release_unused(images, now);
	}
	if (images->dropped)
		clew_forget_user_kept(images->recorder, is_gone, images);
	images->dropped = false;
	trim = images->freed > TRIM_BYTES;
	if (trim)
		images->freed = 0;
	pthread_mutex_unlock(&images->lock);
	/* Much of what was freed would stay this process's. */
	if (trim)
		malloc_trim(0);
}

size_t clew_images_memory(struct clew_images *images)
{
	size_t bytes;

	pthread_mutex_lock(&images->lock);
	bytes = images->names_bytes + images->images.count * FILE_BYTES;
	pthread_mutex_unlock(&images->lock);
	return bytes;
}

bool clew_images_drop(struct clew_images *images)
{
	bool dropped;

	pthread_mutex_lock(&images->lock);
	dropped = drop_oldest(images, true) || drop_oldest(images, false);
	pthread_mutex_unlock(&images->lock);
	return dropped;
}

static size_t names_most(const struct clew_images *images)
{
	size_t most = clew_names_most(images->recorder),
	       others = clew_addresses_memory(images->recorder->addresses);

	return others < most ? most - others : 0;
}

/* Drops the names of the file that was used least recently, but for this one's. */
static bool drop_others(struct clew_images *images, struct image *image)
{
	struct clew_names *names = image->names;
	bool dropped;

	image->names = NULL;
	dropped = drop_oldest(images, true);
	image->names = names;
	return dropped;
}

/* So that what is read now has its room, and not only what of it is kept. */
static void make_room(struct clew_images *images, size_t bytes)
{
	pthread_mutex_lock(&images->lock);
	while (images->names_bytes && images->names_bytes + bytes > names_most(images) &&
	       drop_oldest(images, true))
		;
	pthread_mutex_unlock(&images->lock);
}

/* Reads the names of a file that is open, without the lock: only this thread drops files. */
static struct clew_names *read_names(struct clew_images *images, uint32_t number,
				     const struct clew_opened *file)
{
	struct clew_names *names = NULL;
	struct image *image;
	int copy;

	if (clew_open_read(file, CLEW_OPEN_SYMBOLS | CLEW_OPEN_FRAMES, &copy) >= 0) {
		make_room(images, clew_names_needs(copy));
		clew_names_open(copy, &names);
		close(copy);
	}
	pthread_mutex_lock(&images->lock);
	image = image_of(images, number);
	image->names = names;
	image->read = clew_now();
	images->names_bytes += clew_names_memory(names);
	while (images->names_bytes > names_most(images) && drop_others(images, image))
		;
	pthread_mutex_unlock(&images->lock);
	return names;
}

int clew_images_find(struct clew_images *images, uint64_t frame, struct clew_named *ret_named)
{
	uint32_t number = CLEW_FRAME_IMAGE(frame);
	struct image image = {.file.path = -1}, *at;
	uint64_t now = clew_now();

	if (frame & CLEW_FRAME_ADDRESS)
		return 0;
	pthread_mutex_lock(&images->lock);
	at = image_of(images, number);
	if (at) {
		at->used = now;
		image = *at;
	}
	pthread_mutex_unlock(&images->lock);
	if (image.state == UNOPENED)
		return -EAGAIN;
	/* A file without room is not read again and again. */
	if (!image.names && image.file.path >= 0 && (!image.read || now - image.read > READ_NS))
		image.names = read_names(images, number, &image.file);
	return image.names && clew_names_find(image.names, CLEW_FRAME_OFFSET(frame), ret_named);
}
