/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A comparison as text: the load first, then classes, what changed most first. */
#include "answers/compare/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answers/report/report.h"
#include "compare/about.h"
#include "compare/load.h"
#include "explain/spent.h"
#include "format/text.h"

#define MOST_ROWS    8 /* of a class */
#define MOST_CLASSES 8 /* with a line of their own, of one verdict */
#define MOST_NAMES   3 /* in one line */
#define MOST_BLAMES  3
#define ALIKE	     0.1 /* numbers that differ by less are called the same */
#define LEAST_BLAME  1e6 /* ns a second by which a blame must change to be told */
#define MORE_LOAD    (1 / 3.0)
#define OFF_PATH     0.1
#define ON_PATH	     0.9
#define LEAST_MIX    0.01 /* of the mean */

/* ---- numbers ---- */

static const char *signed_duration(double ns, char text[static 40])
{
	snprintf(text, 40, "%c%s", ns < 0 ? '-' : '+', CLEW_DURATION((uint64_t)llround(fabs(ns))));
	return text;
}
#define SIGNED(ns) signed_duration(ns, (char[40]){0})

static bool alike(double a, double b)
{
	return fabs(a - b) <= ALIKE * (fabs(a) > fabs(b) ? fabs(a) : fabs(b));
}

static double change_of(const struct compare_row *row)
{
	return (double)row->sides[COMPARE_AFTER].mean_ns -
	       (double)row->sides[COMPARE_BEFORE].mean_ns;
}

/* The change in percent, if there was anything before. */
static void print_ratio(FILE *out, double before, double after)
{
	if (before > 0)
		fprintf(out, " (%+.0f %%)", (after / before - 1) * 100);
}

/* ---- load ---- */

static const struct {
	const char *words, *unit;
	double least; /* a difference that matters */
} figures[LOAD_FIGURES] = {
	[LOAD_OPERATIONS] = {"operations", " a second", 1},
	[LOAD_THREADS] = {"threads", "", 2},
	[LOAD_CPUS] = {"CPUs", "", 1},
	[LOAD_BUSY] = {"CPUs busy", " %", 5},
	[LOAD_READY] = {"threads ready", "", 0.5},
	[LOAD_REQUESTS] = {"disk requests", " a second", 5},
	[LOAD_BYTES] = {"disk bytes", " a second", 1 << 20},
	[LOAD_PACKETS] = {"packets waited for", " a second", 10},
	[LOAD_LOST] = {"records lost", " a second", 1},
	[LOAD_COST] = {"clew's own cost", " % of a CPU", 2},
};

static void print_figure(FILE *out, unsigned figure, const double *values)
{
	bool fine = values[0] < 10 && values[1] < 10 && figure != LOAD_CPUS;

	if (figure == LOAD_BYTES)
		fprintf(out, "%s %s -> %s%s", figures[figure].words,
			CLEW_BYTES((uint64_t)values[0]), CLEW_BYTES((uint64_t)values[1]),
			figures[figure].unit);
	else
		fprintf(out, "%s %.*f -> %.*f%s", figures[figure].words, fine, values[0], fine,
			values[1], figures[figure].unit);
	if (figure != LOAD_BUSY && figure != LOAD_COST)
		print_ratio(out, values[0], values[1]);
}

/* Figures that differ, in one line. */
static void print_load(FILE *out, const struct compare *compare)
{
	unsigned shown = 0;

	for (unsigned figure = 0; figure < LOAD_FIGURES; figure++) {
		double values[COMPARE_SIDES];

		for (unsigned side = 0; side < COMPARE_SIDES; side++)
			values[side] = load_figure(&compare->loads[side], compare->captures[side],
						   (enum load_figure)figure);
		if (alike(values[0], values[1]) ||
		    fabs(values[1] - values[0]) < figures[figure].least)
			continue;
		fputs(shown++ ? "; " : "Load: ", out);
		print_figure(out, figure, values);
	}
	fputs(shown ? ".\n" : "Load: much the same.\n", out);
}

static void print_about(FILE *out, const struct clew_compare_answer *answer)
{
	static const char *const words[COMPARE_ABOUT_COUNT] = {
		[COMPARE_HOST] = "host",
		[COMPARE_KERNEL] = "kernel",
		[COMPARE_MACHINE] = "machine",
		[COMPARE_CPU] = "CPU",
		[COMPARE_TOPOLOGY] = "CPUs and memory",
	};
	const struct compare *compare = answer->compare;

	for (unsigned about = 0; about < COMPARE_ABOUT_COUNT; about++) {
		const char *before = compare->about[COMPARE_BEFORE][about],
			   *after = compare->about[COMPARE_AFTER][about];

		if (!before || !after || !strcmp(before, after))
			continue;
		fprintf(out, "Another %s", words[about]);
		if (about != COMPARE_TOPOLOGY) {
			fputs(": ", out);
			clew_print_safe(out, before);
			fputs(" -> ", out);
			clew_print_safe(out, after);
		}
		fputs(".\n", out);
	}
	for (size_t i = 0; i < answer->result->rebuilt_count && i < MOST_NAMES; i++) {
		fputs(i ? ", " : "Built anew: ", out);
		clew_print_safe(out, answer->result->rebuilt[i]);
	}
	if (answer->result->rebuilt_count > MOST_NAMES)
		fprintf(out, " and %zu more", answer->result->rebuilt_count - MOST_NAMES);
	if (answer->result->rebuilt_count)
		fputs(".\n", out);
}

