/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of a page while it is written. */
#ifndef CLEW_PAGE_INTERNAL_H
#define CLEW_PAGE_INTERNAL_H

#include "page/class.h"
#include "page/document.h"
#include "page/lanes.h"
#include "page/page.h"

/* An operation, or other interval, that the page explains. */
struct page_operation {
	struct clew_operation operation;
	struct clew_why why;
	uint64_t sums[PAGE_CLASS_COUNT]; /* ns of its segments, by class */
};

/* The lengths of all operations, in buckets of equal width on a logarithmic scale. */
#define PAGE_BUCKETS 24
struct page_histogram {
	size_t counts[PAGE_BUCKETS];
	uint64_t least, greatest, p50, p99; /* ns */
	size_t count;
};

struct page {
	struct document document;
	const struct clew_page_options *options;
	const struct report *report;
	const struct clew_trace *trace;
	struct page_operation *operations;
	size_t operation_count;
	bool threads; /* there are none: `operations` are lives of threads */
	struct page_histogram histogram;
	struct map paths; /* that the explanations are about; lanes.h has the keys */
	struct lanes lanes;
	struct texts texts;
};

/* Finds and explains the operations. 0 or -ENOMEM. */
int page_operations_make(struct page *page);
void page_operations_done(struct page *page);

/* Parts of the document, in their order. */
void page_put_head(struct page *page);
void page_put_slowest(struct page *page);
int page_put_why(struct page *page);
int page_put_flames(struct page *page); /* nothing where there are few samples */
void page_put_cards(struct page *page);
int page_put_data(struct page *page);
void page_put_foot(struct page *page);

/* A bar of all classes; each part's width is its share. `words`: with words where there is room. */
void page_put_bar(struct page *page, const uint64_t *sums, bool words);

#endif
