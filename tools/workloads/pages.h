/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by workloads on the page cache: tasks that write, sync and drop pages of
 * files on order, a log of each act, and the truth as the disk has it.
 *
 * Every page written begins with a stamp: file, page, writer, number of the act. At
 * the end the stamps are read from the disk itself, at the sectors that FIEMAP names.
 * The log is in the order of the acts; those of one order do not overlap another's,
 * unless the order is to race.
 */
#ifndef WORKLOAD_PAGES_H
#define WORKLOAD_PAGES_H

#include <linux/falloc.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#include "disk.h"
#include "ring.h"

#define PAGES_ACTS  8192
#define PAGES_FILES 48
#define PAGES_MOST  64u /* of a file of the mix */
#define PAGES_BULK  1024u
#define PAGES_ALL   (1u << 30)
#define PAGES_MAGIC 0x5374616d70656431ull

enum page_act {
	ACT_NONE,
	ACT_WRITE,  /* pwrite64 */
	ACT_SINGLE, /* a pwrite64 each page: no page is one of several in memory */
	ACT_VECTOR,
	ACT_APPEND,
	ACT_SEND,
	ACT_RING,
	ACT_DSYNC,
	ACT_PART,
	ACT_STORE,
	ACT_DIRECT,
	ACT_FSYNC,
	ACT_FDATASYNC,
	ACT_MSYNC,
	ACT_RANGE,
	ACT_SYNCFS,
	ACT_TRUNCATE, /* to `first` pages */
	ACT_PUNCH,
	ACT_RENAME,
	ACT_TEMPORARY, /* written, and deleted while dirty */
	ACT_FORGET,    /* from memory, once it is on disk */
	ACT_READ,
	ACT_READ_AHEAD, /* what another's reading brought into memory */
	ACT_NAME,	/* a new directory: a handle of the journal */
	ACT_STREAM,	/* `count` pages, over and over the same `first` */
	ACT_RACE,
	ACT_RACE_SYNC,
	ACT_LEAVE,
};

struct page_stamp {
	uint64_t magic;
	uint64_t inode;
	uint64_t sequence;
	uint32_t page;
	uint32_t tid;
};

struct page_order {
	enum page_act act;
	unsigned file;
	unsigned first;
	unsigned count;
};

struct page_log {
	const char *what;
	const char *call;
	uint64_t inode; /* 0: all */
	uint64_t bytes;
	uint64_t sequence;
	uint64_t before;
	uint64_t after;
	unsigned first;
	unsigned count;
	int task;
	long slept;
};

struct page_file {
	struct disk_file disk;
	int direct;
	char path[320];
};

struct pages {
	_Atomic int act_count;
	_Atomic uint64_t sequence;
	_Atomic int renames;
	struct page_order orders[WL_TASKS];
	struct page_log acts[PAGES_ACTS];
	struct page_file files[PAGES_FILES];
	int file_count;
	int directory;
	char system[16];
};

static struct pages *pages;
static _Thread_local char *page_buffer; /* room for the largest act of a task */

/* ---- the log ---- */

struct page_step {
	uint64_t before;
	long slept;
};

WL_FINE struct page_step page_begin(void)
{
	struct page_step step;

	/* Clocks differ by a little: one act's requests are not the next one's. */
	wl_spin(20000);
	step.slept = wl_voluntary_switches();
	step.before = wl_now();
	return step;
}

WL_FINE struct page_log *page_end(int self, const struct page_step *step, const char *what,
				  const char *call, uint64_t inode, unsigned first, unsigned count)
{
	uint64_t after = wl_now();
	int index = atomic_fetch_add(&pages->act_count, 1);
	struct page_log *log = &pages->acts[index];

	if (index >= PAGES_ACTS)
		wl_die("too many acts");
	*log = (struct page_log){.what = what,
				 .call = call,
				 .inode = inode,
				 .first = first,
				 .count = count,
				 .task = self};
	log->before = step->before;
	log->after = after;
	log->slept = wl_voluntary_switches() - step->slept;
	log->bytes = (uint64_t)count * DISK_BLOCK;
	return log;
}

