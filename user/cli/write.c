/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writing to a file. The output goes to a temporary file in the same
 * folder that is renamed at the end, so that a trace may be written over its
 * own source, and no part of a file has the file's name.
 */
#include "cli/write.h"

#include "cli/fail.h"
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
	mode_t mask;
	int fd, status;

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
	mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
	status = write(context, beside, fd);
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
	mode_t mask = umask(0);
	int status;

	umask(mask);
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
	if (!status && (chmod(beside, 0777 & ~mask) < 0 || rename(beside, output) < 0))
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
