/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A page of this process holds a word that is nowhere else. A program looks with which place of the
 * kernel's map the page tables of this process lead to it.
 */
#include "record/stacks/direct_map.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "clew.skel.h"
#include "record/stream/iterator.h"

/* Locked, as it must not move until the program has run. */
static uint64_t page[512] __attribute__((aligned(4096)));

#ifdef __aarch64__
/* With pages of 4 kB, a place above 48 bits needs a fifth level. Whoever names such a place gets
 * one where there are any. */
#define ABOVE_FOUR_LEVELS (1ull << 49)

bool clew_five_levels(void)
{
	void *at = mmap((void *)ABOVE_FOUR_LEVELS, sizeof(page), PROT_READ,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return false;
	munmap(at, sizeof(page));
	return (uintptr_t)at >= ABOVE_FOUR_LEVELS;
}
#else
bool clew_five_levels(void)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char *line = NULL;
	size_t room = 0;
	bool found = false;

	while (file && !found && getline(&line, &room, file) >= 0)
		found = !strncmp(line, "flags", 5) && strstr(line, " la57");
	free(line);
	if (file)
		fclose(file);
	return found;
}
#endif

int clew_direct_map_prepare(struct clew_bpf *bpf)
{
	if (mlock(page, sizeof(page)) ||
	    getrandom(page, sizeof(page[0]), GRND_NONBLOCK) != sizeof(page[0]))
		return -errno;
	bpf->rodata->page_word = page[0];
	bpf->rodata->page_address = (uintptr_t)page;
	return 0;
}

int clew_direct_map_find(struct clew_bpf *bpf)
{
	char *data;
	size_t size;
	int r;

	if (!bpf->rodata->page_address || !bpf_program__autoload(bpf->progs.clew_find_direct_map))
		return -ENOENT;
	bpf->bss->five_levels = clew_five_levels();
	r = clew_iterate_read(bpf->progs.clew_find_direct_map, &data, &size);
	if (r < 0)
		return r;
	free(data);
	munlock(page, sizeof(page));
	return bpf->bss->direct_map ? 0 : -ENOENT;
}
