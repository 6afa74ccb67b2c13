/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the ranges of files that a bio carries. Most bios carry one range, which
 * the first and last page show. For the others every folio is examined.
 */
#ifndef CLEW_BPF_PAGES_H
#define CLEW_BPF_PAGES_H

#include "extent.h"
#include "identity.h"
#include "kernel.h"
#include "kernel_fs.h"
#include "kernel_io.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include "unseen.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>

#define MAPPING_FLAGS 3UL
#define PIECES_MOST   8192 /* folios of one bio */

struct range {
	__u64 mapping;
	__u64 inode; /* 0: of no file */
	__u64 offset;
	__u32 device;
	__u32 bytes;
	__u32 at; /* offset in the bio */
	__u32 reserved;
};

struct walk {
	struct range range;
	__u64 bio;
	__u64 vector; /* address of the current bio_vec */
	__u32 done;   /* bytes of it that were examined */
	__u32 left;   /* bytes of the bio that were not examined yet */
	__u32 at;     /* bytes of the bio that were */
	__u32 cpu;
	__u32 emit;	 /* the range is emitted when it ends */
	__u32 operation; /* of the bio */
	__u32 compressed;
	__u32 direct;
	__u32 paged;  /* its pages were examined */
	__u32 reader; /* serial of the task for which the bio reads into the page cache, 0 none */
};

struct piece {
	__u64 mapping; /* 0: of no file */
	__u64 offset;
	__u32 bytes; /* to the end of the folio */
};

/* The number of pages of a folio. */
static __always_inline __u32 folio_pages(struct folio *folio)
{
	struct folio___pages *pages = (void *)folio;
	struct folio___long *before = (void *)folio;

	/* The flags come first in all kernels. */
	if (!(read_number((__u64)folio) & (1UL << bpf_core_enum_value(enum pageflags, PG_head))))
		return 1;
	if (bpf_core_field_exists(pages->_nr_pages))
		return READ(pages, _nr_pages);
	return bpf_core_field_exists(before->_folio_nr_pages) ? READ(before, _folio_nr_pages) : 1;
}

/*
 * The folio of a page. The lowest bit is set in all pages but the first one. The
 * others hold the address of the first, or since 7.1 a mask for their own
 * address, which leads to it: no address has only ones in its upper half.
 */
static __always_inline struct folio *page_folio(__u64 page)
{
	struct page___info *apart = (void *)page;
	__u64 head;

	if (!bpf_core_field_exists(apart->compound_info)) {
		head = READ_NUMBER((struct page *)page, compound_head);
		return (void *)(head & 1 ? head - 1 : page);
	}
	head = READ_NUMBER(apart, compound_info);
	if (head & 1)
		page = head >> 32 == 0xffffffff ? page & head : head - 1;
	return (void *)page;
}

/* Finds what is `offset` bytes after the start of a page. This and the steps of a walk are global
 * functions: the verifier checks each once, not once for each way that leads to it. */
__noinline int page_locate(__u64 page, __u64 offset, struct piece *ret_piece)
{
	__u64 page_size = bpf_core_type_size(struct page);
	struct folio *folio;
	__u64 mapping, number;

	if (!ret_piece)
		return 0;
	page += (offset >> PAGE_SHIFT) * page_size;
	offset &= PAGE_SIZE - 1;
	folio = page_folio(page);
	mapping = READ_NUMBER(folio, mapping);
	number = (page - (__u64)folio) / page_size;
	ret_piece->mapping = mapping & MAPPING_FLAGS ? 0 : mapping;
	ret_piece->offset = ((READ(folio, index) + number) << PAGE_SHIFT) + offset;
	ret_piece->bytes = (__u32)((folio_pages(folio) - number) << PAGE_SHIFT) - (__u32)offset;
	return 0;
}

__noinline int range_begin(struct walk *walk, const struct piece *piece, __u32 bytes)
{
	struct inode *inode;

	if (!walk || !piece)
		return 0;
	inode = piece->mapping ? (void *)READ_NUMBER((struct address_space *)piece->mapping, host)
			       : NULL;
	if (!inode || walk->range.mapping != piece->mapping) {
		walk->range.mapping = inode ? piece->mapping : 0;
		walk->range.inode = inode ? READ(inode, i_ino) : 0;
		walk->range.device = inode ? READ(inode, i_sb, s_dev) : 0;
		if (inode && page_cache)
			send_inode((__u64)inode, walk->cpu, clock_ns());
	}
	/* A bio that writes takes the pages: their epochs end here. */
	if (walk->range.inode && (walk->operation & 1))
		generation_next(walk->range.inode);
	walk->range.offset = piece->offset;
	walk->range.bytes = bytes;
	walk->range.at = walk->at;
	return 0;
}

/* Pages that a bio reads were added to the page cache for it. It is cheaper to
 * record them here than page by page. */
