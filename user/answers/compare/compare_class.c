/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A class that changed, as text: its mean, the causes that changed, and its slowest operations. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "answers/compare/words.h"
#include "format/text.h"

#define MOST_ROWS   8
#define MORE_LOAD   (1 / 3.0)
#define OFF_PATH    0.1
#define ON_PATH	    0.9
#define MOST_SHORT  5	 /* causes of a class that is too short to say, */
#define LEAST_SHORT 0.05 /* each at least such a part of the larger mean */

const char *compare_signed(double ns, char text[static COMPARE_SIGNED_SIZE])
{
	snprintf(text, COMPARE_SIGNED_SIZE, "%c%s", ns < 0 ? '-' : '+',
		 CLEW_DURATION((uint64_t)llround(fabs(ns))));
	return text;
}

bool compare_alike(double a, double b)
{
	const double alike = 0.1;

	return fabs(a - b) <= alike * (fabs(a) > fabs(b) ? fabs(a) : fabs(b));
}

void compare_print_class_name(FILE *out, const struct clew_compare_answer *answer, uint32_t class)
{
	clew_print_safe(out, compare_name_at(&answer->compare->classes, class)->text);
}

void compare_print_mean(FILE *out, const struct compare_class *class)
{
	const struct compare_row *total = &class->total;
	const struct noise_difference *difference = &total->difference;
	uint64_t before = total->sides[COMPARE_BEFORE].mean_ns,
		 after = total->sides[COMPARE_AFTER].mean_ns;

	fprintf(out, "mean %s -> %s", CLEW_DURATION(before), CLEW_DURATION(after));
	if (before && class->verdict != COMPARE_SHORT)
		fprintf(out, " (%+.1f %%, 95 %% %+.1f .. %+.1f)",
			((double)after / (double)before - 1) * 100,
			(difference->ratio_low - 1) * 100, (difference->ratio_high - 1) * 100);
	fprintf(out, " of %" PRIu64 " and %" PRIu64, class->count[COMPARE_BEFORE],
		class->count[COMPARE_AFTER]);
}

/* The row that makes most of a class's change, if one does; NULL: none. */
static const struct compare_row *main_row(const struct compare_class *class)
{
	double total = (double)compare_change(&class->total);

	for (size_t i = 0; i < class->row_count; i++) {
		double change = (double)compare_change(&class->rows[i]);

		if (class->rows[i].changed && (change > 0) == (total > 0) &&
		    fabs(change) * 2 >= fabs(total))
			return &class->rows[i];
	}
	return NULL;
}

#define OFTEN_SIZE 24

/* "0.012", "3.1", "3900". Returns `text`. */
static const char *often_text(double often, char text[static OFTEN_SIZE])
{
	snprintf(text, OFTEN_SIZE, often < 99.5 ? "%.2g" : "%.0f", often);
	return text;
}

#define OFTEN(often) often_text(often, (char[OFTEN_SIZE]){0})

/* Says how often it is and how long each time. */
static void print_times(FILE *out, const struct compare_class *class, const struct compare_row *row)
{
	const struct compare_part *parts = row->sides;
	double often[COMPARE_SIDES], each[COMPARE_SIDES];

	for (unsigned side = 0; side < COMPARE_SIDES; side++) {
		often[side] = (double)parts[side].times / (double)class->count[side];
		each[side] =
			parts[side].times ? (double)parts[side].ns / (double)parts[side].times : 0;
	}
	if (!parts[COMPARE_BEFORE].times || !parts[COMPARE_AFTER].times) {
		unsigned side = parts[COMPARE_AFTER].times ? COMPARE_AFTER : COMPARE_BEFORE;

		fprintf(out, "; %s %s times an operation, %s each",
			side == COMPARE_AFTER ? "only after:" : "only before:", OFTEN(often[side]),
			CLEW_DURATION((uint64_t)llround(each[side])));
		return;
	}
	if (compare_alike(often[0], often[1]))
		fprintf(out, "; %s times an operation as before", OFTEN(often[1]));
	else
		fprintf(out, "; %s -> %s times an operation", OFTEN(often[0]), OFTEN(often[1]));
	if (compare_alike(each[0], each[1]))
		fprintf(out, ", %s each as before", CLEW_DURATION((uint64_t)llround(each[1])));
	else
		fprintf(out, ", %s -> %s each", CLEW_DURATION((uint64_t)llround(each[0])),
			CLEW_DURATION((uint64_t)llround(each[1])));
}

