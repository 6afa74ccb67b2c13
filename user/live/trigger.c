/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Triggers. See trigger.h. */
#include "live/trigger.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/nearest.h"

#define DAY 86400000000000ull /* ns */

/* Takes a word and the blanks behind it. Returns its length. */
static size_t take_word(const char **at, char *ret_word, size_t room)
{
	size_t length = strspn(*at, "abcdefghijklmnopqrstuvwxyz_");

	snprintf(ret_word, room, "%.*s", (int)length, *at);
	*at += length;
	*at += strspn(*at, " \t");
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

static int say_form(const char *text, struct clew_message *message)
{
	return clew_say(message, -EINVAL,
			"'%s' is no rule: write wait KIND > 50ms, or lock wait > 20ms", text);
}

static int take_condition(const char *text, const char **at, struct clew_trigger *trigger,
			  struct clew_message *message)
{
	char word[24];
	int kind;

	take_word(at, word, sizeof(word));
	if (!strcmp(word, "lock")) {
		take_word(at, word, sizeof(word));
		trigger->kinds = 1ull << CLEW_WAIT_FUTEX | 1ull << CLEW_WAIT_LOCK;
		return strcmp(word, "wait") ? say_form(text, message) : 0;
	}
	if (strcmp(word, "wait") || !take_word(at, word, sizeof(word)))
		return say_form(text, message);
	kind = clew_wait_kind_from_name(word);
	if (kind < 0 || kind >= CLEW_WAIT_KIND_COUNT)
		return clew_say(message, -EINVAL,
				"'%s': there is no kind of wait \"%s\": did you mean \"%s\"?", text,
				word, nearest_kind(word));
	trigger->kinds = 1ull << kind;
	return 0;
}

int clew_trigger_parse(const char *text, struct clew_trigger *ret_trigger,
		       struct clew_message *message)
{
	const char *at = text + strspn(text, " \t");
	unsigned __int128 threshold = 0;
	size_t from = 0;
	int r;

	memset(ret_trigger, 0, sizeof(*ret_trigger));
	r = take_condition(text, &at, ret_trigger, message);
	if (r < 0)
		return r;
	if (*at++ != '>')
		return say_form(text, message);
	at += strspn(at, " \t");
	if (duration_part(at, strlen(at), 0, &from, &threshold) || at[from])
		return clew_say(message, -EINVAL, "'%s': '%s' is no duration: write 50ms", text,
				at);
	ret_trigger->threshold = (uint64_t)threshold;
	return 0;
}

bool clew_trigger_matches(const struct clew_trigger *trigger, const struct clew_sleep *sleep)
{
	return sleep->end != CLEW_TIME_OPEN && trigger->kinds >> sleep->kind & 1 &&
	       sleep->end - sleep->start > trigger->threshold;
}

bool clew_trigger_fire(struct clew_trigger *trigger, uint64_t time)
{
	uint64_t oldest = trigger->fired[trigger->next],
		 before = trigger->fired[(trigger->next + CLEW_TRIGGER_DAY - CLEW_TRIGGER_BURST) %
					 CLEW_TRIGGER_DAY];

	if ((oldest && time - oldest < DAY) || (before && time - before < CLEW_TRIGGER_SPAN))
		return false;
	trigger->fired[trigger->next] = time;
	trigger->next = (trigger->next + 1) % CLEW_TRIGGER_DAY;
	return true;
}
