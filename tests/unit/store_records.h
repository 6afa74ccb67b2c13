/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records for the tests of the capture file: random ones of every kind, equal
 * for equal seeds, that keep to what BPF sends (fields without their flag are 0).
 */
#ifndef STORE_RECORDS_H
#define STORE_RECORDS_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/capture.h"

struct random {
	uint64_t state;
	unsigned unit; /* many values are multiples of 1 << unit */
};

static inline uint64_t random_next(struct random *random)
{
	uint64_t value = random->state += 0x9e3779b97f4a7c15ull;

	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
	return value ^ (value >> 31);
}

static inline uint64_t random_below(struct random *random, uint64_t limit)
{
	return random_next(random) % limit;
}

/* Small mostly, now and then anything. */
static inline uint64_t in_units(const struct random *random, uint64_t value)
{
	return value >> random->unit << random->unit;
}

static inline uint64_t random_value(struct random *random)
{
	uint64_t value = random_next(random);

	return in_units(random, value >> (random_next(random) % 64));
}

union any_record {
	struct clew_header header;
	struct {
		struct clew_switch record;
		struct clew_wait wait;
		struct clew_cause cause;
	} change;
	struct clew_task_record task;
	struct clew_life life;
	struct clew_rename rename;
	struct clew_file_record file;
	struct clew_socket_record socket;
	struct clew_cgroup_record cgroup;
	struct clew_text_record text;
	struct clew_gap gap;
	struct clew_work work;
	struct clew_bio bio;
	struct clew_request request;
	struct clew_lock lock;
	struct clew_ring ring;
	struct clew_refill refill;
	struct clew_extent extent;
	struct clew_pages pages;
	struct clew_writeback writeback;
	struct clew_journal journal;
	struct clew_announce announce;
	uint8_t bytes[4096];
};

static inline void random_name(struct random *random, char *to, size_t size)
{
	size_t length = random_below(random, size + 1);

	for (size_t i = 0; i < length; i++)
		to[i] = 'a' + random_below(random, 26);
}

static inline size_t random_tail(struct random *random, uint8_t *to, uint16_t *length, size_t limit)
{
	*length = random_below(random, limit + 1);
	for (size_t i = 0; i < *length; i++)
		to[i] = random_next(random);
	return *length;
}

static inline void random_cause(struct random *random, struct clew_cause *cause)
{
	cause->kind = random_below(random, 8);
	cause->object = random_value(random);
	cause->time = random_value(random);
	cause->expires = random_below(random, 2) ? 0 : random_value(random);
	cause->task = random_value(random);
}

/* Behind the wait, or in its place. */
static inline size_t random_switch_cause(struct random *random, union any_record *any, size_t size)
{
	if (any->header.kind != CLEW_KIND_SWITCH || !(any->header.flags & CLEW_SWITCH_CAUSE))
		return size;
	random_cause(random, (struct clew_cause *)(any->bytes + size));
	return size + sizeof(struct clew_cause);
}

static inline size_t random_switch(struct random *random, union any_record *any, uint32_t *last)
{
	struct clew_switch *record = &any->change.record;
	struct clew_wait *wait = &any->change.wait;

	record->prev = random_below(random, 50) ? *last : random_below(random, 1000);
	record->next = *last = random_below(random, 400) ? random_below(random, 300)
							 : (uint32_t)random_next(random);
	record->prev_state = random_value(random);
	if (record->header.flags & (CLEW_SWITCH_NEXT_SLEPT | CLEW_SWITCH_NEXT_NEW)) {
		record->wake_time = random_below(random, 20)
					    ? in_units(random, record->header.time -
								       random_below(random, 100000))
					    : random_value(random);
		record->wake_object = random_value(random);
		record->waker = random_below(random, 400);
		record->wake_device = random_value(random);
		record->wake_descriptor = (int32_t)random_below(random, 9) - 1;
		record->wake_call = random_value(random);
		record->wake_context = random_below(random, 7);
		record->wake_flags = random_next(random);
		record->wake_operation = random_below(random, 5);
		record->wake_object_kind = random_below(random, 19);
	}
	if (!(record->header.flags & CLEW_SWITCH_WAIT))
		return random_switch_cause(random, any, sizeof(*record));
	wait->object = random_value(random);
	wait->argument = random_value(random);
	wait->device = random_value(random);
	wait->owner = random_below(random, 5) ? 0 : random_value(random);
	wait->descriptor = (int32_t)random_value(random);
	wait->call = random_value(random);
	wait->object_kind = random_next(random);
	wait->futex_class = random_below(random, 6);
	wait->futex_operation = random_next(random);
	wait->flags = random_next(random);
	wait->reason = random_below(random, 7);
	return random_switch_cause(random, any, sizeof(*record) + sizeof(*wait));
}