static void print_having(FILE *out, const struct compare_class *class,
			 const struct compare_row *row)
{
	double share[COMPARE_SIDES];

	for (unsigned side = 0; side < COMPARE_SIDES; side++)
		share[side] =
			100 * (double)row->sides[side].operations / (double)class->count[side];
	if (share[0] > 99 && share[1] > 99)
		return;
	fprintf(out, ", in %.*f -> %.*f %% of them", share[0] < 10, share[0], share[1] < 10,
		share[1]);
}

/* Says so if operations would not be that much shorter without a cause. */
static void print_on_path(FILE *out, const struct compare_row *row)
{
	if (row->on_path < OFF_PATH)
		fputs("; off the path: without it operations would take as long", out);
	else if (row->on_path < ON_PATH)
		fprintf(out, "; on the path %s of that",
			COMPARE_SIGNED(compare_change_on_path(row)));
}

static void print_row(FILE *out, const struct clew_compare_answer *answer,
		      const struct compare_class *class, const struct compare_row *row)
{
	const struct compare_name *cause =
		row->cause == UINT32_MAX ? NULL
					 : compare_name_at(&answer->compare->causes, row->cause);

	fprintf(out, "  %10s an operation (%s .. %s)  ",
		COMPARE_SIGNED((double)compare_change(row)), COMPARE_SIGNED(row->difference.low),
		COMPARE_SIGNED(row->difference.high));
	clew_print_safe(out, CLEW_ROW_NAME(answer, row));
	if (cause && cause->spent != CLEW_SPENT_RUNNING) {
		print_times(out, class, row);
		print_having(out, class, row);
	}
	print_on_path(out, row);
	fputc('\n', out);
}

/* Says so if many more of a class begin than before. */
static void print_arrivals(FILE *out, const struct clew_compare_answer *answer,
			   const struct compare_class *class)
{
	const struct compare_load *loads = answer->compare->loads;
	double second[COMPARE_SIDES];

	for (unsigned side = 0; side < COMPARE_SIDES; side++)
		second[side] = loads[side].ns
				       ? (double)class->count[side] * 1e9 / (double)loads[side].ns
				       : 0;
	/* Shorter ones begin more often where each is begun as the last one ends. */
	if (second[COMPARE_AFTER] >= second[COMPARE_BEFORE] * (1 + MORE_LOAD) &&
	    compare_change(&class->total) > 0)
		fprintf(out,
			"  %.*f -> %.*f of them begin each second: so many more explain more "
			"waiting\n",
			second[COMPARE_BEFORE] < 100, second[COMPARE_BEFORE],
			second[COMPARE_AFTER] < 100, second[COMPARE_AFTER]);
}

/* The cause that makes most of the change of the slowest operations. */
static void print_slowest(FILE *out, const struct clew_compare_answer *answer,
			  const struct compare_class *class)
{
	const struct compare_part *total = class->total.sides;
	const struct compare_row *most = NULL;
	double largest = 0;

	if (class->count[COMPARE_BEFORE] < 100 || class->count[COMPARE_AFTER] < 100 ||
	    !class->slowest[COMPARE_AFTER])
		return;
	for (size_t i = 0; i < class->row_count; i++) {
		const struct compare_part *part = class->rows[i].sides;
		double change = (double)part[COMPARE_AFTER].slowest_mean_ns -
				(double)part[COMPARE_BEFORE].slowest_mean_ns;

		if (fabs(change) <= fabs(largest))
			continue;
		largest = change;
		most = &class->rows[i];
	}
	fprintf(out, "  The slowest 1 %%: mean %s -> %s",
		CLEW_DURATION(total[COMPARE_BEFORE].slowest_mean_ns),
		CLEW_DURATION(total[COMPARE_AFTER].slowest_mean_ns));
	if (most) {
		fprintf(out, "; most of that: %s  ", COMPARE_SIGNED(largest));
		clew_print_safe(out, CLEW_ROW_NAME(answer, most));
	}
	fputc('\n', out);
}

