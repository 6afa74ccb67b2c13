/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Announced calls that have a key, in JSON. */
#include <clew/tokens.h>

#include "answers/spans/spans.h"

/* The fields of a call by which another answer finds it. */
static void json_place(struct clew_json *json, const struct clew_keys_call *call)
{
	char name[CLEW_KEYS_NAME_SIZE];

	clew_json_string(json, "name", clew_keys_name(call, name));
	clew_json_unsigned(json, "pid", call->pid);
	clew_json_unsigned(json, "tid", call->tid);
	clew_json_string(json, "comm", call->comm);
	clew_json_unsigned(json, "start", call->begin);
	clew_json_known(json, "end", call->end, CLEW_TIME_OPEN);
}

static void json_words(const struct clew_keys *keys, struct clew_json *json, const char *key,
		       const struct clew_keys_call *call, bool attributes)
{
	struct clew_keys_word word;
	size_t at = 0;

	clew_json_array(json, key);
	for (uint32_t i = 0; i < call->word_count && clew_keys_word(keys, call, &at, &word); i++) {
		if (word.attribute != attributes)
			continue;
		clew_json_object(json, NULL);
		clew_json_string(json, "type", word.type);
		clew_json_string(json, "value", word.value);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

void clew_json_keys_call(struct clew_json *json, const struct clew_keys *keys,
			 const struct clew_keys_call *call)
{
	struct clew_keys_call other;

	clew_json_object(json, NULL);
	json_place(json, call);
	clew_json_unsigned(json, "token", call->token);
	json_words(keys, json, "descriptors", call, false);
	json_words(keys, json, "attributes", call, true);
	clew_json_string(json, "calls", call->calls[0] ? call->calls : NULL);
	clew_json_bool(json, "async", call->is_async);
	if (clew_keys_call(keys, call->parent, &other)) {
		clew_json_object(json, "parent");
		json_place(json, &other);
		clew_json_object_end(json);
	} else {
		clew_json_null(json, "parent");
	}
	clew_json_array(json, "callers");
	for (uint32_t i = 0; i < call->caller_count; i++) {
		if (!clew_keys_call(keys, clew_keys_caller(call, i), &other))
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

void clew_json_keys_ledger(struct clew_json *json, const struct clew_keys_about *about)
{
	if (!about->has_ledger) {
		clew_json_null(json, "ledger");
		return;
	}
	clew_json_object(json, "ledger");
	clew_json_bool(json, "balanced", about->balanced);
	clew_json_bool(json, "complete", about->complete);
	clew_json_maybe(json, "lost", about->lost_known, about->lost);
	clew_json_unsigned(json, "missing", about->missing);
	clew_json_object_end(json);
}
