/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew requests: every block request, with whose it is, how long it was queued and
 * in the device, what was asked below for it, and whose waits it ended.
 */
#include "base/device.h"
#include "base/map.h"
#include "base/sort.h"
#include "explain/chosen.h"
#include "trace/trace.h"
#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/requests/requests.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/open.h"
#include "cli/operand/selection.h"
#include "cli/operand/view.h"
#include "cli/record/fresh.h"
#include "format/text.h"
#include "words/file.h"
#include "words/ledger.h"
#include "words/task.h"

struct requests_values {
	struct clew_selection selection;
	struct clew_view view;
	const char *device;
	bool json;
	struct clew_fresh fresh;
};

const struct clew_option clew_requests_options[] = {
	{0, "dev", "DISK", "only requests of this disk, and those made below for them",
	 clew_take_string, offsetof(struct requests_values, device)},
	CLEW_GROUP_OPTIONS(struct requests_values, selection.group,
			   "those made or written by threads"),
	CLEW_VIEW_OPTIONS(struct requests_values, view, "show those that nobody waited for, too"),
	CLEW_FRESH_OPTIONS(struct requests_values, fresh),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct requests_values, json)},
	CLEW_OPTION_END,
};

struct listing {
	const struct clew_trace *trace;
	const struct clew_trace_request *requests;
	size_t count;
	struct request_words words; /* of the above */
	struct requests_values *values;
	bool *wanted;
	struct sort_key *rows; /* those that are wanted, in their order */
	size_t row_count;
};

/* Chooses the requests of a disk, and those below them on any disk. */
static void choose(struct listing *listing, uint32_t device)
{
	bool more = true;

	for (size_t i = 0; i < listing->count; i++)
		listing->wanted[i] = listing->requests[i].block.device == device;
	/* Stacked devices are a few layers deep. */
	while (more) {
		more = false;
		for (size_t i = 0; i < listing->count; i++) {
			for (uint32_t k = 0;
			     listing->wanted[i] && k < listing->requests[i].lower_count; k++) {
				more |= !listing->wanted[listing->requests[i].lower[k]];
				listing->wanted[listing->requests[i].lower[k]] = true;
			}
		}
	}
}

/* Lists the disks that have requests, where the one asked for has none. */
static int print_disks(const struct listing *listing)
{
	struct map said = {0};
	int r = 0;

	if (!listing->count)
		return 0;
	fputs("there are requests of", stdout);
	for (size_t i = 0; i < listing->count && r >= 0; i++) {
		uint32_t device = listing->requests[i].block.device;
		char numbers[DEVICE_TEXT_SIZE];
		const char *name;

		if (map_get(&said, device, 0))
			continue;
		device_text(device, numbers);
		name = CLEW_DISK(listing->trace, device);
		printf("%c %s", said.count ? ',' : ':', numbers);
		if (strcmp(name, numbers))
			printf(" (%s)", name);
		r = map_set(&said, device, 0, 0);
	}
	putchar('\n');
	map_done(&said);
	return r;
}

/* True if `text` is the kernel's name of a disk, or the name that a mapping was given: "dm-0" or
 * "root" of "dm-0 (root)". */
static bool is_disk(const struct clew_trace *trace, uint32_t device, const char *text)
{
	const char *name = CLEW_DISK(trace, device), *bracket = strstr(name, " (");
	size_t length = strlen(text);

	if (!bracket)
		return !strcmp(name, text);
	return (length == (size_t)(bracket - name) && !strncmp(name, text, length)) ||
	       (!strncmp(bracket + 2, text, length) && !strcmp(bracket + 2 + length, ")"));
}

/* The disk that MAJ:MIN or a name means. A name is that of a disk with requests. */
static int parse_device(const struct listing *listing, const char *text, uint32_t *ret_device)
{
	if (device_read(text, ret_device))
		return 0;
	for (size_t i = 0; i < listing->count; i++) {
		*ret_device = listing->requests[i].block.device;
		if (is_disk(listing->trace, *ret_device, text))
			return 0;
	}
	return clew_fail(CLEW_EXIT_INPUT,
			 "--dev: no disk '%s' has requests in the capture: write its numbers, like "
			 "259:0, or its name, like vda",
			 text);
}

