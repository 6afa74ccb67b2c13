/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Triggers. See trigger.h. */
#include "live/trigger.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/nearest.h"

#define DAY 86400000000000ull /* ns */

/* A rule that is being read. */
struct rule {
	const char *text;
	const char *at;
	struct clew_message *message;
};

static void skip_blanks(struct rule *rule)
{
	rule->at += strspn(rule->at, " \t");
}

/* Takes a word of any bytes but blanks and >. Returns its length. */
static size_t take_word(struct rule *rule, char *ret_word, size_t room)
{
	size_t length = strcspn(rule->at, " \t>");

	snprintf(ret_word, room, "%.*s", (int)length, rule->at);
	rule->at += length;
	skip_blanks(rule);
	return length;
}

static const char *nearest_kind(const char *word)
{
	const char *best = clew_wait_kind_name(0);

	for (unsigned kind = 1; kind < CLEW_WAIT_KIND_COUNT; kind++)
		if (word_distance(word, clew_wait_kind_name(kind)) < word_distance(word, best))
			best = clew_wait_kind_name(kind);
	return best;
}

static int say_form(struct rule *rule, const char *at)
{
	rule->at = at;
	return clew_say(rule->message, -EINVAL,
			"this is no rule: write wait KIND > 50ms, lock wait > 20ms, call NAME > "
			"50ms, or runqueue > 10ms");
}

static int take_kind(struct rule *rule, struct clew_trigger *trigger)
{
	const char *at = rule->at;
	char word[24];
	int kind;

	if (!take_word(rule, word, sizeof(word)))
		return say_form(rule, at);
	kind = clew_wait_kind_from_name(word);
	if (kind >= 0 && kind < CLEW_WAIT_KIND_COUNT) {
		trigger->kinds = 1ull << kind;
		return 0;
	}
	rule->at = at;
	return clew_say(rule->message, -EINVAL, "there is no kind \"%s\": did you mean \"%s\"?",
			word, nearest_kind(word));
}

static int take_call(struct rule *rule, struct clew_trigger *trigger)
{
	const char *at = rule->at;
	char word[40];

	take_word(rule, word, sizeof(word));
	trigger->call = clew_call_from_name(word);
	if (trigger->call != CLEW_NO_CALL)
		return 0;
	rule->at = at;
	return clew_say(rule->message, -EINVAL,
			"there is no system call \"%s\": write its name, as fsync", word);
}

static int take_condition(struct rule *rule, struct clew_trigger *trigger)
{
	const char *begin = rule->at;
	char word[24];

	take_word(rule, word, sizeof(word));
	if (!strcmp(word, "wait"))
		return take_kind(rule, trigger);
	if (!strcmp(word, "call")) {
		trigger->what = CLEW_TRIGGER_CALL;
		return take_call(rule, trigger);
	}
	if (!strcmp(word, "runqueue")) {
		trigger->what = CLEW_TRIGGER_RUNQUEUE;
		return 0;
	}
	if (strcmp(word, "lock") != 0)
		return say_form(rule, begin);
	trigger->what = CLEW_TRIGGER_LOCK;
	trigger->kinds = 1ull << CLEW_WAIT_FUTEX | 1ull << CLEW_WAIT_LOCK | 1ull << CLEW_WAIT_FILE;
	take_word(rule, word, sizeof(word));
	return strcmp(word, "wait") ? say_form(rule, begin) : 0;
}

static int take_duration(struct rule *rule, struct clew_trigger *trigger)
{
	unsigned __int128 threshold = 0;
	const char *at = rule->at;
	char word[40];
	size_t from = 0;

	take_word(rule, word, sizeof(word));
	if (!duration_part(word, strlen(word), 0, &from, &threshold) && !word[from]) {
		trigger->threshold = (uint64_t)threshold;
		return 0;
	}
	rule->at = at;
	return clew_say(rule->message, -EINVAL, "'%s' is no duration: write 50ms", word);
}

static int take_limit(struct rule *rule, struct clew_trigger *trigger)
{
	const char *at = rule->at;
	char word[16];

	take_word(rule, word, sizeof(word));
	trigger->limit = (unsigned)strtoul(word, NULL, 10);
	if (trigger->limit && trigger->limit <= CLEW_TRIGGER_DAY_MOST &&
	    strspn(word, "0123456789") == strlen(word))
		return 0;
	rule->at = at;
	return clew_say(rule->message, -EINVAL,
			"'%s' is no number from 1 to %d: write how often a day", word,
			CLEW_TRIGGER_DAY_MOST);
}