/* ---- acts ---- */

WL_FINE void page_stamp(int self, char *to, uint64_t inode, unsigned page, uint64_t sequence)
{
	struct page_stamp stamp = {.magic = PAGES_MAGIC,
				   .inode = inode,
				   .sequence = sequence,
				   .page = page,
				   .tid = wl->tasks[self].tid};

	memcpy(to, &stamp, sizeof(stamp));
}

WL_FINE uint64_t page_fill(int self, uint64_t inode, unsigned first, unsigned count)
{
	uint64_t sequence = atomic_fetch_add(&pages->sequence, 1) + 1;

	for (unsigned i = 0; i < count; i++)
		page_stamp(self, page_buffer + (size_t)i * DISK_BLOCK, inode, first + i, sequence);
	return sequence;
}

WL_FINE void page_whole(ssize_t done, size_t bytes, const char *call)
{
	if (done < 0)
		wl_die("%s: %s", call, strerror(errno));
	if ((size_t)done != bytes)
		wl_die("%s: %zd of %zu bytes", call, done, bytes);
}

WL_FINE void page_write_vector(int fd, unsigned first, size_t bytes, int flags)
{
	struct iovec parts[2] = {{page_buffer, bytes / 2},
				 {page_buffer + bytes / 2, bytes - bytes / 2}};

	page_whole(pwritev2(fd, parts, 2, (off_t)first * DISK_BLOCK, flags), bytes, "pwritev2");
}

WL_FINE void page_write_send(int fd, unsigned first, size_t bytes)
{
	int from = WL_CHECK(memfd_create("pages", MFD_CLOEXEC));
	off_t at = 0;

	page_whole(write(from, page_buffer, bytes), bytes, "write");
	WL_CHECK(lseek(fd, (off_t)first * DISK_BLOCK, SEEK_SET));
	page_whole(sendfile(fd, from, &at, bytes), bytes, "sendfile");
	close(from);
}

WL_FINE void page_write_ring(int fd, unsigned first, size_t bytes)
{
	static _Thread_local struct ring ring;

	if (!ring.entries && !ring_open(&ring, 0)) {
		page_whole(pwrite(fd, page_buffer, bytes, (off_t)first * DISK_BLOCK), bytes,
			   "pwrite");
		return;
	}
	ring_prepare(&ring, IORING_OP_WRITE, fd, (uint64_t)first * DISK_BLOCK, page_buffer, bytes,
		     IOSQE_ASYNC, first);
	ring_enter(&ring, 1, 1);
	ring_take(&ring, first);
}

WL_FINE void page_store(int self, const struct page_file *file, unsigned first, unsigned count,
			uint64_t sequence)
{
	size_t bytes = (size_t)count * DISK_BLOCK;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->disk.fd,
			    (off_t)first * DISK_BLOCK);

	if (memory == MAP_FAILED)
		wl_die("mmap: %s", strerror(errno));
	for (unsigned i = 0; i < count; i++)
		page_stamp(self, memory + (size_t)i * DISK_BLOCK, file->disk.inode, first + i,
			   sequence);
	munmap(memory, bytes);
}

WL_FINE void page_msync(const struct page_file *file, unsigned first, unsigned count)
{
	size_t bytes = (size_t)count * DISK_BLOCK;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->disk.fd,
			    (off_t)first * DISK_BLOCK);

	if (memory == MAP_FAILED)
		wl_die("mmap: %s", strerror(errno));
	WL_CHECK(msync(memory, bytes, MS_SYNC));
	munmap(memory, bytes);
}

