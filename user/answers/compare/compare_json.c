/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A comparison as JSON. docs/answers.md lists the fields. */
#include "answers/compare/compare.h"

#include <math.h>

#include "compare/about.h"
#include "compare/load.h"
#include "explain/spent.h"
#include "format/json.h"

static const char *const side_words[COMPARE_SIDES] = {"before", "after"};

const char *clew_load_word(unsigned figure)
{
	static const char *const words[LOAD_FIGURES] = {
		[LOAD_OPERATIONS] = "operations_per_second",
		[LOAD_THREADS] = "threads",
		[LOAD_CPUS] = "cpus",
		[LOAD_BUSY] = "busy_percent",
		[LOAD_READY] = "ready_threads",
		[LOAD_LIMITED] = "limited_threads",
		[LOAD_REQUESTS] = "disk_requests_per_second",
		[LOAD_BYTES] = "disk_bytes_per_second",
		[LOAD_PACKETS] = "packets_per_second",
		[LOAD_LOST] = "lost_per_second",
		[LOAD_COST] = "cost_percent",
	};

	return words[figure];
}

const char *clew_compare_verdict(const struct compare_class *class)
{
	switch (class->verdict) {
	case COMPARE_CHANGED:
		return class->replicated ? "changed" : "differs";
	case COMPARE_SHORT:
		return "short";
	case COMPARE_BLIND:
		return "blind";
	default:
		return "same";
	}
}

const char *clew_compare_row_name(const struct clew_compare_answer *answer,
				  const struct compare_row *row, char *buffer, size_t size)
{
	if (row->cause != UINT32_MAX)
		return compare_name_at(&answer->compare->causes, row->cause)->text;
	snprintf(buffer, size, "%u others", row->merged);
	return buffer;
}

static void json_side(struct clew_json *json, const struct clew_compare_answer *answer,
		      unsigned side)
{
	const struct compare *compare = answer->compare;

	clew_json_object(json, side_words[side]);
	clew_json_string(json, "time", answer->times[side]);
	clew_json_array(json, "captures");
	for (uint32_t i = 0; i < compare->captures[side] && !answer->times[side]; i++)
		clew_json_string(json, NULL, answer->names[side][i]);
	clew_json_array_end(json);
	clew_json_unsigned(json, "recorded_ns", compare->loads[side].ns);
	for (unsigned figure = 0; figure < LOAD_FIGURES; figure++)
		clew_json_number(json, clew_load_word(figure),
				 load_figure(&compare->loads[side], compare->captures[side],
					     (enum load_figure)figure));
	for (unsigned about = 0; about < COMPARE_ABOUT_COUNT; about++)
		clew_json_string(json, about_key((enum compare_about)about),
				 compare->about[side][about]);
	clew_json_object_end(json);
}

/* An end of an interval; null: there is none, as nothing can be said of the class. */
static void json_end(struct clew_json *json, const char *key, bool known, double ns)
{
	if (known)
		clew_json_signed(json, key, llround(ns));
	else
		clew_json_null(json, key);
}

static void json_interval(struct clew_json *json, const struct compare_class *class,
			  const struct compare_row *row)
{
	bool known = class->verdict != COMPARE_SHORT;

	json_end(json, "low_ns", known, row->difference.low);
	json_end(json, "high_ns", known, row->difference.high);
	clew_json_bool(json, "changed", row->changed);
}

static void json_part(struct clew_json *json, const struct compare_row *row, unsigned side)
{
	const struct compare_part *part = &row->sides[side];

	clew_json_object(json, side_words[side]);
	clew_json_unsigned(json, "mean_ns", part->mean_ns);
	clew_json_unsigned(json, "total_ns", part->ns);
	clew_json_unsigned(json, "times", part->times);
	clew_json_unsigned(json, "operations", part->operations);
	clew_json_unsigned(json, "slowest_ns", part->slowest_mean_ns);
	clew_json_object_end(json);
}

static void json_row(struct clew_json *json, const struct clew_compare_answer *answer,
		     const struct compare_class *class, const struct compare_row *row)
{
	const struct compare_name *cause =
		row->cause == UINT32_MAX ? NULL
					 : compare_name_at(&answer->compare->causes, row->cause);

	clew_json_object(json, NULL);
	clew_json_string(json, "text", CLEW_ROW_NAME(answer, row));
	clew_json_string(json, "class",
			 cause ? clew_spent_word((enum clew_spent)cause->spent) : NULL);
	clew_json_string(json, "party", cause && cause->party[0] ? cause->party : NULL);
	clew_json_signed(json, "change_ns", compare_change(row));
	json_interval(json, class, row);
	clew_json_number(json, "on_path", row->on_path);
	if (isnan(row->on_path))
		clew_json_null(json, "on_path_ns");
	else
		clew_json_signed(json, "on_path_ns", llround(compare_change_on_path(row)));
	for (unsigned side = 0; side < COMPARE_SIDES; side++)
		json_part(json, row, side);
	clew_json_object_end(json);
}

static void json_class_side(struct clew_json *json, const struct compare_class *class,
			    unsigned side)
{
	const struct compare_part *part = &class->total.sides[side];

	clew_json_object(json, side_words[side]);
	clew_json_unsigned(json, "count", class->count[side]);
	clew_json_unsigned(json, "total_ns", part->ns);
	clew_json_unsigned(json, "mean_ns", part->mean_ns);
	clew_json_unsigned(json, "p50_ns", class->p50[side]);
	clew_json_unsigned(json, "p99_ns", class->p99[side]);
	clew_json_unsigned(json, "slowest", class->slowest[side]);
	clew_json_unsigned(json, "slowest_ns", part->slowest_mean_ns);
	clew_json_unsigned(json, "blocks", class->blocks[side]);
	clew_json_unsigned(json, "blind", class->blind[side]);
	clew_json_unsigned(json, "cut", class->cut[side]);
	clew_json_object_end(json);
}

