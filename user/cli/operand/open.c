/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opening what an operand names. */
#include "cli/operand/open.h"

#include "cli/front/fail.h"
#include "cli/front/memory.h"
#include "cli/front/progress.h"
#include "cli/front/write.h"
#include "convert/convert.h"
#include "relate/job.h"
#include "trace/lines.h"
#include "words/ledger.h"
#include "words/wall.h"
#include <clew/notation.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *name_of(const char *operand)
{
	return strcmp(operand, "-") ? operand : "standard input";
}

/*
 * Copies a pipe, which can be read only once, to memory. Returns a descriptor
 * or -errno.
 */
static int keep_stream(int from)
{
	char buffer[65536];
	int to = memfd_create("capture", MFD_CLOEXEC);
	ssize_t got;

	if (to < 0)
		return -errno;
	while ((got = read(from, buffer, sizeof(buffer))) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		for (ssize_t done = 0, put; got > 0 && done < got; done += put) {
			put = write(to, buffer + done, got - done);
			if (put < 0)
				got = put;
		}
		if (got < 0) {
			int error = errno;

			close(to);
			return -error;
		}
	}
	return to;
}

static int fail_to_open(const char *name, int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: no such file: name a capture that `clew record` made", name);
	case EISDIR:
		return clew_fail(CLEW_EXIT_INPUT, "%s: is a directory: name a capture file", name);
	case EACCES:
	case EPERM:
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: %s: make it readable or run as its owner",
				 name, strerror(error));
	default:
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: %s: name a file that can be read", name,
				 strerror(error));
	}
}

/*
 * Finds a path at which the library can open, and seek in, what an operand
 * names.
 */
static int resolve_operand(const char *operand, char *path, size_t size)
{
	bool standard_input = !strcmp(operand, "-");
	const char *name = standard_input ? "standard input" : operand;
	struct stat status;
	int fd, kept;

	if ((standard_input ? fstat(STDIN_FILENO, &status) : stat(operand, &status)) < 0)
		return fail_to_open(name, errno);
	if (S_ISDIR(status.st_mode))
		return fail_to_open(name, EISDIR);
	clew_write_made_of(&status);
	if (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode)) {
		if (snprintf(path, size, "%s", standard_input ? "/proc/self/fd/0" : operand) >=
		    (int)size)
			return fail_to_open(name, ENAMETOOLONG);
		return 0;
	}
	if (!S_ISFIFO(status.st_mode))
		return clew_fail(CLEW_EXIT_INPUT, "%s: is no regular file: name a capture file",
				 name);
	fd = standard_input ? STDIN_FILENO : open(operand, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail_to_open(name, errno);
	kept = keep_stream(fd);
	if (!standard_input)
		close(fd);
	if (kept < 0)
		return fail_to_open(name, -kept);
	/* It stays open until the program ends, as the path refers to it. */
	snprintf(path, size, "/proc/self/fd/%d", kept);
	return 0;
}

int clew_fail_to_read(const char *operand, int error, const char *message)
{
	const char *name = name_of(operand);

	switch (error) {
	case -EINVAL:
		return clew_fail(CLEW_EXIT_INPUT, "%s: %s: name a capture that `clew record` made",
				 name, message);
	case -ENODATA:
		return clew_fail(CLEW_EXIT_INPUT, "%s: %s: record again", name, message);
	case -ENOMEM:
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "%s: out of memory: free some, or record for a shorter time",
				 name);
	default:
		return fail_to_open(name, -error);
	}
}

/* Reports why a causal trace could not be loaded. */
static int fail_to_load(const char *name, int r, const char *message)
{
	switch (r) {
	case -EINVAL:
		/* An error in a line begins with the file's name. */
		if (!strncmp(message, name, strlen(name)))
			return clew_fail(CLEW_EXIT_INPUT, "%s", message);
		return clew_fail(CLEW_EXIT_INPUT, "%s: %s: name a trace in notation or a capture",
				 name, message);
	case -ENODATA:
		return clew_fail(CLEW_EXIT_INPUT, "%s: %s: record again, or name another trace",
				 name, message);
	case -ENOMEM:
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "%s: out of memory: free some, or take a smaller trace", name);
	default:
		return fail_to_open(name, -r);
	}
}

