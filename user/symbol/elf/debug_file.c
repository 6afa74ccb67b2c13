/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds debugging information. Files are read and never mapped: one that becomes shorter meanwhile
 * is an error then, and no signal. libdw would look for shared parts by itself and take one with
 * another build-id; so a file whose shared part was not found here is not used.
 */
#include "symbol/elf/debug_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/regular.h"
#include "opener/opener.h"

#define DEBUG_DIRECTORY "/usr/lib/debug"
#define ID_BYTES_MOST	64

/* The file that is looked for, and why it was not found so far. */
struct search {
	const char *path; /* of the object; NULL: its descriptor says it */
	const uint8_t *id;
	size_t id_size;
	struct debug_servers *servers; /* NULL: not asked */
	enum debug_missing missing;
	char found[2 * PATH_MAX]; /* the path at which it was found, "" at none */
};

static void note(struct search *search, enum debug_missing missing)
{
	if (missing > search->missing)
		search->missing = missing;
}

static void close_part(struct debug_part *part)
{
	dwarf_end(part->dwarf);
	elf_end(part->elf);
	if (part->descriptor >= 0)
		close(part->descriptor);
	*part = (struct debug_part){.descriptor = -1};
}

void debug_file_close(struct debug_file *file)
{
	close_part(&file->main);
	close_part(&file->shared);
}

/* Opens the DWARF of a file that is open; shared parts have units without code. */
static int begin(struct debug_part *part, int descriptor)
{
	Dwarf_CU *unit;

	part->elf = elf_begin(descriptor, ELF_C_READ, NULL);
	part->dwarf = part->elf ? dwarf_begin_elf(part->elf, DWARF_C_READ, NULL) : NULL;
	if (part->dwarf && dwarf_get_units(part->dwarf, NULL, &unit, NULL, NULL, NULL, NULL) == 0)
		return 0;
	return -ENODATA;
}

static bool has_id(Elf *elf, const struct search *search)
{
	const void *id;
	ssize_t size = elf ? dwelf_elf_gnu_build_id(elf, &id) : 0;

	return size > 0 && (size_t)size == search->id_size && !memcmp(id, search->id, size);
}

/* The DWARF of an open file, if that has the build-id that is looked for. Closes it else. */
static int try_file(struct search *search, int descriptor, struct debug_part *ret_part)
{
	struct debug_part part = {.descriptor = descriptor};
	int r = begin(&part, part.descriptor);

	if (part.elf && !has_id(part.elf, search)) {
		note(search, elf_kind(part.elf) == ELF_K_ELF ? DEBUG_OTHER : DEBUG_UNREADABLE);
		r = -ENODATA;
	} else if (r < 0) {
		note(search, DEBUG_UNREADABLE);
	}
	if (r < 0)
		close_part(&part);
	else
		*ret_part = part;
	return r;
}

static int try_path(struct search *search, const char *path, struct debug_part *ret_part)
{
	int descriptor = regular_open(path);

	snprintf(search->found, sizeof(search->found), "%s", path);
	return descriptor < 0 ? -ENODATA : try_file(search, descriptor, ret_part);
}

/* The same with a path that the object's owner may have chosen. */
static int try_foreign(struct search *search, const char *path, struct debug_part *ret_part)
{
	struct clew_opened file;
	int copy, r = clew_open_named(path, &file, NULL);

	if (r < 0)
		return -ENODATA;
	r = clew_open_read(&file, CLEW_OPEN_WHOLE, &copy);
	clew_opened_close(&file);
	snprintf(search->found, sizeof(search->found), "%s", path);
	return r < 0 ? -ENODATA : try_file(search, copy, ret_part);
}

static int try_servers(struct search *search, struct debug_part *ret_part)
{
	int descriptor;

	*search->found = '\0';
	if (!search->servers)
		return -ENODATA;
	descriptor = debug_servers_find(search->servers, search->id, search->id_size);
	if (descriptor >= 0)
		return try_file(search, descriptor, ret_part);
	if (descriptor != -ENOENT)
		note(search, DEBUG_UNASKED);
	return -ENODATA;
}

static int try_build_id(struct search *search, struct debug_part *ret_part)
{
	char path[sizeof(DEBUG_DIRECTORY) + 32 + 2 * ID_BYTES_MOST];
	int at;

	if (search->id_size < 2 || search->id_size > ID_BYTES_MOST)
		return -ENODATA;
	at = sprintf(path, "%s/.build-id/%02x/", DEBUG_DIRECTORY, search->id[0]);
	for (size_t i = 1; i < search->id_size; i++)
		at += sprintf(path + at, "%02x", search->id[i]);
	strcpy(path + at, ".debug");
	return try_path(search, path, ret_part);
}

