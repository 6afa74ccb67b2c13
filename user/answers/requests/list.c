/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A list of block requests, or their sums. */
#include "answers/requests/list.h"

#include <clew/tokens.h>
#include <errno.h>
#include <string.h>

#include "base/device.h"
#include "base/map.h"
#include "words/file.h"
#include "words/ledger.h"
#include "words/task.h"

uint64_t request_length(const struct clew_trace_request *request)
{
	const struct clew_block_request *block = &request->block;

	return block->queued && block->completed > block->queued ? block->completed - block->queued
								 : 0;
}

/* Lists the disks that have requests, where the one asked for has none. */
static int print_disks(FILE *out, const struct request_list *list)
{
	struct map said = {0};
	int r = 0;

	if (!list->count)
		return 0;
	fputs("there are requests of", out);
	for (size_t i = 0; i < list->count && r >= 0; i++) {
		uint32_t device = list->words.requests[i].block.device;
		char numbers[DEVICE_TEXT_SIZE];
		const char *name;

		if (map_get(&said, device, 0))
			continue;
		device_text(device, numbers);
		name = CLEW_DISK(list->words.trace, device);
		fprintf(out, "%c %s", said.count ? ',' : ':', numbers);
		if (strcmp(name, numbers))
			fprintf(out, " (%s)", name);
		r = map_set(&said, device, 0, 0);
	}
	fputc('\n', out);
	map_done(&said);
	return r;
}

static struct clew_sum_key key_of(const struct request_list *list,
				  const struct clew_block_request *block)
{
	struct clew_file_key file;

	switch (list->by) {
	case CLEW_SUM_BY_OBJECT:
		file = clew_trace_file_key(list->words.trace, block->file_device, block->inode,
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
	const struct request_list *list = context;
	const struct clew_block_request *block = &list->words.requests[item].block;

	switch (list->by) {
	case CLEW_SUM_BY_OBJECT:
		if (block->inode)
			clew_print_file(out, list->words.trace, block->file_device, block->inode,
					block->queued);
		else
			fputs("no file", out);
		break;
	case CLEW_SUM_BY_TASK:
		if (block->submitter == CLEW_NO_TASK)
			fputs("an unknown task", out);
		else
			clew_print_task(out, list->words.trace, block->submitter, block->queued);
		break;
	case CLEW_SUM_BY_CALL:
		fputs(clew_request_reason_name(block->reason), out);
		break;
	case CLEW_SUM_BY_HOLDER:
		fputs(CLEW_DISK(list->words.trace, block->device), out);
		break;
	default:
		fputs(clew_request_operation_name(block->operation, block->bytes), out);
		break;
	}
}

static int say_sums(struct request_list *list, FILE *out, struct clew_json *json)
{
	const struct clew_sums_names names = {.name = print_sum_name, .context = list};
	struct clew_sums sums = {};
	int r = 0;

	for (size_t i = 0; i < list->row_count && r == 0; i++) {
		const struct clew_trace_request *request =
			&list->words.requests[list->rows[i].index];

		r = clew_sums_add(&sums, key_of(list, &request->block), request_length(request),
				  list->rows[i].index);
	}
	if (r == 0)
		r = clew_say_sums(out, json, &sums, list->by, &names);
	clew_sums_done(&sums);
	return r;
}

int request_list_json(FILE *out, struct request_list *list)
{
	struct clew_json json = {.out = out};
	int r = 0;

	clew_json_answer(&json);
	if (list->by != CLEW_SUM_BY_NONE) {
		r = say_sums(list, out, &json);
	} else {
		clew_json_array(&json, "requests");
		for (size_t i = 0; i < list->row_count; i++)
			request_json(&json, &list->words,
				     &list->words.requests[list->rows[i].index]);
		clew_json_array_end(&json);
	}
	clew_json_left_out(&json, &list->left_out);
	clew_json_ledger(&json, list->words.trace, list->from, list->to);
	clew_json_object_end(&json);
	clew_json_end(&json);
	return r;
}

int request_list_print(FILE *out, struct request_list *list)
{
	int r = 0;

	if (list->by != CLEW_SUM_BY_NONE)
		r = say_sums(list, out, NULL);
	else
		for (size_t i = 0; i < list->row_count; i++)
			request_print(&list->words, &list->words.requests[list->rows[i].index]);
	fputc('\n', out);
	clew_print_count(out, list->part, list->row_count, list->count, "requests");
	fputc('\n', out);
	clew_print_left_out(out, &list->left_out, "that nobody waited for");
	if (!list->row_count && list->of_disk && print_disks(out, list) < 0)
		r = -ENOMEM;
	clew_print_ledger(out, list->words.trace, list->from, list->to);
	clew_print_cost(out, clew_trace_info(list->words.trace));
	return r;
}
