/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds a file and makes sure that it is the one that was asked for. Nothing is opened before it is
 * known to be a regular file: the open of a device acts on it, and that of a FIFO waits.
 *
 * The link of a mapping in /proc leads to the mapped file itself. If the mapping is gone, the path
 * may lead to another file by now, so its inode and generation are compared. overlayfs and btrfs
 * call devices otherwise than the kernel does, so there the device is not.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/regular.h"
#include "opener/internal.h"

/* The inode of the user namespace in which the machine began. */
#define FIRST_USER_NAMESPACE 0xEFFFFFFDu

/* A path that was opened, and what is known of the file. */
struct found {
	int path;
	struct stat status;
	unsigned long file_system; /* its magic number */
};

/* Takes the descriptor, which open(2) gave or refused. */
static int look_at(int path, struct found *ret_found)
{
	struct statfs file_system;
	int r;

	if (path < 0)
		return -errno;
	ret_found->path = path;
	r = fstat(path, &ret_found->status) < 0	  ? -errno
	    : S_ISDIR(ret_found->status.st_mode)  ? -EISDIR
	    : !S_ISREG(ret_found->status.st_mode) ? -EBADMSG
	    : fstatfs(path, &file_system) < 0	  ? -errno
						  : 0;
	if (r < 0)
		close(path);
	else
		ret_found->file_system = (unsigned long)file_system.f_type;
	return r;
}

static int open_below(int root, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static bool has_own_devices(const struct found *found)
{
	return found->file_system == OVERLAYFS_SUPER_MAGIC ||
	       found->file_system == BTRFS_SUPER_MAGIC;
}

/* False: the file system has no such number. */
static bool read_generation(int path, uint32_t *ret_generation)
{
	int file = regular_reopen(path), generation = 0;
	bool has = file >= 0 && !ioctl(file, FS_IOC_GETVERSION, &generation);

	if (file >= 0)
		close(file);
	*ret_generation = (uint32_t)generation;
	return has;
}

static bool is_wanted(const struct found *found, const struct opener_request *request)
{
	uint32_t generation;

	return found->status.st_ino == request->inode &&
	       (has_own_devices(found) || (major(found->status.st_dev) == request->major &&
					   minor(found->status.st_dev) == request->minor)) &&
	       (!request->generation || !read_generation(found->path, &generation) ||
		generation == request->generation);
}

/* The mapping is gone, and maybe its process, too. */
static int find_by_path(const struct opener_request *request, struct found *ret_found)
{
	char name[32];
	int root, r;

	snprintf(name, sizeof(name), "/proc/%d/root", request->pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	r = look_at(open_below(root, request->text), ret_found);
	close(root);
	if (r < 0 || is_wanted(ret_found, request))
		return r;
	close(ret_found->path);
	return -ESTALE;
}

static int find_mapped(const struct opener_request *request, struct found *ret_found)
{
	char link[96];
	int r;

	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", request->pid,
		 (unsigned long long)request->start, (unsigned long long)request->end);
	r = look_at(open(link, O_PATH | O_CLOEXEC), ret_found);
	if (r < 0 && (r == -EBADMSG || r == -EISDIR))
		return r;
	/* Another file may be mapped there by now. overlayfs may have a number of its own. */
	if (r >= 0 && (ret_found->status.st_ino == request->inode ||
		       ret_found->file_system == OVERLAYFS_SUPER_MAGIC))
		return 0;
	if (r >= 0)
		close(ret_found->path);
	return *request->text == '/' ? find_by_path(request, ret_found) : -ESTALE;
}

static int find_below(const struct opener_request *request, int proc, struct found *ret_found)
{
	int root = openat(proc, "root", O_PATH | O_DIRECTORY | O_CLOEXEC), r;

	if (root < 0)
		return -errno;
	r = look_at(open_below(root, request->text), ret_found);
	close(root);
	return r;
}

/* True if a layer of overlayfs has the file's blocks: then no server has. */
static bool has_blocks(int path)
{
	struct fiemap map = {.fm_length = FIEMAP_MAX_OFFSET};
	int file = regular_reopen(path);
	bool has = file >= 0 && !ioctl(file, FS_IOC_FIEMAP, &map);

	if (file >= 0)
		close(file);
	return has;
}

/* True if the mounts that a process sees are root's. */
static bool mounts_of_root(pid_t pid)
{
	char name[40];
	struct stat status;
	int mounts, users;
	bool is = false;

	if (!pid)
		return true;
	snprintf(name, sizeof(name), "/proc/%d/ns/mnt", pid);
	mounts = open(name, O_RDONLY | O_CLOEXEC);
	users = mounts < 0 ? -1 : ioctl(mounts, NS_GET_USERNS);
	if (users >= 0) {
		is = !fstat(users, &status) && status.st_ino == FIRST_USER_NAMESPACE;
		close(users);
	}
	if (mounts >= 0)
		close(mounts);
	return is;
}

static bool is_probeable(const struct found *found, pid_t pid)
{
	if (found->file_system == FUSE_SUPER_MAGIC)
		return false;
	return found->file_system != OVERLAYFS_SUPER_MAGIC || mounts_of_root(pid) ||
	       has_blocks(found->path);
}

int opener_find(const struct opener_request *request, int proc, struct opener_reply *reply)
{
	struct found found = {.path = -1};
	const struct timespec *changed = &found.status.st_ctim;
	int r = request->kind == OPENER_MAPPED ? find_mapped(request, &found)
		: request->kind == OPENER_BELOW
			? find_below(request, proc, &found)
			: look_at(open(request->text, O_PATH | O_CLOEXEC), &found);
	char link[64];
	ssize_t length;

	if (r < 0)
		return r;
	reply->opened = (struct clew_opened){
		.path = found.path,
		.device = found.status.st_dev,
		.inode = found.status.st_ino,
		.changed = (uint64_t)changed->tv_sec * 1000000000 + (uint64_t)changed->tv_nsec,
		.size = (uint64_t)found.status.st_size,
		.owner = found.status.st_uid,
		.probeable = is_probeable(&found, request->pid),
	};
	/* An entry that was scanned comes without one. */
	reply->opened.generation = (uint32_t)request->generation;
	if (request->kind == OPENER_MAPPED && !request->generation)
		read_generation(found.path, &reply->opened.generation);
	if (request->kind == OPENER_NAMED || !*request->text) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", found.path);
		length = readlink(link, reply->path, sizeof(reply->path) - 1);
		reply->path[length > 0 ? length : 0] = '\0';
	}
	return 0;
}
