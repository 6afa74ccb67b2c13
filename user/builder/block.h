/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What request.c needs of block.c.
 */
#ifndef CLEW_BUILDER_BLOCK_H
#define CLEW_BUILDER_BLOCK_H

#include "builder/builder.h"

/* Of bio.bi_opf and request.cmd_flags; part of what the kernel shows to user space. */
#define BLOCK_OPERATION	  0xffu
#define BLOCK_READ	  0u
#define BLOCK_WRITE	  1u
#define BLOCK_FLUSH	  2u
#define BLOCK_META	  (1u << 12)
#define BLOCK_IDLE	  (1u << 15) /* more comes at once: of metadata, only what goes to a journal */
#define BLOCK_FUA	  (1u << 17)
#define BLOCK_PREFLUSH	  (1u << 18)
#define BLOCK_READ_AHEAD  (1u << 19)
#define BLOCK_SECTOR_BITS 9
#define BLOCK_LOOP_MAJOR  7u

/* What a request is among the steps behind a wake. `begin`: when it was issued; `end`: when it was
 * over for that wake. */
static inline struct clew_link block_link(const struct clew_block_request *block, uint64_t begin,
					  uint64_t end)
{
	bool writes = (block->operation & BLOCK_OPERATION) == BLOCK_WRITE;

	return (struct clew_link){
		.kind = CLEW_LINK_REQUEST,
		.evidence = CLEW_EVIDENCE_EXACT,
		.number = block->number,
		.at = block->queued,
		.begin = begin,
		.end = end,
		.task = block->submitter,
		.device = block->device,
		.flags = (uint8_t)((block->swap ? CLEW_LINK_SWAP : 0) |
				   (writes ? CLEW_LINK_WRITE : 0)),
	};
}

/* NULL: none is under way. */
struct bio *block_bio_find(const struct block_table *table, uint64_t address);
/* The bio that begins at a sector, or (`covers`) has it. */
struct bio *block_bio_at(const struct block_table *table, uint32_t device, uint64_t sector,
			 bool covers);
void block_bio_forget(struct block_table *table, struct bio *bio);
/* NULL: no memory. */
struct disk *block_disk(struct block_table *table, uint32_t device);
/*
 * A request was issued before its first bio was told of, by a CPU whose clock is a
 * little behind: takes it over. False: there is none.
 */
bool block_adopt(struct clew_builder *builder, struct bio *bio);
/* A bio of direct I/O that is told of when the request is issued of which it is a part. */
int block_feed_part(struct clew_builder *builder, const struct clew_request *record);
/* The number of the loop device's request that a bio is asked for, CLEW_NO_NUMBER none. */
uint32_t block_upper_of(struct clew_builder *builder, const struct bio *bio);
/* The same where the request's address is known. */
uint32_t block_upper_at(struct clew_builder *builder, uint64_t address, uint32_t bytes);

#endif
