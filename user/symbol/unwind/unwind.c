/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a file's unwind information as rows. Where ranges overlap the first one holds. A gap of
 * some bytes between two is padding and keeps the rule before it; a longer one has none. Where the
 * kernel enters a program there is no caller, whether or not its information says so.
 */
#include "symbol/unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/vector.h"
#include "symbol/elf/elf_file.h"
#include "symbol/unwind/unwind_program.h"

#define SECTION_MOST (256u << 20) /* bytes; a larger one is not read */
#define PADDING	     32		  /* bytes between two functions */
#define ENTRY_BYTES  64		  /* of the code that the kernel enters */
#define RULE(kind)   CLEW_UNWIND_RULE(kind, 0, 0, 0)

/* A range, by what is needed to read it again. */
struct range_at {
	uint64_t start, size;
	const uint8_t *program, *program_end;
	uint32_t common; /* index */
};

struct reader {
	struct elf_file file;
	struct call_frame_section section;
	uint8_t *data;	       /* the section's */
	struct vector ranges;  /* struct range_at */
	struct vector commons; /* struct call_frame_common */
	struct vector rows;    /* struct clew_unwind_row */
	uint64_t bias;	       /* from an address of the range at hand to its offset in the file */
};

/* A compressed section, as its header says. */
static int inflate_section(struct reader *reader, size_t size)
{
	Elf64_Chdr header;
	uLongf whole;
	uint8_t *data;
	int r;

	if (size < sizeof(header))
		return -ENODATA;
	memcpy(&header, reader->data, sizeof(header));
	if (header.ch_type != ELFCOMPRESS_ZLIB || header.ch_size > SECTION_MOST)
		return -ENODATA;
	whole = header.ch_size;
	data = malloc(whole + 1);
	if (!data)
		return -ENOMEM;
	r = uncompress(data, &whole, reader->data + sizeof(header), size - sizeof(header));
	free(reader->data);
	reader->data = data;
	reader->section.size = whole;
	return r == Z_OK ? 0 : r == Z_MEM_ERROR ? -ENOMEM : -ENODATA;
}

static int read_section(struct reader *reader)
{
	const Elf64_Shdr *section = elf_file_section(&reader->file, ".eh_frame");
	int r;

	if (!section || section->sh_type == SHT_NOBITS || section->sh_size <= sizeof(uint64_t)) {
		section = elf_file_section(&reader->file, ".debug_frame");
		reader->section.is_debug = true;
	}
	if (!section || section->sh_type == SHT_NOBITS || section->sh_size > SECTION_MOST)
		return -ENODATA;
	r = elf_file_read(&reader->file, section->sh_offset, section->sh_size, &reader->data);
	reader->section.size = section->sh_size;
	reader->section.address = section->sh_addr;
	if (r >= 0 && (section->sh_flags & SHF_COMPRESSED))
		r = inflate_section(reader, section->sh_size);
	reader->section.data = reader->data;
	return r;
}

