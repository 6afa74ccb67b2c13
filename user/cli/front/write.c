/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writing to a file. The output goes to a temporary file in the same
 * folder that is renamed at the end, so that a trace may be written over its
 * own source, and no part of a file has the file's name. Nobody may read it who
 * may not read what it is made of.
 */
#include "cli/front/write.h"

#include "cli/front/fail.h"
#include "store/capture.h"
#include <clew/notation.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int clew_check_output(const char *input, const char *output)
{
	struct stat from, to;

	if (!output || !strcmp(output, "-") || stat(output, &to) < 0 || !S_ISREG(to.st_mode) ||
	    (strcmp(input, "-") ? stat(input, &from) : fstat(STDIN_FILENO, &from)) < 0 ||
	    from.st_dev != to.st_dev || from.st_ino != to.st_ino || clew_capture_probe(output) <= 0)
		return 0;
	return clew_fail(
		CLEW_EXIT_INPUT,
		"%s: is the capture itself, which would be lost: name another file to write",
		output);
}

int clew_fail_to_write(const char *name, int error)
{
	return clew_fail(CLEW_EXIT_SYSTEM, "%s: %s: name a place that can be written", name,
			 strerror(error));
}

/* ---- who may read it ---- */

/* The files that this program has read so far. */
static struct {
	bool known; /* else there is none, and the rest is meaningless */
	bool owners_differ, groups_differ;
	uid_t owner;
	gid_t group;
	mode_t mode; /* what their modes have in common */
} sources;

void clew_write_made_of(const struct stat *source)
{
	if (!sources.known) {
		sources.known = true;
		sources.owner = source->st_uid;
		sources.group = source->st_gid;
		sources.mode = 0666;
	}
	sources.owners_differ |= source->st_uid != sources.owner;
	sources.groups_differ |= source->st_gid != sources.group;
	sources.mode &= source->st_mode;
}

bool clew_write_is_theirs(const char *path)
{
	struct stat there;

	return sources.known && !sources.owners_differ && stat(path, &there) == 0 &&
	       there.st_uid == sources.owner;
}

/* The mode without a source. */
static mode_t mode_by_umask(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

void clew_write_give(int fd)
{
	uid_t owner = sources.owners_differ ? (uid_t)-1 : sources.owner;
	gid_t group = sources.groups_differ ? (gid_t)-1 : sources.group;
	mode_t mode = sources.mode;
	struct stat given;

	if (!sources.known) {
		mode = mode_by_umask();
	} else {
		/* Only root gives files away; others keep theirs, and the group if they are in it.
		 */
		if (fchown(fd, owner, group) < 0 && fchown(fd, (uid_t)-1, group) < 0)
			sources.groups_differ = true;
		/* A group that had no right to the sources gets what everybody has. */
		if (sources.groups_differ || fstat(fd, &given) < 0 || given.st_gid != sources.group)
			mode &= (mode_t)(0606 | (mode & 0006) << 3);
	}
	if (fstat(fd, &given) == 0 && S_ISDIR(given.st_mode))
		mode |= (mode & 0444) >> 2;
	fchmod(fd, mode);
}

/* The same for all that is in a folder, and then for the folder. Closes the descriptor. */
static void give_folder(int fd)
{
	int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	struct stat there;

	while (entries && (entry = readdir(entries))) {
		int inner;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		inner = openat(fd, entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (inner < 0)
			continue;
		if (fstat(inner, &there) == 0 && S_ISDIR(there.st_mode)) {
			give_folder(inner);
			continue;
		}
		clew_write_give(inner);
		close(inner);
	}
	if (entries)
		closedir(entries);
	else if (copy >= 0)
		close(copy);
	if (fd < 0)
		return;
	clew_write_give(fd);
	close(fd);
}

/* ---- writing ---- */

/* The function that writes a file. */
struct writer {
	int (*write)(void *context, FILE *out);
	void *context;
	const char *output;
};

static int write_open_file(const struct writer *writer, const char *output, int fd)
{
	FILE *out = fdopen(fd, "w");
	int status, failed;

	if (!out) {
		close(fd);
		return clew_fail_to_write(output, errno);
	}
	errno = 0;
	status = writer->write(writer->context, out);
	failed = ferror(out) | fflush(out);
	if (!status && failed)
		status = clew_fail_to_write(output, errno ?: EIO);
	if (fclose(out) != 0 && !status)
		status = clew_fail_to_write(output, errno);
	return status;
}

/* A handler of signals may call it, too: it takes no memory. */
static void remove_folder(int parent, const char *name)
{
	_Alignas(struct dirent64) char entries[4096];
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t size;

	while (fd >= 0 && (size = getdents64(fd, entries, sizeof(entries))) > 0)
		for (ssize_t at = 0; at < size;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			at += entry->d_reclen;
			if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
			    unlinkat(fd, entry->d_name, 0) < 0 && errno == EISDIR)
				remove_folder(fd, entry->d_name);
		}
	if (fd >= 0)
		close(fd);
	unlinkat(parent, name, AT_REMOVEDIR);
}

void clew_remove_folder(const char *folder)
{
	remove_folder(AT_FDCWD, folder);
}

/* The temporary file or folder while it is written, and by whom, for the handler. */
static const char *volatile unfinished;
static pid_t owner;

static void remove_unfinished(int number)
{
	const char *path = unfinished;

	if (path && getpid() == owner && unlink(path) < 0 && errno == EISDIR)
		remove_folder(AT_FDCWD, path);
	signal(number, SIG_DFL);
	raise(number);
}

/*
 * Until it is renamed, the file or folder is removed if the program is interrupted. A file within
 * a folder that is written has no guard of its own.
 */
static void guard(const char *path)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

	unfinished = path;
	owner = getpid();
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (signal(numbers[i], path ? remove_unfinished : SIG_DFL) == SIG_IGN)
			signal(numbers[i], SIG_IGN);
}