/* ---- the list ---- */

static uint64_t length_of(const struct clew_trace_request *request)
{
	const struct clew_block_request *block = &request->block;

	return block->queued && block->completed > block->queued ? block->completed - block->queued
								 : 0;
}

/* Marks the requests without which some wait would not have ended. */
static void mark_awaited(const struct listing *listing, bool *awaited)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(listing->trace, &count);

	for (size_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < (uint32_t)sleeps[i].link_count + sleeps[i].and_count; k++)
			if (sleeps[i].links[k].kind == CLEW_LINK_REQUEST &&
			    sleeps[i].links[k].number < listing->count)
				awaited[sleeps[i].links[k].number] = true;
}

/* Counts what is left out. */
static bool is_shown(const struct listing *listing, size_t i, const bool *awaited)
{
	const struct clew_trace_request *request = &listing->requests[i];
	struct clew_view *view = &listing->values->view;
	const struct clew_trace_task *task =
		clew_trace_task(listing->trace, request->block.submitter);

	if (!listing->wanted[i] ||
	    !clew_window_has(&view->window, request->block.queued, request->until))
		return false;
	if (!view->self && task && task->flags & CLEW_TASK_SELF) {
		view->left_out.self++;
		return false;
	}
	/* A disk that was asked for is shown with all of its requests. */
	if (!view->idle && !listing->values->device && !awaited[i]) {
		view->left_out.idle++;
		return false;
	}
	return true;
}

static int make_rows(struct listing *listing)
{
	struct sort_key *spare = malloc((listing->count + 1) * sizeof(*spare));
	bool *awaited = calloc(listing->count + 1, sizeof(*awaited));

	listing->rows = malloc((listing->count + 1) * sizeof(*listing->rows));
	if (!spare || !awaited || !listing->rows) {
		free(spare);
		free(awaited);
		return -ENOMEM;
	}
	mark_awaited(listing, awaited);
	for (size_t i = 0; i < listing->count; i++)
		if (is_shown(listing, i, awaited))
			listing->rows[listing->row_count++] = (struct sort_key){
				.key = ~length_of(&listing->requests[i]), .index = (uint32_t)i};
	if (listing->values->view.sort == CLEW_SORT_LENGTH)
		sort_keys(listing->rows, spare, listing->row_count);
	free(spare);
	free(awaited);
	return 0;
}

static struct clew_sum_key key_of(const struct listing *listing,
				  const struct clew_block_request *block)
{
	struct clew_file_key file;

	switch (listing->values->view.by) {
	case CLEW_SUM_BY_OBJECT:
		file = clew_trace_file_key(listing->trace, block->file_device, block->inode,
					   block->queued);
		return (struct clew_sum_key){{block->inode ? file.number : 0, file.device}};
	case CLEW_SUM_BY_TASK:
		return (struct clew_sum_key){{block->submitter}};
	case CLEW_SUM_BY_CALL:
		return (struct clew_sum_key){{block->reason}};
	case CLEW_SUM_BY_HOLDER:
		return (struct clew_sum_key){{block->device}};
	default:
		return (struct clew_sum_key){
			{clew_request_operation(block->operation, block->bytes)}};
	}
}

static void print_sum_name(void *context, FILE *out, uint32_t item)
{
	const struct listing *listing = context;
	const struct clew_block_request *block = &listing->requests[item].block;

	switch (listing->values->view.by) {
	case CLEW_SUM_BY_OBJECT:
		if (block->inode)
			clew_print_file(out, listing->trace, block->file_device, block->inode,
					block->queued);
		else
			fputs("no file", out);
		break;
	case CLEW_SUM_BY_TASK:
		if (block->submitter == CLEW_NO_TASK)
			fputs("an unknown task", out);
		else
			clew_print_task(out, listing->trace, block->submitter, block->queued);
		break;
	case CLEW_SUM_BY_CALL:
		fputs(clew_request_reason_name(block->reason), out);
		break;
	case CLEW_SUM_BY_HOLDER:
		fputs(CLEW_DISK(listing->trace, block->device), out);
		break;
	default:
		fputs(clew_request_operation_name(block->operation, block->bytes), out);
		break;
	}
}