/* Anything that puts bytes into pages. */
WL_FINE void page_dirty(int self, const struct page_order *order)
{
	struct page_file *file = &pages->files[order->file];
	size_t bytes = (size_t)order->count * DISK_BLOCK;
	unsigned first = order->first;
	const char *what = "write", *call = "pwrite64";
	struct page_step step;
	struct page_log *log;
	struct stat status;
	uint64_t sequence;

	WL_CHECK(fstat(file->disk.fd, &status));
	if (order->act == ACT_APPEND)
		first = status.st_size / DISK_BLOCK;
	sequence = page_fill(self, file->disk.inode, first, order->count);
	step = page_begin();
	switch (order->act) {
	case ACT_SINGLE:
		for (unsigned i = 0; i < order->count; i++)
			page_whole(pwrite(file->disk.fd, page_buffer + (size_t)i * DISK_BLOCK,
					  DISK_BLOCK, (off_t)(first + i) * DISK_BLOCK),
				   DISK_BLOCK, "pwrite");
		break;
	case ACT_VECTOR:
	case ACT_APPEND:
		call = "pwritev2";
		page_write_vector(file->disk.fd, first, bytes,
				  order->act == ACT_APPEND ? RWF_APPEND : 0);
		break;
	case ACT_DSYNC:
		call = "pwritev2";
		page_write_vector(file->disk.fd, first, bytes, RWF_DSYNC);
		break;
	case ACT_SEND:
		call = "sendfile";
		page_write_send(file->disk.fd, first, bytes);
		break;
	case ACT_RING:
		call = "io_uring_enter";
		page_write_ring(file->disk.fd, first, bytes);
		break;
	case ACT_STORE:
		what = "store";
		call = "";
		page_store(self, file, first, order->count, sequence);
		break;
	case ACT_DIRECT:
		what = "direct";
		page_whole(pwrite(file->direct, page_buffer, bytes, (off_t)first * DISK_BLOCK),
			   bytes, "pwrite");
		break;
	case ACT_PART:
		what = "part";
		page_whole(pwrite(file->disk.fd, page_buffer + 2000, 100,
				  (off_t)first * DISK_BLOCK + 2000),
			   100, "pwrite");
		break;
	default:
		page_whole(pwrite(file->disk.fd, page_buffer, bytes, (off_t)first * DISK_BLOCK),
			   bytes, "pwrite");
	}
	log = page_end(self, &step, what, call, file->disk.inode, first, order->count);
	log->sequence = sequence;
	if (order->act == ACT_PART)
		log->bytes = 100;
	if (order->act == ACT_DSYNC) {
		log = page_end(self, &step, "range", call, file->disk.inode, first, order->count);
		log->bytes = 0;
	}
}

WL_FINE void page_temporary(int self, const struct page_order *order)
{
	size_t bytes = (size_t)order->count * DISK_BLOCK;
	struct stat status;
	struct page_step step;
	char path[320];
	int fd;

	snprintf(path, sizeof(path), "%s/temporary-XXXXXX", wl_place(pages->system));
	fd = WL_CHECK(mkostemp(path, O_CLOEXEC));
	WL_CHECK(fstat(fd, &status));
	page_fill(self, status.st_ino, 0, order->count);
	step = page_begin();
	page_whole(pwrite(fd, page_buffer, bytes, 0), bytes, "pwrite");
	page_end(self, &step, "write", "pwrite64", status.st_ino, 0, order->count);
	step = page_begin();
	WL_CHECK(unlink(path));
	close(fd);
	page_end(self, &step, "delete", "unlink", status.st_ino, 0, PAGES_ALL);
}

WL_FINE void page_rename(struct page_file *file)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/renamed-%d-%d", wl_place(pages->system), (int)wl->seed,
		 atomic_fetch_add(&pages->renames, 1));
	WL_CHECK(rename(file->path, path));
	wl_copy(file->path, sizeof(file->path), path);
}

WL_FINE void page_name(void)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/named-%d-%d", wl_place(pages->system), (int)getpid(),
		 atomic_fetch_add(&pages->renames, 1));
	WL_CHECK(mkdir(path, 0700));
}

