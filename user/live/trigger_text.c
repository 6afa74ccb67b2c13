/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads a rule. */
#include "live/trigger.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/nearest.h"

#define SECOND 1000000000ull /* ns */

/* A rule that is being read. */
struct rule {
	const char *text;
	const char *at;
	const char *ends; /* bytes that no word has */
	struct clew_message *message;
};

#define PERCENT_MOST 100000u /* of a window: 1,000 waits at a time */
#define FACTOR_MOST  10000u
#define ENDS	     " \t>"
#define ENDS_INSIDE  " \t>)" /* between brackets */

static void skip_blanks(struct rule *rule)
{
	rule->at += strspn(rule->at, " \t");
}

/* Takes a word. Returns its length. */
static size_t take_word(struct rule *rule, char *ret_word, size_t room)
{
	size_t length = strcspn(rule->at, rule->ends);

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
			"this is no rule: write wait KIND, lock wait, call NAME, runqueue, "
			"operation, announced INTERFACE.OPERATION or request DISK, or p99(one of "
			"these), and > 50ms; or sum(KIND) > 20%% of CGROUP");
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

/* Takes OP, if there is one, and DEV. */
static int take_request(struct rule *rule, struct clew_trigger *trigger)
{
	const char *at = rule->at;
	int operation;

	trigger->what = CLEW_TRIGGER_REQUEST;
	take_word(rule, trigger->name, sizeof(trigger->name));
	operation = clew_request_operation_from_name(trigger->name);
	if (operation >= 0) {
		at = rule->at;
		trigger->operations = 1u << operation;
		take_word(rule, trigger->name, sizeof(trigger->name));
	}
	/* Where nothing follows, that is what is wrong. */
	if (trigger->name[0] && strchr(">)", *rule->at))
		return 0;
	rule->at = at;
	if (!trigger->name[0])
		return clew_say(rule->message, -EINVAL,
				"no disk: write its name, as vda, its number, as 254:0, or *");
	return clew_say(rule->message, -EINVAL,
			"'%s' is nothing that a disk is asked for: write read, write, flush, "
			"discard, zeroes or other, and then the disk",
			trigger->name);
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
	if (!strcmp(word, "operation")) {
		trigger->what = CLEW_TRIGGER_OPERATION;
		return 0;
	}
	if (!strcmp(word, "request"))
		return take_request(rule, trigger);
	if (!strcmp(word, "announced")) {
		trigger->what = CLEW_TRIGGER_ANNOUNCED;
		return take_word(rule, trigger->name, sizeof(trigger->name))
			       ? 0
			       : say_form(rule, rule->at);
	}
	if (strcmp(word, "lock") != 0)
		return say_form(rule, begin);
	trigger->what = CLEW_TRIGGER_LOCK;
	trigger->kinds = 1ull << CLEW_WAIT_FUTEX | 1ull << CLEW_WAIT_LOCK | 1ull << CLEW_WAIT_FILE;
	take_word(rule, word, sizeof(word));
	return strcmp(word, "wait") ? say_form(rule, begin) : 0;
}

/* Takes KIND of a sum. */
static int take_summed(struct rule *rule, struct clew_trigger *trigger)
{
	if (!strncmp(rule->at, "request", strlen("request")))
		return clew_say(rule->message, -EINVAL,
				"requests have no sum: write p99(request DISK) > 20ms, or the kind "
				"of wait that is for them, as sum(fsync)");
	if (strncmp(rule->at, "runqueue", strlen("runqueue")) != 0)
		return take_kind(rule, trigger);
	rule->at += strlen("runqueue");
	trigger->what = CLEW_TRIGGER_RUNQUEUE;
	return 0;
}

/* Takes pN( or sum(, what is in the brackets, and the closing one. */
static int take_bracket(struct rule *rule, struct clew_trigger *trigger)
{
	const char *begin = rule->at, *open = begin + strcspn(begin, "(");
	char *end;
	int r;

	if (!strncmp(begin, "sum(", strlen("sum("))) {
		trigger->how = CLEW_TRIGGER_SUM;
	} else {
		trigger->how = CLEW_TRIGGER_PERCENTILE;
		trigger->share = *begin == 'p' ? (unsigned)strtoul(begin + 1, &end, 10) : 0;
		if (!trigger->share || trigger->share > 99 || end != open)
			return say_form(rule, begin);
	}
	trigger->over = CLEW_TRIGGER_OVER;
	rule->at = open + 1;
	rule->ends = ENDS_INSIDE;
	skip_blanks(rule);
	r = trigger->how == CLEW_TRIGGER_SUM ? take_summed(rule, trigger)
					     : take_condition(rule, trigger);
	skip_blanks(rule);
	if (r == 0 && *rule->at != ')')
		r = say_form(rule, rule->at);
	if (r < 0)
		return r;
	rule->ends = ENDS;
	rule->at++;
	skip_blanks(rule);
	return 0;
}