/* What follows the duration. */
static int take_rest(struct rule *rule, struct clew_trigger *trigger)
{
	const char *at = rule->at;
	char word[24];

	take_word(rule, word, sizeof(word));
	if (!strcmp(word, "limit"))
		return take_limit(rule, trigger);
	if (!strcmp(word, "where")) {
		take_word(rule, word, sizeof(word));
		if (!strcmp(word, "comm") && take_word(rule, trigger->comm, sizeof(trigger->comm)))
			return 0;
		if (!strcmp(word, "cgroup") &&
		    take_word(rule, trigger->cgroup, sizeof(trigger->cgroup)))
			return 0;
	}
	rule->at = at;
	return clew_say(rule->message, -EINVAL,
			"nothing that a rule goes on with: write where comm GLOB, where cgroup "
			"GLOB, or limit N");
}

int clew_trigger_parse(const char *text, struct clew_trigger *ret_trigger, size_t *ret_at,
		       struct clew_message *message)
{
	struct rule rule = {.text = text, .at = text, .message = message};
	int r;

	*ret_trigger = (struct clew_trigger){.limit = CLEW_TRIGGER_DAY};
	skip_blanks(&rule);
	r = take_condition(&rule, ret_trigger);
	if (r == 0 && *rule.at != '>')
		r = say_form(&rule, rule.at);
	if (r == 0) {
		rule.at++;
		skip_blanks(&rule);
		r = take_duration(&rule, ret_trigger);
	}
	while (r == 0 && *rule.at)
		r = take_rest(&rule, ret_trigger);
	*ret_at = (size_t)(rule.at - text);
	return r;
}

/* ---- judging ---- */

static bool take_slow(const struct clew_trigger *trigger, struct clew_slow slow,
		      struct clew_slow *ret_slow)
{
	if (slow.end == CLEW_TIME_OPEN || slow.end <= slow.start ||
	    slow.end - slow.start <= trigger->threshold)
		return false;
	*ret_slow = slow;
	return true;
}

bool clew_trigger_matches(const struct clew_trigger *trigger, const struct clew_sleep *sleep,
			  struct clew_slow *ret_slow)
{
	struct clew_slow slow = {
		.start = sleep->start, .end = sleep->end, .task = sleep->task, .kind = sleep->kind};
	bool meant = false;

	switch (trigger->what) {
	case CLEW_TRIGGER_WAIT:
		meant = trigger->kinds >> sleep->kind & 1;
		break;
	case CLEW_TRIGGER_LOCK:
		/* Threads at a condition variable wait for work, as far as anybody can tell. */
		meant = trigger->kinds >> sleep->kind & 1 &&
			(sleep->kind == CLEW_WAIT_LOCK || sleep->holder_count);
		break;
	case CLEW_TRIGGER_CALL:
		meant = sleep->call == trigger->call;
		break;
	case CLEW_TRIGGER_RUNQUEUE:
		slow.start = sleep->end;
		slow.end = sleep->switch_in;
		slow.kind = CLEW_SEGMENT_RUNQUEUE;
		meant = sleep->end != CLEW_TIME_OPEN;
		break;
	}
	return meant && take_slow(trigger, slow, ret_slow);
}

bool clew_trigger_matches_ready(const struct clew_trigger *trigger, const struct clew_ready *ready,
				struct clew_slow *ret_slow)
{
	const struct clew_slow slow = {.start = ready->start,
				       .end = ready->end,
				       .task = ready->task,
				       .kind = CLEW_SEGMENT_RUNQUEUE};

	return trigger->what == CLEW_TRIGGER_RUNQUEUE && take_slow(trigger, slow, ret_slow);
}

bool clew_trigger_wants(const struct clew_trigger *trigger, const char *comm, const char *cgroup)
{
	return (!trigger->comm[0] || (comm && !fnmatch(trigger->comm, comm, 0))) &&
	       (!trigger->cgroup[0] || (cgroup && !fnmatch(trigger->cgroup, cgroup, 0)));
}

bool clew_trigger_fire(struct clew_trigger *trigger, uint64_t time)
{
	const unsigned all = CLEW_TRIGGER_DAY_MOST;
	uint64_t oldest = trigger->fired[(trigger->next + all - trigger->limit) % all],
		 before = trigger->fired[(trigger->next + all - CLEW_TRIGGER_BURST) % all];

	if ((oldest && time - oldest < DAY) || (before && time - before < CLEW_TRIGGER_SPAN))
		return false;
	trigger->fired[trigger->next] = time;
	trigger->next = (trigger->next + 1) % all;
	return true;
}
