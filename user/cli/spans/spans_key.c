/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew spans --key. */
#include "cli/spans/spans_key.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "answers/spans/spans.h"
#include "cli/front/fail.h"
#include "cli/spans/keys_file.h"
#include "format/json.h"
#include "format/position.h"

struct answer {
	const struct clew_keys *keys;
	const struct clew_key_question *question;
	struct clew_keys_search search;
	char *type; /* NULL: any */
	uint64_t count;
	struct clew_json json;
};

static bool is_wanted(const struct answer *answer, const struct clew_keys_call *call)
{
	const struct clew_key_question *question = answer->question;
	char name[CLEW_KEYS_NAME_SIZE];

	return clew_window_has(question->window, call->begin, call->end) &&
	       clew_selection_wants((void *)&question->selection,
				    &(struct clew_trace_task){.serial = 1,
							      .tid = call->tid,
							      .pid = call->pid,
							      .comm = call->comm}) &&
	       (!question->name || fnmatch(question->name, clew_keys_name(call, name), 0) == 0);
}

/* The next call that is asked for. */
static bool next_call(struct answer *answer, struct clew_keys_call *ret_call)
{
	uint32_t number;

	while (clew_keys_next(&answer->search, &number))
		if (clew_keys_call(answer->keys, number, ret_call) && is_wanted(answer, ret_call))
			return true;
	return false;
}

static int take_window(const struct clew_keys *keys, struct clew_window *window)
{
	const struct clew_keys_about *about = clew_keys_about(keys);
	const struct clew_time_base base = {.start = about->start,
					    .end = about->end,
					    .wall = about->wall,
					    .zone = about->zone,
					    .has_wall = about->has_wall};

	return clew_window_take_in(window, &base);
}

static void print_answer(struct answer *answer, struct clew_keys_call *call)
{
	const bool json = answer->question->json;

	if (json) {
		answer->json.out = stdout;
		clew_json_answer(&answer->json);
		clew_json_string(&answer->json, "key", answer->question->key);
		clew_json_array(&answer->json, "calls");
	}
	do {
		answer->count++;
		if (json)
			clew_json_keys_call(&answer->json, answer->keys, call);
		else
			clew_print_keys_call(stdout, answer->keys, call);
	} while (next_call(answer, call));
	if (!json) {
		clew_print_keys_end(stdout, answer->keys, answer->question->key, answer->count);
		return;
	}
	clew_json_array_end(&answer->json);
	clew_json_keys_ledger(&answer->json, clew_keys_about(answer->keys));
	clew_json_object_end(&answer->json);
	clew_json_end(&answer->json);
}

/* TYPE=VALUE; what has no equals sign is a value. */
static int search(struct answer *answer)
{
	const char *key = answer->question->key, *equals = strchr(key, '=');

	if (equals) {
		answer->type = strndup(key, (size_t)(equals - key));
		if (!answer->type)
			return clew_fail_memory();
	}
	clew_keys_search(answer->keys, answer->type, equals ? equals + 1 : key, &answer->search);
	return 0;
}

int clew_spans_key(const char *operand, const struct clew_key_question *question)
{
	struct answer answer = {.question = question};
	struct clew_keys_call call;
	struct clew_keys *keys;
	int status = clew_open_keys(operand, &keys);

	if (status)
		return status;
	answer.keys = keys;
	status = take_window(keys, question->window);
	if (!status)
		status = search(&answer);
	if (!status && !clew_keys_count(keys))
		status = clew_fail(CLEW_EXIT_NEGATIVE,
				   "no program announced calls: docs/layers.md says how they do");
	else if (!status && !next_call(&answer, &call))
		status = clew_fail(CLEW_EXIT_NEGATIVE,
				   "no call has '%s' that fits: give VALUE or TYPE=VALUE of a "
				   "descriptor, as `clew edges` shows them",
				   question->key);
	else if (!status)
		print_answer(&answer, &call);
	free(answer.type);
	clew_keys_close(keys);
	return status;
}
