/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Says what classes of operations took hour by hour. */
#include "answers/compare/history.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "answers/compare/compare.h"
#include "format/json.h"
#include "format/text.h"

#define MOST_CAUSES 2 /* in a line */

/* A class in an hour; `class` NULL: the hour before does not have it, and `alone` is set; both
 * NULL: the hour does not, either. */
struct found {
	const struct compare_class *class;
	const struct compare_alone *alone;
};

static struct found find_class(const struct clew_history_hour *hour, const char *name)
{
	const struct compare_names *names = &hour->compare.classes;
	const struct compare_result *result = &hour->result;
	struct found found = {};

	for (size_t i = 0; i < result->class_count && !found.class; i++)
		if (!strcmp(compare_name_at(names, result->classes[i].class)->text, name))
			found.class = &result->classes[i];
	for (size_t i = 0; i < result->alone_count[COMPARE_AFTER] && !found.class; i++)
		if (!strcmp(compare_name_at(names, result->alone[COMPARE_AFTER][i].class)->text,
			    name))
			found.alone = &result->alone[COMPARE_AFTER][i];
	return found;
}

static uint64_t mean_of(const struct found *found)
{
	return found->class ? found->class->total.sides[COMPARE_AFTER].mean_ns
			    : found->alone->ns / found->alone->count;
}

static uint64_t p99_of(const struct clew_history_hour *hour, const struct found *found)
{
	return compare_length_of(&hour->compare, COMPARE_AFTER,
				 found->class ? found->class->class : found->alone->class, .99);
}

/* Operations of the class in the hour that are in no sum. */
static uint64_t left_out_of(const struct clew_history_hour *hour, const struct found *found,
			    bool blind)
{
	const struct compare_left_out *all = hour->compare.left_out.data;
	uint32_t class = found->class ? found->class->class : found->alone->class;
	uint64_t count = 0;

	for (size_t i = 0; i < hour->compare.left_out.count; i++)
		if (all[i].class == class && all[i].side == COMPARE_AFTER && all[i].blind == blind)
			count += all[i].count;
	return count;
}

static void print_moment(FILE *out, uint64_t at)
{
	time_t second = (time_t)(at / 1000000000);
	char text[32];
	struct tm local;

	localtime_r(&second, &local);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &local);
	fputs(text, out);
}

/* The causes that changed most. */
static void print_causes(FILE *out, const struct clew_history_hour *hour,
			 const struct compare_class *class)
{
	const struct clew_compare_answer answer = {.compare = &hour->compare};
	unsigned shown = 0;

	for (size_t i = 0; i < class->row_count && shown < MOST_CAUSES; i++) {
		const struct compare_row *row = &class->rows[i];
		int64_t change = compare_change(row);

		if (!row->changed)
			continue;
		fprintf(out, "%s%c%s ", shown++ ? ", " : "; ", change < 0 ? '-' : '+',
			CLEW_DURATION((uint64_t)llabs(change)));
		clew_print_safe(out, CLEW_ROW_NAME(&answer, row));
	}
}

static void print_change(FILE *out, const struct clew_history_hour *hour,
			 const struct compare_class *class)
{
	const struct noise_difference *difference = &class->total.difference;
	uint64_t before = class->total.sides[COMPARE_BEFORE].mean_ns;

	if (class->verdict == COMPARE_SHORT || class->verdict == COMPARE_BLIND) {
		fputs(class->verdict == COMPARE_SHORT ? "  too short to say"
						      : "  no verdict: records were lost",
		      out);
		return;
	}
	if (before)
		fprintf(out, "  %+.1f %% (%+.1f .. %+.1f)",
			(double)compare_change(&class->total) * 100 / (double)before,
			(difference->ratio_low - 1) * 100, (difference->ratio_high - 1) * 100);
	fputs(class->verdict == COMPARE_CHANGED ? ", differs from the hour before"
						: ", no change beyond noise",
	      out);
	print_causes(out, hour, class);
}