/* `derived`: as for clew_print_damage(). */
static void warn_of_damage(const char *name, bool derived, const struct clew_model *model)
{
	struct clew_trace *trace;

	if (clew_trace_truth_from_model(model, &trace) < 0 || !trace)
		return;
	clew_print_damage(stderr, name, derived, clew_trace_info(trace));
	clew_trace_free(trace);
}

/* `frames`: as in struct clew_load_options. */
static int load_model(const char *operand, const char *path, uint64_t frames,
		      struct clew_model **ret_model, bool *ret_capture)
{
	const char *name = name_of(operand);
	char message[512] = "";
	struct clew_progress progress;
	struct clew_load_options options = {
		.size = sizeof(options),
		.name = name,
		.ret_capture = ret_capture,
		.progress = clew_progress_update,
		.progress_context = &progress,
		.frames = frames,
	};
	bool is_capture;
	int r;

	if (!ret_capture)
		options.ret_capture = ret_capture = &is_capture;
	clew_progress_begin(&progress, "reading the trace");
	r = clew_model_load(path, &options, ret_model, message, sizeof(message));
	clew_progress_end(&progress);
	if (r < 0)
		return fail_to_load(name, r, message);
	warn_of_damage(name, !*ret_capture, *ret_model);
	return 0;
}

int clew_open_model(const char *operand, struct clew_model **ret_model, bool *ret_capture)
{
	return clew_open_model_frames(operand, 0, ret_model, ret_capture);
}

int clew_open_model_frames(const char *operand, uint64_t frames, struct clew_model **ret_model,
			   bool *ret_capture)
{
	char path[4096], message[512];
	struct clew_reader *reader;
	int status = resolve_operand(operand, path, sizeof(path));

	/* A capture that cannot be read fails below, with a reason. */
	if (!status && clew_capture_probe(path) > 0 &&
	    clew_reader_open(path, &reader, message, sizeof(message)) >= 0) {
		status = clew_memory_check(name_of(operand), clew_reader_info(reader), 0, 0, true);
		clew_reader_close(reader);
	}
	return status ? status : load_model(operand, path, frames, ret_model, ret_capture);
}

/* The part of a capture that is asked for: an interval, what is between two ends, or all of it. */
struct wanted {
	struct clew_window *window; /* NULL: it is none */
	struct clew_ends *ends;	    /* NULL: there are none */
	char **memory;		    /* of the ends' texts */
	bool model;		    /* a causal trace is made of it */
};

/* Finds what the interval or the ends mean in a capture, and has only that read. */
static int choose_part(const struct wanted *wanted, const struct clew_reader *reader,
		       struct clew_trace_options *options)
{
	struct clew_window *window = wanted->window;
	struct clew_time_base base;
	int status = 0;

	clew_wall_base_of(clew_reader_info(reader), clew_reader_meta(reader, "utc_offset"), &base);
	if (wanted->ends)
		status = clew_ends_between(wanted->ends, &base, &options->from, &options->to,
					   wanted->memory);
	if (!status && window)
		status = clew_window_take_in(window, &base);
	if (!status && window && clew_window_given(window)) {
		options->from = window->from;
		options->to = window->to;
		options->thread = window->thread;
	}
	return status;
}

static int open_capture(const char *operand, const char *path, const struct wanted *wanted,
			struct clew_trace_options *options, struct clew_trace **ret_trace)
{
	char message[512] = "";
	struct clew_progress progress;
	struct clew_reader *reader;
	int status, r = clew_reader_open(path, &reader, message, sizeof(message));

	if (r < 0)
		return clew_fail_to_read(operand, r, message);
	status = choose_part(wanted, reader, options);
	if (!status)
		status = clew_memory_check(name_of(operand), clew_reader_info(reader),
					   options->from, options->to, wanted->model);
	if (status) {
		clew_reader_close(reader);
		return status;
	}
	options->size = sizeof(*options);
	options->progress = clew_progress_update;
	options->progress_context = &progress;
	clew_progress_begin(&progress, "reading the capture");
	r = clew_trace_read(reader, options, ret_trace);
	clew_progress_end(&progress);
	clew_reader_close(reader);
	if (r < 0)
		return clew_fail_to_read(operand, r, strerror(-r));
	if (clew_jobs_join(*ret_trace) < 0) {
		clew_trace_free(*ret_trace);
		*ret_trace = NULL;
		return clew_fail_memory();
	}
	clew_print_damage(stderr, name_of(operand), false, clew_trace_info(*ret_trace));
	return 0;
}

