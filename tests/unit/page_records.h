/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Touches of pages and what carries them to the disk, as synthetic records, and who wrote there in
 * the end. */
#ifndef CLEW_TESTS_PAGE_RECORDS_H
#define CLEW_TESTS_PAGE_RECORDS_H

#include "synthetic.h"
#include <stdio.h>

#define PAGE   4096ull
#define SYSTEM 0xfe00001u /* 254:1 */
#define DISK   0xfe00000u
#define FILE_A 500u
#define FILE_B 501u
#define MS     1000000ull
#define WRITE  1u
#define FLUSH  9u /* the flusher */

static inline void touch(struct synthetic *s, uint64_t begin, uint64_t told, unsigned event,
			 uint32_t task, uint64_t inode, uint64_t page, uint64_t pages)
{
	EXTENT(s, told, (__u8)event, .begin = begin, .inode = inode, .offset = page * PAGE,
	       .bytes = pages * PAGE, .device = SYSTEM, .task = task);
}

/* As ext4 tells it: the write, then that it made the page dirty. */
static inline void writes(struct synthetic *s, uint64_t at, uint32_t task, uint64_t inode,
			  uint64_t page, uint64_t pages)
{
	touch(s, at, at + 20, CLEW_EXTENT_WRITE, task, inode, page, pages);
	touch(s, at + 1, at + 21, CLEW_EXTENT_DIRTY, task, inode, page, pages);
}

static inline void rewrites(struct synthetic *s, uint64_t at, uint32_t task, uint64_t inode,
			    uint64_t page, uint64_t pages)
{
	touch(s, at, at + 20, CLEW_EXTENT_WRITE, task, inode, page, pages);
}

static inline void bio(struct synthetic *s, uint64_t at, uint64_t address, uint32_t task,
		       uint64_t sector, uint64_t inode, uint64_t page, uint32_t pages)
{
	BIO(s, at, CLEW_BIO_QUEUE, .bio = address, .sector = sector, .inode = inode, .index = page,
	    .file_device = SYSTEM, .bytes = pages * (uint32_t)PAGE,
	    .contiguous = pages * (uint32_t)PAGE, .device = DISK, .operation = WRITE, .task = task);
}

static inline void issue(struct synthetic *s, uint64_t at, uint64_t request, uint64_t first,
			 uint64_t sector, uint32_t pages)
{
	REQUEST(s, at, CLEW_REQUEST_ISSUE, .request = request, .bio = first, .sector = sector,
		.bytes = pages * (uint32_t)PAGE, .device = DISK, .operation = WRITE,
		.allocated = at - 1);
}

static inline void complete(struct synthetic *s, uint64_t at, uint64_t request, uint64_t sector,
			    uint32_t pages)
{
	REQUEST(s, at, CLEW_REQUEST_COMPLETE, .request = request, .sector = sector,
		.bytes = pages * (uint32_t)PAGE, .device = DISK, .operation = WRITE);
}

/* A bio of its own, in a request of its own. */
static inline void writes_out(struct synthetic *s, uint64_t at, uint64_t address, uint32_t task,
			      uint64_t sector, uint64_t inode, uint64_t page, uint32_t pages)
{
	bio(s, at, address, task, sector, inode, page, pages);
	issue(s, at + 100, address + 1, address, sector, pages);
	complete(s, at + 1000, address + 1, sector, pages);
}

static inline const struct clew_page_extent *extent_of(const struct clew_trace *trace,
						       unsigned request, unsigned n)
{
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(trace, &count);

	assert_true(request < count);
	assert_true(n < requests[request].page_count);
	return &requests[request].pages[n];
}

static inline void assert_writers(const struct clew_trace *trace, unsigned request, unsigned n,
				  uint64_t page, uint64_t pages, const char *writers)
{
	const struct clew_page_extent *extent = extent_of(trace, request, n);
	char text[64] = "";

	assert_int_equal(extent->offset, page * PAGE);
	assert_int_equal(extent->bytes, pages * PAGE);
	for (uint32_t i = 0; i < extent->writer_count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u%s", i ? " " : "",
			 extent->writers[i],
			 i >= extent->writer_count - extent->later_count ? "!" : "");
	assert_string_equal(extent->known ? text : "?", writers);
}

static inline uint32_t page_count(const struct clew_trace *trace, unsigned request)
{
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(trace, &count);

	assert_true(request < count);
	return requests[request].page_count;
}

#endif
