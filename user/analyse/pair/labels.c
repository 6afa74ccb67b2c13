/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The events of a trace that its labels tell of, those of marks and names of spans:
 * collected span by span, each span's in order of time, and paired.
 */
#include "analyse/pair/internal.h"

#include "model/internal.h"
#include "query/regex.h"
#include <stdio.h>
#include <stdlib.h>

enum verdict { UNKNOWN, NO_EVENT, AN_EVENT };

/* One of the two expressions. */
struct side {
	struct regex *regex;
	unsigned key, type, sequence; /* numbers of groups, 0 none */
	uint8_t *verdicts;	      /* of each string: many labels are those of other marks */
	uint8_t *wanted;	      /* of each span; NULL: all are */
};

struct labels {
	const struct clew_model *model;
	const struct clew_pair_rule *rule;
	struct clew_pair_error *error;
	struct clew_maker *maker;
	struct clew_pairing *pairing;
	struct regex_scratch *scratch;
	struct side sides[2]; /* origins, destinations */
	struct vector text;   /* a key and a type with NULs behind them */
	uint32_t type;	      /* the rule's, CLEW_NONE while no event needed it */
};

static int fail_at(struct labels *labels, int where, size_t offset, const char *message)
{
	labels->error->where = where;
	labels->error->offset = offset;
	snprintf(labels->error->message, sizeof(labels->error->message), "%s", message);
	return -EINVAL;
}

/* ---- expressions ---- */