static inline size_t random_task(struct random *random, struct clew_task_record *task)
{
	task->start_time = random_value(random);
	task->cgroup = random_value(random);
	task->executable = random_value(random);
	task->executable_device = random_value(random);
	task->task = random_value(random);
	task->process = random_value(random);
	task->parent = random_value(random);
	task->tid = random_value(random);
	task->pid = random_value(random);
	task->user = random_value(random);
	task->pid_namespace = random_value(random);
	task->mount_namespace = random_value(random);
	task->task_flags = random_value(random);
	task->nspid_count = random_below(random, CLEW_NSPID_LEVELS + 1);
	for (unsigned i = 0; i < task->nspid_count; i++)
		task->nspid[i] = random_value(random);
	random_name(random, task->comm, sizeof(task->comm));
	return sizeof(*task) + random_tail(random, (uint8_t *)(task + 1), &task->command_line_size,
					   CLEW_COMMAND_LINE_SIZE);
}

static inline size_t random_socket(struct random *random, struct clew_socket_record *socket)
{
	socket->inode = random_value(random);
	socket->peer = random_value(random);
	socket->family = random_value(random);
	socket->type = random_value(random);
	socket->local_port = random_value(random);
	socket->peer_port = random_value(random);
	random_name(random, (char *)socket->local, sizeof(socket->local));
	random_name(random, (char *)socket->remote, sizeof(socket->remote));
	random_name(random, socket->local_path, sizeof(socket->local_path));
	random_name(random, socket->peer_path, sizeof(socket->peer_path));
	return sizeof(*socket);
}

/* Of what devices, workers and locks send. */
static inline size_t random_machine(struct random *random, union any_record *any)
{
	switch (any->header.kind) {
	case CLEW_KIND_WORK:
		any->work.work = random_value(random);
		any->work.function = random_value(random);
		any->work.queued = random_value(random);
		any->work.worker = random_value(random);
		any->work.queuer = random_value(random);
		any->work.context = random_below(random, 7);
		random_cause(random, &any->work.cause);
		return sizeof(any->work);
	case CLEW_KIND_BIO:
		any->bio.bio = random_value(random);
		any->bio.sector = random_value(random);
		any->bio.from_sector = random_value(random);
		any->bio.inode = random_value(random);
		any->bio.index = random_value(random);
		any->bio.parent = random_value(random);
		any->bio.bytes = random_value(random);
		any->bio.device = random_value(random);
		any->bio.from_device = random_value(random);
		any->bio.file_device = random_value(random);
		any->bio.operation = random_value(random);
		any->bio.task = random_value(random);
		any->bio.contiguous = random_value(random);
		any->bio.call = random_value(random);
		return sizeof(any->bio);
	case CLEW_KIND_REQUEST:
		any->request.request = random_value(random);
		any->request.sector = random_value(random);
		any->request.bio = random_value(random);
		any->request.allocated = random_value(random);
		any->request.bytes = random_value(random);
		any->request.device = random_value(random);
		any->request.operation = random_value(random);
		any->request.task = random_value(random);
		any->request.error = (int32_t)random_value(random);
		any->request.context = random_below(random, 7);
		any->request.bio_count = random_value(random);
		if (any->header.flags & CLEW_REQUEST_WHOLE) {
			any->request.queued = random_value(random);
			any->request.issued = random_value(random);
			any->request.inode = random_value(random);
			any->request.file_device = random_value(random);
			any->request.offset = random_value(random);
		}
		return sizeof(any->request);
	case CLEW_KIND_LOCK:
		/* In units none is beside its time, which may be in none. */
		any->lock.begin =
			random->unit ? in_units(random, any->header.time) : random_value(random);
		any->lock.lock = random_value(random);
		any->lock.task = random_value(random);
		any->lock.owner = random_value(random);
		any->lock.type = random_below(random, 64);
		return sizeof(any->lock);
	case CLEW_KIND_RING:
		any->ring.ring = random_value(random);
		any->ring.user_data = random_value(random);
		any->ring.request = random_value(random);
		any->ring.task = random_value(random);
		any->ring.operation = random_below(random, 60);
		return sizeof(any->ring);
	case CLEW_KIND_REFILL:
		any->refill.cgroup = random_value(random);
		return sizeof(any->refill);
	case CLEW_KIND_EXTENT:
		any->extent.inode = random_value(random);
		any->extent.device = random_value(random);
		any->extent.task = random_value(random);
		any->extent.begin = random_value(random);
		any->extent.offset = random_value(random);
		any->extent.bytes = random_value(random);
		return sizeof(any->extent);
	case CLEW_KIND_PAGES:
		any->pages.bio = random_value(random);
		any->pages.inode = random_value(random);
		any->pages.device = random_value(random);
		any->pages.offset = random_value(random);
		any->pages.bytes = random_value(random);
		any->pages.at = random_value(random);
		return sizeof(any->pages);
	case CLEW_KIND_WRITEBACK:
		any->writeback.work = random_value(random);
		any->writeback.task = random_value(random);
		any->writeback.inode = random_value(random);
		any->writeback.device = random_value(random);
		any->writeback.pages = random_value(random);
		any->writeback.reason = random_value(random);
		any->writeback.sync = random_value(random);
		any->writeback.for_sync = random_value(random);
		any->writeback.call = random_value(random);
		return sizeof(any->writeback);
	case CLEW_KIND_JOURNAL:
		any->journal.device = random_value(random);
		any->journal.task = random_value(random);
		any->journal.transaction = random_value(random);
		any->journal.inode = random_value(random);
		any->journal.block = random_value(random);
		any->journal.value = random_value(random);
		return sizeof(any->journal);
	case CLEW_KIND_ANNOUNCE:
		any->announce.task = random_value(random);
		any->announce.token = random_value(random);
		any->announce.event = random_below(random, 2);
		return sizeof(any->announce) + random_tail(random,
							   any->bytes + sizeof(any->announce),
							   &any->announce.size, 200);
	}
	return 0;
}