/* Anything that brings pages to the disk, or out of memory. */
WL_FINE void page_clean(int self, const struct page_order *order)
{
	struct page_file *file = &pages->files[order->file];
	off_t from = (off_t)order->first * DISK_BLOCK, bytes = (off_t)order->count * DISK_BLOCK;
	unsigned first = 0, count = PAGES_ALL;
	const char *what = "sync", *call = "fsync";
	uint64_t inode = file->disk.inode;
	struct page_step step = page_begin();

	switch (order->act) {
	case ACT_FDATASYNC:
		call = "fdatasync";
		WL_CHECK(fdatasync(file->disk.fd));
		break;
	case ACT_MSYNC:
		what = "range";
		call = "msync";
		page_msync(file, order->first, order->count);
		break;
	case ACT_RANGE:
		what = "range";
		call = "sync_file_range";
		WL_CHECK(sync_file_range(file->disk.fd, from, bytes,
					 SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
						 SYNC_FILE_RANGE_WAIT_AFTER));
		break;
	case ACT_SYNCFS:
		call = "syncfs";
		inode = 0;
		WL_CHECK(syncfs(pages->directory));
		break;
	case ACT_TRUNCATE:
		what = "truncate";
		call = "ftruncate";
		first = order->first;
		WL_CHECK(ftruncate(file->disk.fd, from));
		break;
	case ACT_PUNCH:
		what = "punch";
		call = "fallocate";
		first = order->first;
		count = order->count;
		WL_CHECK(fallocate(file->disk.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from,
				   bytes));
		break;
	case ACT_RENAME:
		what = "rename";
		call = "rename";
		page_rename(file);
		break;
	case ACT_FORGET:
		WL_CHECK(fsync(file->disk.fd));
		break;
	case ACT_NAME:
		what = "name";
		call = "mkdir";
		page_name();
		break;
	case ACT_READ:
	case ACT_READ_AHEAD:
		what = order->act == ACT_READ ? "read" : "ahead";
		call = "pread64";
		WL_CHECK(pread(file->disk.fd, page_buffer, bytes, from));
		break;
	default:
		WL_CHECK(fsync(file->disk.fd));
	}
	if (order->act == ACT_MSYNC || order->act == ACT_RANGE || order->act == ACT_READ ||
	    order->act == ACT_READ_AHEAD) {
		first = order->first;
		count = order->count;
	}
	page_end(self, &step, what, call, inode, first, count);
	if (order->act == ACT_FORGET)
		WL_CHECK(posix_fadvise(file->disk.fd, 0, 0, POSIX_FADV_DONTNEED));
}

/* Many acts at random while others do theirs. */
WL_FINE void page_race(int self, const struct page_order *order)
{
	for (unsigned lap = 0; lap < order->count; lap++) {
		struct page_order next = {.file = wl_random(0, 1)};

		next.first = wl_random(0, 11);
		next.count = wl_random(1, 4);
		if (order->act == ACT_RACE_SYNC) {
			static const enum page_act acts[] = {ACT_FSYNC, ACT_FDATASYNC, ACT_RANGE,
							     ACT_FSYNC};

			next.act = acts[wl_random(0, 3)];
			page_clean(self, &next);
		} else {
			next.act = next.file == 0 ? ACT_SINGLE : ACT_WRITE;
			if (next.file == 0 && wl_random(0, 4) == 0)
				next.act = ACT_STORE;
			page_dirty(self, &next);
		}
		wl_spin(wl_random(0, 60000));
	}
}

WL_FINE void page_stream(int self, const struct page_order *order)
{
	for (unsigned at = 0; at < order->count; at += 64) {
		struct page_order next = {.act = ACT_WRITE,
					  .file = order->file,
					  .first = at % order->first,
					  .count = 64};

		page_dirty(self, &next);
	}
}