__noinline int range_added(struct walk *walk)
{
	struct clew_cpu_state *cpu_state;
	struct clew_extent *record;

	if (!walk)
		return 0;
	cpu_state = this_cpu_state(walk->cpu);
	if (!walk->reader || !walk->range.inode || !cpu_state)
		return 0;
	/* They would seem to be used by nobody. */
	if (is_unseen(CLEW_UNSEEN_USES))
		return 0;
	__sync_fetch_and_add(&generation_of(walk->range.inode)->added,
			     (walk->range.bytes + PAGE_SIZE - 1) >> PAGE_SHIFT);
	/* Written once only: all page-use programs read this cache line. */
	if (unlikely(!uses_wanted))
		uses_wanted = 1;
	record =
		record_reserve(cpu_state, walk->cpu, CLEW_KIND_EXTENT, clock_ns(), sizeof(*record));
	if (!record)
		return 0;
	record->header.flags = CLEW_EXTENT_ADD;
	record->begin = record->header.time;
	record->inode = walk->range.inode;
	record->offset = walk->range.offset;
	record->bytes = walk->range.bytes;
	record->device = walk->range.device;
	record->task = walk->reader;
	record_submit(record);
	return 0;
}

__noinline int range_emit(struct walk *walk)
{
	struct clew_cpu_state *cpu_state;
	struct clew_pages *record;

	if (!walk)
		return 0;
	cpu_state = this_cpu_state(walk->cpu);
	if (!walk->emit || !walk->range.inode || !walk->range.bytes || !cpu_state)
		return 0;
	record = record_reserve(cpu_state, walk->cpu, CLEW_KIND_PAGES, clock_ns(), sizeof(*record));
	if (!record)
		return 0;
	record->bio = walk->bio;
	record->inode = walk->range.inode;
	record->offset = walk->range.offset;
	record->bytes = walk->range.bytes;
	record->at = walk->range.at;
	record->device = walk->range.device;
	record->reserved = 0;
	record_submit(record);
	if (walk->range.at)
		range_added(walk);
	return 0;
}

/* Examines one piece of a folio. Returns 1 to stop: at the end of a range that
 * is not emitted, and at the end of the bio. */
static long walk_piece(__u32 turn, struct walk *walk)
{
	struct bio_vec *vector = (void *)walk->vector;
	struct range *range = &walk->range;
	__u32 length = READ(vector, bv_len), bytes;
	struct piece piece;

	if (!walk->left)
		return 1;
	page_locate(READ_NUMBER(vector, bv_page), READ(vector, bv_offset) + walk->done, &piece);
	if (length <= walk->done)
		return 1;
	bytes = length - walk->done;
	if (bytes > piece.bytes)
		bytes = piece.bytes;
	if (bytes > walk->left)
		bytes = walk->left;
	if (range->bytes && range->mapping == piece.mapping &&
	    (!piece.mapping || range->offset + range->bytes == piece.offset)) {
		range->bytes += bytes;
	} else {
		if (range->bytes && !walk->emit)
			return 1;
		range_emit(walk);
		range_begin(walk, &piece, bytes);
	}
	walk->at += bytes;
	walk->left -= bytes;
	walk->done += bytes;
	if (walk->done == length) {
		walk->vector += bpf_core_type_size(struct bio_vec);
		walk->done = 0;
	}
	return 0;
}

/* The bytes of its current bio_vec that a bio has done. */
static __always_inline __u32 vector_done(struct bio *bio)
{
	struct bio___offset *renamed = (void *)bio;

	return bpf_core_field_exists(renamed->bi_iter.bi_offset) ? renamed->bi_iter.bi_offset
								 : bio->bi_iter.bi_bvec_done;
}

/* Finds the first range of a bio that has pages. */
static __always_inline void first_range(struct bio *bio, struct walk *walk)
{
	__u64 vectors = READ_NUMBER(bio, bi_io_vec), size = bpf_core_type_size(struct bio_vec);
	struct bio_vec *vector, *last_vector;
	__u32 count = bio->bi_vcnt, skipped = bio->bi_iter.bi_idx;
	struct piece first, last;

	walk->operation = bio->bi_opf;
	walk->paged = 1;
	walk->vector = vectors + skipped * size;
	walk->done = vector_done(bio);
	vector = (void *)walk->vector;
	/* bi_vcnt is that of the whole bio: it gives the last vector if no part
	 * of the bio is done yet. */
	if (count && !skipped && !walk->done) {
		__u32 offset = READ(vector, bv_offset);

		page_locate(READ_NUMBER(vector, bv_page), offset, &first);
		last_vector = (void *)(vectors + (count - 1) * size);
		page_locate(READ_NUMBER(last_vector, bv_page),
			    (__u64)READ(last_vector, bv_offset) + READ(last_vector, bv_len) - 1,
			    &last);
		if (first.mapping == last.mapping &&
		    (!first.mapping || last.offset + 1 - first.offset == walk->left)) {
			range_begin(walk, &first, walk->left);
			walk->left = 0;
			return;
		}
	}
	if (page_cache) {
		bpf_loop(PIECES_MOST, walk_piece, walk, 0);
	} else {
		page_locate(READ_NUMBER(vector, bv_page), READ(vector, bv_offset) + walk->done,
			    &first);
		range_begin(walk, &first, 0);
		walk->left = 0;
	}
}

/* Emits the first range if it has to be, and all that follow. */
static __always_inline void other_ranges(struct walk *walk)
{
	if (!walk->emit)
		walk->range.bytes = 0;
	walk->emit = 1;
	bpf_loop(PIECES_MOST, walk_piece, walk, 0);
	range_emit(walk);
}

#endif
