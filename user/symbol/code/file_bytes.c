/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads a few bytes at an address of a file, of which the last pages are kept. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/code/function_internal.h"

/* A page of the file, NULL: no memory. */
static const struct data_page *read_page(struct clew_functions *functions, uint64_t number)
{
	struct data_page *page;
	ssize_t got;

	if (!functions->pages)
		functions->pages = calloc(DATA_PAGES, sizeof(*functions->pages));
	if (!functions->pages)
		return NULL;
	page = &functions->pages[number % DATA_PAGES];
	if (page->size && page->number == number)
		return page;
	got = pread(functions->file.descriptor, page->bytes, DATA_PAGE,
		    (off_t)(number * DATA_PAGE));
	page->number = number;
	page->size = got < 0 ? 0 : (size_t)got;
	return page;
}

bool functions_read_bytes(struct clew_functions *functions, uint64_t address, void *bytes,
			  size_t size)
{
	uint64_t offset = elf_file_offset(&functions->file, address), at = offset % DATA_PAGE;
	const struct data_page *page =
		offset && offset < INT64_MAX ? read_page(functions, offset / DATA_PAGE) : NULL;

	if (!page || at > page->size || page->size - at < size)
		return false;
	memcpy(bytes, page->bytes + at, size);
	return true;
}