static int open_notation(const char *operand, const char *path, uint32_t drop_types,
			 struct clew_trace **ret_trace)
{
	struct clew_trace_options options = {.size = sizeof(options), .drop_types = drop_types};
	const char *name = name_of(operand);
	struct clew_model *model;
	char message[512] = "";
	int status = load_model(operand, path, 0, &model, NULL), r;

	if (status)
		return status;
	r = clew_trace_from_model(model, &options, ret_trace, message, sizeof(message));
	clew_model_free(model);
	if (r == -EINVAL)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: %s: write it anew with `clew convert`, or mend it", name,
				 message);
	if (r < 0)
		return fail_to_load(name, r, message);
	if (clew_jobs_join(*ret_trace) < 0) {
		clew_trace_free(*ret_trace);
		*ret_trace = NULL;
		return clew_fail_memory();
	}
	return 0;
}

/* Resolves an operand and finds whether it is a capture. */
static int probe_operand(const char *operand, char *path, size_t size, bool *ret_capture)
{
	int status = resolve_operand(operand, path, size), r;

	if (status)
		return status;
	r = clew_capture_probe(path);
	*ret_capture = r > 0;
	return r < 0 ? fail_to_open(name_of(operand), -r) : 0;
}

static int open_trace(const char *operand, uint32_t drop_types, struct clew_window *window,
		      struct clew_trace **ret_trace)
{
	struct clew_trace_options options = {.drop_types = drop_types};
	char path[4096];
	bool is_capture;
	int status = probe_operand(operand, path, sizeof(path), &is_capture);

	if (!status && is_capture)
		status = open_capture(operand, path, &(struct wanted){.window = window}, &options,
				      ret_trace);
	else if (!status)
		status = open_notation(operand, path, drop_types, ret_trace);
	if (status || !window)
		return status;
	if (!is_capture || !clew_window_given(window))
		status = clew_window_take(window, *ret_trace);
	/* The trace knows better where a recording ends that was cut off. */
	else if (!window->to_text)
		window->to = clew_trace_end(*ret_trace);
	if (status) {
		clew_trace_free(*ret_trace);
		*ret_trace = NULL;
	}
	return status;
}

int clew_open_trace(const char *operand, uint32_t drop_types, struct clew_trace **ret_trace)
{
	return open_trace(operand, drop_types, NULL, ret_trace);
}

int clew_open_window(const char *operand, uint32_t drop_types, struct clew_window *window,
		     struct clew_trace **ret_trace)
{
	*ret_trace = NULL;
	return open_trace(operand, drop_types, window, ret_trace);
}

int clew_open_segment(const char *path, struct clew_trace **ret_trace)
{
	const struct clew_trace_options options = {.size = sizeof(options), .live = true};
	char message[512] = "";
	struct clew_reader *reader;
	int r = clew_reader_open(path, &reader, message, sizeof(message));

	if (r < 0)
		return clew_fail_to_read(path, r, message);
	r = clew_trace_read(reader, &options, ret_trace);
	clew_reader_close(reader);
	return r < 0 ? clew_fail_to_read(path, r, strerror(-r)) : 0;
}

int clew_open_capture(const char *operand, const struct clew_finding_taker *beside,
		      struct clew_trace **ret_trace)
{
	struct clew_trace_options options = {.beside = beside};
	char path[4096];
	int status = resolve_operand(operand, path, sizeof(path));

	return status ? status
		      : open_capture(operand, path, &(struct wanted){}, &options, ret_trace);
}

/* A causal trace in notation, and what an interval means in it. */
static int open_notation_model(const char *operand, const char *path, struct clew_window *window,
			       struct clew_model **ret_model)
{
	struct clew_time_base base;
	clew_time first;
	int status = load_model(operand, path, 0, ret_model, NULL);

	if (status || !window)
		return status;
	status = clew_moment_base(*ret_model, &base, &first);
	if (!status)
		status = clew_window_take_in(window, &base);
	if (status) {
		clew_model_free(*ret_model);
		*ret_model = NULL;
	}
	return status;
}

static int open_part(const char *operand, const struct wanted *wanted,
		     struct clew_model **ret_model, struct clew_trace **ret_stacks)
{
	struct clew_trace_options options = {};
	char path[4096];
	bool is_capture;
	int status = probe_operand(operand, path, sizeof(path), &is_capture), r;