static void print_class(FILE *out, const struct clew_history_answer *answer, const char *name)
{
	clew_print_safe(out, name);
	fputc('\n', out);
	for (size_t i = 0; i < answer->hour_count; i++) {
		const struct clew_history_hour *hour = &answer->hours[i];
		struct found found = find_class(hour, name);

		if (!found.class && !found.alone)
			continue;
		fputs("  ", out);
		print_moment(out, hour->from);
		fprintf(out, "  %8" PRIu64 "  mean %s",
			found.class ? found.class->count[COMPARE_AFTER] : found.alone->count,
			CLEW_DURATION(mean_of(&found)));
		if (p99_of(hour, &found))
			fprintf(out, ", 99 %% below %s", CLEW_DURATION(p99_of(hour, &found)));
		if (left_out_of(hour, &found, false))
			fprintf(out, ", and %" PRIu64 " not seen whole",
				left_out_of(hour, &found, false));
		if (found.class)
			print_change(out, hour, found.class);
		else
			fputs("  none in the hour before", out);
		fputc('\n', out);
	}
}

void clew_print_history(FILE *out, const struct clew_history_answer *answer)
{
	for (size_t i = 0; i < answer->class_count; i++) {
		fputs(i ? "\n" : "", out);
		print_class(out, answer, answer->classes[i]);
	}
	if (answer->left_out)
		fprintf(out, "\n%zu more class%s (--class)\n", answer->left_out,
			answer->left_out == 1 ? "" : "es");
	if (answer->damaged)
		fprintf(out, "\n%zu part%s of the files %s damaged and left out\n", answer->damaged,
			answer->damaged == 1 ? "" : "s", answer->damaged == 1 ? "is" : "are");
}

/* ---- JSON ---- */

static void json_causes(struct clew_json *json, const struct clew_history_hour *hour,
			const struct compare_class *class)
{
	const struct clew_compare_answer answer = {.compare = &hour->compare};

	clew_json_array(json, "causes");
	for (size_t i = 0; i < class->row_count; i++) {
		const struct compare_row *row = &class->rows[i];

		clew_json_object(json, NULL);
		clew_json_string(json, "text", CLEW_ROW_NAME(&answer, row));
		clew_json_signed(json, "change_ns", compare_change(row));
		clew_json_bool(json, "changed", row->changed);
		clew_json_unsigned(json, "mean_ns", row->sides[COMPARE_AFTER].mean_ns);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_hour(struct clew_json *json, const struct clew_history_hour *hour,
		      const struct found *found)
{
	const struct compare_class *class = found->class;
	bool known = class && class->verdict != COMPARE_SHORT;

	clew_json_object(json, NULL);
	clew_json_unsigned(json, "from", hour->from);
	clew_json_unsigned(json, "count",
			   class ? class->count[COMPARE_AFTER] : found->alone->count);
	clew_json_unsigned(json, "cut", left_out_of(hour, found, false));
	clew_json_unsigned(json, "blind", left_out_of(hour, found, true));
	clew_json_unsigned(json, "mean_ns", mean_of(found));
	clew_json_unsigned(json, "p99_ns", p99_of(hour, found));
	clew_json_string(json, "verdict", class ? clew_compare_verdict(class) : NULL);
	if (class)
		clew_json_signed(json, "change_ns", compare_change(&class->total));
	else
		clew_json_null(json, "change_ns");
	if (known) {
		clew_json_signed(json, "low_ns", llround(class->total.difference.low));
		clew_json_signed(json, "high_ns", llround(class->total.difference.high));
	} else {
		clew_json_null(json, "low_ns");
		clew_json_null(json, "high_ns");
	}
	if (class)
		json_causes(json, hour, class);
	clew_json_object_end(json);
}

void clew_json_history(FILE *out, const struct clew_history_answer *answer)
{
	struct clew_json json = {.out = out};

	clew_json_answer(&json);
	clew_json_array(&json, "classes");
	for (size_t i = 0; i < answer->class_count; i++) {
		clew_json_object(&json, NULL);
		clew_json_string(&json, "text", answer->classes[i]);
		clew_json_array(&json, "hours");
		for (size_t k = 0; k < answer->hour_count; k++) {
			struct found found = find_class(&answer->hours[k], answer->classes[i]);

			if (found.class || found.alone)
				json_hour(&json, &answer->hours[k], &found);
		}
		clew_json_array_end(&json);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_unsigned(&json, "left_out", answer->left_out);
	clew_json_unsigned(&json, "damaged", answer->damaged);
	clew_json_object_end(&json);
	clew_json_end(&json);
}
