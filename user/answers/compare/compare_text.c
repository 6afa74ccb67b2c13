/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A comparison as text: the load first, then classes, what changed most first. */
#include "answers/compare/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answers/compare/words.h"
#include "answers/report/report.h"
#include "compare/about.h"
#include "compare/load.h"
#include "explain/spent.h"
#include "format/text.h"

#define MOST_CLASSES 8 /* with a line of their own, of one verdict */
#define MOST_NAMES   3 /* in one line */
#define MOST_BLAMES  3
#define LEAST_BLAME  1e6  /* ns a second by which a blame must change to be printed */
#define LEAST_MIX    0.01 /* of the mean */

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
	[LOAD_LIMITED] = {"threads held back by limits", "", 0.1},
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
		if (compare_alike(values[0], values[1]) ||
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
		compare_print_class_name(out, answer, class->class);
		fputs(": no change beyond noise: ", out);
		compare_print_mean(out, class);
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
		compare_print_class_name(out, answer, class->class);
		if (verdict == COMPARE_BLIND)
			fprintf(out, ": in %" PRIu64 " and %" PRIu64 " operations",
				class->blind[COMPARE_BEFORE], class->blind[COMPARE_AFTER]);
		else
			fprintf(out, ": %zu and %zu blocks; ", class->blocks[COMPARE_BEFORE],
				class->blocks[COMPARE_AFTER]);
		if (verdict == COMPARE_SHORT)
			compare_print_mean(out, class);
		fputc('\n', out);
		if (verdict == COMPARE_SHORT)
			compare_print_short(out, answer, class);
	}
	if (count > shown)
		fprintf(out, "  and %zu more\n", count - shown);
}

/* True if operations of the class are compared, or are on one side. */
static bool is_shown(const struct compare_result *result, uint32_t class)
{
	for (size_t i = 0; i < result->class_count; i++)
		if (result->classes[i].class == class)
			return true;
	for (unsigned side = 0; side < COMPARE_SIDES; side++)
		for (size_t i = 0; i < result->alone_count[side]; i++)
			if (result->alone[side][i].class == class)
				return true;
	return false;
}

/* Names classes of a long capture all of whose operations are longer than its windows. */
static void print_too_long(FILE *out, const struct clew_compare_answer *answer)
{
	const struct compare *compare = answer->compare;
	const struct compare_left_out *all = compare->left_out.data;
	uint32_t named[MOST_NAMES];
	unsigned count = 0;

	for (size_t i = 0; i < compare->left_out.count && compare->in_windows; i++) {
		bool known = all[i].blind || is_shown(answer->result, all[i].class);

		for (unsigned k = 0; k < count && !known; k++)
			known = named[k] == all[i].class;
		if (known || count == MOST_NAMES)
			continue;
		fputs(count ? ", " : "\nNot compared, as none lies within what is read at once: ",
		      out);
		compare_print_class_name(out, answer, all[i].class);
		named[count++] = all[i].class;
	}
	if (count)
		fputc('\n', out);
}

static void print_alone(FILE *out, const struct clew_compare_answer *answer, unsigned side)
{
	size_t count = answer->result->alone_count[side];

	for (size_t i = 0; i < count && i < MOST_NAMES; i++) {
		const struct compare_alone *alone = &answer->result->alone[side][i];

		fputs(i ? ", " : side == COMPARE_AFTER ? "\nNew: " : "\nGone: ", out);
		fprintf(out, "%" PRIu64 " ", alone->count);
		compare_print_class_name(out, answer, alone->class);
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
			COMPARE_SIGNED(mix->change));
	}
}

static uint64_t each_operation(const struct compare_blame *blame, unsigned side)
{
	return blame->operations[side] ? blame->ns[side] / blame->operations[side] : 0;
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
		if (fabs(second[1] - second[0]) < LEAST_BLAME ||
		    compare_alike(second[0], second[1]))
			continue;
		if (!shown++)
			fputs("\nWho took whose time, each second (and each operation of theirs)\n",
			      out);
		fprintf(out, "  %10s  ", COMPARE_SIGNED(second[1] - second[0]));
		clew_print_safe(out, blame->victim);
		fprintf(out, " %s because of ", report_spent_words((enum clew_spent)blame->spent));
		clew_print_safe(out, blame->party);
		fprintf(out, " (%s -> %s; %s -> %s)\n", CLEW_DURATION((uint64_t)second[0]),
			CLEW_DURATION((uint64_t)second[1]),
			CLEW_DURATION(each_operation(blame, COMPARE_BEFORE)),
			CLEW_DURATION(each_operation(blame, COMPARE_AFTER)));
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
			compare_print_changed(out, answer, &result->classes[i]);
	print_same(out, answer);
	print_without(out, answer, COMPARE_SHORT);
	print_without(out, answer, COMPARE_BLIND);
	print_too_long(out, answer);
	print_alone(out, answer, COMPARE_AFTER);
	print_alone(out, answer, COMPARE_BEFORE);
	print_mixes(out, result);
	if (!answer->halves)
		print_blames(out, answer);
}