/* The question about the longest operation after. */
static void print_longest(FILE *out, const struct clew_compare_answer *answer,
			  const struct compare_class *class)
{
	const struct compare_operation *it = class->longest;

	if (!it || answer->halves)
		return;
	fprintf(out, "  The longest one (%s): clew why ", CLEW_DURATION(it->ns));
	clew_print_safe(out, answer->names[COMPARE_AFTER][it->capture]);
	fprintf(out, " --tid %u --from %" PRIu64 " --to %" PRIu64 "\n", it->tid, it->from,
		it->from + it->ns);
}

void compare_print_short(FILE *out, const struct clew_compare_answer *answer,
			 const struct compare_class *class)
{
	double larger = 0;
	unsigned shown = 0;

	for (unsigned side = 0; side < COMPARE_SIDES; side++)
		larger = fmax(larger, (double)class->total.sides[side].mean_ns);
	for (size_t i = 0; i < class->row_count && shown < MOST_SHORT; i++) {
		const struct compare_row *row = &class->rows[i];
		double change = (double)compare_change(row);

		if (fabs(change) < LEAST_SHORT * larger)
			continue;
		fprintf(out, "    %10s an operation  ", COMPARE_SIGNED(change));
		clew_print_safe(out, CLEW_ROW_NAME(answer, row));
		if (row->cause != UINT32_MAX)
			print_times(out, class, row);
		fputc('\n', out);
		shown++;
	}
}

void compare_print_changed(FILE *out, const struct clew_compare_answer *answer,
			   const struct compare_class *class)
{
	const struct compare_row *most = main_row(class);
	size_t shown = 0, stayed = 0;

	fputc('\n', out);
	compare_print_class_name(out, answer, class->class);
	fprintf(out, "%s: ",
		class->replicated	       ? ""
		: answer->times[COMPARE_AFTER] ? " differ between these hours"
					       : " differ between these recordings");
	compare_print_mean(out, class);
	if (!class->total.changed &&
	    (class->total.difference.low > 0 || class->total.difference.high < 0))
		fputs("; among so many comparisons that may be noise, but causes changed", out);
	else if (!class->total.changed)
		fputs("; no change beyond noise as a whole, but of causes", out);
	else if (most && llabs(compare_change(most)) > llabs(compare_change(&class->total)))
		fprintf(out, "; one cause makes %s of it, and others the opposite",
			COMPARE_SIGNED((double)compare_change(most)));
	else if (most)
		fprintf(out, "; %s of the %s have one cause",
			CLEW_DURATION((uint64_t)fabs((double)compare_change(most))),
			CLEW_DURATION((uint64_t)fabs((double)compare_change(&class->total))));
	fputc('\n', out);
	for (size_t i = 0; i < class->row_count; i++) {
		if (class->rows[i].changed && shown++ < MOST_ROWS)
			print_row(out, answer, class, &class->rows[i]);
		stayed += class->rows[i].changed ? 0 : 1 + class->rows[i].merged;
	}
	if (shown > MOST_ROWS)
		fprintf(out, "  %zu more causes changed (--json has them)\n", shown - MOST_ROWS);
	if (!shown)
		fputs("  no single cause changed beyond noise\n", out);
	else if (stayed)
		fprintf(out, "  %zu other cause%s stayed\n", stayed, stayed == 1 ? "" : "s");
	print_slowest(out, answer, class);
	print_longest(out, answer, class);
	if (!answer->halves)
		print_arrivals(out, answer, class);
}