/* ---- a class ---- */

static void print_class_name(FILE *out, const struct clew_compare_answer *answer, uint32_t class)
{
	clew_print_safe(out, compare_name_at(&answer->compare->classes, class)->text);
}

static void print_mean(FILE *out, const struct compare_class *class)
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
	double total = change_of(&class->total);

	for (size_t i = 0; i < class->row_count; i++) {
		double change = change_of(&class->rows[i]);

		if (class->rows[i].changed && (change > 0) == (total > 0) &&
		    fabs(change) * 2 >= fabs(total))
			return &class->rows[i];
	}
	return NULL;
}

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

		fprintf(out, "; %s %.2g times an operation, %s each",
			side == COMPARE_AFTER ? "only after:" : "only before:", often[side],
			CLEW_DURATION((uint64_t)llround(each[side])));
		return;
	}
	if (alike(often[0], often[1]))
		fprintf(out, "; %.2g times an operation as before", often[1]);
	else
		fprintf(out, "; %.2g -> %.2g times an operation", often[0], often[1]);
	if (alike(each[0], each[1]))
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
	fprintf(out, ", in %.0f -> %.0f %% of them", share[0], share[1]);
}

/* Says so if operations would not be that much shorter without a cause. */
static void print_on_path(FILE *out, const struct compare_row *row)
{
	if (row->on_path < OFF_PATH)
		fputs("; off the path: without it operations would take as long", out);
	else if (row->on_path < ON_PATH)
		fprintf(out, "; without it operations would be shorter by %.0f %% of it",
			row->on_path * 100);
}

