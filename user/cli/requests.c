// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * clew requests: every block request, with whose it is, how long it was queued and
 * in the device, what was asked below for it, and whose waits it ended.
 */
#include <clew/tokens.h>
#include <clew/trace.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "object.h"
#include "report.h"
#include "text.h"

struct requests_values {
	const char *device;
	bool json;
};

const struct clew_option clew_requests_options[] = {
	{0, "dev", "MAJ:MIN", "only requests of this disk, and those made below for them", clew_take_string,
	 offsetof(struct requests_values, device)},
	{0, "json", NULL, "print one JSON object", clew_take_flag, offsetof(struct requests_values, json)},
	CLEW_OPTION_END,
};

struct listing {
	const struct clew_trace *trace;
	const struct clew_trace_request *requests;
	size_t count;
	bool *wanted;
};

/* Who read what he waits for, as far as a request tells. */
static const char *reason_of(const struct clew_block_request *block)
{
	if (block->index == UINT64_MAX && block->inode)
		return "direct";
	return strcmp(clew_request_operation_name(block->operation, block->bytes), "read") ? "unknown" : "read";
}

static void json_moment(struct clew_json *json, const char *key, uint64_t at)
{
	if (at)
		clew_json_unsigned(json, key, at);
	else
		clew_json_null(json, key);
}

static void json_request(struct clew_json *json, const struct listing *listing, const struct clew_trace_request *request)
{
	const struct clew_block_request *block = &request->block;
	const char *path = NULL;
	char device[32];

	snprintf(device, sizeof(device), "%u:%u", CLEW_DEVICE_MAJOR(block->device), CLEW_DEVICE_MINOR(block->device));
	clew_json_object(json, NULL);
	clew_json_string(json, "dev", device);
	clew_json_sector(json, block);
	clew_json_unsigned(json, "bytes", block->bytes);
	clew_json_string(json, "op", clew_request_operation_name(block->operation, block->bytes));
	json_moment(json, "queued", block->queued);
	json_moment(json, "issued", block->issued);
	json_moment(json, "completed", block->completed);
	clew_json_object(json, "submitter");
	clew_json_task_fields(json, listing->trace, block->submitter, block->queued);
	clew_json_object_end(json);
	clew_json_array(json, "lower");
	for (uint32_t i = 0; i < request->lower_count; i++)
		clew_json_unsigned(json, NULL, request->lower[i]);
	clew_json_array_end(json);
	clew_json_string(json, "reason", reason_of(block));
	clew_json_array(json, "pages");
	clew_json_array_end(json);
	clew_json_array(json, "woke");
	for (uint32_t i = 0; i < request->woke_count; i++) {
		clew_json_object(json, NULL);
		clew_json_task_fields(json, listing->trace, request->woke[i], block->completed ? block->completed : block->queued);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_unsigned(json, "index", (uint64_t)(request - listing->requests));
	if (block->inode)
		clew_trace_file(listing->trace, block->file_device, block->inode, &path);
	clew_json_string(json, "path", path && path[0] ? path : NULL);
	clew_json_object_end(json);
}

static void print_request(const struct listing *listing, const struct clew_trace_request *request)
{
	const struct clew_block_request *block = &request->block;
	struct clew_object object = {.kind = CLEW_OBJECT_REQUEST, .number = (uint64_t)(request - listing->requests), .descriptor = -1};
	uint64_t start = clew_trace_start(listing->trace), at = block->queued > start ? block->queued - start : 0;

	printf("+%-13s ", CLEW_OFFSET(at, clew_trace_end(listing->trace) - start));
	clew_print_object(stdout, listing->trace, &object, NULL);
	fputs(", by ", stdout);
	if (block->submitter == CLEW_NO_TASK)
		fputs("an unknown task", stdout);
	else
		clew_print_task(stdout, listing->trace, block->submitter, block->queued);
	if (block->issued && block->queued)
		printf("; queued %s", CLEW_DURATION(block->issued - block->queued));
	if (block->issued && block->completed)
		printf(", in the device %s", CLEW_DURATION(block->completed - block->issued));
	else if (block->completed && block->queued)
		printf("; over after %s without being issued", CLEW_DURATION(block->completed - block->queued));
	else if (!block->completed)
		fputs("; not over at the capture's end", stdout);
	if (request->lower_count)
		printf("; %u below", request->lower_count);
	for (uint32_t i = 0; i < request->woke_count; i++) {
		fputs(i ? ", " : "; woke ", stdout);
		clew_print_task(stdout, listing->trace, request->woke[i], block->completed);
	}
	putchar('\n');
}

/* A disk's requests and, whatever their disk, those below them. */
static void choose(struct listing *listing, uint32_t device)
{
	bool more = true;

	for (size_t i = 0; i < listing->count; i++)
		listing->wanted[i] = listing->requests[i].block.device == device;
	/* One stack of devices is a few layers high. */
	while (more) {
		more = false;
		for (size_t i = 0; i < listing->count; i++) {
			for (uint32_t k = 0; listing->wanted[i] && k < listing->requests[i].lower_count; k++) {
				more |= !listing->wanted[listing->requests[i].lower[k]];
				listing->wanted[listing->requests[i].lower[k]] = true;
			}
		}
	}
}

static int parse_device(const char *text, uint32_t *ret_device)
{
	unsigned major, minor;
	int used = 0;

	if (sscanf(text, "%u:%u%n", &major, &minor, &used) != 2 || text[used] || major > 0xfff || minor > 0xfffff)
		return clew_fail(CLEW_EXIT_INPUT, "--dev: '%s' is no device: write its numbers, like 259:0", text);
	*ret_device = (uint32_t)major << 20 | minor;
	return 0;
}

static int answer(const struct clew_trace *trace, const struct requests_values *values)
{
	struct listing listing = {.trace = trace};
	struct clew_json json = {.out = stdout};
	uint32_t device = 0;
	size_t shown = 0;
	int status = values->device ? parse_device(values->device, &device) : 0;

	if (status)
		return status;
	listing.requests = clew_trace_requests(trace, &listing.count);
	listing.wanted = malloc(listing.count + 1);
	if (!listing.wanted)
		return clew_fail(CLEW_EXIT_SYSTEM, "out of memory: free some and try again");
	memset(listing.wanted, 1, listing.count + 1);
	if (values->device)
		choose(&listing, device);
	if (values->json) {
		clew_json_object(&json, NULL);
		clew_json_array(&json, "requests");
	}
	for (size_t i = 0; i < listing.count; i++) {
		if (!listing.wanted[i])
			continue;
		shown++;
		if (values->json)
			json_request(&json, &listing, &listing.requests[i]);
		else
			print_request(&listing, &listing.requests[i]);
	}
	if (values->json) {
		clew_json_array_end(&json);
		clew_json_truth(&json, trace, clew_trace_start(trace), clew_trace_end(trace));
		clew_json_object_end(&json);
		clew_json_end(&json);
	} else {
		printf("\n%zu of %zu requests\n", shown, listing.count);
		clew_print_truth(stdout, trace);
	}
	free(listing.wanted);
	return CLEW_EXIT_DONE;
}

int clew_command_requests(int argc, char **argv)
{
	struct requests_values values = {};
	struct clew_trace *trace;
	char **operands;
	int status;

	if (!clew_options_parse(argc, argv, &values, &operands, &status))
		return status;
	status = clew_open_trace(operands[0], 0, &trace);
	if (status)
		return status;
	status = answer(trace, &values);
	clew_trace_free(trace);
	return status;
}