/* Takes N% of CGROUP. The threshold is that share of the window, which is not known yet. */
static int take_percent(struct rule *rule, struct clew_trigger *trigger, unsigned *ret_percent)
{
	const char *at = rule->at;
	char word[24], *end;

	take_word(rule, word, sizeof(word));
	*ret_percent = (unsigned)strtoul(word, &end, 10);
	if (!*ret_percent || *ret_percent > PERCENT_MOST || strcmp(end, "%") != 0 ||
	    !strchr("0123456789", word[0])) {
		rule->at = at;
		return clew_say(rule->message, -EINVAL,
				"'%s' is no share of time: write 20%% of CGROUP", word);
	}
	at = rule->at;
	take_word(rule, word, sizeof(word));
	if (!strcmp(word, "of") && take_word(rule, trigger->cgroup, sizeof(trigger->cgroup)))
		return 0;
	rule->at = at;
	return clew_say(rule->message, -EINVAL, "no cgroup: write of, and a glob, after the share");
}

static int take_duration(struct rule *rule, uint64_t *ret_duration)
{
	unsigned __int128 threshold = 0;
	const char *at = rule->at;
	char word[40];
	size_t from = 0;

	take_word(rule, word, sizeof(word));
	if (!duration_part(word, strlen(word), 0, &from, &threshold) && !word[from]) {
		*ret_duration = (uint64_t)threshold;
		return 0;
	}
	rule->at = at;
	return clew_say(rule->message, -EINVAL, "'%s' is no duration: write 50ms", word);
}

/* Takes N x p50. False: there is something else. */
static bool take_factor(struct rule *rule, struct clew_trigger *trigger)
{
	const char *at = rule->at;
	char word[16];
	bool is;

	take_word(rule, word, sizeof(word));
	trigger->factor = (unsigned)strtoul(word, NULL, 10);
	is = trigger->what == CLEW_TRIGGER_OPERATION && trigger->how == CLEW_TRIGGER_EACH &&
	     trigger->factor && trigger->factor <= FACTOR_MOST &&
	     strspn(word, "0123456789") == strlen(word) && take_word(rule, word, sizeof(word)) &&
	     !strcmp(word, "x") && take_word(rule, word, sizeof(word)) && !strcmp(word, "p50");
	if (!is) {
		rule->at = at;
		trigger->factor = 0;
	}
	return is;
}

/* Takes the length of the window, in whole seconds. */
static int take_over(struct rule *rule, struct clew_trigger *trigger)
{
	const char *at = rule->at;
	uint64_t duration;
	int r = take_duration(rule, &duration);

	if (r < 0)
		return r;
	trigger->over = (unsigned)(duration / SECOND);
	if (duration % SECOND == 0 && duration && duration <= CLEW_TRIGGER_OVER_MOST * SECOND)
		return 0;
	rule->at = at;
	return clew_say(rule->message, -EINVAL,
			"the last seconds must be 1 to %d whole ones: write over 10s",
			CLEW_TRIGGER_OVER_MOST);
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

/* The words behind the duration. */
static int take_rest(struct rule *rule, struct clew_trigger *trigger)
{
	const char *at = rule->at;
	char word[24];

	take_word(rule, word, sizeof(word));
	if (!strcmp(word, "limit"))
		return take_limit(rule, trigger);
	if (!strcmp(word, "over") && trigger->how != CLEW_TRIGGER_EACH)
		return take_over(rule, trigger);
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
			"GLOB, limit N%s",
			trigger->how == CLEW_TRIGGER_EACH ? "" : ", or over 10s");
}

int clew_trigger_parse(const char *text, struct clew_trigger *ret_trigger, size_t *ret_at,
		       struct clew_message *message)
{
	struct rule rule = {.text = text, .at = text, .ends = ENDS, .message = message};
	unsigned percent = 0;
	int r;

	*ret_trigger = (struct clew_trigger){.limit = CLEW_TRIGGER_DAY};
	skip_blanks(&rule);
	/* The bracket of a rule is in its first word. */
	r = rule.at[strcspn(rule.at, "( \t>")] == '(' ? take_bracket(&rule, ret_trigger)
						      : take_condition(&rule, ret_trigger);
	if (r == 0 && *rule.at != '>')
		r = say_form(&rule, rule.at);
	if (r == 0) {
		rule.at++;
		skip_blanks(&rule);
		if (ret_trigger->how == CLEW_TRIGGER_SUM)
			r = take_percent(&rule, ret_trigger, &percent);
		else if (!take_factor(&rule, ret_trigger))
			r = take_duration(&rule, &ret_trigger->threshold);
	}
	while (r == 0 && *rule.at)
		r = take_rest(&rule, ret_trigger);
	if (percent)
		ret_trigger->threshold = ret_trigger->over * (SECOND / 100) * percent;
	*ret_at = (size_t)(rule.at - text);
	return r;
}
