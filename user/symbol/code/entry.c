/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds functions' entries. A function is known by its symbol. Where that was taken
 * away there are the ranges of .eh_frame, which a compiler also gives to a part of a
 * function that it put elsewhere (".cold"), entered with all of the function's data in
 * place: a range that some jump leads to counts as such a part.
 */
#include "symbol/code/entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vector.h"
#include "symbol/elf/eh_frame.h"
#include "symbol/elf/elf_file.h"

#define TABLE_MOST (128u << 20) /* bytes of a table; a file with larger ones has no entries */
#define CODE_MOST  (1u << 30)	/* the same of code */
#define BLOCK	   (1u << 20)	/* bytes of code at a time */
#define JUMP_BYTES 6		/* of the longest direct jump */

enum range_kind { RANGE_FUNCTION, RANGE_PART, RANGE_FRAME };

struct range {
	uint64_t start, end; /* equal: its size is not known */
	enum range_kind kind;
	bool jumped_to; /* only of RANGE_FRAME, once the code was read */
};

struct clew_entries {
	struct elf_file file;
	struct vector ranges; /* struct range, by start */
	int code;	      /* 0: it was not read yet, 1: it was, or -errno */
};

static int add_range(struct clew_entries *entries, uint64_t start, uint64_t size,
		     enum range_kind kind)
{
	int r = vector_reserve(&entries->ranges, entries->ranges.count + 1);

	if (r >= 0)
		((struct range *)entries->ranges.data)[entries->ranges.count++] =
			(struct range){.start = start,
				       .end = size <= UINT64_MAX - start ? start + size : start,
				       .kind = kind};
	return r;
}

static int add_frame(void *context, uint64_t start, uint64_t size)
{
	return add_range(context, start, size, RANGE_FRAME);
}

/* GCC's and LLVM's names for parts of functions that are jumped to, and not called. */
static bool is_part(const char *name)
{
	return strstr(name, ".cold") || strstr(name, ".__part.");
}

static int read_table(struct clew_entries *entries, const Elf64_Shdr *section, void *ret_table)
{
	return section->sh_size > TABLE_MOST ? -EFBIG
					     : elf_file_read(&entries->file, section->sh_offset,
							     section->sh_size, ret_table);
}

static int add_symbols(struct clew_entries *entries, const Elf64_Shdr *section)
{
	const struct elf_file *file = &entries->file;
	const Elf64_Shdr *link =
		section->sh_link < file->header.e_shnum ? &file->sections[section->sh_link] : NULL;
	Elf64_Sym *symbols = NULL;
	char *names = NULL;
	int r = link ? read_table(entries, section, &symbols) : -EBADMSG;

	if (r >= 0)
		r = read_table(entries, link, &names);
	for (size_t i = 0; r >= 0 && i < section->sh_size / sizeof(*symbols); i++) {
		const Elf64_Sym *symbol = &symbols[i];
		unsigned type = ELF64_ST_TYPE(symbol->st_info);

		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
		    symbol->st_name >= link->sh_size)
			continue;
		r = add_range(entries, symbol->st_value, symbol->st_size,
			      is_part(names + symbol->st_name) ? RANGE_PART : RANGE_FUNCTION);
	}
	free(symbols);
	free(names);
	return r;
}

