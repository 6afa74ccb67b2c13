/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The file of keys beside a capture. It is written without a name and gets that of the one before
 * in one step, so that nobody reads half of it.
 */
#include "cli/spans/keys_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/front/fail.h"
#include "cli/front/write.h"
#include "cli/operand/open.h"
#include "format/position.h"
#include "store/capture.h"
#include "words/ledger.h"
#include "words/wall.h"

#define SUFFIX ".idx"

/* A capture whose keys are asked for. */
struct source {
	const char *operand;
	struct clew_keys_stamp stamp;
	struct clew_keys_about about;
	const struct clew_relations *relations;
};

static void tell_about(const struct clew_trace *trace, struct clew_keys_about *ret_about)
{
	const struct clew_capture_info *info = clew_trace_info(trace);
	struct clew_time_base base;
	struct clew_ledger_sum sum;

	clew_wall_base(trace, &base);
	*ret_about = (struct clew_keys_about){.start = base.start,
					      .end = base.end,
					      .wall = base.wall,
					      .zone = base.zone,
					      .has_wall = base.has_wall};
	if (!info || info->imported)
		return;
	clew_ledger_add_up(info, &sum);
	ret_about->has_ledger = true;
	ret_about->lost = sum.total.lost;
	ret_about->lost_known = sum.lost_known || sum.total.lost;
	ret_about->missing = sum.missing;
	ret_about->balanced = sum.balanced;
	ret_about->complete = info->complete;
}

/* Writes the keys to a descriptor, which stays open. 0 or -errno. */
static int write_keys(const struct source *source, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), r;
	FILE *out = copy < 0 ? NULL : fdopen(copy, "w");

	if (!out) {
		r = -errno;
		if (copy >= 0)
			close(copy);
		return r;
	}
	errno = 0;
	r = clew_keys_write(source->relations, &source->stamp, &source->about, out);
	if ((ferror(out) | fflush(out)) && r >= 0)
		r = errno ? -errno : -EIO;
	fclose(out);
	return r;
}

/* Gives an open file without a name the name of the capture's keys. Where that cannot be, it stays
 * without one. */
static void name_file(int fd, const char *path)
{
	char from[40], *beside;

	if (asprintf(&beside, "%s.%d", path, (int)getpid()) < 0)
		return;
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, from, AT_FDCWD, beside, AT_SYMLINK_FOLLOW) == 0 &&
	    rename(beside, path) < 0)
		unlink(beside);
	free(beside);
}

/* Makes the file beside the capture. Returns a descriptor or -errno. */
static int make_beside(const struct source *source, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd = folder ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1, r;

	r = fd < 0 ? -errno : write_keys(source, fd);
	free(folder);
	if (r >= 0) {
		clew_write_give(fd);
		name_file(fd, path);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return r;
}

/* Reads all of the capture. `path` NULL: the keys are not kept. */
static int make_keys(struct source *source, const char *path, struct clew_keys **ret_keys)
{
	struct clew_relations *relations = NULL;
	struct clew_trace *trace;
	int status = clew_open_trace(source->operand, 0, &trace), fd = -1, r = 0;

	if (status)
		return status;
	status = clew_open_relations(trace, 0, &relations);
	if (!status) {
		source->relations = relations;
		tell_about(trace, &source->about);
		fd = path ? make_beside(source, path) : -1;
		if (fd < 0) {
			fd = memfd_create("keys", MFD_CLOEXEC);
			r = fd < 0 ? -errno : write_keys(source, fd);
		}
		if (r >= 0)
			r = clew_keys_open(fd, NULL, ret_keys);
		if (r < 0)
			status = r == -ENOMEM ? clew_fail_memory()
					      : clew_fail(CLEW_EXIT_SYSTEM,
							  "the keys of the calls: %s: free "
							  "memory, or record for a shorter time",
							  strerror(-r));
	}
	if (fd >= 0)
		close(fd);
	clew_relations_free(relations);
	clew_trace_free(trace);
	return status;
}

/* Opens the file at `path` if it is of this capture. -ENOENT: there is none; else as
 * clew_keys_open(). */
static int find_keys(const struct source *source, const char *path, struct clew_keys **ret_keys)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r;

	if (fd < 0)
		return -errno;
	r = clew_keys_open(fd, &source->stamp, ret_keys);
	close(fd);
	return r;
}

/* True if an operand is a capture beside which keys can be. */
static bool take_stamp(struct source *source)
{
	struct stat status;
	int fd, r;

	if (!strcmp(source->operand, "-") || stat(source->operand, &status) < 0 ||
	    !S_ISREG(status.st_mode) || clew_capture_probe(source->operand) <= 0)
		return false;
	fd = open(source->operand, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	r = clew_keys_stamp(fd, &source->stamp);
	close(fd);
	return r >= 0;
}

int clew_open_keys(const char *operand, struct clew_keys **ret_keys)
{
	struct source source = {.operand = operand};
	char *path = NULL;
	int status, r;

	if (!take_stamp(&source))
		return make_keys(&source, NULL, ret_keys);
	if (asprintf(&path, "%s" SUFFIX, operand) < 0)
		return clew_fail_memory();
	r = find_keys(&source, path, ret_keys);
	/* A file of that name that is something else is somebody's. */
	status = r < 0 ? make_keys(&source, r == -ENOENT || r == -ESTALE ? path : NULL, ret_keys)
		       : 0;
	free(path);
	return status;
}
