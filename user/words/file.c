/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files and disks in words. */
#include "words/file.h"

#include <inttypes.h>
#include <string.h>

#include "format/text.h"

const char *clew_true_path(uint32_t device, uint64_t inode, const char *path)
{
	/* A disk's inode has no name; a file of a file system without a disk has one. */
	return path[0] && !(clew_is_disk_inode(device, inode) && !strcmp(path, "/")) ? path : NULL;
}

const char *clew_file_path(const struct clew_trace *trace, uint32_t device, uint64_t inode,
			   uint64_t at)
{
	const char *path;

	clew_trace_file_at(trace, device, inode, at, &path);
	return clew_true_path(device, inode, path);
}

void clew_print_file(FILE *out, const struct clew_trace *trace, uint32_t device, uint64_t inode,
		     uint64_t at)
{
	const char *path = clew_file_path(trace, device, inode, at);

	if (path)
		clew_print_safe(out, path);
	else if (clew_is_disk_inode(device, inode))
		fprintf(out, "metadata of %s", CLEW_DISK(trace, (uint32_t)inode));
	else
		fprintf(out, "inode %" PRIu64 " of %s", inode, CLEW_DISK(trace, device));
}
