/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lays tables out in the heap: index, rules, rows. Nothing that was written moves, and a program
 * sees a table only once its image says where it is.
 */
#include "record/stacks/unwind_heap.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define WORD	    sizeof(uint32_t)
#define INDEX_WORDS (sizeof(struct clew_unwind_page) / WORD)

int clew_unwind_heap_open(int map, size_t blocks, struct clew_unwind_heap *ret_heap)
{
	size_t size = blocks * CLEW_UNWIND_BLOCK_WORDS;
	void *words = mmap(NULL, size * WORD, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);

	if (words == MAP_FAILED)
		return -errno;
	*ret_heap = (struct clew_unwind_heap){.words = words, .size = size};
	return 0;
}

void clew_unwind_heap_close(struct clew_unwind_heap *heap)
{
	if (heap->words)
		munmap(heap->words, heap->size * WORD);
	*heap = (struct clew_unwind_heap){};
}

/* The first word of `count` that are in one block. */
static size_t in_one_block(size_t word, size_t count)
{
	size_t left = CLEW_UNWIND_BLOCK_WORDS - word % CLEW_UNWIND_BLOCK_WORDS;

	return count <= left ? word : word + left;
}

/* Writes the pages' rows, if `words` is not NULL. Returns the word behind them. */
static size_t put_rows(uint32_t *words, size_t word, const struct clew_unwind_table *table,
		       struct clew_unwind_page *index)
{
	for (size_t i = 0; i < table->page_count; i++) {
		const struct clew_unwind_page *page = &table->pages[i];

		word = in_one_block(word, page->count);
		if (words) {
			memcpy(words + word, table->rows + page->first, page->count * WORD);
			index[i] = (struct clew_unwind_page){(uint32_t)word, page->count};
		}
		word += page->count;
	}
	return word;
}

int clew_unwind_heap_add(struct clew_unwind_heap *heap, const struct clew_unwind_table *table,
			 struct clew_image *image)
{
	/* An entry of the index is two words at an even place. */
	size_t index = (heap->used + 1) & ~(size_t)1;
	size_t rules = index + table->page_count * INDEX_WORDS;
	size_t rows = rules + table->rule_count, end = put_rows(NULL, rows, table, NULL);

	if (end > heap->size || end > UINT32_MAX)
		return -ENOSPC;
	memcpy(heap->words + rules, table->rules, table->rule_count * WORD);
	put_rows(heap->words, rows, table, (struct clew_unwind_page *)(heap->words + index));
	heap->used = end;
	image->first_page = (uint32_t)table->first_page;
	image->page_count = (uint32_t)table->page_count;
	image->index = (uint32_t)index;
	image->rules = (uint32_t)rules;
	image->state = CLEW_IMAGE_TABLE;
	return 0;
}
