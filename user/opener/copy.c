/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies of files in memory. They are as large as their files and have holes where nothing was
 * asked for, so that all offsets stay as they are. Nobody can change them.
 *
 * Any process may have written the file: every number in it is checked before it is used.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/regular.h"
#include "opener/internal.h"

#define SECTIONS_MOST 4096
#define PROGRAMS_MOST 4096
#define NAMES_MOST    (1u << 20)   /* bytes of the sections' names */
#define PARTS_MOST    (512u << 20) /* bytes that are copied, of some parts */
#define WHOLE_MOST    (1u << 30)   /* and of a whole file */
#define OTHER_BYTES   4096	   /* of a file that is no ELF file */
#define STEP	      (1u << 18)
#define PROGRESS      (16u << 20) /* bytes between two signs of life */

struct copy {
	int from, to;
	uint64_t size; /* of the file */
	uint64_t left; /* bytes that may yet be copied */
	uint64_t since;
	void (*progress)(void);
	char *buffer;
	Elf64_Ehdr header;
	Elf64_Shdr *sections;
	char *names;
	size_t names_size;
};

/* Parts that the file does not have are left out. */
static int copy_range(struct copy *copy, uint64_t offset, uint64_t size)
{
	if (offset > copy->size)
		return 0;
	size = size < copy->size - offset ? size : copy->size - offset;
	if (size > copy->left)
		return -EFBIG;
	copy->left -= size;
	while (size) {
		size_t step = size < STEP ? size : STEP;
		ssize_t got = pread(copy->from, copy->buffer, step, (off_t)offset);

		if (got <= 0)
			return got < 0 ? -errno : 0;
		if (pwrite(copy->to, copy->buffer, (size_t)got, (off_t)offset) != got)
			return -ENOMEM;
		offset += (uint64_t)got;
		size -= (uint64_t)got;
		copy->since += (uint64_t)got;
		if (copy->progress && copy->since >= PROGRESS) {
			copy->progress();
			copy->since = 0;
		}
	}
	return 0;
}

/* Reads from the copy, where that part has come. NULL: it is not whole, or there is no memory. */
static void *read_back(const struct copy *copy, uint64_t offset, size_t size)
{
	char *bytes = offset <= copy->size && size <= copy->size - offset ? malloc(size + 1) : NULL;

	if (bytes && pread(copy->to, bytes, size, (off_t)offset) != (ssize_t)size) {
		free(bytes);
		return NULL;
	}
	if (bytes)
		bytes[size] = '\0';
	return bytes;
}

static int copy_section(struct copy *copy, const Elf64_Shdr *section)
{
	return section->sh_type == SHT_NOBITS
		       ? 0
		       : copy_range(copy, section->sh_offset, section->sh_size);
}

/* False: it is no ELF file, or its sections cannot be found. */
static bool read_headers(struct copy *copy)
{
	Elf64_Ehdr *header = &copy->header;
	const Elf64_Shdr *names;

	if (copy_range(copy, 0, OTHER_BYTES) < 0 ||
	    pread(copy->to, header, sizeof(*header), 0) != sizeof(*header) ||
	    memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phnum > PROGRAMS_MOST ||
	    !header->e_shnum || header->e_shnum > SECTIONS_MOST ||
	    header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shstrndx >= header->e_shnum ||
	    copy_range(copy, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr)) < 0 ||
	    copy_range(copy, header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr)) < 0)
		return false;
	copy->sections = read_back(copy, header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr));
	if (!copy->sections)
		return false;
	names = &copy->sections[header->e_shstrndx];
	if (names->sh_size > NAMES_MOST || copy_section(copy, names) < 0)
		return false;
	copy->names = read_back(copy, names->sh_offset, names->sh_size);
	copy->names_size = names->sh_size;
	return copy->names;
}

static bool is_named(const struct copy *copy, const Elf64_Shdr *section, const char *name)
{
	return section->sh_name < copy->names_size && !strcmp(copy->names + section->sh_name, name);
}

static bool carries_probes(const struct copy *copy)
{
	for (unsigned i = 0; i < copy->header.e_shnum; i++)
		if (is_named(copy, &copy->sections[i], ".note.stapsdt"))
			return true;
	return false;
}

static bool is_symbols(const struct copy *copy, const Elf64_Shdr *section)
{
	const Elf64_Shdr *all = copy->sections;

	if (section->sh_type == SHT_SYMTAB || section->sh_type == SHT_DYNSYM)
		return true;
	for (unsigned i = 0; i < copy->header.e_shnum; i++)
		if ((all[i].sh_type == SHT_SYMTAB || all[i].sh_type == SHT_DYNSYM) &&
		    all[i].sh_link < copy->header.e_shnum && &all[all[i].sh_link] == section)
			return true;
	return false;
}