/* Makes a record; returns its size. `last` is the stream's last `next`. */
static inline size_t random_record(struct random *random, unsigned kind, uint64_t time,
				   unsigned cpu, uint32_t *last, union any_record *any)
{
	memset(any, 0, sizeof(*any));
	any->header = (struct clew_header){.time = time,
					   .lost = random_below(random, 100) / 99,
					   .cpu = cpu,
					   .kind = kind,
					   .flags = random_next(random)};
	switch (kind) {
	case CLEW_KIND_SWITCH:
	case CLEW_KIND_STATE:
		return random_switch(random, any, last);
	case CLEW_KIND_TASK:
		return random_task(random, &any->task);
	case CLEW_KIND_FORK:
	case CLEW_KIND_EXEC:
	case CLEW_KIND_EXIT:
		any->life.task = random_value(random);
		any->life.other = random_value(random);
		any->life.value = random_value(random);
		return sizeof(any->life);
	case CLEW_KIND_RENAME:
		any->rename.task = random_value(random);
		random_name(random, any->rename.comm, sizeof(any->rename.comm));
		return sizeof(any->rename);
	case CLEW_KIND_FILE:
		any->file.inode = random_value(random);
		any->file.device = random_value(random);
		any->file.mount_namespace = random_value(random);
		any->file.generation = random_value(random);
		return sizeof(any->file) + random_tail(random, (uint8_t *)(&any->file + 1),
						       &any->file.path_size, CLEW_PATH_SIZE);
	case CLEW_KIND_SOCKET:
		return random_socket(random, &any->socket);
	case CLEW_KIND_CGROUP:
		any->cgroup.id = random_value(random);
		any->cgroup.hierarchy = random_value(random);
		return sizeof(any->cgroup) + random_tail(random, (uint8_t *)(&any->cgroup + 1),
							 &any->cgroup.path_size, CLEW_PATH_SIZE);
	case CLEW_KIND_TEXT:
		any->text.hash = random_next(random);
		return sizeof(any->text) + random_tail(random, (uint8_t *)(&any->text + 1),
						       &any->text.text_size, CLEW_TEXT_SIZE);
	case CLEW_KIND_GAP:
		any->gap.from = time - random_below(random, 1000000);
		any->gap.count = random_value(random);
		return sizeof(any->gap);
	}
	return random_machine(random, any);
}

/* A switch most of the time. */
static inline unsigned random_kind(struct random *random)
{
	unsigned kind = 1 + random_below(random, CLEW_KIND_COUNT - 1);

	return kind == CLEW_KIND_WAKE || random_below(random, 3) ? CLEW_KIND_SWITCH : kind;
}

/* A name for a test's file; the caller removes the file. */
static inline void temporary_path(char path[64])
{
	int fd;

	snprintf(path, 64, "/tmp/clew-store-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
}

static inline struct clew_writer *open_writer(const char *path, unsigned cpus, bool sync)
{
	struct clew_writer_options options = {.size = sizeof(options), .sync = sync, .cpus = cpus};
	struct clew_writer *writer;

	assert_int_equal(clew_writer_open(path, &options, &writer), 0);
	return writer;
}

static inline struct clew_reader *open_reader(const char *path)
{
	struct clew_reader *reader;
	char message[200];
	int r;

	r = clew_reader_open(path, &reader, message, sizeof(message));
	if (r < 0)
		fail_msg("%s: %s", path, message);
	return reader;
}

/* As clew_reader_next(), but only what is in the file. */
static inline int next_stored(struct clew_reader *reader, const struct clew_header **ret_record)
{
	int r;

	do
		r = clew_reader_next(reader, ret_record);
	while (r == 1 && (*ret_record)->kind == CLEW_KIND_GAP &&
	       (*ret_record)->flags == CLEW_GAP_IN_FILE);
	return r;
}

static inline size_t read_file(const char *path, uint8_t **ret_bytes)
{
	struct stat stat;
	int fd = open(path, O_RDONLY);
	size_t done = 0;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &stat), 0);
	*ret_bytes = malloc(stat.st_size + 1);
	while (done < (size_t)stat.st_size) {
		ssize_t n = pread(fd, *ret_bytes + done, stat.st_size - done, done);

		assert_true(n > 0);
		done += n;
	}
	close(fd);
	return done;
}

static inline void write_file(const char *path, const uint8_t *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

#endif
