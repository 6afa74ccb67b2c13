/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew join: segments of a recording as one capture. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/fail.h"
#include "cli/options.h"
#include "cli/window.h"
#include "cli/write.h"
#include "store/join.h"
#include "words/position.h"
#include "words/text.h"
#include "words/wall.h"

struct join_values {
	const char *output;
	struct clew_window window;
};

const struct clew_option clew_join_options[] = {
	{'o', "output", "FILE", "write the capture there (joined.clew)", clew_take_string,
	 offsetof(struct join_values, output)},
	{0, "from", "TIME", "begin with the segment of that moment", clew_take_string,
	 offsetof(struct join_values, window.from_text)},
	{0, "to", "TIME", "end with the segment of that moment", clew_take_string,
	 offsetof(struct join_values, window.to_text)},
	CLEW_OPTION_END,
};

struct output {
	struct clew_join *join;
	const char *name;
	size_t first, count;
	uint64_t missing;
};

static int fail_to_open(const char *path, int error, const char *message)
{
	bool input = error == -EINVAL || error == -EXDEV || error == -ENODATA || error == -ENOENT;

	return clew_fail(input ? CLEW_EXIT_INPUT : CLEW_EXIT_SYSTEM, "%s: %s", path, message);
}

static int is_segment(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 5 && !strcmp(entry->d_name + length - 5, ".clew");
}

/*
 * Adds the segments of the directory's last recording. A segment that has just been begun, or
 * whose recording was killed then, has nothing yet.
 */
static int add_directory(struct clew_join *join, const char *directory)
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
		r = clew_join_add(join, path, message, sizeof(message));
		/* The oldest may have been removed meanwhile. */
		if (r < 0 && r != -EXDEV && r != -ENODATA && r != -ENOENT)
			status = fail_to_open(path, r, message);
	}
	free(entries);
	return status;
}

static int add_all(struct clew_join *join, char **operands)
{
	char message[300];
	struct stat there;
	int status = 0;

	for (char **path = operands; *path && !status; path++) {
		int r;

		if (!stat(*path, &there) && S_ISDIR(there.st_mode)) {
			status = add_directory(join, *path);
			continue;
		}
		r = clew_join_add(join, *path, message, sizeof(message));
		if (r < 0)
			status = fail_to_open(*path, r, message);
	}
	return status;
}

/* Chooses the segments that the window touches. */
static int choose(struct output *output, struct clew_window *window)
{
	size_t count = clew_join_sort(output->join);
	const struct clew_segment *first, *last;
	struct clew_time_base base;
	int status;

	if (!count)
		return clew_fail(CLEW_EXIT_INPUT,
				 "there are no segments: record with --rotate, and name its "
				 "directory");
	first = clew_join_at(output->join, 0);
	last = clew_join_at(output->join, count - 1);
	clew_wall_base_of(first->info, clew_join_meta(output->join, "utc_offset"), &base);
	base.end = last->info->end;
	window->from = base.start;
	window->to = base.end;
	status = clew_moment_take("from", window->from_text, &base, &window->from);
	if (!status)
		status = clew_moment_take("to", window->to_text, &base, &window->to);
	if (!status && window->from > window->to)
		status = clew_fail(CLEW_EXIT_INPUT, "--from is behind --to: exchange them");
	while (output->first + 1 < count &&
	       clew_join_at(output->join, output->first)->info->end <= window->from)
		output->first++;
	output->count = 1;
	while (output->first + output->count < count &&
	       clew_join_at(output->join, output->first + output->count)->info->start < window->to)
		output->count++;
	return status;
}

static int write_joined(void *context, FILE *out)
{
	struct output *output = context;
	char path[32], message[300];
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(out));
	r = clew_join_write(output->join, output->first, output->count, path, &output->missing,
			    message, sizeof(message));
	if (r < 0 && message[0])
		return clew_fail(CLEW_EXIT_INPUT, "%s", message);
	if (r < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: %s: name a place that can be written",
				 output->name, strerror(-r));
	return 0;
}

static void say_what(const struct output *output)
{
	const struct clew_segment *first = clew_join_at(output->join, output->first),
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

int clew_command_join(const struct clew_command *command, int argc, char **argv)
{
	struct join_values values = {.output = "joined.clew"};
	struct output output = {};
	char **operands;
	int status, r;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	r = clew_join_new(&output.join);
	if (r < 0)
		return clew_fail_memory();
	output.name = values.output;
	status = add_all(output.join, operands);
	if (!status)
		status = choose(&output, &values.window);
	if (!status && !strcmp(values.output, "-"))
		status =
			clew_fail(CLEW_EXIT_INPUT, "a capture cannot go to standard output: name a "
						   "file");
	if (!status)
		status = clew_write_file(values.output, write_joined, &output);
	if (!status)
		say_what(&output);
	clew_join_free(output.join);
	return status;
}
