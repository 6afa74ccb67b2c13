/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew import: a capture of what another tracer recorded.
 */
#include "import/import.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/front/write.h"
#include "format/text.h"

struct import_values {
	const char *output;
};

const struct clew_option clew_import_options[] = {
	{'o', "output", "FILE", "write the capture there (" CLEW_DEFAULT_TRACE ")",
	 clew_take_string, offsetof(struct import_values, output)},
	CLEW_OPTION_END,
};

/* For clew_write_beside(). */
struct importing {
	const char *name;
	FILE *in;
	const char *output;
	struct clew_imported imported;
};

static int write_capture(void *context, const char *path, int fd)
{
	struct importing *importing = context;
	struct clew_message message = {};
	int r;

	close(fd);
	r = clew_import(importing->in, path, &importing->imported, &message);
	if (r == -EINVAL)
		return clew_fail(CLEW_EXIT_INPUT, "%s: %s", importing->name, message.text);
	if (r == -ENOMEM)
		return clew_fail_memory();
	return r < 0 ? clew_fail_to_write(importing->output, -r) : 0;
}

/* A pipe is read twice, so that it is kept. */
static FILE *keep(FILE *in)
{
	FILE *kept = tmpfile();
	char buffer[65536];
	size_t size;

	while (kept && (size = fread(buffer, 1, sizeof(buffer), in)) > 0)
		fwrite(buffer, 1, size, kept);
	if (kept && (ferror(in) || fflush(kept))) {
		fclose(kept);
		return NULL;
	}
	return kept;
}

static int open_input(const char *name, FILE **ret_in)
{
	FILE *in = strcmp(name, "-") ? fopen(name, "re") : stdin;
	struct stat status;

	if (in && fstat(fileno(in), &status) == 0) {
		if (S_ISDIR(status.st_mode)) {
			errno = EISDIR;
			in = NULL;
		}
		clew_write_made_of(&status);
	}
	if (in && fseek(in, 0, SEEK_SET) < 0)
		in = keep(in);
	if (!in)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: %s: name a text of perf script, trace-cmd "
				 "report or ftrace",
				 name, strerror(errno));
	*ret_in = in;
	return 0;
}

/* Says which parts no answer can have, because the other tracer did not record them. */
static void say_what_lacks(const struct clew_imported *imported)
{
	static const struct {
		uint32_t has;
		const char *what;
	} parts[] = {
		{CLEW_IMPORT_WAKES, "who woke whom"},
		{CLEW_IMPORT_CONTEXTS, "which wakes came from interrupts"},
		{CLEW_IMPORT_CALLS, "system calls"},
		{CLEW_IMPORT_REQUESTS, "block requests"},
		{CLEW_IMPORT_LIVES, "forks and exits"},
		{CLEW_IMPORT_PROCESSES, "processes of threads"},
	};

	fputs("clew: it has not ", stderr);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!(imported->has & parts[i].has))
			fprintf(stderr, "%s, ", parts[i].what);
	fputs("objects of waits, lock holders, a ledger\n", stderr);
}

static void say_what_is_there(const struct importing *importing)
{
	const struct clew_imported *imported = &importing->imported;

	fputs("clew: ", stderr);
	clew_print_safe(stderr, importing->output);
	fprintf(stderr,
		": %" PRIu64 " events of %u CPUs, %u threads; left out %" PRIu64
		" other events and %" PRIu64 " lines; lost %" PRIu64 "\n",
		imported->events, imported->cpus, imported->tasks, imported->others,
		imported->lines, imported->lost);
	say_what_lacks(imported);
}

int clew_command_import(const struct clew_command *command, int argc, char **argv)
{
	struct import_values values = {.output = CLEW_DEFAULT_TRACE};
	struct importing importing = {};
	struct stat there;
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (!strcmp(values.output, "-") ||
	    (stat(values.output, &there) == 0 && !S_ISREG(there.st_mode)))
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: a capture is a regular file: name one with -o",
				 values.output);
	importing.name = operands[0];
	importing.output = values.output;
	status = open_input(operands[0], &importing.in);
	if (!status)
		status = clew_write_beside(values.output, write_capture, &importing);
	if (!status)
		say_what_is_there(&importing);
	return status;
}
