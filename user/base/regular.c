/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A file is pinned by its name first, which opens nothing, and looked at. Then it is opened by its
 * descriptor: nobody can put another file in its place meanwhile.
 */
#include "base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int regular_reopen(int path)
{
	char link[64];
	int file;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path);
	file = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return file < 0 ? -errno : file;
}

int regular_open(const char *path)
{
	int pinned = open(path, O_PATH | O_CLOEXEC), r;
	struct stat status;

	if (pinned < 0)
		return -errno;
	r = fstat(pinned, &status) < 0 ? -errno
	    : S_ISDIR(status.st_mode)  ? -EISDIR
	    : !S_ISREG(status.st_mode) ? -EBADMSG
				       : regular_reopen(pinned);
	close(pinned);
	return r;
}
