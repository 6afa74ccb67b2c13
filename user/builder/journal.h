/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Journals of file systems, and the metadata that goes through them.
 */
#ifndef CLEW_BUILDER_JOURNAL_H
#define CLEW_BUILDER_JOURNAL_H

#include "base/map.h"
#include "builder/findings.h"

struct clew_builder;
struct task;

struct journal_table {
	struct map systems; /* file system -> 1: it has a journal */
	struct map touched; /* (4096 bytes of a disk, disk) -> transaction in the upper half, and
			       the set of tasks that touched it since it was last written */
	struct map touched_before; /* the same for touches before a commit that is under way, of
				      blocks that were touched again since */
	struct map transactions;   /* (transaction, file system) -> struct transaction * */
	struct transaction *first, *last;
	size_t count;
	size_t memory;
	uint64_t given_up; /* blocks that were forgotten for want of room */
};

int build_feed_journal(struct clew_builder *builder, const struct clew_journal *record);
/*
 * True if the pages of a bio are a disk's own, such as blocks of metadata. *ret_journaled:
 * and the file system has a journal, so that the task that makes them dirty says nothing
 * of their writers.
 */
bool build_is_disk_page(const struct clew_builder *builder, uint64_t inode, uint32_t file_device,
			uint32_t disk, bool *ret_journaled);
/* The set of tasks that touched a page of metadata since this was last asked. */
uint32_t build_touched_by(struct clew_builder *builder, uint32_t device, uint64_t offset);
/* The evidence of a journal edge from `waker` to a waiter: exact if `waker` committed the
 * transaction that the waiter awaits. */
int build_journal_evidence(const struct clew_builder *builder, const struct task *waiter,
			   uint32_t waker);
void build_journals_done(struct clew_builder *builder);
size_t build_journals_memory(const struct clew_builder *builder);

#endif