static void json_name(struct clew_json *json, const struct compare_name *name)
{
	clew_json_string(json, "kind",
			 clew_operation_kind_name((enum clew_operation_kind)name->kind));
	clew_json_string(json, "program", name->party);
	clew_json_string(json, "text", name->text);
}

/* The longest operation after, as `clew why` is asked about it. */
static void json_longest(struct clew_json *json, const struct clew_compare_answer *answer,
			 const struct compare_class *class)
{
	const struct compare_operation *it = class->longest;

	if (!it) {
		clew_json_null(json, "longest");
		return;
	}
	clew_json_object(json, "longest");
	clew_json_string(
		json, "capture",
		answer->names[answer->halves ? COMPARE_BEFORE : COMPARE_AFTER][it->capture]);
	clew_json_unsigned(json, "tid", it->tid);
	clew_json_unsigned(json, "from", it->from);
	clew_json_unsigned(json, "to", it->from + it->ns);
	clew_json_object_end(json);
}

static void json_class(struct clew_json *json, const struct clew_compare_answer *answer,
		       const struct compare_class *class)
{
	bool known = class->verdict != COMPARE_SHORT;

	clew_json_object(json, NULL);
	json_name(json, compare_name_at(&answer->compare->classes, class->class));
	clew_json_string(json, "verdict", clew_compare_verdict(class));
	clew_json_signed(json, "change_ns", compare_change(&class->total));
	json_interval(json, class, &class->total);
	clew_json_number(json, "ratio_low", known ? class->total.difference.ratio_low : NAN);
	clew_json_number(json, "ratio_high", known ? class->total.difference.ratio_high : NAN);
	for (unsigned side = 0; side < COMPARE_SIDES; side++)
		json_class_side(json, class, side);
	json_longest(json, answer, class);
	clew_json_array(json, "causes");
	for (size_t i = 0; i < class->row_count; i++)
		json_row(json, answer, class, &class->rows[i]);
	clew_json_array_end(json);
	clew_json_object_end(json);
}

static void json_alone(struct clew_json *json, const struct clew_compare_answer *answer,
		       const char *key, unsigned side)
{
	clew_json_array(json, key);
	for (size_t i = 0; i < answer->result->alone_count[side]; i++) {
		const struct compare_alone *alone = &answer->result->alone[side][i];

		clew_json_object(json, NULL);
		json_name(json, compare_name_at(&answer->compare->classes, alone->class));
		clew_json_unsigned(json, "count", alone->count);
		clew_json_unsigned(json, "total_ns", alone->ns);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_mixes(struct clew_json *json, const struct compare_result *result)
{
	clew_json_array(json, "mix");
	for (size_t i = 0; i < result->mix_count; i++) {
		const struct compare_mix *mix = &result->mixes[i];

		clew_json_object(json, NULL);
		clew_json_string(json, "kind",
				 clew_operation_kind_name((enum clew_operation_kind)mix->kind));
		for (unsigned side = 0; side < COMPARE_SIDES; side++) {
			clew_json_object(json, side_words[side]);
			clew_json_unsigned(json, "count", mix->count[side]);
			clew_json_unsigned(json, "total_ns", mix->ns[side]);
			clew_json_object_end(json);
		}
		clew_json_number(json, "change_ns", mix->change);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_blames(struct clew_json *json, const struct compare_result *result)
{
	clew_json_array(json, "blame");
	for (size_t i = 0; i < result->blame_count; i++) {
		const struct compare_blame *blame = &result->blames[i];

		clew_json_object(json, NULL);
		clew_json_string(json, "program", blame->victim);
		clew_json_string(json, "party", blame->party);
		clew_json_string(json, "class", clew_spent_word((enum clew_spent)blame->spent));
		clew_json_unsigned(json, "before_ns", blame->ns[COMPARE_BEFORE]);
		clew_json_unsigned(json, "after_ns", blame->ns[COMPARE_AFTER]);
		clew_json_unsigned(json, "before_operations", blame->operations[COMPARE_BEFORE]);
		clew_json_unsigned(json, "after_operations", blame->operations[COMPARE_AFTER]);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

void clew_json_compare(FILE *out, const struct clew_compare_answer *answer)
{
	const struct compare_result *result = answer->result;
	struct clew_json json = {.out = out};

	clew_json_answer(&json);
	clew_json_bool(&json, "halves", answer->halves);
	for (unsigned side = 0; side < COMPARE_SIDES; side++)
		json_side(&json, answer, side);
	clew_json_array(&json, "rebuilt");
	for (size_t i = 0; i < result->rebuilt_count; i++)
		clew_json_string(&json, NULL, result->rebuilt[i]);
	clew_json_array_end(&json);
	clew_json_array(&json, "classes");
	for (size_t i = 0; i < result->class_count; i++)
		json_class(&json, answer, &result->classes[i]);
	clew_json_array_end(&json);
	json_alone(&json, answer, "new", COMPARE_AFTER);
	json_alone(&json, answer, "gone", COMPARE_BEFORE);
	json_mixes(&json, result);
	json_blames(&json, result);
	clew_json_object_end(&json);
	clew_json_end(&json);
}