static void print_row(FILE *out, const struct clew_compare_answer *answer,
		      const struct compare_class *class, const struct compare_row *row)
{
	const struct compare_name *cause =
		row->cause == UINT32_MAX ? NULL
					 : compare_name_at(&answer->compare->causes, row->cause);

	fprintf(out, "  %10s an operation (%s .. %s)  ", SIGNED(change_of(row)),
		SIGNED(row->difference.low), SIGNED(row->difference.high));
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
	if (second[COMPARE_AFTER] >= second[COMPARE_BEFORE] * (1 + MORE_LOAD))
		fprintf(out,
			"  %.3g -> %.3g of them begin each second: so many more explain more "
			"waiting\n",
			second[COMPARE_BEFORE], second[COMPARE_AFTER]);
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
		fprintf(out, "; most of that: %s  ", SIGNED(largest));
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

static void print_changed(FILE *out, const struct clew_compare_answer *answer,
			  const struct compare_class *class)
{
	const struct compare_row *most = main_row(class);
	size_t shown = 0, stayed = 0;

	fputc('\n', out);
	print_class_name(out, answer, class->class);
	fprintf(out, "%s: ", class->replicated ? "" : " differ between these recordings");
	print_mean(out, class);
	if (!class->total.changed)
		fputs("; no change beyond noise as a whole, but of causes", out);
	else if (most)
		fprintf(out, "; %s of the %s have one cause",
			CLEW_DURATION((uint64_t)fabs(change_of(most))),
			CLEW_DURATION((uint64_t)fabs(change_of(&class->total))));
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

/* ---- classes with the same verdict ---- */

static size_t count_verdicts(const struct compare_result *result, enum compare_verdict verdict)
{
	size_t count = 0;

	for (size_t i = 0; i < result->class_count; i++)
		count += result->classes[i].verdict == verdict;
	return count;
}

static void print_same(FILE *out, const struct clew_compare_answer *answer)
{
	size_t count = count_verdicts(answer->result, COMPARE_SAME), shown = 0;

	for (size_t i = 0; i < answer->result->class_count && shown < MOST_CLASSES; i++) {
		const struct compare_class *class = &answer->result->classes[i];

		if (class->verdict != COMPARE_SAME)
			continue;
		if (!shown++)
			fputc('\n', out);
		print_class_name(out, answer, class->class);
		fputs(": no change beyond noise: ", out);
		print_mean(out, class);
		fputc('\n', out);
	}
	if (count > shown)
		fprintf(out, "%zu more classes: no change beyond noise\n", count - shown);
}

static void print_without(FILE *out, const struct clew_compare_answer *answer,
			  enum compare_verdict verdict)
{
	size_t count = count_verdicts(answer->result, verdict), shown = 0;

	if (!count)
		return;
	fprintf(out, "\n%zu class%s %s:\n", count, count == 1 ? "" : "es",
		verdict == COMPARE_SHORT ? "too short to say, with too few blocks of time"
					 : "without a verdict, as records were lost meanwhile");
	for (size_t i = 0; i < answer->result->class_count && shown < MOST_NAMES; i++) {
		const struct compare_class *class = &answer->result->classes[i];

		if (class->verdict != verdict)
			continue;
		shown++;
		fputs("  ", out);
		print_class_name(out, answer, class->class);
		if (verdict == COMPARE_BLIND)
			fprintf(out, ": in %" PRIu64 " and %" PRIu64 " operations",
				class->blind[COMPARE_BEFORE], class->blind[COMPARE_AFTER]);
		else
			fprintf(out, ": %zu and %zu blocks; ", class->blocks[COMPARE_BEFORE],
				class->blocks[COMPARE_AFTER]);
		if (verdict == COMPARE_SHORT)
			print_mean(out, class);
		fputc('\n', out);
	}
	if (count > shown)
		fprintf(out, "  and %zu more\n", count - shown);
}

static void print_alone(FILE *out, const struct clew_compare_answer *answer, unsigned side)
{
	size_t count = answer->result->alone_count[side];

	for (size_t i = 0; i < count && i < MOST_NAMES; i++) {
		const struct compare_alone *alone = &answer->result->alone[side][i];

		fputs(i ? ", " : side == COMPARE_AFTER ? "\nNew: " : "\nGone: ", out);
		fprintf(out, "%" PRIu64 " ", alone->count);
		print_class_name(out, answer, alone->class);
	}
	if (count > MOST_NAMES)
		fprintf(out, " and %zu more", count - MOST_NAMES);
	if (count)
		fputs(" (--map 'OLD=NEW' if something was renamed)\n", out);
}

/* ---- the rest ---- */

static void print_mixes(FILE *out, const struct compare_result *result)
{
	for (size_t i = 0; i < result->mix_count; i++) {
		const struct compare_mix *mix = &result->mixes[i];
		double before =
			       (double)mix->ns[COMPARE_BEFORE] / (double)mix->count[COMPARE_BEFORE],
		       after = (double)mix->ns[COMPARE_AFTER] / (double)mix->count[COMPARE_AFTER];

		if (fabs(mix->change) < LEAST_MIX * before)
			continue;
		fprintf(out,
			"All of kind %s: mean %s -> %s, of which %s as other classes have a "
			"larger share of them\n",
			clew_operation_kind_name((enum clew_operation_kind)mix->kind),
			CLEW_DURATION((uint64_t)before), CLEW_DURATION((uint64_t)after),
			SIGNED(mix->change));
	}
}

static void print_blames(FILE *out, const struct clew_compare_answer *answer)
{
	const struct compare_load *loads = answer->compare->loads;
	unsigned shown = 0;

	for (size_t i = 0; i < answer->result->blame_count && shown < MOST_BLAMES; i++) {
		const struct compare_blame *blame = &answer->result->blames[i];
		double second[COMPARE_SIDES];

		for (unsigned side = 0; side < COMPARE_SIDES; side++)
			second[side] = loads[side].ns ? (double)blame->ns[side] * 1e9 /
								(double)loads[side].ns
						      : 0;
		if (fabs(second[1] - second[0]) < LEAST_BLAME || alike(second[0], second[1]))
			continue;
		if (!shown++)
			fputs("\nWho took whose time, each second\n", out);
		fprintf(out, "  %10s  ", SIGNED(second[1] - second[0]));
		clew_print_safe(out, blame->victim);
		fprintf(out, " %s because of ", report_spent_words((enum clew_spent)blame->spent));
		clew_print_safe(out, blame->party);
		fprintf(out, " (%s -> %s)\n", CLEW_DURATION((uint64_t)second[0]),
			CLEW_DURATION((uint64_t)second[1]));
	}
}

static void print_names(FILE *out, const struct clew_compare_answer *answer, unsigned side)
{
	if (answer->times[side]) {
		fputs(answer->times[side], out);
		return;
	}
	for (uint32_t i = 0; i < answer->compare->captures[side]; i++) {
		fputs(i ? ", " : "", out);
		clew_print_safe(out, answer->names[side][i]);
	}
	fprintf(out, " (%s)", CLEW_DURATION(answer->compare->loads[side].ns));
}

void clew_print_compare(FILE *out, const struct clew_compare_answer *answer)
{
	const struct compare_result *result = answer->result;

	if (answer->halves)
		fputs("Every second block of time of ", out);
	print_names(out, answer, COMPARE_BEFORE);
	if (answer->halves) {
		fputs(", against those between\n", out);
	} else {
		fputs(" -> ", out);
		print_names(out, answer, COMPARE_AFTER);
		fputc('\n', out);
		print_load(out, answer->compare);
		print_about(out, answer);
	}
	if (answer->recorded)
		fputs("About the recorded commands and their children (the whole machine: --comm "
		      "'*').\n",
		      out);
	for (size_t i = 0; i < result->class_count; i++)
		if (result->classes[i].verdict == COMPARE_CHANGED)
			print_changed(out, answer, &result->classes[i]);
	print_same(out, answer);
	print_without(out, answer, COMPARE_SHORT);
	print_without(out, answer, COMPARE_BLIND);
	print_alone(out, answer, COMPARE_AFTER);
	print_alone(out, answer, COMPARE_BEFORE);
	print_mixes(out, result);
	if (!answer->halves)
		print_blames(out, answer);
}
