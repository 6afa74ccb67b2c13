/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Through a loop device: the writers of its file's pages are those of the request
 * above, not its worker.
 */
#include "synthetic.h"
#include <stdio.h>

#define PAGE   4096ull
#define LOWER  0xfe00001u /* file system of the image, 254:1 */
#define DISK   0xfe00000u
#define LOOP   0x700003u /* 7:3 */
#define UPPER  0x700003u
#define FILE_A 500u
#define IMAGE  900u
#define WRITE  1u
#define WORKER 9u
#define SECTOR 800u /* of the upper request: page 100 of the image */

static void writes(struct synthetic *s, uint64_t at, uint32_t task, uint32_t device, uint64_t inode,
		   uint64_t page, uint64_t pages)
{
	EXTENT(s, at + 20, CLEW_EXTENT_WRITE, .begin = at, .inode = inode, .offset = page * PAGE,
	       .bytes = pages * PAGE, .device = device, .task = task);
	EXTENT(s, at + 21, CLEW_EXTENT_DIRTY, .begin = at + 1, .inode = inode,
	       .offset = page * PAGE, .bytes = pages * PAGE, .device = device, .task = task);
}

static void bio(struct synthetic *s, uint64_t at, uint64_t address, uint32_t disk, uint32_t sector,
		uint64_t inode, uint64_t page, uint32_t pages)
{
	BIO(s, at, CLEW_BIO_QUEUE, .bio = address, .sector = sector, .inode = inode, .index = page,
	    .file_device = disk == LOOP ? UPPER : LOWER, .bytes = pages * (uint32_t)PAGE,
	    .contiguous = pages * (uint32_t)PAGE, .device = disk, .operation = WRITE,
	    .task = WORKER);
}

static void request(struct synthetic *s, uint64_t at, unsigned event, uint64_t address,
		    uint32_t disk, uint32_t sector, uint32_t pages)
{
	if (disk == LOOP && event == CLEW_REQUEST_ISSUE)
		PAGES(s, at - 1, .header.flags = CLEW_PAGES_BACKING, .bio = address + 1,
		      .inode = IMAGE, .offset = sector * 512ull, .bytes = pages * (uint32_t)PAGE,
		      .device = LOWER);
	REQUEST(s, at, event, .request = address + 1, .bio = address, .sector = sector,
		.bytes = pages * (uint32_t)PAGE, .device = disk, .operation = WRITE,
		.allocated = event == CLEW_REQUEST_ISSUE ? at - 1 : 0);
}

/* Two pages above, that the worker writes to the image's pages 100 and 101. */
static void upper(struct synthetic *s, uint64_t at, uint64_t address)
{
	bio(s, at, address, LOOP, SECTOR, FILE_A, 0, 2);
	request(s, at + 100, CLEW_REQUEST_ISSUE, address, LOOP, SECTOR, 2);
	writes(s, at + 500, WORKER, LOWER, IMAGE, 100, 2);
	request(s, at + 1000, CLEW_REQUEST_COMPLETE, address, LOOP, SECTOR, 2);
}

static void lower(struct synthetic *s, uint64_t at, uint64_t address)
{
	bio(s, at, address, DISK, 5000, IMAGE, 100, 2);
	request(s, at + 100, CLEW_REQUEST_ISSUE, address, DISK, 5000, 2);
	request(s, at + 1000, CLEW_REQUEST_COMPLETE, address, DISK, 5000, 2);
}

static void assert_writers(const struct clew_trace *trace, uint32_t disk, unsigned n,
			   const char *writers)
{
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(trace, &count);
	char text[128] = "";

	for (size_t i = 0; i < count; i++) {
		if (requests[i].block.device != disk || n-- > 0)
			continue;
		for (uint32_t k = 0; k < requests[i].page_count; k++) {
			const struct clew_page_extent *extent = &requests[i].pages[k];

			for (uint64_t page = 0; page < extent->bytes / PAGE; page++) {
				snprintf(text + strlen(text), sizeof(text) - strlen(text), "%llu:",
					 (unsigned long long)(extent->offset / PAGE + page));
				for (uint32_t w = 0; w < extent->writer_count; w++)
					snprintf(text + strlen(text), sizeof(text) - strlen(text),
						 "%s%u", w ? "+" : "", extent->writers[w]);
				snprintf(text + strlen(text), sizeof(text) - strlen(text), " ");
			}
		}
	}
	assert_string_equal(text, writers);
}

