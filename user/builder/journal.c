/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Journals: the tasks that took part in a transaction, the task that commits it, and
 * the tasks that wait for the commit.
 *
 * The latest transactions are kept, as they may still be committed or waited for. An
 * edge from a commit to a wait is exact where the transaction that is awaited is known.
 */
#include "builder/journal.h"
#include "builder/builder.h"
#include "builder/emit.h"
#include "builder/epoch.h"
#include "builder/task.h"
#include "builder/writeback.h"
#include <errno.h>
#include <stdlib.h>

#define TRANSACTIONS_MOST 4096u
#define MEMBERS_MOST	  4096u

struct member {
	uint64_t until; /* the end of its last handle */
	uint32_t task;
};

struct transaction {
	struct transaction *next; /* in the order they were first recorded */
	uint64_t number;
	uint32_t device;
	uint32_t committer;
	uint64_t begun, ended; /* its commit, 0 not yet */
	struct map places;     /* task -> its place in `members` */
	struct member *members;
	uint32_t member_count, member_capacity;
};

/* The most blocks that were touched and not yet written; beyond, all are given up at once. */
#define TOUCHED_MOST   1048576u
#define BLOCK_BYTES    4096u
#define EXT4_BLOCK_MIN 1024

/* A disk's own inode has the disk's number. */
bool build_is_disk_page(const struct clew_builder *builder, uint64_t inode, uint32_t file_device,
			uint32_t disk, bool *ret_journaled)
{
	*ret_journaled = false;
	if (!clew_is_disk_inode(file_device, inode) ||
	    CLEW_DEVICE_MAJOR((uint32_t)inode) != CLEW_DEVICE_MAJOR(disk))
		return false;
	*ret_journaled = map_get(&builder->journals.systems, inode, 0);
	return true;
}

static void transaction_done(struct journal_table *table, struct transaction *transaction)
{
	table->memory -= sizeof(*transaction) +
			 transaction->member_capacity * sizeof(*transaction->members) +
			 map_memory(&transaction->places);
	map_done(&transaction->places);
	free(transaction->members);
	free(transaction);
}

static struct transaction *transaction_find(const struct journal_table *table, uint64_t number,
					    uint32_t device)
{
	const uint64_t *found = map_get(&table->transactions, number, device);

	return found ? (struct transaction *)(uintptr_t)*found : NULL;
}

static void forget_oldest(struct journal_table *table)
{
	struct transaction *oldest = table->first;

	table->first = oldest->next;
	table->last = table->first ? table->last : NULL;
	table->count--;
	map_remove(&table->transactions, oldest->number, oldest->device);
	transaction_done(table, oldest);
}

static struct transaction *transaction_get(struct clew_builder *builder,
					   const struct clew_journal *record)
{
	struct journal_table *table = &builder->journals;
	struct transaction *transaction =
		transaction_find(table, record->transaction, record->device);

	if (transaction)
		return transaction;
	if (table->count >= TRANSACTIONS_MOST)
		forget_oldest(table);
	transaction = calloc(1, sizeof(*transaction));
	if (!transaction)
		return NULL;
	transaction->number = record->transaction;
	transaction->device = record->device;
	if (map_set(&table->transactions, record->transaction, record->device,
		    (uintptr_t)transaction) < 0) {
		free(transaction);
		return NULL;
	}
	*(table->last ? &table->last->next : &table->first) = transaction;
	table->last = transaction;
	table->count++;
	table->memory += sizeof(*transaction);
	return transaction;
}

static void limit(struct journal_table *table, struct map *touched)
{
	if (touched->count < TOUCHED_MOST)
		return;
	table->given_up += touched->count;
	map_done(touched);
}

static int feed_touch(struct clew_builder *builder, const struct clew_journal *record)
{
	struct journal_table *table = &builder->journals;
	uint64_t bytes = record->unit ? record->unit : BLOCK_BYTES, page, touched;
	/* Only in ext4 is a commit the first to write what its transaction changed. Other file
	 * systems record bytes and sectors, not blocks. */
	uint64_t number = bytes >= EXT4_BLOCK_MIN ? record->transaction : 0;
	const struct transaction *other;
	const uint64_t *known;
	uint32_t set;

	if (!(builder->wanted & BUILD_PAGE_TAGS) || build_nobody(record->task) ||
	    __builtin_mul_overflow(record->block, bytes, &page))
		return 0;
	if (number && !transaction_get(builder, record))
		return -ENOMEM;
	page >>= EPOCH_PAGE_BITS;
	limit(table, &table->touched);
	limit(table, &table->touched_before);
	known = map_get(&table->touched, page, record->device);
	touched = known ? *known : 0;
	other = touched >> 32 == number ? NULL
					: transaction_find(table, touched >> 32, record->device);
	/* Its commit is under way, and may still write the block as it was before this touch. */
	if (other && !other->ended) {
		if (map_set(&table->touched_before, page, record->device, touched) < 0)
			return -ENOMEM;
		touched = 0;
	}
	set = epoch_set_with(&builder->pages.epochs, (uint32_t)touched, record->task);
	if (set == UINT32_MAX ||
	    map_set(&table->touched, page, record->device, number << 32 | set) < 0)
		return -ENOMEM;
	return 0;
}

uint32_t build_touched_by(struct clew_builder *builder, uint32_t device, uint64_t offset)
{
	struct journal_table *table = &builder->journals;
	uint64_t page = offset >> EPOCH_PAGE_BITS;
	const uint64_t *known = map_get(&table->touched, page, device),
		       *before = map_get(&table->touched_before, page, device);
	const struct transaction *last =
		known ? transaction_find(table, *known >> 32, device) : NULL;
	uint32_t set = before ? (uint32_t)*before : 0;

	if (before)
		map_remove(&table->touched_before, page, device);
	/* The commit of a transaction is the first to write what the transaction changed. */
	if (known && (!last || last->begun || last->ended)) {
		set = (uint32_t)*known;
		map_remove(&table->touched, page, device);
	}
	return set;
}

