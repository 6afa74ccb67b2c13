/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mappings of processes, and the variables of the files in them.
 *
 * A file's data may lie in two mappings: .bss continues behind the last page that the file has, in
 * memory that /proc gives no name, or takes for the heap. The headers of the file say how far.
 */
#include "record/stacks/memory_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vector.h"
#include "opener/opener.h"
#include "symbol/elf/names.h"

#define PROCESSES_MOST 32
#define FILES_MOST     64
#define AGE_MOST       UINT64_C(1000000000) /* ns */

struct region {
	uint64_t start, end, offset;
	uint64_t inode;
	uint32_t device;
	const char *path; /* of a file, or "[heap]"; "" none */
};

struct process {
	pid_t pid;
	uint32_t memory;
	uint64_t read;	       /* ns */
	struct vector regions; /* struct region, by address */
	struct arena paths;
};

/* A file is opened when an address in it is met, and read when that is to be named. */
struct file {
	uint64_t inode;
	uint32_t device;
	uint32_t number;	  /* of a file that is in this place; 0 none */
	struct clew_opened found; /* none: it cannot be found */
	struct clew_names *names; /* of variables; NULL: not read yet, or not to be read */
	struct clew_names *code;  /* the same of functions */
	bool read, read_code;
};

struct clew_memory_maps {
	struct process processes[PROCESSES_MOST];
	unsigned next_process; /* which is replaced */
	struct file files[FILES_MOST];
	uint32_t last_file;
	size_t names_most;
};

struct clew_memory_maps *clew_memory_maps_new(size_t names_most)
{
	struct clew_memory_maps *maps = calloc(1, sizeof(*maps));

	if (maps)
		maps->names_most = names_most;
	return maps;
}

static void forget_process(struct process *process)
{
	vector_done(&process->regions);
	arena_done(&process->paths);
	*process = (struct process){};
}

static void forget_file(struct file *file)
{
	if (file->number)
		clew_opened_close(&file->found);
	clew_names_close(file->names);
	clew_names_close(file->code);
	*file = (struct file){};
}

void clew_memory_maps_forget(struct clew_memory_maps *maps)
{
	for (unsigned i = 0; i < PROCESSES_MOST; i++)
		forget_process(&maps->processes[i]);
	for (unsigned i = 0; i < FILES_MOST; i++)
		forget_file(&maps->files[i]);
}

void clew_memory_maps_free(struct clew_memory_maps *maps)
{
	if (maps)
		clew_memory_maps_forget(maps);
	free(maps);
}

/* ---- mappings ---- */

static int add_region(struct process *process, const char *line)
{
	struct region region;
	unsigned major, minor;
	int used = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &region.start, &region.end, &region.offset, &major, &minor, &region.inode,
		   &used) < 6)
		return 0;
	region.device = major << 20 | minor;
	region.path = arena_copy(&process->paths, line + used, strlen(line + used));
	process->regions.item = sizeof(region);
	if (!region.path || vector_reserve(&process->regions, process->regions.count + 1) < 0)
		return -ENOMEM;
	((struct region *)process->regions.data)[process->regions.count++] = region;
	return 0;
}

static int read_process(struct process *process, pid_t pid)
{
	char *line = NULL;
	size_t room = 0;
	FILE *maps;
	int copy, r = clew_open_process(pid, CLEW_OPEN_MAPS, &copy);

	if (r < 0)
		return r;
	maps = fdopen(copy, "r");
	if (!maps) {
		close(copy);
		return -ENOMEM;
	}
	while (r == 0 && getline(&line, &room, maps) > 0) {
		line[strcspn(line, "\n")] = '\0';
		r = add_region(process, line);
	}
	free(line);
	fclose(maps);
	return r;
}

static struct process *process_of(struct clew_memory_maps *maps, pid_t pid, uint32_t memory,
				  uint64_t now)
{
	struct process *process = NULL;

	for (unsigned i = 0; i < PROCESSES_MOST && !process; i++)
		if (maps->processes[i].pid == pid)
			process = &maps->processes[i];
	if (process && process->memory == memory && now - process->read < AGE_MOST)
		return process;
	if (!process)
		process = &maps->processes[maps->next_process++ % PROCESSES_MOST];
	forget_process(process);
	if (read_process(process, pid) < 0) {
		forget_process(process);
		return NULL;
	}
	process->pid = pid;
	process->memory = memory;
	process->read = now;
	return process;
}

/* ---- files ---- */

static struct file *file_of(struct clew_memory_maps *maps, pid_t pid, const struct region *region)
{
	const struct clew_open_mapping mapping = {.pid = pid,
						  .start = region->start,
						  .end = region->end,
						  .inode = region->inode,
						  .major = region->device >> 20,
						  .minor = region->device & 0xfffff,
						  .path = region->path};
	struct file *file;

