/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The file that a capture goes to, or the folder of its segments: opened only if nobody else can
 * have chosen it. A capture has everyone's command lines, and a recorder runs as root.
 */
#ifndef CLEW_STORE_TARGET_H
#define CLEW_STORE_TARGET_H

#include <errno.h>
#include <stdbool.h>

/* Reasons for a refusal, besides errors of open(2). */
#define STORE_TARGET_LINK  (-ENOLINK)	   /* a link to it is in a folder that others may write */
#define STORE_TARGET_OWNER (-EKEYREJECTED) /* it belongs to another user */
#define STORE_TARGET_OPEN  (-EKEYREVOKED)  /* everybody may write it */

/*
 * Opens a file for writing, without changing it, and makes it with mode 0600 if it is not there.
 * `flags`: more flags of open(2). A path in /proc names what somebody has opened already, and a
 * pipe has no contents: these are taken as they are. 0 or -errno.
 */
int store_target_open(const char *path, int flags, int *ret_fd, bool *ret_made);

/* Opens a folder for reading its entries. */
int store_target_folder(const char *path, int *ret_fd);

/* Looks at what store_target_open() would open. 0: it would be taken, or made. */
int store_target_check(const char *path);

/* Says why a file or folder was refused; NULL: it was not, the error is another one. */
const char *store_target_refusal(int error);

#endif
