/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Segments on their way to one capture. */
#include "cli/segments/joining.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/write.h"
#include "format/text.h"
#include "store/target.h"
#include "words/wall.h"

int clew_joining_fail(const char *path, int error, const char *message)
{
	bool input = error == -EINVAL || error == -EXDEV || error == -ENODATA || error == -ENOENT;

	return clew_fail(input ? CLEW_EXIT_INPUT : CLEW_EXIT_SYSTEM, "%s: %s", path, message);
}

static int is_segment(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 5 && !strcmp(entry->d_name + length - 5, ".clew");
}

int clew_joining_add(struct clew_join *join, const char *path, char *message, size_t message_size)
{
	struct stat status;
	bool there = stat(path, &status) == 0;
	int r = clew_join_add(join, path, message, message_size);

	if (r >= 0 && there)
		clew_write_made_of(&status);
	return r;
}

/* A segment that has just been begun, or whose recording was killed then, has nothing yet. */
int clew_joining_directory(struct clew_join *join, const char *directory)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, is_segment, alphasort), status = 0, r = 0;
	char message[300];

	if (count < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: %s: name another directory", directory,
				 strerror(errno));
	for (int i = count; i-- > 0;) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
		free(entries[i]);
		if (status || r == -EXDEV)
			continue;
		r = clew_joining_add(join, path, message, sizeof(message));
		/* The oldest may have been removed meanwhile. */
		if (r < 0 && r != -EXDEV && r != -ENODATA && r != -ENOENT)
			status = clew_joining_fail(path, r, message);
	}
	free(entries);
	return status;
}

/* Moves the ends into what is there, unless nothing of the window is. */
static int cut(struct clew_window *window, const struct clew_time_base *base)
{
	char from[40], to[40];

	if (window->to < base->start || window->from > base->end)
		return clew_fail(CLEW_EXIT_INPUT,
				 "nothing of that time is kept: what is there is from %s to %s",
				 clew_format_wall(base->start, base, from, sizeof(from)),
				 clew_format_wall(base->end, base, to, sizeof(to)));
	if (window->from < base->start)
		window->from = base->start;
	if (window->to > base->end)
		window->to = base->end;
	return 0;
}

static int read_window(const struct clew_joining *joining, size_t count, struct clew_window *window,
		       bool kept)
{
	int (*take)(const char *, const char *, const struct clew_time_base *, uint64_t *) =
		kept ? clew_moment_read : clew_moment_take;
	const struct clew_join_segment *first = clew_join_at(joining->join, 0);
	struct clew_time_base base;
	int status;

	clew_wall_base_of(first->info, clew_join_meta(joining->join, "utc_offset"), &base);
	base.end = clew_join_at(joining->join, count - 1)->info->end;
	window->from = base.start;
	window->to = base.end;
	status = take("from", window->from_text, &base, &window->from);
	if (!status)
		status = take("to", window->to_text, &base, &window->to);
	if (!status && window->from > window->to)
		status = clew_fail(CLEW_EXIT_INPUT, "--from is behind --to: exchange them");
	return status || !kept ? status : cut(window, &base);
}

int clew_joining_choose(struct clew_joining *joining, struct clew_window *window, bool kept)
{
	size_t count = joining->count ?: clew_join_sort(joining->join);
	int status;

	if (!count)
		return clew_fail(CLEW_EXIT_INPUT,
				 "there are no segments: record with --rotate, and name its "
				 "directory");
	status = read_window(joining, count, window, kept);
	while (joining->first + 1 < count &&
	       clew_join_at(joining->join, joining->first)->info->end <= window->from)
		joining->first++;
	joining->count = 1;
	while (joining->first + joining->count < count &&
	       clew_join_at(joining->join, joining->first + joining->count)->info->start <
		       window->to)
		joining->count++;
	return status;
}

static int write_to(struct clew_joining *output, int fd)
{
	char path[32], message[300];
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = clew_join_write(output->join, output->first, output->count, path, &output->missing,
			    message, sizeof(message));
	if (r < 0 && message[0])
		return clew_fail(CLEW_EXIT_INPUT, "%s", message);
	if (r < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: %s: name a place that can be written",
				 output->name, strerror(-r));
	return 0;
}

static int write_joined(void *context, FILE *out)
{
	return write_to(context, fileno(out));
}

/* ---- standard output ---- */

/* Passes on what comes from a pipe. Returns an errno. */
static void *pass_on(void *pipe)
{
	int from = *(int *)pipe, error = 0;
	char bytes[65536];
	ssize_t size;

	while (!error && (size = read(from, bytes, sizeof(bytes))) > 0)
		if (fwrite(bytes, 1, (size_t)size, stdout) < (size_t)size)
			error = errno;
	if (!error && fflush(stdout) != 0)
		error = errno;
	close(from);
	return (void *)(intptr_t)error;
}

/* A capture is written by a path, which standard output has not if it is a socket. */
static int write_to_standard(struct clew_joining *output)
{
	pthread_t thread;
	void *error = NULL;
	int ends[2], status;

	if (isatty(STDOUT_FILENO))
		return clew_fail(CLEW_EXIT_INPUT,
				 "a capture is nothing to be read on a terminal: name a file");
	if (pipe2(ends, O_CLOEXEC) < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: try again", strerror(errno));
	if (pthread_create(&thread, NULL, pass_on, &ends[0]) != 0) {
		close(ends[0]);
		close(ends[1]);
		return clew_fail_memory();
	}
	status = write_to(output, ends[1]);
	close(ends[1]);
	pthread_join(thread, &error);
	if (error && !status)
		status = clew_fail_to_write(output->name, (int)(intptr_t)error);
	return status;
}

static void say_what(const struct clew_joining *output)
{
	const struct clew_join_segment *first = clew_join_at(output->join, output->first),
				       *last = clew_join_at(output->join,
							    output->first + output->count - 1);

	fprintf(stderr, "clew: %s: %zu segment%s, %s\n", output->name, output->count,
		output->count == 1 ? "" : "s", CLEW_DURATION(last->info->end - first->info->start));
	if (output->missing)
		fprintf(stderr,
			"clew: %llu segment%s between them are missing: the capture has a "
			"gap there\n",
			(unsigned long long)output->missing, output->missing == 1 ? "" : "s");
}

int clew_joining_write(struct clew_joining *joining)
{
	const char *refusal;
	int status, r;

	if (!strcmp(joining->name, "-")) {
		joining->name = "standard output";
		status = write_to_standard(joining);
		if (!status && !joining->quiet)
			say_what(joining);
		return status;
	}
	r = store_target_check(joining->name);
	refusal = r == STORE_TARGET_OWNER && clew_write_is_theirs(joining->name)
			  ? NULL
			  : store_target_refusal(r);
	if (refusal)
		return clew_fail(CLEW_EXIT_INPUT, "%s cannot be written: %s: give another -o",
				 joining->name, refusal);
	status = clew_write_file(joining->name, write_joined, joining);
	if (!status && !joining->quiet)
		say_what(joining);
	return status;
}