static int add_frames(struct clew_entries *entries, const Elf64_Shdr *section)
{
	uint8_t *frames = NULL;
	int r = read_table(entries, section, &frames);

	if (r >= 0)
		r = eh_frame_walk(frames, section->sh_size, section->sh_addr, add_frame, entries);
	free(frames);
	return r;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

int clew_entries_open(int descriptor, struct clew_entries **ret)
{
	struct clew_entries *entries = calloc(1, sizeof(*entries));
	const Elf64_Shdr *frames;
	int r = entries ? elf_file_open(descriptor, &entries->file) : -ENOMEM;

	*ret = NULL;
	if (r < 0) {
		free(entries);
		return r;
	}
	entries->ranges.item = sizeof(struct range);
	for (unsigned i = 0; r >= 0 && i < entries->file.header.e_shnum; i++) {
		const Elf64_Shdr *section = &entries->file.sections[i];

		if (section->sh_type == SHT_SYMTAB || section->sh_type == SHT_DYNSYM)
			r = add_symbols(entries, section);
	}
	frames = elf_file_section(&entries->file, ".eh_frame");
	if (r >= 0 && frames && frames->sh_type != SHT_NOBITS)
		r = add_frames(entries, frames);
	if (r < 0) {
		clew_entries_close(entries);
		return r;
	}
	if (entries->ranges.count > 1)
		qsort(entries->ranges.data, entries->ranges.count, sizeof(struct range),
		      compare_ranges);
	*ret = entries;
	return 0;
}

void clew_entries_close(struct clew_entries *entries)
{
	if (!entries)
		return;
	elf_file_close(&entries->file);
	vector_done(&entries->ranges);
	free(entries);
}

/* The first range that begins there or later: its number. */
static size_t find_range(const struct clew_entries *entries, uint64_t address)
{
	const struct range *ranges = entries->ranges.data;
	size_t low = 0, high = entries->ranges.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].start < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void mark_jumped_to(struct clew_entries *entries, uint64_t target)
{
	struct range *ranges = entries->ranges.data;

	for (size_t i = find_range(entries, target);
	     i < entries->ranges.count && ranges[i].start == target; i++)
		ranges[i].jumped_to = true;
}

/* Each byte may begin a jump, as nothing says where instructions begin: data that look like one
 * cost a probe at most. */
static void scan_code(struct clew_entries *entries, const uint8_t *code, size_t size,
		      uint64_t address)
{
	for (size_t i = 0; i + 5 <= size; i++) {
		bool conditional =
			i + JUMP_BYTES <= size && code[i] == 0x0f && (code[i + 1] & 0xf0) == 0x80;
		size_t opcode = conditional ? 2 : 1;
		int32_t distance;

		if (!conditional && code[i] != 0xe9)
			continue;
		memcpy(&distance, code + i + opcode, sizeof(distance));
		mark_jumped_to(entries, address + i + opcode + sizeof(distance) +
						(uint64_t)(int64_t)distance);
	}
}

/* 1 or -errno. */
static int read_code(struct clew_entries *entries)
{
	const struct elf_file *file = &entries->file;
	uint8_t *block = malloc(BLOCK);
	uint64_t total = 0;
	int r = block ? 1 : -ENOMEM;

	for (unsigned i = 0; r > 0 && i < file->header.e_phnum; i++) {
		const Elf64_Phdr *program = &file->programs[i];

		if (program->p_type != PT_LOAD || !(program->p_flags & PF_X))
			continue;
		total = program->p_filesz <= CODE_MOST ? total + program->p_filesz : UINT64_MAX;
		if (total > CODE_MOST)
			r = -EFBIG;
		/* Blocks overlap, so that a jump is in one as a whole. */
		for (uint64_t at = 0; r > 0 && at < program->p_filesz; at += BLOCK - JUMP_BYTES) {
			uint64_t left = program->p_filesz - at;
			ssize_t got = pread(file->descriptor, block, left < BLOCK ? left : BLOCK,
					    (off_t)(program->p_offset + at));

			if (got <= 0)
				break;
			scan_code(entries, block, (size_t)got, program->p_vaddr + at);
		}
	}
	free(block);
	return r;
}

bool clew_entries_has(struct clew_entries *entries, uint64_t address)
{
	const struct range *ranges = entries->ranges.data;
	size_t first = find_range(entries, address), i;
	bool is_function = false, is_frame = false;

	/* A symbol in the middle of a function is a label. */
	for (i = 0; i < first; i++)
		if (ranges[i].end > address)
			return false;
	for (i = first; i < entries->ranges.count && ranges[i].start == address; i++) {
		if (ranges[i].kind == RANGE_PART)
			return false;
		is_function |= ranges[i].kind == RANGE_FUNCTION;
		is_frame |= ranges[i].kind == RANGE_FRAME;
	}
	if (is_function || !is_frame)
		return is_function;
	if (!entries->code)
		entries->code = read_code(entries);
	if (entries->code < 0)
		return false;
	for (i = first; i < entries->ranges.count && ranges[i].start == address; i++)
		if (ranges[i].jumped_to)
			return false;
	return true;
}