static void test_origins(void **state)
{
	struct synthetic s = {0};
	const struct clew_trace_request *requests;
	struct clew_trace *trace;
	size_t count;

	(void)state;
	threads(&s, 9);
	writes(&s, 2000, 1, UPPER, FILE_A, 0, 2);
	EXTENT(&s, 3020, CLEW_EXTENT_WRITE, .begin = 3000, .inode = FILE_A, .offset = PAGE,
	       .bytes = PAGE, .device = UPPER, .task = 2);
	upper(&s, 10000, 0x100);
	lower(&s, 20000, 0x200);
	/* Another writes anew, and nothing of the first is in it. */
	writes(&s, 30000, 3, UPPER, FILE_A, 0, 1);
	writes(&s, 30100, 4, UPPER, FILE_A, 1, 1);
	upper(&s, 40000, 0x100);
	lower(&s, 50000, 0x200);
	trace = synthetic_trace(&s, 90000, 0);
	assert_writers(trace, LOOP, 0, "0:1 1:1+2 ");
	assert_writers(trace, DISK, 0, "100:1 101:1+2 ");
	assert_writers(trace, DISK, 1, "100:3 101:4 ");
	requests = clew_trace_requests(trace, &count);
	for (size_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < requests[i].page_count; k++)
			assert_int_equal(requests[i].pages[k].above,
					 requests[i].block.device == DISK ? LOOP : 0);
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* Two passes above, one below: both are in it. */
static void test_gathered(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	writes(&s, 2000, 1, UPPER, FILE_A, 0, 2);
	upper(&s, 10000, 0x100);
	writes(&s, 12000, 2, UPPER, FILE_A, 0, 2);
	upper(&s, 20000, 0x100);
	lower(&s, 30000, 0x200);
	trace = synthetic_trace(&s, 90000, 0);
	assert_writers(trace, DISK, 0, "100:1+2 101:1+2 ");
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* The worker asks the disk at once: the request above ends after the one below. */
static void test_direct(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	writes(&s, 2000, 1, UPPER, FILE_A, 0, 2);
	bio(&s, 10000, 0x100, LOOP, SECTOR, FILE_A, 0, 2);
	request(&s, 10100, CLEW_REQUEST_ISSUE, 0x100, LOOP, SECTOR, 2);
	REQUEST(&s, 12000, CLEW_REQUEST_WHOLE, .request = 0x301, .sector = 5000,
		.bytes = 2 * (uint32_t)PAGE, .device = DISK, .operation = WRITE, .task = WORKER,
		.queued = 10500, .issued = 10600, .inode = IMAGE, .offset = 100 * PAGE,
		.file_device = LOWER);
	request(&s, 13000, CLEW_REQUEST_COMPLETE, 0x100, LOOP, SECTOR, 2);
	trace = synthetic_trace(&s, 90000, 0);
	assert_writers(trace, DISK, 0, "100:1 101:1 ");
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* A request whose submitter is unknown stays the worker's. */
static void test_unknown(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace;

	(void)state;
	threads(&s, 9);
	upper(&s, 10000, 0x100);
	lower(&s, 20000, 0x200);
	trace = synthetic_trace(&s, 90000, 0);
	assert_writers(trace, DISK, 0, "100:9 101:9 ");
	clew_trace_free(trace);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_origins), cmocka_unit_test(test_gathered),
		cmocka_unit_test(test_direct), cmocka_unit_test(test_unknown)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
