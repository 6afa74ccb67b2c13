/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Direct I/O of which a disk makes other requests than were asked for: what is too
 * much for one is split, what lies in a row is merged. Variants: scattered (one call,
 * memory in single pages), huge (one call, memory in huge pages), row (several
 * requests of libaio at once). The file lies on the disk that the place is on: a loop
 * device's requests are told in another way.
 */
#include <linux/aio_abi.h>
#include <sys/uio.h>

#include "disk.h"

#define BLOCKS	  2048u
#define HUGE_PAGE (2u << 20)
#define ROW	  16u

static struct disk_file file;
static char *memory;
static aio_context_t context;

/* The place's own, or skips. */
static void create(void)
{
	struct stat status;
	char text[256];

	WL_CHECK(stat(wl_place("."), &status));
	if (!disk_attribute(major(status.st_dev), minor(status.st_dev), "stat", text,
			    sizeof(text)) ||
	    disk_attribute(major(status.st_dev), minor(status.st_dev), "dm/name", text,
			   sizeof(text)) ||
	    disk_attribute(major(status.st_dev), minor(status.st_dev), "loop/backing_file", text,
			   sizeof(text)))
		wl_skip("no such place: it lies on no disk that takes requests");
	disk_create(&file, ".", BLOCKS, O_DIRECT, true);
}

/* Each piece in a page that has no neighbour among them. */
static uint64_t move_scattered(bool writing, uint64_t from, uint64_t blocks)
{
	static struct iovec pieces[IOV_MAX];
	uint64_t count = blocks < IOV_MAX ? blocks : IOV_MAX;

	for (uint64_t i = 0; i < count; i++)
		pieces[i] = (struct iovec){.iov_base = memory + 2 * i * DISK_BLOCK,
					   .iov_len = DISK_BLOCK};
	if (writing)
		return WL_CHECK(pwritev(file.fd, pieces, count, from));
	return WL_CHECK(preadv(file.fd, pieces, count, from));
}

static uint64_t move_huge(bool writing, uint64_t from, uint64_t blocks)
{
	if (writing)
		return WL_CHECK(pwrite(file.fd, memory, blocks * DISK_BLOCK, from));
	return WL_CHECK(pread(file.fd, memory, blocks * DISK_BLOCK, from));
}

static uint64_t move_row(bool writing, uint64_t from, uint64_t blocks)
{
	struct iocb requests[ROW], *pointers[ROW];
	struct io_event events[ROW];
	uint64_t count = blocks % ROW + 1, each = (1 + blocks / ROW % 4) * DISK_BLOCK;

	for (uint64_t i = 0; i < count; i++) {
		requests[i] =
			(struct iocb){.aio_lio_opcode = writing ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD,
				      .aio_fildes = file.fd,
				      .aio_buf = (unsigned long)(memory + 2 * i * each),
				      .aio_nbytes = each,
				      .aio_offset = from + i * each};
		pointers[i] = &requests[i];
	}
	if (WL_CHECK(syscall(SYS_io_submit, context, (long)count, pointers)) != (long)count)
		wl_die("io_submit took less");
	if (WL_CHECK(syscall(SYS_io_getevents, context, (long)count, (long)count, events, NULL)) !=
	    (long)count)
		wl_die("io_getevents gave less");
	return count * each;
}

/* Each byte of a range of the file was moved once, by requests of `self` that have its place. */
static void told(int self, bool writing, uint64_t from, uint64_t bytes, uint64_t begin,
		 uint64_t end)
{
	const char *operation = writing ? "write" : "read";
	char sectors[256], extents[384];
	size_t used = 0;

	disk_sectors(&file, from, bytes, sectors, sizeof(sectors));
	disk_asked(&file, self, operation, begin, end, sectors, false);
	extents[0] = '\0';
	for (unsigned i = 0; i < file.extent_count; i++) {
		const struct fiemap_extent *extent = &file.extents[i];

		used += snprintf(extents + used, sizeof(extents) - used, "%s[%llu,%llu,%llu]",
				 i ? "," : "", (unsigned long long)extent->fe_logical,
				 (unsigned long long)(extent->fe_physical / 512 + file.disk.offset),
				 (unsigned long long)extent->fe_length);
		if (used >= sizeof(extents))
			wl_die("too many extents");
	}
	wl_rule("\"rule\":\"direct\",\"tid\":%d,\"dev\":\"%u:%u\",\"op\":\"%s\",\"from\":%llu,"
		"\"to\":%llu,\"ino\":%llu,"
		"\"offset\":%llu,\"bytes\":%llu,\"extents\":[%s]",
		wl->tasks[self].tid, file.disk.major, file.disk.minor, operation,
		(unsigned long long)begin, (unsigned long long)end, (unsigned long long)file.inode,
		(unsigned long long)from, (unsigned long long)bytes, extents);
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "direct");
	bool scattered = strcmp(wl->variant, "scattered") == 0,
	     huge = strcmp(wl->variant, "huge") == 0;
	uint64_t (*move)(bool, uint64_t, uint64_t) = scattered ? move_scattered
						     : huge    ? move_huge
							       : move_row;

	create();
	if (!scattered && !huge && syscall(SYS_io_setup, ROW, &context) < 0)
		wl_skip("libaio's calls are refused");
	memory = mmap(NULL, BLOCKS * DISK_BLOCK + HUGE_PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		wl_die("mmap: %s", strerror(errno));
	memory += -(uintptr_t)memory % HUGE_PAGE;
	/* A kernel without huge pages refuses: then there are none. */
	madvise(memory, BLOCKS * DISK_BLOCK, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	memset(memory, 'x', BLOCKS * DISK_BLOCK);
	for (int lap = 0, laps = wl_random(4, 8); lap < laps; lap++) {
		bool writing = wl_random(0, 1);
		uint64_t blocks = wl_random(100, BLOCKS),
			 from = wl_random(0, BLOCKS - blocks) * DISK_BLOCK, begin, bytes;

		wl_spin(30000);
		begin = wl_now();
		bytes = move(writing, from, blocks);
		told(self, writing, from, bytes, begin, wl_now());
	}
	wl_print();
	return 0;
}
