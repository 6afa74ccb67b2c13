/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Moments in positions. */
#include "cli/operand/moment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/front/fail.h"
#include "cli/operand/window.h"
#include "convert/convert.h"
#include "words/wall.h"

/* A position in parts: spans, up to the @; the moment; EARLIEST or LATEST, with what is before. */
struct position_text {
	const char *text;
	size_t spans; /* bytes; 0: it is a moment alone */
	char *moment;
	const char *rest;
};

/* The last @ that is neither quoted nor behind a backslash; NULL: none. */
static const char *find_at(const char *text)
{
	const char *found = NULL;
	char quote = '\0';

	for (; *text; text++) {
		if (*text == '\\' && text[1])
			text++;
		else if (quote)
			quote = *text == quote ? '\0' : quote;
		else if (*text == '\'' || *text == '"')
			quote = *text;
		else if (*text == '@')
			found = text;
	}
	return found;
}

/* The length of a text without a word at its end, which blanks precede. */
static size_t without_word(const char *text, size_t length, const char *word)
{
	size_t size = strlen(word);

	if (length <= size || strncasecmp(text + length - size, word, size) != 0 ||
	    text[length - size - 1] != ' ')
		return length;
	return length - size;
}

static int take_apart(const char *text, struct position_text *ret_parts)
{
	const char *at = find_at(text), *begin = at ? at + 1 : text;
	size_t length;

	begin += strspn(begin, " ");
	length = strlen(begin);
	length = without_word(begin, length, "earliest");
	length = without_word(begin, length, "latest");
	while (length && begin[length - 1] == ' ')
		length--;
	*ret_parts = (struct position_text){.text = text,
					    .spans = at ? (size_t)(at - text) : 0,
					    .moment = strndup(begin, length),
					    .rest = begin + length};
	return ret_parts->moment ? 0 : clew_fail_memory();
}

int clew_moment_base(const struct clew_model *model, struct clew_time_base *ret_base,
		     clew_time *ret_first)
{
	struct clew_trace *trace;
	clew_time first = INT64_MAX, last = 0;

	for (uint32_t i = 0; i < model->span_count; i++) {
		first = model->spans[i].start < first ? model->spans[i].start : first;
		last = model->spans[i].end > last ? model->spans[i].end : last;
	}
	*ret_first = first;
	*ret_base = (struct clew_time_base){.start = first < 0 ? 0 : (uint64_t)first,
					    .end = (uint64_t)last};
	if (clew_trace_truth_from_model(model, &trace) < 0)
		return clew_fail_memory();
	if (trace)
		clew_wall_base(trace, ret_base);
	clew_trace_free(trace);
	return 0;
}

/* True if a text is a moment, right or wrong, and no other place of a position. */
static bool is_moment(const char *text)
{
	struct clew_time_base base = {};
	uint64_t at;

	return clew_parse_moment(text, &base, &at) != -EINVAL;
}

static int replace(const char *option, const struct position_text *parts, const char *spans,
		   size_t spans_length, const struct clew_model *model, char **ret_text)
{
	struct clew_time_base base;
	clew_time first;
	uint64_t at = 0;
	int status = clew_moment_base(model, &base, &first);

	if (!status)
		status = clew_moment_take(option, parts->moment, &base, &at);
	if (!status && asprintf(ret_text, "%.*s@ duration(%lldns)%s", (int)spans_length, spans,
				(long long)((clew_time)at - first), parts->rest) < 0) {
		*ret_text = NULL;
		status = clew_fail_memory();
	}
	return status;
}

int clew_ends_between(struct clew_ends *ends, const struct clew_time_base *base, uint64_t *ret_from,
		      uint64_t *ret_to, char *ret_memory[2])
{
	const char **const texts[2] = {&ends->from, &ends->to};
	struct position_text parts[2] = {};
	uint64_t at[2] = {};
	bool both = *texts[0] && *texts[1];
	int status = 0;

	*ret_from = *ret_to = 0;
	ret_memory[0] = ret_memory[1] = NULL;
	for (int i = 0; i < 2 && both && !status; i++) {
		status = take_apart(*texts[i], &parts[i]);
		both = !status && clew_parse_moment(parts[i].moment, base, &at[i]) == 0 &&
		       at[i] >= base->start && at[i] <= base->end;
	}
	both &= at[0] < at[1] && (parts[0].spans || parts[1].spans);
	for (int i = 0; i < 2 && both && !status; i++)
		if (asprintf(&ret_memory[i], "%.*s%s%llu%s", (int)parts[i].spans, parts[i].text,
			     parts[i].spans ? "@ " : "", (unsigned long long)at[i],
			     parts[i].rest) < 0) {
			ret_memory[i] = NULL;
			status = clew_fail_memory();
		}
	if (both && !status) {
		ends->from = ret_memory[0];
		ends->to = ret_memory[1];
		*ret_from = at[0];
		*ret_to = at[1];
	}
	free(parts[0].moment);
	free(parts[1].moment);
	return status;
}

int clew_ends_take(struct clew_ends *ends, const struct clew_model *model, char *ret_memory[2])
{
	const char **const texts[2] = {&ends->from, &ends->to};
	static const char *const options[2] = {"from", "to"};
	struct position_text parts[2] = {};
	int status = 0;

	ret_memory[0] = ret_memory[1] = NULL;
	for (int i = 0; i < 2 && !status; i++)
		if (*texts[i])
			status = take_apart(*texts[i], &parts[i]);
	for (int i = 0; i < 2 && !status; i++) {
		const struct position_text *own = &parts[i], *spans = own->spans ? own : &parts[!i];

		if (!own->moment || !is_moment(own->moment))
			continue;
		if (!spans->spans)
			status = clew_fail(CLEW_EXIT_INPUT,
					   "--%s: '%s' is a moment: add whose, as in 'SPAN @ %s'",
					   options[i], own->text, own->moment);
		else
			status = replace(options[i], own, spans->text, spans->spans, model,
					 &ret_memory[i]);
		if (ret_memory[i])
			*texts[i] = ret_memory[i];
	}
	free(parts[0].moment);
	free(parts[1].moment);
	return status;
}