static int choose_spans(struct side *side, uint32_t span_count, const uint32_t *spans, size_t count)
{
	if (!spans)
		return 0;
	side->wanted = calloc((size_t)span_count + 1, 1);
	if (!side->wanted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (spans[i] < span_count)
			side->wanted[spans[i]] = 1;
	return 0;
}

static int begin_side(struct labels *labels, int number, const char *expression,
		      const uint32_t *spans, size_t count)
{
	int where = number ? CLEW_PAIR_ERROR_DESTINATIONS : CLEW_PAIR_ERROR_ORIGINS;
	struct side *side = &labels->sides[number];
	int r = regex_compile_groups(expression, strlen(expression), &side->regex,
				     &labels->error->offset, labels->error->message,
				     sizeof(labels->error->message));

	labels->error->where = where;
	if (r < 0)
		return r;
	side->type = regex_group_named(side->regex, "type");
	side->sequence = regex_group_named(side->regex, "sequence");
	side->key = regex_group_named(side->regex, "key");
	for (unsigned i = 1; i <= regex_group_count(side->regex) && !side->key; i++)
		if (i != side->type && i != side->sequence)
			side->key = i;
	if (!side->key)
		return fail_at(labels, where, strlen(expression),
			       "no group holds the key: put it in parentheses, as in send:(.*)");
	side->verdicts = calloc(model_strings(labels->model)->offsets.count + 1, 1);
	return side->verdicts ? choose_spans(side, labels->model->span_count, spans, count)
			      : -ENOMEM;
}

/* ---- events ---- */

static int add_text(struct vector *text, const struct regex_piece *piece)
{
	char *end;

	if (vector_reserve(text, text->count + piece->size + 1) < 0)
		return -ENOMEM;
	end = (char *)text->data + text->count;
	memcpy(end, piece->begin, piece->size);
	end[piece->size] = '\0';
	text->count += piece->size + 1;
	return 0;
}

static int read_sequence(struct labels *labels, const struct regex_piece *piece, uint32_t string,
			 uint64_t *ret_sequence)
{
	char message[sizeof(labels->error->message)];
	bool good = piece->size > 0;
	uint64_t value = 0;

	for (size_t i = 0; i < piece->size && good; i++)
		good = piece->begin[i] >= '0' && piece->begin[i] <= '9' &&
		       !__builtin_mul_overflow(value, 10, &value) &&
		       !__builtin_add_overflow(value, (uint64_t)(piece->begin[i] - '0'), &value);
	*ret_sequence = value;
	if (good)
		return 0;
	snprintf(message, sizeof(message),
		 "the sequence in '%.200s' is no number below 2^64: let the group take digits only",
		 clew_model_string(labels->model, string));
	return fail_at(labels, CLEW_PAIR_ERROR_TRACE, SIZE_MAX, message);
}

static int add_event(struct labels *labels, int number, uint32_t string,
		     const struct regex_piece *pieces, struct clew_pair_event *event)
{
	const struct side *side = &labels->sides[number];
	const struct regex_piece *sequence = side->sequence ? &pieces[side->sequence - 1] : NULL;
	const struct regex_piece *type_piece = side->type ? &pieces[side->type - 1] : NULL;
	uint32_t type = labels->type, entry;
	int r;

	event->sequence = 0;
	r = sequence && sequence->begin ? read_sequence(labels, sequence, string, &event->sequence)
					: 0;
	labels->text.count = 0;
	if (r == 0)
		r = add_text(&labels->text, &pieces[side->key - 1]);
	if (r == 0 && type_piece && type_piece->begin && type_piece->size) {
		size_t at = labels->text.count;

		r = add_text(&labels->text, type_piece);
		if (r == 0)
			r = clew_maker_type(labels->maker, (const char *)labels->text.data + at,
					    &type);
	} else if (r == 0 && type == CLEW_NONE) {
		r = clew_maker_type(labels->maker, labels->rule->type, &type);
		labels->type = type;
	}
	if (r == 0)
		r = clew_pairing_entry(labels->pairing, type, labels->text.data,
				       &labels->rule->options, &entry);
	if (r < 0)
		return r;
	return number ? clew_pairing_destination(labels->pairing, entry, event)
		      : clew_pairing_origin(labels->pairing, entry, event);
}

/* A label at a moment of a span, which may be an event of one side. */
static int look_at(struct labels *labels, int number, uint32_t string, uint32_t span, clew_time at)
{
	struct clew_pair_event event = {.span = span, .at = at, .wait_from = at};
	struct side *side = &labels->sides[number];
	const struct regex_piece *pieces;
	int r;

	if (side->verdicts[string] == NO_EVENT || (side->wanted && !side->wanted[span]))
		return 0;
	r = regex_find(side->regex, labels->scratch, clew_model_string(labels->model, string),
		       &pieces);
	if (r < 0)
		return r;
	side->verdicts[string] = r && pieces[side->key - 1].begin ? AN_EVENT : NO_EVENT;
	return side->verdicts[string] == AN_EVENT
		       ? add_event(labels, number, string, pieces, &event)
		       : 0;
}

/* Marks of one moment in an ES come newest first. */
static int look_at_marks(struct labels *labels, uint32_t es)
{
	const struct clew_model *model = labels->model;
	struct clew_range range = clew_model_marks(model, es);
	const struct clew_mark *marks = model->marks + range.first;
	int r = 0;

	for (uint32_t from = 0, to; from < range.count && r == 0; from = to) {
		for (to = from + 1; to < range.count && marks[to].at == marks[from].at;)
			to++;
		for (uint32_t i = to; i-- > from && r == 0;)
			for (int side = 0; side < 2 && r == 0; side++)
				r = look_at(labels, side, marks[i].label, model->es[es].span,
					    marks[i].at);
	}
	return r;
}

static int look_at_all(struct labels *labels)
{
	const struct clew_model *model = labels->model;
	int r = 0;

	for (uint32_t i = 0; i < model->span_count && r == 0; i++) {
		const struct clew_span *span = &model->spans[i];

		if (labels->rule->spans)
			r = look_at(labels, 1, span->name, i, span->start);
		for (uint32_t es = 0; es < span->elementary.count && r == 0 && model->mark_count;
		     es++)
			r = look_at_marks(labels, span->elementary.first + es);
		if (labels->rule->spans && r == 0)
			r = look_at(labels, 0, span->name, i, span->end);
	}
	return r;
}

/* ---- pairing ---- */

static int close_all(struct labels *labels)
{
	struct clew_pair_problem problem;
	char message[sizeof(labels->error->message)];
	int r = clew_pairing_close(labels->pairing, labels->maker, &problem);

	if (r != -EINVAL)
		return r;
	snprintf(message, sizeof(message), "key '%.200s': %s", problem.id ?: "", problem.message);
	return fail_at(labels, CLEW_PAIR_ERROR_TRACE, SIZE_MAX, message);
}

static int keep_metrics(struct labels *labels, struct clew_paired *paired)
{
	paired->metrics = calloc((size_t)paired->model->type_count + 1, sizeof(*paired->metrics));
	if (!paired->metrics)
		return -ENOMEM;
	for (uint32_t i = 0; i < paired->model->type_count; i++)
		clew_pairing_metrics(labels->pairing, i, &paired->metrics[i]);
	return 0;
}

static int run(struct labels *labels, struct clew_paired *paired)
{
	const struct clew_pair_rule *rule = labels->rule;
	int r = begin_side(labels, 0, rule->origins, rule->from, rule->from_count);

	if (r == 0)
		r = begin_side(labels, 1, rule->destinations, rule->to, rule->to_count);
	if (r == 0)
		r = regex_scratch_new(&labels->scratch);
	if (r == 0)
		r = clew_pairing_new(&labels->pairing);
	if (r < 0)
		return r;
	r = clew_maker_from_model(labels->model, &labels->maker);
	if (r < 0)
		return r == -EINVAL ? -EBADMSG : r;
	r = look_at_all(labels);
	if (r == 0)
		r = close_all(labels);
	if (r == 0)
		r = clew_maker_finish(labels->maker, &paired->model);
	return r < 0 ? r : keep_metrics(labels, paired);
}

int clew_pair_labels(const struct clew_model *model, const struct clew_pair_rule *rule,
		     struct clew_paired *ret_paired, struct clew_pair_error *ret_error)
{
	struct labels labels = {.model = model,
				.rule = rule,
				.error = ret_error,
				.text.item = 1,
				.type = CLEW_NONE};
	int r;

	*ret_paired = (struct clew_paired){};
	*ret_error = (struct clew_pair_error){.offset = SIZE_MAX};
	r = run(&labels, ret_paired);
	for (int i = 0; i < 2; i++) {
		regex_free(labels.sides[i].regex);
		free(labels.sides[i].verdicts);
		free(labels.sides[i].wanted);
	}
	regex_scratch_free(labels.scratch);
	clew_pairing_free(labels.pairing);
	clew_maker_free(labels.maker);
	vector_done(&labels.text);
	if (r < 0)
		clew_paired_done(ret_paired);
	return r;
}

void clew_paired_done(struct clew_paired *paired)
{
	clew_model_free(paired->model);
	free(paired->metrics);
	*paired = (struct clew_paired){};
}