WL_FINE void page_do(int self, const struct page_order *order)
{
	if (!page_buffer) {
		page_buffer = mmap(NULL, (size_t)PAGES_BULK * DISK_BLOCK, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (page_buffer == MAP_FAILED)
			wl_die("mmap: %s", strerror(errno));
	}
	if (order->act == ACT_RACE || order->act == ACT_RACE_SYNC)
		page_race(self, order);
	else if (order->act == ACT_STREAM)
		page_stream(self, order);
	else if (order->act == ACT_TEMPORARY)
		page_temporary(self, order);
	else if (order->act <= ACT_DIRECT)
		page_dirty(self, order);
	else
		page_clean(self, order);
}

/* ---- tasks ---- */

/* A task that does what it is told. */
WL_FINE void page_task(int self)
{
	for (;;) {
		wl_await_order(&wl->tasks[self].step);
		if (pages->orders[self].act == ACT_LEAVE)
			break;
		page_do(self, &pages->orders[self]);
		atomic_store(&wl->tasks[self].step, 0);
	}
}

/* One order, and the end. */
WL_FINE void page_task_once(int self)
{
	wl_await_order(&wl->tasks[self].step);
	page_do(self, &pages->orders[self]);
}

WL_FINE void page_start(int task, struct page_order order)
{
	pages->orders[task] = order;
	atomic_store(&wl->tasks[task].step, 1);
}

WL_FINE void page_tell(int task, enum page_act act, unsigned file, unsigned first, unsigned count)
{
	page_start(task,
		   (struct page_order){.act = act, .file = file, .first = first, .count = count});
	wl_await(&wl->tasks[task].step, 0);
}

/* ---- files ---- */

WL_FINE unsigned page_new_file_in(const char *directory)
{
	struct page_file *file = &pages->files[pages->file_count];
	struct stat status;

	if (pages->file_count >= PAGES_FILES)
		wl_die("too many files");
	snprintf(file->path, sizeof(file->path), "%s/pages-%d-XXXXXX", directory, (int)wl->seed);
	file->disk.fd = WL_CHECK(mkostemp(file->path, O_CLOEXEC));
	file->direct = WL_CHECK(open(file->path, O_RDWR | O_CLOEXEC | O_DIRECT));
	WL_CHECK(fstat(file->disk.fd, &status));
	file->disk.inode = status.st_ino;
	file->disk.disk = disk_below(status.st_dev, disk_told(pages->system));
	return pages->file_count++;
}

WL_FINE unsigned page_new_file(void)
{
	return page_new_file_in(wl_place(pages->system));
}

/* A name for a thing in the place's file system. */
WL_FINE void page_open(const char *system)
{
	pages = wl_shared(sizeof(*pages));
	wl_copy(pages->system, sizeof(pages->system), system);
	pages->directory = WL_CHECK(open(wl_place(system), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* ---- the truth ---- */

/* The device that the file system is on, to read what it really holds. */
WL_FINE int page_device(const struct page_file *file)
{
	char path[320];
	int fd;

	snprintf(path, sizeof(path), "%s/node-%d", wl->place, (int)getpid());
	unlink(path);
	WL_CHECK(
		mknod(path, S_IFBLK | 0600, makedev(file->disk.disk.major, file->disk.disk.minor)));
	fd = WL_CHECK(open(path, O_RDONLY | O_DIRECT | O_CLOEXEC));
	unlink(path);
	return fd;
}

#define PAGES_UNSEEN (FIEMAP_EXTENT_UNWRITTEN | FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC)

WL_FINE void page_print_sectors(const struct page_file *file)
{
	const char *next = "";

	for (unsigned i = 0; i < file->disk.extent_count; i++) {
		const struct fiemap_extent *extent = &file->disk.extents[i];

		if (extent->fe_flags & (PAGES_UNSEEN | FIEMAP_EXTENT_ENCODED))
			continue;
		printf("%s[%llu,%llu,%llu]", next,
		       (unsigned long long)extent->fe_logical / DISK_BLOCK,
		       (unsigned long long)extent->fe_length / DISK_BLOCK,
		       (unsigned long long)(extent->fe_physical / 512 + file->disk.disk.offset));
		next = ",";
	}
}

/* The stamps as the disk has them. */
WL_FINE void page_print_stamps(const struct page_file *file, int device)
{
	static char blocks[64 * DISK_BLOCK] __attribute__((aligned(4096)));
	const char *next = "";

	for (unsigned i = 0; i < file->disk.extent_count; i++) {
		const struct fiemap_extent *extent = &file->disk.extents[i];

		for (uint64_t at = 0; at < extent->fe_length &&
				      !(extent->fe_flags & (PAGES_UNSEEN | FIEMAP_EXTENT_ENCODED));
		     at += DISK_BLOCK) {
			uint64_t left = extent->fe_length - at, in = at % sizeof(blocks);
			struct page_stamp stamp;

			if (in == 0) {
				left = left < sizeof(blocks) ? left : sizeof(blocks);
				page_whole(pread(device, blocks, left,
						 extent->fe_physical +
							 file->disk.disk.offset * 512 + at),
					   left, "pread");
			}
			memcpy(&stamp, blocks + in, sizeof(stamp));
			if (stamp.magic != PAGES_MAGIC || stamp.inode != file->disk.inode ||
			    stamp.page != (extent->fe_logical + at) / DISK_BLOCK)
				continue;
			printf("%s[%u,%u,%llu]", next, stamp.page, stamp.tid,
			       (unsigned long long)stamp.sequence);
			next = ",";
		}
	}
}

WL_FINE void page_print_file(struct page_file *file, int device, const char *divider)
{
	disk_map(&file->disk);
	printf("%s{\"ino\":%llu,\"dev\":\"%u:%u\",\"path\":", divider,
	       (unsigned long long)file->disk.inode, file->disk.disk.major, file->disk.disk.minor);
	wl_print_text(file->path);
	printf(",\"sectors\":[");
	page_print_sectors(file);
	printf("],\"stamps\":[");
	page_print_stamps(file, device);
	printf("]}");
}

/* The members of the printed object that are the page cache's. */
WL_FINE void page_print(void)
{
	int device = page_device(&pages->files[0]), count = pages->act_count;

	printf(",\n\"system\":\"%s\",\"files\":[", pages->system);
	for (int i = 0; i < pages->file_count; i++)
		page_print_file(&pages->files[i], device, i ? ",\n" : "");
	printf("],\n\"acts\":[");
	for (int i = 0; i < count; i++) {
		const struct page_log *log = &pages->acts[i];

		printf("%s{\"what\":\"%s\",\"call\":\"%s\",\"tid\":%d,\"ino\":%llu,\"first\":%u,"
		       "\"count\":%u,\"bytes\":%llu,\"sequence\":%"
		       "llu,"
		       "\"before\":%llu,\"after\":%llu,\"slept\":%ld}",
		       i ? ",\n" : "", log->what, log->call, wl->tasks[log->task].tid,
		       (unsigned long long)log->inode, log->first, log->count,
		       (unsigned long long)log->bytes, (unsigned long long)log->sequence,
		       (unsigned long long)log->before, (unsigned long long)log->after, log->slept);
	}
	printf("]");
	for (int i = 0; i < pages->file_count; i++)
		unlink(pages->files[i].path);
}

/* Opens what a variant WHAT-FILESYSTEM names, and tells WHAT. */
WL_FINE void page_open_variant(char *ret_what, size_t size)
{
	char *system;

	wl_copy(ret_what, size, wl->variant);
	system = strchr(ret_what, '-');
	if (!system)
		wl_die("a variant is WHAT-FILESYSTEM");
	*system++ = '\0';
	page_open(system);
	wl_print_more = page_print;
}

#endif