static struct clew_object system_object(const struct transaction *transaction)
{
	return (struct clew_object){
		.kind = CLEW_OBJECT_DEVICE, .device = transaction->device, .descriptor = -1};
}

/* The edge from a task that had a handle to the task that commits. */
static int send_edge(struct clew_builder *builder, const struct transaction *transaction,
		     const struct member *member)
{
	struct clew_edge edge = {
		.from_at = member->until,
		.to_at = transaction->begun > member->until ? transaction->begun : builder->now,
		.from = member->task,
		.to = transaction->committer,
		.type = CLEW_EDGE_JOURNAL,
		.evidence = CLEW_EVIDENCE_EXACT,
		.context = CLEW_WAKE_TASK,
		.object = system_object(transaction),
	};

	if (edge.from == edge.to || edge.to == CLEW_NO_TASK ||
	    build_dropped(builder, CLEW_EDGE_JOURNAL))
		return 0;
	return build_send_edge(builder, &edge);
}

static int feed_handle(struct clew_builder *builder, const struct clew_journal *record)
{
	struct transaction *transaction =
		record->transaction ? transaction_get(builder, record) : NULL;
	const uint64_t *known;
	size_t before;
	int r;

	if (build_nobody(record->task) || record->transaction == 0)
		return 0;
	if (!transaction)
		return -ENOMEM;
	known = map_get(&transaction->places, record->task, 0);
	if (known) {
		transaction->members[*known].until = builder->now;
		return 0;
	}
	if (transaction->member_count >= MEMBERS_MOST)
		return 0;
	if (transaction->member_count == transaction->member_capacity) {
		uint32_t capacity =
			transaction->member_capacity ? transaction->member_capacity * 2 : 4;
		struct member *members = realloc(transaction->members, capacity * sizeof(*members));

		if (!members)
			return -ENOMEM;
		builder->journals.memory +=
			(capacity - transaction->member_capacity) * sizeof(*members);
		transaction->members = members;
		transaction->member_capacity = capacity;
	}
	before = map_memory(&transaction->places);
	r = map_set(&transaction->places, record->task, 0, transaction->member_count);
	builder->journals.memory += map_memory(&transaction->places) - before;
	if (r < 0)
		return r;
	transaction->members[transaction->member_count++] =
		(struct member){.until = builder->now, .task = record->task};
	/* The commit waits for handles that are open when it begins. */
	return transaction->begun ? send_edge(builder, transaction,
					      &transaction->members[transaction->member_count - 1])
				  : 0;
}

static int feed_begin(struct clew_builder *builder, const struct clew_journal *record)
{
	struct transaction *transaction =
		record->transaction ? transaction_get(builder, record) : NULL;
	int r = build_committing(builder, record->task, true);

	if (r < 0 || record->transaction == 0)
		return r;
	if (!transaction)
		return -ENOMEM;
	transaction->committer = build_nobody(record->task) ? CLEW_NO_TASK : record->task;
	transaction->begun = builder->now;
	for (uint32_t i = 0; i < transaction->member_count && r >= 0; i++)
		r = send_edge(builder, transaction, &transaction->members[i]);
	return r;
}

static int feed_end(struct clew_builder *builder, const struct clew_journal *record)
{
	struct transaction *transaction =
		record->transaction ? transaction_get(builder, record) : NULL;

	if (transaction) {
		transaction->committer = build_nobody(record->task) ? CLEW_NO_TASK : record->task;
		transaction->ended = builder->now;
	}
	return build_committing(builder, record->task, false);
}

int build_feed_journal(struct clew_builder *builder, const struct clew_journal *record)
{
	struct map *systems = &builder->journals.systems;

	if (!map_get(systems, record->device, 0) && map_set(systems, record->device, 0, 1) < 0)
		return -ENOMEM;
	switch (record->header.flags) {
	case CLEW_JOURNAL_HANDLE:
		return feed_handle(builder, record);
	case CLEW_JOURNAL_TOUCH:
		return feed_touch(builder, record);
	case CLEW_JOURNAL_AWAIT:
		return build_awaits(builder, record->task, record->transaction, record->device);
	case CLEW_JOURNAL_COMMIT_BEGIN:
	case CLEW_JOURNAL_PUSH:
		return feed_begin(builder, record);
	case CLEW_JOURNAL_COMMIT_END:
		return feed_end(builder, record);
	default:
		return 0;
	}
}

int build_journal_evidence(const struct clew_builder *builder, const struct task *waiter,
			   uint32_t waker)
{
	const struct journal_table *table = &builder->journals;
	const struct transaction *transaction;
	uint64_t awaited;
	uint32_t device;

	if (!build_awaited(waiter, &awaited, &device))
		return CLEW_EVIDENCE_OBSERVED;
	transaction = transaction_find(table, awaited, device);
	return transaction && transaction->begun && transaction->committer == waker
		       ? CLEW_EVIDENCE_EXACT
		       : CLEW_EVIDENCE_OBSERVED;
}

void build_journals_done(struct clew_builder *builder)
{
	while (builder->journals.first)
		forget_oldest(&builder->journals);
	map_done(&builder->journals.transactions);
	map_done(&builder->journals.systems);
	map_done(&builder->journals.touched);
	map_done(&builder->journals.touched_before);
}

size_t build_journals_memory(const struct clew_builder *builder)
{
	const struct journal_table *table = &builder->journals;

	return table->memory + map_memory(&table->transactions) + map_memory(&table->systems) +
	       map_memory(&table->touched) + map_memory(&table->touched_before);
}