	for (unsigned i = 0; i < FILES_MOST; i++)
		if (maps->files[i].number && maps->files[i].inode == region->inode &&
		    maps->files[i].device == region->device)
			return &maps->files[i];
	file = &maps->files[++maps->last_file % FILES_MOST];
	forget_file(file);
	*file = (struct file){
		.inode = region->inode, .device = region->device, .number = maps->last_file};
	clew_open_mapped(&mapping, &file->found, NULL);
	return file;
}

static bool is_file(const struct region *region)
{
	return region->inode && region->path[0] == '/';
}

bool clew_memory_maps_find(struct clew_memory_maps *maps, pid_t pid, uint32_t memory, uint64_t now,
			   uint64_t address, struct clew_memory_spot *ret_spot)
{
	const struct process *process = process_of(maps, pid, memory, now);
	const struct region *all = process ? process->regions.data : NULL, *region, *file;
	size_t low = 0, high = process ? process->regions.count : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!process || low == process->regions.count || all[low].start > address)
		return false;
	region = file = &all[low];
	*ret_spot = (struct clew_memory_spot){.address = address};
	if (!strcmp(region->path, "[heap]")) {
		ret_spot->heap = true;
		ret_spot->start = region->start;
	}
	/* .bss is behind the mapping of its file, whose parts follow each other without a gap. */
	if (!is_file(file) && file > all && file[-1].end == file->start)
		file--;
	if (!is_file(file))
		return ret_spot->heap;
	while (file > all && file[-1].inode == file->inode && file[-1].device == file->device &&
	       file[-1].end <= file->start && file->offset)
		file--;
	ret_spot->file = file_of(maps, process->pid, file)->number;
	ret_spot->file_start = file->start;
	ret_spot->file_offset = file->offset;
	snprintf(ret_spot->path, sizeof(ret_spot->path), "%s", file->path);
	return true;
}

/* ---- names ---- */

size_t clew_memory_maps_names(const struct clew_memory_maps *maps)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < FILES_MOST; i++)
		bytes += clew_names_memory(maps->files[i].names) +
			 clew_names_memory(maps->files[i].code);
	return bytes;
}

/* Forgets the names of the files that were met first, but for one. */
static void make_room(struct clew_memory_maps *maps, size_t bytes, const struct file *kept)
{
	while (clew_memory_maps_names(maps) + bytes > maps->names_most) {
		struct file *first = NULL;

		for (unsigned i = 0; i < FILES_MOST; i++)
			if ((maps->files[i].names || maps->files[i].code) &&
			    &maps->files[i] != kept &&
			    (!first || maps->files[i].number < first->number))
				first = &maps->files[i];
		if (!first)
			return;
		forget_file(first);
	}
}

/* The names of a file's functions, or of its variables. */
static const struct clew_names *names_of(struct clew_memory_maps *maps, uint32_t number, bool code)
{
	struct file *file = &maps->files[number % FILES_MOST];
	struct clew_names **names = code ? &file->code : &file->names;
	bool *read = code ? &file->read_code : &file->read;
	int copy;

	if (file->number != number)
		return NULL;
	if (!*read && file->found.path >= 0 &&
	    clew_open_read(&file->found, CLEW_OPEN_SYMBOLS, &copy) >= 0) {
		make_room(maps, clew_names_needs(copy), file);
		if (code)
			clew_names_open(copy, names);
		else
			clew_names_open_data(copy, names);
		close(copy);
	}
	*read = true;
	return *names;
}

bool clew_memory_maps_name_code(struct clew_memory_maps *maps, const struct clew_memory_spot *spot,
				struct clew_memory_place *ret_place)
{
	const struct clew_names *names = spot->file ? names_of(maps, spot->file, true) : NULL;
	struct clew_named named;
	uint64_t bias;

	if (!names || !clew_names_bias(names, spot->file_start, spot->file_offset, &bias) ||
	    !clew_names_find_code(names, spot->address - bias, &named))
		return false;
	*ret_place = (struct clew_memory_place){
		.place = CLEW_ADDRESS_CODE,
		.offset = spot->address - bias - named.start,
		.name = named.name,
		.path = spot->path,
	};
	return true;
}

bool clew_memory_maps_name(struct clew_memory_maps *maps, const struct clew_memory_spot *spot,
			   struct clew_memory_place *ret_place)
{
	const struct clew_names *names = spot->file ? names_of(maps, spot->file, false) : NULL;
	struct clew_named named;
	uint64_t bias;

	if (names && clew_names_bias(names, spot->file_start, spot->file_offset, &bias) &&
	    clew_names_find_data(names, spot->address - bias, &named)) {
		*ret_place = (struct clew_memory_place){
			.place = named.name[0] ? CLEW_ADDRESS_SYMBOL : CLEW_ADDRESS_FILE,
			.offset = spot->address - bias - named.start,
			.name = named.name,
			.path = spot->path,
		};
		return true;
	}
	*ret_place = (struct clew_memory_place){.place = CLEW_ADDRESS_HEAP,
						.offset = spot->address - spot->start,
						.name = "",
						.path = ""};
	return spot->heap;
}
