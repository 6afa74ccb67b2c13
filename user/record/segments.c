/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of segments, and which of them are kept. */
#include "record/segments.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vector.h"
#include "store/target.h"

#define DIGITS 8
#define NUMBER 99999999u

#define SHORTEST 200000000ull /* ns: to begin a segment takes a part of that */
#define SMALLEST (1u << 20)   /* bytes */

struct segment {
	char name[48];
	uint64_t start; /* ns, CLOCK_MONOTONIC; 0: another recording's */
	uint64_t end;	/* ns, CLOCK_MONOTONIC; meaningless for the current one */
	uint64_t bytes;
};

struct clew_segments {
	char *directory;
	int descriptor;
	uint64_t keep_ns, keep_bytes;
	unsigned number;    /* of the last one */
	struct vector list; /* struct segment, by number; the current one is the last */
	bool current;
	bool owned; /* the directory is this recording's */
	char *path;
};

/* The number that a segment's name begins with, 0: it is no segment's. */
static unsigned number_of(const char *name)
{
	size_t length = strlen(name);

	for (unsigned i = 0; i < DIGITS; i++)
		if (!isdigit((unsigned char)name[i]))
			return 0;
	if (name[DIGITS] != '-' || length >= sizeof(((struct segment *)0)->name) ||
	    strcmp(name + length - strlen(".clew"), ".clew"))
		return 0;
	return (unsigned)strtoul(name, NULL, 10);
}

static struct segment *add(struct clew_segments *segments)
{
	struct vector *list = &segments->list;

	if (vector_reserve(list, list->count + 1) < 0)
		return NULL;
	return memset((struct segment *)list->data + list->count++, 0, sizeof(struct segment));
}