/* The folder of a file by its path or, if that is NULL, its descriptor; "" unknown. */
static void folder_of(const char *path, int descriptor, char ret_folder[PATH_MAX])
{
	char link[64];
	ssize_t size = 0;
	char *slash;

	if (path) {
		snprintf(ret_folder, PATH_MAX, "%.*s", PATH_MAX - 1, path);
	} else {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
		size = readlink(link, ret_folder, PATH_MAX - 1);
		ret_folder[size > 0 ? size : 0] = '\0';
	}
	slash = strrchr(ret_folder, '/');
	if (slash)
		*slash = '\0';
}

/* `format`: of a folder and a name. */
__attribute__((format(printf, 3, 0))) static int try_named(struct search *search,
							   struct debug_part *ret_part,
							   const char *format, const char *folder,
							   const char *name)
{
	char path[2 * PATH_MAX];
	int size = snprintf(path, sizeof(path), format, folder, name);

	return size <= 0 || (size_t)size >= sizeof(path) ? -ENODATA
	       : *format == '%'				 ? try_foreign(search, path, ret_part)
							 : try_path(search, path, ret_part);
}

/* The places at which debuggers look for the file of a debug link. */
static int try_link(struct search *search, int object, Elf *elf, struct debug_part *ret_part)
{
	GElf_Word crc;
	const char *name = elf ? dwelf_elf_gnu_debuglink(elf, &crc) : NULL;
	char folder[PATH_MAX];
	int r;

	if (!name || !*name || strchr(name, '/'))
		return -ENODATA;
	folder_of(search->path, object, folder);
	r = try_named(search, ret_part, "%s/%s", folder, name);
	if (r < 0)
		r = try_named(search, ret_part, "%s/.debug/%s", folder, name);
	if (r < 0)
		r = try_named(search, ret_part, DEBUG_DIRECTORY "%s/%s", folder, name);
	return r;
}

static int find_main(struct search *search, int object, struct debug_part *ret_part)
{
	struct debug_part part = {.descriptor = -1};
	int r = object >= 0 ? begin(&part, object) : -ENODATA;

	if (r >= 0) {
		*ret_part = part;
		return r;
	}
	if (search->id_size)
		r = try_build_id(search, ret_part);
	if (r < 0 && search->id_size)
		r = try_link(search, object, part.elf, ret_part);
	if (r < 0 && search->id_size)
		r = try_servers(search, ret_part);
	close_part(&part);
	return r;
}

/* The part that a file shares with others, if it has one. */
static int find_shared(struct search *search, int object, struct debug_file *file)
{
	const void *id;
	const char *name;
	ssize_t size = dwelf_dwarf_gnu_debugaltlink(file->main.dwarf, &name, &id);
	struct search shared = {.id = id, .id_size = (size_t)size, .servers = search->servers};
	char folder[PATH_MAX];
	int r;

	if (!size)
		return 0;
	r = size < 0 ? -ENODATA : try_build_id(&shared, &file->shared);
	if (r < 0 && size > 0) {
		if (file->main.descriptor < 0)
			folder_of(search->path, object, folder);
		else
			folder_of(*search->found ? search->found : NULL, file->main.descriptor,
				  folder);
		r = name[0] == '/' ? try_foreign(&shared, name, &file->shared)
				   : try_named(&shared, &file->shared, "%s/%s", folder, name);
	}
	if (r < 0 && size > 0)
		r = try_servers(&shared, &file->shared);
	if (r >= 0)
		dwarf_setalt(file->main.dwarf, file->shared.dwarf);
	else
		note(search, DEBUG_SHARED);
	return r;
}

int debug_file_open(int object, const char *path, const uint8_t *id, size_t id_size,
		    struct debug_servers *servers, struct debug_file *ret_file,
		    enum debug_missing *ret_missing)
{
	struct search search = {.path = path, .id = id, .id_size = id_size, .servers = servers};
	int r;

	elf_version(EV_CURRENT);
	*ret_file = (struct debug_file){.main.descriptor = -1, .shared.descriptor = -1};
	r = find_main(&search, object, &ret_file->main);
	if (r >= 0)
		r = find_shared(&search, object, ret_file);
	if (r < 0)
		debug_file_close(ret_file);
	if (r < 0 && ret_missing)
		*ret_missing = search.missing;
	return r;
}
