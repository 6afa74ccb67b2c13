/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew requests: every block request, with whose it is, how long it was queued and
 * in the device, what was asked below for it, and whose waits it ended.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/requests/list.h"
#include "base/device.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/open.h"
#include "cli/operand/selection.h"
#include "cli/operand/view.h"
#include "cli/record/fresh.h"
#include "explain/chosen.h"
#include "trace/name.h"

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
	struct request_list list;
	const struct clew_trace *trace;
	const struct clew_trace_request *requests;
	size_t count;
	struct requests_values *values;
	bool *wanted;
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

	listing->list.rows = malloc((listing->count + 1) * sizeof(*listing->list.rows));
	if (!spare || !awaited || !listing->list.rows) {
		free(spare);
		free(awaited);
		return -ENOMEM;
	}
	mark_awaited(listing, awaited);
	for (size_t i = 0; i < listing->count; i++)
		if (is_shown(listing, i, awaited))
			listing->list.rows[listing->list.row_count++] =
				(struct sort_key){.key = ~request_length(&listing->requests[i]),
						  .index = (uint32_t)i};
	if (listing->values->view.sort == CLEW_SORT_LENGTH)
		sort_keys(listing->list.rows, spare, listing->list.row_count);
	free(spare);
	free(awaited);
	return 0;
}

static int answer(const struct clew_trace *trace, struct requests_values *values)
{
	const struct clew_chosen chosen = {.wants = clew_selection_wants,
					   .context = &values->selection};
	struct listing listing = {.trace = trace,
				  .values = values,
				  .list = {.by = values->view.by,
					   .of_disk = values->device != NULL,
					   .part = clew_window_given(&values->view.window),
					   .from = values->view.window.from,
					   .to = values->view.window.to}};
	uint32_t device = 0;
	int status, r;

	listing.requests = clew_trace_requests(trace, &listing.count);
	listing.list.count = listing.count;
	listing.list.words = (struct request_words){.trace = trace, .requests = listing.requests};
	status = values->device ? parse_device(&listing, values->device, &device) : 0;

	if (!status)
		status = clew_selection_resolve(&values->selection, trace);
	values->selection.self = true;
	if (!status)
		status = clew_open_relations(trace, 0, &listing.list.words.relations);
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
	r = listing.wanted ? make_rows(&listing) : -ENOMEM;
	listing.list.left_out = values->view.left_out;
	if (r >= 0)
		r = (values->json ? request_list_json : request_list_print)(stdout, &listing.list);
	if (r < 0)
		status = clew_fail_memory();
	clew_relations_free(listing.list.words.relations);
	free(listing.wanted);
	free(listing.list.rows);
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
