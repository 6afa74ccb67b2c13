/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A disk's queue: a bulk writer keeps many large requests in flight, a reader asks the
 * same disk for one block now and then, a bystander writes to another disk. The reader
 * waits for the writer's requests that were asked for before its own. Variants: the
 * file system of the place whose disk it is, ext4 or xfs; the other one's is the
 * bystander's.
 */
#include <linux/aio_abi.h>
#include <sys/resource.h>

#include "disk.h"

#define BLOCKS 4096u
#define PIECE  (256u * 1024)
#define MOST   16u
#define READS  40
#define LOGGED 65536u

/* A file that is written to in pieces, so many at a time. */
struct writing {
	struct disk_file file;
	unsigned depth;
	bool logs;
};

static struct writing bulk = {.depth = MOST, .logs = true}, other = {.depth = 2};
static int writer, bystander, reader, reader_fd;
static _Atomic int stop;
static char *data;
/* For each piece of the bulk writer: before and after it was asked for; when it was still under
 * way, and when it was over. */
struct piece {
	uint64_t asked_min, asked_max;
	uint64_t over_min, over_max;
};
static struct piece *pieces;
static unsigned piece_count;
static uint64_t from[READS], to[READS];

static void submit(const struct writing *writing, aio_context_t context, unsigned piece)
{
	struct iocb block = {.aio_lio_opcode = IOCB_CMD_PWRITE,
			     .aio_fildes = writing->file.fd,
			     .aio_buf = (unsigned long)data,
			     .aio_nbytes = PIECE};
	struct iocb *blocks[] = {&block};

	block.aio_offset = (uint64_t)(piece % (BLOCKS * DISK_BLOCK / PIECE)) * PIECE;
	block.aio_data = piece;
	if (writing->logs && piece < LOGGED)
		pieces[piece].asked_min = wl_now();
	if (WL_CHECK(syscall(SYS_io_submit, context, 1L, blocks)) != 1)
		wl_die("io_submit took none");
	if (writing->logs && piece < LOGGED)
		pieces[piece].asked_max = wl_now();
}

static void write_pieces(const struct writing *writing)
{
	unsigned submitted = 0, ended = 0;
	aio_context_t context = 0;
	uint64_t last = 0, now;

	if (syscall(SYS_io_setup, MOST, &context) < 0)
		wl_die("io_setup: %s", strerror(errno));
	while (!atomic_load(&stop) || ended < submitted) {
		struct io_event events[MOST];
		long count;

		while (submitted - ended < writing->depth && !atomic_load(&stop))
			submit(writing, context, submitted++);
		count = WL_CHECK(syscall(SYS_io_getevents, context, 1L, (long)MOST, events, NULL));
		now = wl_now();
		for (long i = 0; i < count; i++) {
			if (events[i].res != PIECE)
				wl_die("io_getevents: result %lld", (long long)events[i].res);
			/* All that was over came out the last time, too. */
			if (writing->logs && events[i].data < LOGGED) {
				pieces[events[i].data].over_min = last;
				pieces[events[i].data].over_max = now;
			}
		}
		last = now;
		ended += (unsigned)count;
	}
	syscall(SYS_io_destroy, context);
	if (writing->logs)
		piece_count = submitted;
}

/* Before most others where that is allowed: the queue is full however busy the machine is. */
static void write_bulk(int self)
{
	if (setpriority(PRIO_PROCESS, (id_t)wl->tasks[self].tid, -10) < 0 && errno != EACCES &&
	    errno != EPERM)
		wl_die("setpriority: %s", strerror(errno));
	write_pieces(&bulk);
}

static void write_other(int self)
{
	(void)self;
	write_pieces(&other);
}

static void read_blocks(int self)
{
	char *block = aligned_alloc(DISK_BLOCK, DISK_BLOCK);

	(void)self;
	if (!block)
		wl_die("no memory");
	for (int i = 0; i < READS; i++) {
		/* As long as the queue is full, now is as good a moment as any. */
		wl_sleep(wl_random(500000, 2000000));
		from[i] = wl_now();
		if (WL_CHECK(pread(reader_fd, block, DISK_BLOCK,
				   wl_random(0, BLOCKS - 1) * DISK_BLOCK)) != DISK_BLOCK)
			wl_die("a read ended early");
		to[i] = wl_now();
	}
	free(block);
}

/* The time of the reads, and the part of it in which there was surely, or perhaps, a piece that
 * had been asked for before. */
static void log_reads(void)
{
	uint64_t whole = 0, least = 0, most = 0;

	if (piece_count > LOGGED)
		wl_die("%u pieces", piece_count);
	for (int i = 0; i < READS; i++) {
		uint64_t surely = from[i], perhaps = from[i];

		for (unsigned k = 0; k < piece_count; k++) {
			if (pieces[k].asked_max <= from[i] && pieces[k].over_min > surely)
				surely = pieces[k].over_min;
			if (pieces[k].asked_min <= to[i] && pieces[k].over_max > perhaps)
				perhaps = pieces[k].over_max;
		}
		whole += to[i] - from[i];
		least += (surely < to[i] ? surely : to[i]) - from[i];
		most += (perhaps < to[i] ? perhaps : to[i]) - from[i];
	}
	wl_rule("\"rule\":\"queue\",\"tid\":%d,\"writer\":%d,\"bystander\":%d,\"reads\":%d,"
		"\"from\":%llu,\"to\":%llu,\"whole\":%llu,"
		"\"least\":%llu,"
		"\"most\":%llu,\"dev\":\"%u:%u\"",
		wl->tasks[reader].tid, wl->tasks[writer].tid, wl->tasks[bystander].tid, READS,
		(unsigned long long)from[0], (unsigned long long)to[READS - 1],
		(unsigned long long)whole, (unsigned long long)least, (unsigned long long)most,
		bulk.file.disk.major, bulk.file.disk.minor);
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "queue");
	bool on_ext4 = strcmp(wl->variant, "ext4") == 0;
	struct disk_file small;

	data = wl_shared(PIECE);
	pieces = wl_shared(LOGGED * sizeof(*pieces));
	disk_create(&bulk.file, on_ext4 ? "ext4" : "xfs", BLOCKS, O_DIRECT, true);
	disk_create(&small, on_ext4 ? "ext4" : "xfs", BLOCKS, O_DIRECT, true);
	disk_create(&other.file, on_ext4 ? "xfs" : "ext4", BLOCKS, O_DIRECT, true);
	reader_fd = small.fd;
	bystander = wl_thread(self, write_other);
	writer = wl_thread(self, write_bulk);
	reader = wl_thread(self, read_blocks);
	wl_join(self, reader);
	atomic_store(&stop, 1);
	wl_join(self, writer);
	wl_join(self, bystander);
	log_reads();
	wl_print();
	return 0;
}
