/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens regular files only: the open of a device acts on it, and that of a FIFO may wait. */
#ifndef CLEW_BASE_REGULAR_H
#define CLEW_BASE_REGULAR_H

/* Opens a file for reading. A descriptor or -errno: -EISDIR of a folder, -EBADMSG of what else is
 * no regular file. */
int regular_open(const char *path);
/* Opens for reading what an O_PATH descriptor refers to, which is known to be regular. A descriptor
 * or -errno. */
int regular_reopen(int path);

#endif
