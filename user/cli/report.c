/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the answers about a capture or a causal trace share. See report.h.
 */
#include "cli/report.h"

#include "convert/convert.h"
#include <clew/notation.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/progress.h"
#include "words/text.h"

/* A pipe can be read only once: what comes through it is kept in memory. Returns a descriptor or
 * -errno. */
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

/* Finds the path by which the library can open and seek in what an operand names. */
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
	/* Stays open to the end of the program: the path leads to it. */
	snprintf(path, size, "/proc/self/fd/%d", kept);
	return 0;
}

/* `message`: what the library found wrong with the file's contents, or the words of an error of the
 * system. */
static int fail_to_read(const char *operand, int error, const char *message)
{
	const char *name = strcmp(operand, "-") ? operand : "standard input";

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

/* What the library said of a file that was to be a causal trace. */
static int fail_to_load(const char *name, int r, const char *message)
{
	switch (r) {
	case -EINVAL:
		/* A line that cannot be taken is named already. */
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

static int load_model(const char *operand, const char *path, struct clew_model **ret_model,
		      bool *ret_capture)
{
	const char *name = strcmp(operand, "-") ? operand : "standard input";
	char message[512] = "";
	struct clew_progress progress;
	struct clew_load_options options = {
		.size = sizeof(options),
		.name = name,
		.ret_capture = ret_capture,
		.progress = clew_progress_update,
		.progress_context = &progress,
	};
	int r;

	clew_progress_begin(&progress, "reading the trace");
	r = clew_model_load(path, &options, ret_model, message, sizeof(message));
	clew_progress_end(&progress);
	return r < 0 ? fail_to_load(name, r, message) : 0;
}

int clew_open_model(const char *operand, struct clew_model **ret_model, bool *ret_capture)
{
	char path[4096];
	int status = resolve_operand(operand, path, sizeof(path));

	return status ? status : load_model(operand, path, ret_model, ret_capture);
}

static int open_capture(const char *operand, const char *path, uint32_t drop_types,
			struct clew_trace **ret_trace)
{
	char message[512] = "";
	struct clew_progress progress;
	struct clew_trace_options options = {
		.size = sizeof(options),
		.drop_types = drop_types,
		.progress = clew_progress_update,
		.progress_context = &progress,
	};
	int r;

	clew_progress_begin(&progress, "reading the capture");
	r = clew_trace_load(path, &options, ret_trace, message, sizeof(message));
	clew_progress_end(&progress);
	return r < 0 ? fail_to_read(operand, r, message) : 0;
}

static int open_notation(const char *operand, const char *path, uint32_t drop_types,
			 struct clew_trace **ret_trace)
{
	struct clew_trace_options options = {.size = sizeof(options), .drop_types = drop_types};
	const char *name = strcmp(operand, "-") ? operand : "standard input";
	struct clew_model *model;
	char message[512] = "";
	int status = load_model(operand, path, &model, NULL), r;

	if (status)
		return status;
	r = clew_trace_from_model(model, &options, ret_trace, message, sizeof(message));
	clew_model_free(model);
	if (r == -EINVAL)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: %s: write it anew with `clew convert`, or mend it", name,
				 message);
	return r < 0 ? fail_to_load(name, r, message) : 0;
}

/* Resolves an operand and tells what it is. */
static int probe_operand(const char *operand, char *path, size_t size, bool *ret_capture)
{
	int status = resolve_operand(operand, path, size), r;

	if (status)
		return status;
	r = clew_capture_probe(path);
	*ret_capture = r > 0;
	return r < 0 ? fail_to_open(strcmp(operand, "-") ? operand : "standard input", -r) : 0;
}

int clew_open_trace(const char *operand, uint32_t drop_types, struct clew_trace **ret_trace)
{
	char path[4096];
	bool is_capture;
	int status = probe_operand(operand, path, sizeof(path), &is_capture);

	if (status)
		return status;
	return (is_capture ? open_capture : open_notation)(operand, path, drop_types, ret_trace);
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
	return r < 0 ? fail_to_read(operand, r, message) : 0;
}

static bool is_chosen(const struct clew_selection *selection, const struct clew_trace_task *task)
{
	if (task->serial == CLEW_NO_TASK)
		return false;
	if (selection->tid.given && task->tid != selection->tid.value)
		return false;
	if (selection->pid.given && task->pid != selection->pid.value)
		return false;
	return selection->tid.given || selection->pid.given || !(task->flags & CLEW_TASK_SELF);
}

static bool had_name(const struct clew_selection *selection, const struct clew_trace_task *task)
{
	const char *name;

	for (size_t i = 0; (name = clew_trace_comm_number(selection->trace, task->serial, i)); i++)
		if (fnmatch(selection->comm, name, 0) == 0)
			return true;
	return false;
}

bool clew_selection_wants(void *context, const struct clew_trace_task *task)
{
	const struct clew_selection *selection = context;

	if (!is_chosen(selection, task))
		return false;
	if (!selection->comm)
		return true;
	return selection->trace ? had_name(selection, task)
				: fnmatch(selection->comm, task->comm, 0) == 0;
}

bool clew_selection_wants_at(const struct clew_selection *selection, const struct clew_trace *trace,
			     const struct clew_trace_task *task, uint64_t at)
{
	return is_chosen(selection, task) &&
	       (!selection->comm ||
		fnmatch(selection->comm, clew_trace_comm_at(trace, task->serial, at), 0) == 0);
}

static bool any_wanted(const struct clew_selection *selection, const struct clew_trace *trace)
{
	for (size_t i = 0, count = clew_trace_task_count(trace); i < count; i++)
		if (clew_selection_wants((void *)selection, clew_trace_task_at(trace, i)))
			return true;
	return false;
}

int clew_selection_check(struct clew_selection *selection, const struct clew_trace *trace)
{
	const struct clew_selection by_tid = {.tid = selection->tid},
				    by_pid = {.pid = selection->pid};
	const struct clew_selection by_name = {.comm = selection->comm, .trace = trace};

	if (selection->tid.given && !any_wanted(&by_tid, trace))
		return clew_fail(
			CLEW_EXIT_INPUT,
			"no thread %u in the capture: see `clew waits` for those there are",
			selection->tid.value);
	if (selection->pid.given && !any_wanted(&by_pid, trace))
		return clew_fail(
			CLEW_EXIT_INPUT,
			"no process %u in the capture: see `clew waits` for those there are",
			selection->pid.value);
	if (any_wanted(selection, trace))
		return 0;
	selection->trace = trace;
	if (any_wanted(selection, trace))
		return 0;
	if (selection->comm && !any_wanted(&by_name, trace))
		return clew_fail(CLEW_EXIT_INPUT,
				 "no thread of the capture is named '%s': see `clew waits` for "
				 "those there are",
				 selection->comm);
	return clew_fail(CLEW_EXIT_INPUT,
			 "no thread is all that was asked for: give --tid, --pid or --comm alone");
}

bool clew_ledger_row_balanced(const struct clew_ledger_row *row)
{
	return row->seen == row->filtered + row->reserved + row->lost + row->missed &&
	       row->reserved == row->read && row->read == row->stored;
}

void clew_ledger_add_up(const struct clew_capture_info *info, struct clew_ledger_sum *ret_sum)
{
	struct clew_ledger_row *total = &ret_sum->total;

	memset(ret_sum, 0, sizeof(*ret_sum));
	for (size_t i = 0; i < info->gap_count; i++) {
		if (!(info->gaps[i].header.flags & CLEW_GAP_IN_FILE))
			continue;
		if (info->gaps[i].count == CLEW_GAP_UNCOUNTED)
			ret_sum->uncounted = true;
		else
			ret_sum->missing += info->gaps[i].count;
	}
	/* A capture without a ledger was cut off before its first: nothing vouches for it. */
	ret_sum->balanced = info->ledger_count > 0;
	for (size_t i = 0; i < info->ledger_count; i++) {
		const struct clew_ledger_row *row = &info->ledger[i];

		ret_sum->balanced &= clew_ledger_row_balanced(row);
		total->seen += row->seen;
		total->filtered += row->filtered;
		total->reserved += row->reserved;
		total->read += row->read;
		total->stored += row->stored;
		total->lost += row->lost;
		total->missed += row->missed;
	}
}

void clew_json_truth(struct clew_json *json, const struct clew_trace *trace, uint64_t from,
		     uint64_t to)
{
	const struct clew_capture_info *info = clew_trace_info(trace);
	const struct clew_gap *first;
	struct clew_ledger_sum sum;

	if (!info) {
		clew_json_null(json, "ledger");
		clew_json_null(json, "cost");
		return;
	}
	clew_ledger_add_up(info, &sum);
	clew_json_object(json, "ledger");
	clew_json_bool(json, "balanced", sum.balanced);
	clew_json_bool(json, "complete", info->complete);
	clew_json_unsigned(json, "lost", sum.total.lost);
	clew_json_unsigned(json, "missed", sum.total.missed);
	clew_json_unsigned(json, "missing", sum.missing);
	clew_json_unsigned(json, "damaged_chunks", info->damaged_chunks);
	clew_json_unsigned(json, "gaps", clew_trace_gaps(trace, from, to, &first));
	clew_json_object_end(json);
	clew_json_object(json, "cost");
	clew_json_unsigned(json, "user_ns", info->cost.user_ns);
	clew_json_unsigned(json, "bpf_ns", info->cost.bpf_ns);
	clew_json_bool(json, "bpf_sampled", info->cost.bpf_sampled);
	clew_json_object_end(json);
}

void clew_print_cost(FILE *out, const struct clew_capture_info *info)
{
	uint64_t length;

	if (!info)
		return;
	length = info->end - info->start;
	fprintf(out, "clew's own cost: %s of CPU time", CLEW_DURATION(info->cost.user_ns));
	if (!info->cost.bpf_sampled) {
		fputs("; its programs in the kernel were not measured\n", out);
		return;
	}
	fprintf(out, " and %s in its programs in the kernel (sampled)",
		CLEW_DURATION(info->cost.bpf_ns));
	if (length)
		fprintf(out, ", together %.2f %% of one CPU",
			100.0 * (info->cost.user_ns + info->cost.bpf_ns) / length);
	putc('\n', out);
}

void clew_print_ledger(FILE *out, const struct clew_trace *trace, uint64_t from, uint64_t to)
{
	const struct clew_capture_info *info = clew_trace_info(trace);
	const struct clew_gap *first = NULL;
	size_t gaps = clew_trace_gaps(trace, from, to, &first);
	struct clew_ledger_sum sum;

	if (!info)
		return;
	clew_ledger_add_up(info, &sum);
	fprintf(out, "ledger: %s",
		sum.balanced	     ? "balanced"
		: info->ledger_count ? "NOT balanced"
				     : "none was written");
	if (!info->complete)
		fputs(", the recording was cut off", out);
	if (info->damaged_chunks)
		fprintf(out, ", %" PRIu64 " damaged chunks skipped", info->damaged_chunks);
	if (sum.missing)
		fprintf(out, ", %" PRIu64 " records missing from the file%s", sum.missing,
			sum.uncounted ? " at least" : "");
	if (!sum.total.lost && !sum.total.missed)
		fputs(sum.missing || !info->complete ? ", nothing lost while recording"
						     : ", nothing lost",
		      out);
	else
		fprintf(out, ", %" PRIu64 " records lost and %" PRIu64 " missed", sum.total.lost,
			sum.total.missed);
	if (gaps && first) {
		uint64_t start = clew_trace_start(trace);

		fprintf(out, "; BLIND here in %zu gap%s, the first ", gaps, gaps == 1 ? "" : "s");
		if (first->header.cpu != CLEW_STREAM_USER)
			fprintf(out, "on CPU %u ", first->header.cpu);
		fprintf(out, "from +%s to +%s: what this says of them may be wrong",
			CLEW_DURATION(first->from > start ? first->from - start : 0),
			CLEW_DURATION(first->header.time - start));
	} else if (sum.total.lost || sum.missing) {
		fputs(", none of it here", out);
	}
	/* What is told once in a capture, the kernel tells again after a loss of its own; it knows
	 * of none in the file. */
	if (sum.missing || info->damaged_chunks)
		fputs("; names and objects may be lacking or old, whenever they were told", out);
	putc('\n', out);
}

void clew_print_truth(FILE *out, const struct clew_trace *trace)
{
	clew_print_ledger(out, trace, clew_trace_start(trace), clew_trace_end(trace));
	clew_print_cost(out, clew_trace_info(trace));
}