static int show_sums(struct listing *listing, struct clew_json *json)
{
	const struct clew_sums_names names = {.name = print_sum_name, .context = listing};
	struct clew_sums sums = {};
	int status = 0;

	for (size_t i = 0; i < listing->row_count && !status; i++) {
		const struct clew_trace_request *request =
			&listing->requests[listing->rows[i].index];

		if (clew_sums_add(&sums, key_of(listing, &request->block), length_of(request),
				  listing->rows[i].index) < 0)
			status = clew_fail_memory();
	}
	if (!status && clew_say_sums(stdout, json, &sums, listing->values->view.by, &names) < 0)
		status = clew_fail_memory();
	clew_sums_done(&sums);
	return status;
}

static int show_json(struct listing *listing)
{
	const struct clew_view *view = &listing->values->view;
	struct clew_json json = {.out = stdout};
	int status = 0;

	clew_json_answer(&json);
	if (view->by != CLEW_SUM_BY_NONE) {
		status = show_sums(listing, &json);
	} else {
		clew_json_array(&json, "requests");
		for (size_t i = 0; i < listing->row_count; i++)
			request_json(&json, &listing->words,
				     &listing->requests[listing->rows[i].index]);
		clew_json_array_end(&json);
	}
	clew_json_left_out(&json, &view->left_out);
	clew_json_ledger(&json, listing->trace, view->window.from, view->window.to);
	clew_json_object_end(&json);
	clew_json_end(&json);
	return status;
}

static int show_text(struct listing *listing)
{
	const struct clew_view *view = &listing->values->view;
	int status = 0;

	if (view->by != CLEW_SUM_BY_NONE)
		status = show_sums(listing, NULL);
	else
		for (size_t i = 0; i < listing->row_count; i++)
			request_print(&listing->words, &listing->requests[listing->rows[i].index]);
	putchar('\n');
	clew_print_count(stdout, clew_window_given(&view->window), listing->row_count,
			 listing->count, "requests");
	putchar('\n');
	clew_print_left_out(stdout, &view->left_out, "that nobody waited for");
	if (!listing->row_count && listing->values->device && print_disks(listing) < 0)
		status = clew_fail_memory();
	clew_print_ledger(stdout, listing->trace, view->window.from, view->window.to);
	clew_print_cost(stdout, clew_trace_info(listing->trace));
	return status;
}

static int answer(const struct clew_trace *trace, struct requests_values *values)
{
	const struct clew_chosen chosen = {.wants = clew_selection_wants,
					   .context = &values->selection};
	struct listing listing = {.trace = trace, .values = values};
	uint32_t device = 0;
	int status;

	listing.requests = clew_trace_requests(trace, &listing.count);
	listing.words = (struct request_words){.trace = trace, .requests = listing.requests};
	status = values->device ? parse_device(&listing, values->device, &device) : 0;

	if (!status)
		status = clew_selection_resolve(&values->selection, trace);
	values->selection.self = true;
	if (!status)
		status = clew_open_relations(trace, 0, &listing.words.relations);
	if (status)
		return status;
	listing.wanted = malloc(listing.count + 1);
	if (listing.wanted) {
		memset(listing.wanted, 1, listing.count + 1);
		if (values->device)
			choose(&listing, device);
		for (size_t i = 0; i < listing.count && values->selection.groups; i++)
			listing.wanted[i] &=
				clew_request_is_chosen(&chosen, trace, &listing.requests[i]);
	}
	if (!listing.wanted || make_rows(&listing) < 0)
		status = clew_fail_memory();
	else
		status = (values->json ? show_json : show_text)(&listing);
	clew_relations_free(listing.words.relations);
	free(listing.wanted);
	free(listing.rows);
	return status;
}

static int question_answer(void *context, char **operands)
{
	struct requests_values *values = context;
	struct clew_trace *trace;
	int status;

	status = clew_open_window(operands[0], 0, &values->view.window, &trace);
	if (status)
		return status;
	status = answer(trace, values);
	clew_selection_done(&values->selection);
	clew_trace_free(trace);
	return status;
}

int clew_command_requests(const struct clew_command *command, int argc, char **argv)
{
	static const struct clew_fresh_question question = {.answer = question_answer};
	struct requests_values values = {};

	return clew_fresh_answer(command, argc, argv, &values, &values.fresh, &question);
}