/* When a file was last written, by the clock of the segments that follow. */
static uint64_t end_of(const struct stat *status)
{
	uint64_t now = clock_read(CLOCK_MONOTONIC), wall = clock_read(CLOCK_REALTIME),
		 written = (uint64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec,
		 age = written < wall ? wall - written : 0;

	return age < now ? now - age : 0;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(((const struct segment *)left)->name, ((const struct segment *)right)->name);
}

/* Finds the segments of earlier recordings. */
static int list_old(struct clew_segments *segments)
{
	int copy = openat(segments->descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	struct stat status;
	int r = 0;

	if (!directory) {
		r = -errno;
		if (copy >= 0)
			close(copy);
		return r;
	}
	while (r == 0 && (entry = readdir(directory))) {
		unsigned number = number_of(entry->d_name);
		struct segment *segment;

		if (!number || fstatat(segments->descriptor, entry->d_name, &status, 0) < 0)
			continue;
		segment = add(segments);
		if (segment) {
			strcpy(segment->name, entry->d_name);
			segment->end = end_of(&status);
			segment->bytes = (uint64_t)status.st_size;
		}
		r = segment ? 0 : -ENOMEM;
		segments->number = number > segments->number ? number : segments->number;
	}
	closedir(directory);
	if (segments->list.count)
		qsort(segments->list.data, segments->list.count, sizeof(struct segment), by_name);
	return r;
}

static int say(struct clew_message *message, const char *directory, const char *elsewhere,
	       int error)
{
	const char *refusal;

	if (error == -EWOULDBLOCK)
		return clew_say(message, -EBUSY, "%s is being written by another recording: %s",
				directory, elsewhere);
	if (error == -ENOTDIR || error == -EEXIST)
		return clew_say(message, -EINVAL, "%s is no directory: segments need one: %s",
				directory, elsewhere);
	refusal = store_target_refusal(error);
	return clew_say(message, refusal ? -EINVAL : error,
			"%s cannot be used for segments: %s: %s", directory,
			refusal ?: strerror(-error), elsewhere);
}

static int open_directory(struct clew_segments *segments)
{
	int r;

	if (mkdir(segments->directory, 0777) < 0 && errno != EEXIST)
		return -errno;
	r = store_target_folder(segments->directory, &segments->descriptor);
	if (r < 0)
		return r;
	if (flock(segments->descriptor, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	return list_old(segments);
}

/* So that `clew snapshot` finds this process. */
static int write_pid(const struct clew_segments *segments)
{
	int file = openat(segments->descriptor, CLEW_SEGMENTS_PID,
			  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	int r = file < 0 || dprintf(file, "%d\n", (int)getpid()) < 0 ? -errno : 0;

	if (file >= 0)
		close(file);
	return r;
}

int clew_segments_recorder(const char *directory)
{
	int descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), pid = -ESRCH;
	char text[16] = "";
	int file;

	if (descriptor < 0)
		return -errno;
	file = openat(descriptor, CLEW_SEGMENTS_PID, O_RDONLY | O_CLOEXEC);
	if (file >= 0 && flock(descriptor, LOCK_SH | LOCK_NB) < 0 &&
	    read(file, text, sizeof(text) - 1) > 0 && atoi(text) > 0)
		pid = atoi(text);
	if (file >= 0)
		close(file);
	close(descriptor);
	return pid;
}

bool clew_segments_there(const char *directory)
{
	DIR *entries = opendir(directory);
	const struct dirent *entry;
	bool there = false;

	while (entries && !there && (entry = readdir(entries)))
		there = number_of(entry->d_name);
	if (entries)
		closedir(entries);
	return there;
}

int clew_segments_open(const char *directory, uint64_t keep_ns, uint64_t keep_bytes,
		       const char *elsewhere, struct clew_segments **ret_segments,
		       struct clew_message *message)
{
	struct clew_segments *segments = calloc(1, sizeof(*segments));
	int r;

	if (!segments)
		return clew_say(message, -ENOMEM, "no memory for segments: free some");
	segments->descriptor = -1;
	segments->keep_ns = keep_ns;
	segments->keep_bytes = keep_bytes;
	segments->list.item = sizeof(struct segment);
	segments->directory = strdup(directory);
	r = segments->directory ? open_directory(segments) : -ENOMEM;
	if (r >= 0)
		r = write_pid(segments);
	segments->owned = r >= 0;
	if (r < 0) {
		clew_segments_close(segments);
		return say(message, directory, elsewhere, r);
	}
	*ret_segments = segments;
	return 0;
}

bool clew_segments_too_short(const struct clew_amount *rotate)
{
	return (rotate->ns && rotate->ns < SHORTEST) || (rotate->bytes && rotate->bytes < SMALLEST);
}

void clew_segments_keep(struct clew_segments *segments, uint64_t keep_ns, uint64_t keep_bytes)
{
	segments->keep_ns = keep_ns;
	segments->keep_bytes = keep_bytes;
}

struct clew_segments_held clew_segments_held(const struct clew_segments *segments)
{
	const struct segment *list = segments->list.data;
	struct clew_segments_held held = {};

	for (size_t i = segments->list.count; i-- > 0 && list[i].start;) {
		held.count++;
		held.since = list[i].start;
		held.bytes += list[i].bytes;
	}
	return held;
}

const char *clew_segments_next(struct clew_segments *segments)
{
	struct segment *list, *segment = add(segments);
	size_t count = segments->list.count;
	time_t now = time(NULL);
	struct tm utc;
	char text[24];

	if (!segment || !gmtime_r(&now, &utc))
		return NULL;
	list = segments->list.data;
	if (segments->current)
		list[count - 2].end = clock_read(CLOCK_MONOTONIC);
	segment->start = clock_read(CLOCK_MONOTONIC);
	segments->current = true;
	segments->number = segments->number % NUMBER + 1;
	strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &utc);
	snprintf(segment->name, sizeof(segment->name), "%0*u-%s.clew", DIGITS, segments->number,
		 text);
	free(segments->path);
	if (asprintf(&segments->path, "%s/%s", segments->directory, segment->name) < 0)
		segments->path = NULL;
	return segments->path;
}

void clew_segments_undo(struct clew_segments *segments)
{
	struct segment *last = (struct segment *)segments->list.data + segments->list.count - 1;

	if (!segments->list.count)
		return;
	unlinkat(segments->descriptor, last->name, 0);
	segments->list.count--;
	segments->number--;
	segments->current = segments->list.count > 0;
}

/* The size of a segment that was the current one until now. */
static void measure(const struct clew_segments *segments, struct segment *segment)
{
	struct stat status;

	if (!segment->bytes && !fstatat(segments->descriptor, segment->name, &status, 0))
		segment->bytes = (uint64_t)status.st_size;
}

void clew_segments_trim(struct clew_segments *segments, uint64_t bytes)
{
	struct segment *list = segments->list.data;
	size_t count = segments->list.count - segments->current, old = 0;
	uint64_t now = clock_read(CLOCK_MONOTONIC), sum = bytes;

	for (size_t i = 0; i < count; i++) {
		measure(segments, &list[i]);
		sum += list[i].bytes;
	}
	while (old < count && ((segments->keep_ns && list[old].end + segments->keep_ns < now) ||
			       (segments->keep_bytes && sum > segments->keep_bytes))) {
		unlinkat(segments->descriptor, list[old].name, 0);
		sum -= list[old++].bytes;
	}
	if (!old)
		return;
	segments->list.count -= old;
	memmove(list, list + old, segments->list.count * sizeof(*list));
}

void clew_segments_close(struct clew_segments *segments)
{
	if (!segments)
		return;
	if (segments->owned)
		unlinkat(segments->descriptor, CLEW_SEGMENTS_PID, 0);
	if (segments->descriptor >= 0)
		close(segments->descriptor);
	vector_done(&segments->list);
	free(segments->directory);
	free(segments->path);
	free(segments);
}