static int keep_range(void *context, const struct call_frame_range *range)
{
	struct reader *reader = context;
	struct call_frame_common *commons = reader->commons.data;
	size_t count = reader->commons.count;
	int r = 0;

	/* Neighbours mostly share theirs. */
	if (!count || commons[count - 1].program != range->common->program) {
		r = vector_reserve(&reader->commons, count + 1);
		if (r < 0)
			return r;
		commons = reader->commons.data;
		commons[reader->commons.count++] = *range->common;
	}
	r = vector_reserve(&reader->ranges, reader->ranges.count + 1);
	if (r >= 0)
		((struct range_at *)reader->ranges.data)[reader->ranges.count++] =
			(struct range_at){.start = range->start,
					  .size = range->size,
					  .program = range->program,
					  .program_end = range->program_end,
					  .common = (uint32_t)reader->commons.count - 1};
	return r;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range_at *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

static int add_row(void *context, uint64_t address, uint32_t rule)
{
	struct reader *reader = context;
	struct clew_unwind_row *rows = reader->rows.data;
	size_t count = reader->rows.count;
	int r;

	if (count && rows[count - 1].rule == rule)
		return 0;
	r = vector_reserve(&reader->rows, count + 1);
	if (r < 0)
		return r;
	rows = reader->rows.data;
	rows[reader->rows.count++] =
		(struct clew_unwind_row){.offset = address + reader->bias, .rule = rule};
	return 0;
}

/* The loaded part of the file that has an address; NULL: none. */
static const Elf64_Phdr *code_at(const struct elf_file *file, uint64_t address)
{
	for (unsigned i = 0; i < file->header.e_phnum; i++) {
		const Elf64_Phdr *program = &file->programs[i];

		if (program->p_type == PT_LOAD && (program->p_flags & PF_X) &&
		    address - program->p_vaddr < program->p_filesz && address >= program->p_vaddr)
			return program;
	}
	return NULL;
}

static int add_range(struct reader *reader, const struct range_at *at, uint64_t *end)
{
	const Elf64_Phdr *code = code_at(&reader->file, at->start);
	struct call_frame_range range = {
		.start = at->start,
		.size = at->size,
		.program = at->program,
		.program_end = at->program_end,
		.common = (struct call_frame_common *)reader->commons.data + at->common,
	};
	uint64_t bias = code ? code->p_offset - code->p_vaddr : 0;
	int r = 0;

	if (!code || at->size > code->p_vaddr + code->p_filesz - at->start || at->start < *end)
		return 0;
	if (reader->rows.count && (at->start - *end > PADDING || bias != reader->bias))
		r = add_row(reader, *end, RULE(CLEW_UNWIND_NONE));
	reader->bias = bias;
	*end = at->start + at->size;
	return r < 0 ? r : unwind_program_run(&range, add_row, reader);
}

/* Puts one row in its place, unless there is one. */
static int insert_row(struct vector *vector, uint64_t offset, uint32_t rule)
{
	struct clew_unwind_row *rows = vector->data;
	size_t at = vector->count;
	int r;

	while (at && rows[at - 1].offset >= offset)
		at--;
	if (at < vector->count && rows[at].offset == offset)
		return 0;
	r = vector_reserve(vector, vector->count + 1);
	if (r < 0)
		return r;
	rows = vector->data;
	memmove(rows + at + 1, rows + at, (vector->count - at) * sizeof(*rows));
	rows[at] = (struct clew_unwind_row){offset, rule};
	vector->count++;
	return 0;
}

/* The first code of a program, where no information covers it. */
static int add_entry(struct reader *reader)
{
	uint64_t entry = reader->file.header.e_entry;
	const Elf64_Phdr *code = code_at(&reader->file, entry);
	struct clew_unwind_row *rows = reader->rows.data;
	size_t next = 0;
	uint64_t offset, end;
	int r;

	if (!code)
		return 0;
	offset = entry - code->p_vaddr + code->p_offset;
	while (next < reader->rows.count && rows[next].offset <= offset)
		next++;
	if (next && rows[next - 1].rule != RULE(CLEW_UNWIND_NONE))
		return 0;
	end = offset + ENTRY_BYTES;
	if (next < reader->rows.count && rows[next].offset < end)
		end = rows[next].offset;
	if (next && rows[next - 1].offset == offset)
		rows[next - 1].rule = RULE(CLEW_UNWIND_END);
	r = insert_row(&reader->rows, offset, RULE(CLEW_UNWIND_END));
	return r < 0 ? r : insert_row(&reader->rows, end, RULE(CLEW_UNWIND_NONE));
}

static int compare_rows(const void *a, const void *b)
{
	const struct clew_unwind_row *left = a, *right = b;

	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* Puts rows in order, as parts of a file need not be in that of their addresses. The last of
 * several at one offset holds. */
static void tidy_rows(struct vector *vector)
{
	struct clew_unwind_row *rows = vector->data;
	size_t kept = 0;

	for (size_t i = 1; i < vector->count; i++)
		if (rows[i].offset < rows[i - 1].offset) {
			qsort(rows, vector->count, sizeof(*rows), compare_rows);
			break;
		}
	for (size_t i = 0; i < vector->count; i++) {
		if (kept && rows[kept - 1].offset == rows[i].offset)
			kept--;
		if (!kept || rows[kept - 1].rule != rows[i].rule)
			rows[kept++] = rows[i];
	}
	vector->count = kept;
}

static int read_rows(struct reader *reader)
{
	const struct range_at *ranges;
	uint64_t end = 0;
	int r = read_section(reader);

	if (r >= 0)
		r = call_frame_walk(&reader->section, keep_range, reader);
	if (r < 0)
		return r;
	ranges = reader->ranges.data;
	if (reader->ranges.count > 1)
		qsort(reader->ranges.data, reader->ranges.count, sizeof(*ranges), compare_ranges);
	for (size_t i = 0; r >= 0 && i < reader->ranges.count; i++)
		r = add_range(reader, &ranges[i], &end);
	if (r >= 0)
		r = reader->rows.count ? add_row(reader, end, RULE(CLEW_UNWIND_NONE)) : -ENODATA;
	if (r < 0)
		return r;
	tidy_rows(&reader->rows);
	return add_entry(reader);
}

int clew_unwind_rows(int descriptor, struct clew_unwind_row **ret_rows, size_t *ret_count)
{
	struct reader reader = {
		.ranges.item = sizeof(struct range_at),
		.commons.item = sizeof(struct call_frame_common),
		.rows.item = sizeof(struct clew_unwind_row),
	};
	int r = elf_file_open(descriptor, &reader.file);

	*ret_rows = NULL;
	*ret_count = 0;
	if (r < 0)
		return r;
	r = reader.file.header.e_machine == EM_X86_64 || reader.file.header.e_machine == EM_AARCH64
		    ? read_rows(&reader)
		    : -EBADMSG;
	if (r >= 0) {
		*ret_rows = malloc(reader.rows.count * sizeof(**ret_rows));
		r = *ret_rows ? 0 : -ENOMEM;
	}
	if (r >= 0) {
		memcpy(*ret_rows, reader.rows.data, reader.rows.count * sizeof(**ret_rows));
		*ret_count = reader.rows.count;
	}
	vector_done(&reader.ranges);
	vector_done(&reader.commons);
	vector_done(&reader.rows);
	free(reader.data);
	elf_file_close(&reader.file);
	return r;
}
