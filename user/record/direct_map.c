/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A page of this process holds a word that is nowhere else. Its page frame is known from pagemap,
 * and a program looks at which distance from it the word shows.
 */
#include "record/direct_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "clew.skel.h"
#include "record/internal.h"

#define FRAME_BITS 55 /* of an entry of pagemap */

/* Locked, as it must not move until the program has run. */
static uint64_t page[512] __attribute__((aligned(4096)));

static int read_frame(uint64_t *ret_address)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;
	ssize_t got = -1;

	if (pagemap >= 0) {
		got = pread(pagemap, &entry, sizeof(entry),
			    (off_t)((uintptr_t)page / sizeof(page) * sizeof(entry)));
		close(pagemap);
	}
	*ret_address = (entry & ((1ull << FRAME_BITS) - 1)) * sizeof(page);
	return got == sizeof(entry) && *ret_address ? 0 : -ENOENT;
}

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

int clew_direct_map_prepare(struct clew_bpf *bpf)
{
	uint64_t frame;
	int r;

	if (mlock(page, sizeof(page)) ||
	    getrandom(page, sizeof(page[0]), GRND_NONBLOCK) != sizeof(page[0]))
		return -errno;
	r = read_frame(&frame);
	if (r < 0)
		return r;
	bpf->rodata->page_word = page[0];
	bpf->rodata->page_frame = frame;
	return 0;
}

int clew_direct_map_find(struct clew_bpf *bpf)
{
	char *data;
	size_t size;
	int r;

	if (!bpf->rodata->page_frame)
		return -ENOENT;
	r = clew_iterate_read(bpf->progs.clew_find_direct_map, &data, &size);
	if (r < 0)
		return r;
	free(data);
	munlock(page, sizeof(page));
	bpf->bss->five_levels = clew_five_levels();
	return bpf->bss->direct_map ? 0 : -ENOENT;
}