	*ret_stacks = NULL;
	if (!status && !is_capture)
		return open_notation_model(operand, path, wanted->window, ret_model);
	if (!status)
		status = open_capture(operand, path, wanted, &options, ret_stacks);
	if (status)
		return status;
	r = clew_model_from_trace(*ret_stacks, ret_model);
	if (r < 0 || !clew_trace_has_stacks(*ret_stacks)) {
		clew_trace_free(*ret_stacks);
		*ret_stacks = NULL;
	}
	return r < 0 ? fail_to_load(name_of(operand), r == -E2BIG ? -EINVAL : r,
				    "has more in it than a causal trace can hold")
		     : 0;
}

int clew_open_model_stacks(const char *operand, struct clew_model **ret_model,
			   struct clew_trace **ret_stacks)
{
	return open_part(operand, &(struct wanted){.model = true}, ret_model, ret_stacks);
}

int clew_open_model_between(const char *operand, struct clew_ends *ends, char *ret_memory[2],
			    struct clew_model **ret_model, struct clew_trace **ret_stacks)
{
	ret_memory[0] = ret_memory[1] = NULL;
	return open_part(operand,
			 &(struct wanted){.ends = ends, .memory = ret_memory, .model = true},
			 ret_model, ret_stacks);
}

int clew_open_model_window(const char *operand, struct clew_window *window,
			   struct clew_model **ret_model, struct clew_trace **ret_stacks)
{
	return open_part(operand, &(struct wanted){.window = window, .model = true}, ret_model,
			 ret_stacks);
}

int clew_open_info(const char *operand, struct clew_reader **ret_reader,
		   struct clew_trace **ret_trace)
{
	char path[4096], message[512] = "";
	bool is_capture;
	int status = probe_operand(operand, path, sizeof(path), &is_capture), r;

	*ret_reader = NULL;
	*ret_trace = NULL;
	if (status)
		return status;
	if (!is_capture)
		return open_notation(operand, path, 0, ret_trace);
	r = clew_reader_open(path, ret_reader, message, sizeof(message));
	return r < 0 ? clew_fail_to_read(operand, r, message) : 0;
}

static int no_relations(int r)
{
	return clew_fail(CLEW_EXIT_SYSTEM,
			 "what programs announced cannot be gone through: %s: free some memory and "
			 "try again",
			 strerror(-r));
}

int clew_open_relations(const struct clew_trace *trace, uint64_t match_window,
			struct clew_relations **ret_relations)
{
	const struct clew_relations_options options = {.size = sizeof(options),
						       .match_window = match_window};
	int r = clew_relations_new(trace, &options, ret_relations);

	if (r >= 0)
		return 0;
	if (r == -EINVAL)
		return clew_fail(CLEW_EXIT_INPUT, "the capture's description of layers cannot be "
						  "read: ask `clew why`, which goes without it");
	return no_relations(r);
}

int clew_try_relations(const struct clew_trace *trace, struct clew_relations **ret_relations)
{
	int r = clew_relations_new(trace, NULL, ret_relations);

	if (r != -EINVAL)
		return r < 0 ? no_relations(r) : 0;
	*ret_relations = NULL;
	return clew_fail(CLEW_EXIT_DONE, "the capture's description of layers cannot be read: "
					 "calls that programs announced are left out");
}

static int use_servers(const char *command, struct debug_servers **ret_servers)
{
	int r = debug_servers_new(ret_servers);

	if (r == -EDESTADDRREQ)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: DEBUGINFOD_URLS names no server: set it, or ask with --lines",
				 command);
	if (r == -ELIBACC)
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "%s: libdebuginfod.so.1 is missing: install libdebuginfod1",
				 command);
	return r < 0 ? clew_fail_memory() : 0;
}

int clew_need_stacks(const char *command, struct clew_trace *trace,
		     const struct clew_source_choice *source)
{
	struct debug_servers *servers = NULL;
	int status;

	if (!trace || !clew_trace_has_stacks(trace))
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: the capture has no stacks: record without --no-stacks",
				 command);
	if (!clew_source_wanted(source))
		return 0;
	status = source->servers ? use_servers(command, &servers) : 0;
	if (!status && clew_trace_use_lines(trace, servers) < 0)
		return clew_fail_memory();
	return status;
}
