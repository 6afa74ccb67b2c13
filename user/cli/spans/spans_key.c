/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew spans --key. */
#include "cli/spans/spans_key.h"

#include <clew/tokens.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/fail.h"
#include "cli/spans/keys_file.h"
#include "format/json.h"
#include "format/position.h"
#include "format/text.h"

struct answer {
	const struct clew_keys *keys;
	const struct clew_key_question *question;
	struct clew_keys_search search;
	char *type; /* NULL: any */
	uint64_t count;
	struct clew_json json;
};

/* "kv.get". Returns buffer. */
#define NAME_SIZE (2 * CLEW_ANNOUNCE_TEXT)
static const char *name_of(const struct clew_keys_call *call, char buffer[NAME_SIZE])
{
	snprintf(buffer, NAME_SIZE, "%s.%s", call->interface, call->operation);
	return buffer;
}

static bool is_wanted(const struct answer *answer, const struct clew_keys_call *call)
{
	const struct clew_key_question *question = answer->question;
	char name[NAME_SIZE];

	return clew_window_has(question->window, call->begin, call->end) &&
	       clew_selection_wants((void *)&question->selection,
				    &(struct clew_trace_task){.serial = 1,
							      .tid = call->tid,
							      .pid = call->pid,
							      .comm = call->comm}) &&
	       (!question->name || fnmatch(question->name, name_of(call, name), 0) == 0);
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

/* ---- JSON ---- */

/* The fields of a call by which another answer finds it. */
static void json_place(struct clew_json *json, const struct clew_keys_call *call)
{
	char name[NAME_SIZE];

	clew_json_string(json, "name", name_of(call, name));
	clew_json_unsigned(json, "pid", call->pid);
	clew_json_unsigned(json, "tid", call->tid);
	clew_json_string(json, "comm", call->comm);
	clew_json_unsigned(json, "start", call->begin);
	clew_json_known(json, "end", call->end, CLEW_TIME_OPEN);
}

static void json_words(const struct answer *answer, struct clew_json *json, const char *key,
		       const struct clew_keys_call *call, bool attributes)
{
	struct clew_keys_word word;
	size_t at = 0;

	clew_json_array(json, key);
	for (uint32_t i = 0; i < call->word_count && clew_keys_word(answer->keys, call, &at, &word);
	     i++) {
		if (word.attribute != attributes)
			continue;
		clew_json_object(json, NULL);
		clew_json_string(json, "type", word.type);
		clew_json_string(json, "value", word.value);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_call(struct answer *answer, const struct clew_keys_call *call)
{
	struct clew_json *json = &answer->json;
	struct clew_keys_call other;

	clew_json_object(json, NULL);
	json_place(json, call);
	clew_json_unsigned(json, "token", call->token);
	json_words(answer, json, "descriptors", call, false);
	json_words(answer, json, "attributes", call, true);
	clew_json_string(json, "calls", call->calls[0] ? call->calls : NULL);
	clew_json_bool(json, "async", call->is_async);
	if (clew_keys_call(answer->keys, call->parent, &other)) {
		clew_json_object(json, "parent");
		json_place(json, &other);
		clew_json_object_end(json);
	} else {
		clew_json_null(json, "parent");
	}
	clew_json_array(json, "callers");
	for (uint32_t i = 0; i < call->caller_count; i++) {
		if (!clew_keys_call(answer->keys, clew_keys_caller(call, i), &other))
			continue;
		clew_json_object(json, NULL);
		json_place(json, &other);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_string(json, "evidence",
			 call->caller_count ? clew_evidence_name(call->evidence) : NULL);
	clew_json_bool(json, "bridged", call->bridged);
	clew_json_object_end(json);
}

static void json_ledger(struct clew_json *json, const struct clew_keys_about *about)
{
	if (!about->has_ledger) {
		clew_json_null(json, "ledger");
		return;
	}
	clew_json_object(json, "ledger");
	clew_json_bool(json, "balanced", about->balanced);
	clew_json_bool(json, "complete", about->complete);
	if (about->lost_known)
		clew_json_unsigned(json, "lost", about->lost);
	else
		clew_json_null(json, "lost");
	clew_json_unsigned(json, "missing", about->missing);
	clew_json_object_end(json);
}

/* ---- text ---- */

static void print_caller(const struct answer *answer, const struct clew_keys_call *call)
{
	struct clew_keys_call caller;
	char name[NAME_SIZE];

	if (!call->caller_count ||
	    !clew_keys_call(answer->keys, clew_keys_caller(call, 0), &caller))
		return;
	if (call->caller_count > 1) {
		printf(", for one of %" PRIu32 " calls", call->caller_count);
		return;
	}
	fputs(", for ", stdout);
	clew_print_safe(stdout, name_of(&caller, name));
	fputs(" of ", stdout);
	clew_print_safe(stdout, caller.comm);
	printf("-%" PRIu32 " (%s)", caller.tid, clew_evidence_name(call->evidence));
}

static void print_call(const struct answer *answer, const struct clew_keys_call *call)
{
	const struct clew_keys_about *about = clew_keys_about(answer->keys);
	struct clew_keys_word word;
	char name[NAME_SIZE];
	size_t at = 0;

	printf("+%-13s ", CLEW_OFFSET(call->begin - about->start, about->end - about->start));
	printf("%9s  ",
	       call->end == CLEW_TIME_OPEN ? "open" : CLEW_DURATION(call->end - call->begin));
	clew_print_safe(stdout, call->comm);
	printf("-%" PRIu32 "  ", call->tid);
	clew_print_safe(stdout, name_of(call, name));
	for (uint32_t i = 0; i < call->word_count && clew_keys_word(answer->keys, call, &at, &word);
	     i++) {
		fputs(word.attribute ? " @" : " ", stdout);
		clew_print_safe(stdout, word.type);
		putchar('=');
		clew_print_safe(stdout, word.value);
	}
	print_caller(answer, call);
	putchar('\n');
}

static void print_summary(const struct answer *answer)
{
	const struct clew_keys_about *about = clew_keys_about(answer->keys);

	printf("\n%" PRIu64 " call%s ", answer->count, answer->count == 1 ? " has" : "s have");
	clew_print_safe(stdout, answer->question->key);
	putchar('\n');
	if (about->lost || about->missing)
		printf("%" PRIu64 " records of the recording were lost: calls may lack\n",
		       about->lost + about->missing);
	else if (about->has_ledger && !about->lost_known)
		puts("the recording's losses are not known: calls may lack");
}

/* ---- both ---- */

static int take_window(const struct clew_keys *keys, struct clew_window *window)
{
	const struct clew_keys_about *about = clew_keys_about(keys);
	const struct clew_time_base base = {.start = about->start,
					    .end = about->end,
					    .wall = about->wall,
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
			json_call(answer, call);
		else
			print_call(answer, call);
	} while (next_call(answer, call));
	if (!json) {
		print_summary(answer);
		return;
	}
	clew_json_array_end(&answer->json);
	json_ledger(&answer->json, clew_keys_about(answer->keys));
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
