/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Segments on their way to one capture. */
#include "cli/segments/joining.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/write.h"
#include "format/text.h"
#include "store/target.h"

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

static int write_joined(void *context, FILE *out)
{
	struct clew_joining *output = context;
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

static void say_what(const struct clew_joining *output)
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

int clew_joining_write(struct clew_joining *joining)
{
	const char *refusal;
	int status, r;

	if (!strcmp(joining->name, "-"))
		return clew_fail(CLEW_EXIT_INPUT, "a capture cannot go to standard output: name a "
						  "file");
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
