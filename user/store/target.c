/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Goes along a path from folder to folder, so that each symbolic link is seen together with the
 * folder that it is in. Nothing is opened for reading or writing before it is known what it is:
 * opening a device may do something.
 */
#include "store/target.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MOST 40 /* as the kernel has it */
#define TRIES	   8

/* A walk along a path. */
struct walk {
	int folder;	     /* where `rest` begins */
	char rest[PATH_MAX]; /* what is still to be walked; no longer needed once `name` is found */
	char name[NAME_MAX + 1]; /* the next part */
	bool last;		 /* `name` is the last part */
	bool others;		 /* others may have made a link that was followed */
	unsigned links;
};

/* True if somebody else than root and this user may put names into the folder. */
static bool others_may_write(int folder)
{
	struct stat status;

	if (fstat(folder, &status) < 0)
		return true;
	return (status.st_uid != 0 && status.st_uid != geteuid()) || status.st_mode & S_IWOTH ||
	       (status.st_mode & S_IWGRP && status.st_gid != 0 && status.st_gid != getegid());
}

static bool in_proc(int folder)
{
	struct statfs status;

	return fstatfs(folder, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

static int enter(struct walk *walk, int folder)
{
	if (folder < 0)
		return -errno;
	if (walk->folder >= 0)
		close(walk->folder);
	walk->folder = folder;
	return 0;
}

/* Begins, or goes on, with a path. */
static int set_path(struct walk *walk, const char *path)
{
	size_t length = strlen(path);

	if (!length)
		return -ENOENT;
	if (length >= sizeof(walk->rest))
		return -ENAMETOOLONG;
	memmove(walk->rest, path, length + 1);
	if (walk->folder >= 0 && path[0] != '/')
		return 0;
	return enter(walk, open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Takes the next part of the path. A path of a folder ends in its own ".". */
static int next_name(struct walk *walk)
{
	char *at = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(at, "/");

	if (length > NAME_MAX)
		return -ENAMETOOLONG;
	snprintf(walk->name, sizeof(walk->name), "%.*s", length ? (int)length : 1,
		 length ? at : ".");
	walk->last = !at[length];
	memmove(walk->rest, at + length, strlen(at + length) + 1);
	return 0;
}

static int follow(struct walk *walk, int link)
{
	char path[PATH_MAX];
	ssize_t size = readlinkat(link, "", path, sizeof(path));
	size_t rest = strlen(walk->rest);

	if (size < 0)
		return -errno;
	if (++walk->links > LINKS_MOST)
		return -ELOOP;
	if ((size_t)size + rest >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path + size, walk->rest, rest + 1);
	walk->others |= others_may_write(walk->folder);
	return set_path(walk, path);
}

/*
 * Walks to the last part of the path, which is no link. *ret_node is a descriptor of O_PATH of it,
 * or -ENOENT: it is not there.
 */
static int go(struct walk *walk, int *ret_node)
{
	for (;;) {
		struct stat status;
		int node, r = next_name(walk);

		if (r < 0)
			return r;
		/* A link in there has no path. */
		if (in_proc(walk->folder)) {
			node = openat(walk->folder, walk->name, O_PATH | O_CLOEXEC);
			*ret_node = node;
			if (walk->last)
				return node < 0 ? -errno : 0;
			r = enter(walk, node);
			if (r < 0)
				return r;
			continue;
		}
		node = openat(walk->folder, walk->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (node < 0) {
			*ret_node = -ENOENT;
			return errno == ENOENT && walk->last ? 0 : -errno;
		}
		if (fstat(node, &status) == 0 && S_ISLNK(status.st_mode)) {
			r = follow(walk, node);
			close(node);
		} else if (walk->last) {
			*ret_node = node;
			return 0;
		} else {
			r = S_ISDIR(status.st_mode) ? enter(walk, node) : -ENOTDIR;
		}
		if (r < 0)
			return r;
	}
}

static int judge(const struct walk *walk, const struct stat *status)
{
	if (in_proc(walk->folder) || S_ISFIFO(status->st_mode))
		return 0;
	if (walk->others ||
	    (S_ISREG(status->st_mode) && status->st_nlink > 1 && others_may_write(walk->folder)))
		return STORE_TARGET_LINK;
	if (!S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode))
		return 0;
	if (status->st_uid != geteuid())
		return STORE_TARGET_OWNER;
	return status->st_mode & S_IWOTH ? STORE_TARGET_OPEN : 0;
}

/* Opens what was looked at, and nothing that took its place since. */
static int open_node(const struct walk *walk, int node, int flags, int *ret_fd)
{
	int fd = openat(walk->folder, walk->name,
			(flags & ~O_CREAT) | O_CLOEXEC | (in_proc(walk->folder) ? 0 : O_NOFOLLOW));
	struct stat looked, opened;

	if (fd < 0)
		return -errno;
	if (fstat(node, &looked) < 0 || fstat(fd, &opened) < 0 || looked.st_dev != opened.st_dev ||
	    looked.st_ino != opened.st_ino) {
		close(fd);
		return -EAGAIN;
	}
	*ret_fd = fd;
	return 0;
}

/* `flags`: O_PATH: nothing is opened. -EAGAIN: somebody exchanged it meanwhile. */
static int try(const char *path, int flags, int *ret_fd, bool *ret_made)
{
	struct walk walk = {.folder = -1};
	struct stat status;
	int node = -1, r = set_path(&walk, path);

	*ret_made = false;
	if (r >= 0)
		r = go(&walk, &node);
	if (r >= 0 && node >= 0) {
		r = fstat(node, &status) < 0 ? -errno
		    : S_ISDIR(status.st_mode) && !(flags & (O_PATH | O_DIRECTORY))
			    ? -EISDIR
			    : judge(&walk, &status);
		if (r >= 0 && !(flags & O_PATH))
			r = open_node(&walk, node, flags, ret_fd);
	} else if (r >= 0 && walk.others) {
		r = STORE_TARGET_LINK;
	} else if (r >= 0 && flags & O_CREAT) {
		*ret_fd = openat(walk.folder, walk.name, flags | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				 0600);
		*ret_made = *ret_fd >= 0;
		r = *ret_fd >= 0 ? 0 : errno == EEXIST ? -EAGAIN : -errno;
	} else if (r >= 0 && !(flags & O_PATH)) {
		r = -ENOENT;
	}
	if (node >= 0)
		close(node);
	if (walk.folder >= 0)
		close(walk.folder);
	return r;
}

static int try_again(const char *path, int flags, int *ret_fd, bool *ret_made)
{
	int r = -EAGAIN;

	for (unsigned i = 0; i < TRIES && r == -EAGAIN; i++)
		r = try(path, flags, ret_fd, ret_made);
	return r;
}

int store_target_open(const char *path, int flags, int *ret_fd, bool *ret_made)
{
	return try_again(path, flags | O_WRONLY | O_CREAT | O_NONBLOCK, ret_fd, ret_made);
}

int store_target_folder(const char *path, int *ret_fd)
{
	bool made;

	return try_again(path, O_RDONLY | O_DIRECTORY, ret_fd, &made);
}

int store_target_check(const char *path)
{
	bool made;
	int fd;

	return try_again(path, O_PATH, &fd, &made);
}

const char *store_target_refusal(int error)
{
	switch (error) {
	case STORE_TARGET_LINK:
		return "a link to it lies in a folder that others may write";
	case STORE_TARGET_OWNER:
		return "it belongs to another user";
	case STORE_TARGET_OPEN:
		return "everybody may write it";
	default:
		return NULL;
	}
}