static bool is_wanted(const struct copy *copy, const Elf64_Shdr *section, unsigned parts)
{
	if (section->sh_type == SHT_NOTE)
		return true;
	if ((parts & CLEW_OPEN_FRAMES) &&
	    (is_named(copy, section, ".eh_frame") || is_named(copy, section, ".debug_frame")))
		return true;
	return (parts & (CLEW_OPEN_SYMBOLS | CLEW_OPEN_LOADED)) && is_symbols(copy, section);
}

static int copy_segments(struct copy *copy)
{
	Elf64_Phdr *all =
		read_back(copy, copy->header.e_phoff, copy->header.e_phnum * sizeof(Elf64_Phdr));
	int r = 0;

	for (unsigned i = 0; all && r >= 0 && i < copy->header.e_phnum; i++)
		if (all[i].p_type == PT_LOAD)
			r = copy_range(copy, all[i].p_offset, all[i].p_filesz);
	free(all);
	return r;
}

static int copy_parts(struct copy *copy, unsigned parts)
{
	int r = 0;

	if (!read_headers(copy))
		return 0;
	if ((parts & CLEW_OPEN_PROBES) && carries_probes(copy))
		parts |= CLEW_OPEN_LOADED;
	for (unsigned i = 0; r >= 0 && i < copy->header.e_shnum; i++)
		if (is_wanted(copy, &copy->sections[i], parts))
			r = copy_section(copy, &copy->sections[i]);
	return r >= 0 && (parts & CLEW_OPEN_LOADED) ? copy_segments(copy) : r;
}

static int new_copy(void)
{
	int file = memfd_create("clew-copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return file < 0 ? -errno : file;
}

static int finish(int file, int r)
{
	if (r >= 0 &&
	    fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		r = -errno;
	if (r < 0)
		close(file);
	return r < 0 ? r : file;
}

/* *size: of the file that was found, or as it is now. */
static int take_size(const struct copy *copy, unsigned parts, uint64_t *size)
{
	struct stat status;

	if (!(parts & CLEW_OPEN_GROWN))
		return 0;
	if (fstat(copy->from, &status) < 0)
		return -errno;
	*size = (uint64_t)status.st_size;
	return 0;
}

int opener_copy(int path, uint64_t size, unsigned parts, void (*progress)(void))
{
	bool whole = parts & (CLEW_OPEN_WHOLE | CLEW_OPEN_GROWN);
	struct copy copy = {.left = whole ? WHOLE_MOST : PARTS_MOST,
			    .progress = progress,
			    .from = regular_reopen(path)};
	int r;

	if (copy.from < 0)
		return copy.from;
	r = take_size(&copy, parts, &size);
	copy.size = size;
	copy.to = r < 0 ? r : new_copy();
	copy.buffer = malloc(STEP);
	r = copy.to < 0				  ? copy.to
	    : !copy.buffer			  ? -ENOMEM
	    : ftruncate(copy.to, (off_t)size) < 0 ? -errno
	    : whole				  ? copy_range(&copy, 0, size)
						  : copy_parts(&copy, parts);
	close(copy.from);
	free(copy.buffer);
	free(copy.sections);
	free(copy.names);
	return copy.to < 0 ? r : finish(copy.to, r);
}

int opener_copy_stream(int from, size_t most)
{
	int to = new_copy(), r = to < 0 ? to : 0;
	char buffer[16384];
	ssize_t got = 1;

	while (r >= 0 && most && got > 0) {
		got = read(from, buffer, most < sizeof(buffer) ? most : sizeof(buffer));
		if (got < 0)
			r = -errno;
		else if (write(to, buffer, (size_t)got) != got)
			r = -ENOMEM;
		else
			most -= (size_t)got;
	}
	if (r >= 0 && lseek(to, 0, SEEK_SET) < 0)
		r = -errno;
	return to < 0 ? r : finish(to, r);
}

int opener_glob(const char *pattern)
{
	int to = new_copy(), r = to < 0 ? to : 0;
	glob_t found = {};

	if (r >= 0 && !glob(pattern, 0, NULL, &found))
		for (size_t i = 0; r >= 0 && i < found.gl_pathc; i++) {
			size_t size = strlen(found.gl_pathv[i]) + 1;

			if (write(to, found.gl_pathv[i], size) != (ssize_t)size)
				r = -ENOMEM;
		}
	globfree(&found);
	if (r >= 0 && lseek(to, 0, SEEK_SET) < 0)
		r = -errno;
	return to < 0 ? r : finish(to, r);
}