int clew_write_beside(const char *output, int (*write)(void *context, const char *path, int fd),
		      void *context)
{
	bool outer = unfinished != NULL;
	char *beside = NULL;
	int fd, kept, status;

	/*
	 * Exceeding the limit of file sizes is an error like a full disk: the
	 * temporary file is removed.
	 */
	signal(SIGXFSZ, SIG_IGN);
	if (asprintf(&beside, "%s.XXXXXX", output) < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: out of memory: free some and try again",
				 output);
	fd = mkstemp(beside);
	if (fd < 0) {
		status = clew_fail_to_write(output, errno);
		free(beside);
		return status;
	}
	if (!outer)
		guard(beside);
	/* While it is written only this user may open it. */
	kept = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	status = write(context, beside, fd);
	if (kept >= 0) {
		clew_write_give(kept);
		close(kept);
	} else if (!status) {
		status = clew_fail_to_write(output, EMFILE);
	}
	if (!status && rename(beside, output) < 0)
		status = clew_fail_to_write(output, errno);
	if (status)
		unlink(beside);
	if (!outer)
		guard(NULL);
	free(beside);
	return status;
}

/* For clew_write_beside(). `context`: const struct writer *. */
static int write_stream(void *context, const char *path, int fd)
{
	const struct writer *writer = context;

	(void)path;
	return write_open_file(writer, writer->output, fd);
}

static int write_file(const struct writer *writer, const char *output)
{
	struct stat there;
	int fd;

	signal(SIGXFSZ, SIG_IGN);
	/*
	 * Something other than a regular file, such as a pipe, is written in
	 * place.
	 */
	if (stat(output, &there) == 0 && !S_ISREG(there.st_mode)) {
		FILE *out = S_ISDIR(there.st_mode) ? NULL : fopen(output, "we");

		if (!out)
			return clew_fail_to_write(output, S_ISDIR(there.st_mode) ? EISDIR : errno);
		fd = dup(fileno(out));
		fclose(out);
		return fd < 0 ? clew_fail_to_write(output, errno)
			      : write_open_file(writer, output, fd);
	}
	return clew_write_beside(output, write_stream, (void *)writer);
}

int clew_write_file(const char *output, int (*write)(void *context, FILE *out), void *context)
{
	const struct writer writer = {.write = write, .context = context, .output = output};

	return strcmp(output, "-") ? write_file(&writer, output) : write(context, stdout);
}

int clew_write_folder(const char *output, int (*write)(void *context, const char *folder),
		      void *context)
{
	char *beside;
	int status;

	signal(SIGXFSZ, SIG_IGN);
	if (asprintf(&beside, "%s.XXXXXX", output) < 0)
		return clew_fail_memory();
	if (!mkdtemp(beside)) {
		status = clew_fail_to_write(output, errno);
		free(beside);
		return status;
	}
	guard(beside);
	status = write(context, beside);
	if (!status)
		give_folder(open(beside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (!status && rename(beside, output) < 0)
		status = clew_fail_to_write(output, errno);
	if (status)
		clew_remove_folder(beside);
	guard(NULL);
	free(beside);
	return status;
}

struct notation {
	const char *name; /* the trace's in messages */
	const struct clew_model *model;
};

static int write_notation(void *context, FILE *out)
{
	const struct notation *notation = context;
	char message[300];
	int r = clew_notation_write(notation->model, out, message, sizeof(message));

	if (r == -EINVAL)
		return clew_fail(CLEW_EXIT_INPUT, "%s: %s: see `clew check`", notation->name,
				 message);
	if (r < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: out of memory: free some and try again",
				 notation->name);
	return 0;
}

int clew_write_model(const char *name, const struct clew_model *model, const char *output)
{
	struct notation notation = {.name = name, .model = model};

	return clew_write_file(output, write_notation, &notation);
}
