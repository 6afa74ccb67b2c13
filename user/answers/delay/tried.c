/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `clew what-if --try` and `--quota`. */
#include "answers/delay/tried.h"

#include <string.h>

#include "format/text.h"

#define FULL	 0.9 /* of the CPUs' time: a spin takes a CPU from somebody */
#define TOO_WIDE 1.0 /* an interval that says nothing */
#define NEAR	 0.1 /* of a prediction: a spin also moves who wakes on its CPU */

/* Sums of the blocks of one delay. */
struct arm {
	uint64_t delay;
	size_t blocks;
	uint64_t operations, ns, added, delayed, left_out, real_time, calls;
};

static void add(struct arm *arm, const struct clew_delay_block *block)
{
	arm->blocks++;
	arm->operations += block->operations;
	arm->ns += block->operations ? block->ns : 0;
	arm->added += block->added;
	arm->delayed += block->delayed;
	arm->left_out += block->left_out;
	arm->real_time += block->real_time;
	arm->calls += block->calls;
}

/* The next larger delay than that of the last arm; false: there is none. */
static bool next_arm(const struct clew_tried_delay *tried, bool first, struct arm *arm)
{
	uint64_t before = arm->delay, least = UINT64_MAX;

	for (size_t i = 0; i < tried->count; i++)
		if ((first || tried->blocks[i].delay > before) && tried->blocks[i].delay < least)
			least = tried->blocks[i].delay;
	*arm = (struct arm){.delay = least};
	for (size_t i = 0; i < tried->count; i++)
		if (tried->blocks[i].delay == least)
			add(arm, &tried->blocks[i]);
	return least != UINT64_MAX;
}

static struct arm all_arms(const struct clew_tried_delay *tried)
{
	struct arm all = {};

	for (size_t i = 0; i < tried->count; i++)
		add(&all, &tried->blocks[i]);
	return all;
}

static uint64_t each(uint64_t sum, uint64_t count)
{
	return count ? sum / count : 0;
}

static const char *verdict(const struct clew_tried_delay *tried)
{
	if (!tried->slope.known)
		return "unknown";
	if (tried->slope.high - tried->slope.low >
	    (tried->function ? TOO_WIDE : TOO_WIDE * tried->slope.value))
		return "noisy";
	if (!tried->predicted)
		return "measured";
	return tried->prediction >= tried->slope.low - NEAR &&
			       tried->prediction <= tried->slope.high + NEAR
		       ? "agree"
		       : "differ";
}

/* A slope or a ratio; null: it is another answer that has it, or it is not known. */
static void json_figure(struct clew_json *json, const char *key,
			const struct clew_tried_delay *tried, bool has_it)
{
	if (!has_it || !tried->slope.known) {
		clew_json_null(json, key);
		return;
	}
	clew_json_object(json, key);
	clew_json_number(json, "value", tried->slope.value);
	clew_json_number(json, "low", tried->slope.low);
	clew_json_number(json, "high", tried->slope.high);
	clew_json_object_end(json);
}

/* ns or bytes that were used each second. */
static uint64_t used_each_second(const struct clew_tried_quota *quota, bool limited)
{
	return quota->ns[limited]
		       ? (uint64_t)((double)quota->used[limited] * 1e9 / (double)quota->ns[limited])
		       : 0;
}

static void json_quota(struct clew_json *json, const struct clew_tried_quota *quota)
{
	if (!quota->asked) {
		clew_json_null(json, "quota");
		return;
	}
	clew_json_object(json, "quota");
	clew_json_string(json, "asked", quota->asked);
	clew_json_string(json, "unit", quota->cpu ? "ns" : "bytes");
	clew_json_unsigned(json, "per_second", quota->limit);
	clew_json_unsigned(json, "used_without", used_each_second(quota, false));
	clew_json_unsigned(json, "used_with", used_each_second(quota, true));
	clew_json_object_end(json);
}

void clew_json_tried_delay(struct clew_json *json, const struct clew_tried_delay *tried)
{
	const struct arm all = all_arms(tried);
	struct arm arm = {};

	clew_json_answer(json);
	clew_json_string(json, "function", tried->function);
	json_quota(json, &tried->quota);
	clew_json_string(json, "span", tried->span);
	clew_json_string(json, "class", tried->class);
	clew_json_string(json, "operation", tried->operation);
	clew_json_string(json, "others", tried->others);
	clew_json_string(json, "verdict", verdict(tried));
	json_figure(json, "slope", tried, tried->function != NULL);
	json_figure(json, "ratio", tried, !tried->function);
	if (tried->predicted)
		clew_json_number(json, "prediction", tried->prediction);
	else
		clew_json_null(json, "prediction");
	clew_json_array(json, "delays");
	for (bool first = true; next_arm(tried, first, &arm); first = false) {
		clew_json_object(json, NULL);
		clew_json_unsigned(json, "delay_ns", arm.delay);
		clew_json_unsigned(json, "blocks", arm.blocks);
		clew_json_unsigned(json, "operations", arm.operations);
		clew_json_known(json, "mean_ns",
				arm.operations ? arm.ns / arm.operations : UINT64_MAX, UINT64_MAX);
		clew_json_unsigned(json, "added_ns", arm.added);
		clew_json_unsigned(json, "delayed", arm.delayed);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_unsigned(json, "calls", all.calls);
	clew_json_unsigned(json, "left_out", all.left_out);
	clew_json_unsigned(json, "real_time", all.real_time);
	clew_json_number(json, "busy", tried->busy);
	clew_json_object_end(json);
	clew_json_end(json);
}

/* "0.50 of a CPU" or "10.0 MB" */
static void print_amount(FILE *out, const struct clew_tried_quota *quota, uint64_t amount)
{
	if (quota->cpu)
		fprintf(out, "%.2f of a CPU", (double)amount / 1e9);
	else
		fprintf(out, "%s a second", CLEW_BYTES(amount));
}

static void print_quota(FILE *out, const struct clew_tried_delay *tried)
{
	const struct clew_tried_quota *quota = &tried->quota;

	fprintf(out, "With %s ", quota->cpu ? "at most" : "each disk at");
	print_amount(out, quota, quota->limit);
	fprintf(out, " an operation took %.2f times as long (95 %% of draws: %.2f to %.2f).\n",
		tried->slope.value, tried->slope.low, tried->slope.high);
	fputs("The program used ", out);
	print_amount(out, quota, used_each_second(quota, false));
	fputs(" without the quota, and ", out);
	print_amount(out, quota, used_each_second(quota, true));
	fputs(" with it.\n", out);
}

static void print_slope(FILE *out, const struct clew_tried_delay *tried)
{
	const struct slope *slope = &tried->slope;

	clew_print_folds(out,
			 "For each ms by which calls took longer an operation took %.2f ms longer "
			 "(95 %% of draws: %.2f to %.2f).",
			 slope->value, slope->low, slope->high);
}

static void print_verdict(FILE *out, const struct clew_tried_delay *tried, const struct arm *all)
{
	const char *word = verdict(tried);

	if (!all->operations) {
		clew_print_folds(out, "No operation began and ended within a block: %s",
				 tried->span ? "name a --span that is shorter, or wait until "
					       "there is work."
					     : "try longer blocks (--block 2s), or wait until "
					       "there is work.");
		return;
	}
	if (!tried->slope.known) {
		clew_print_folds(out, "There were too few blocks with operations to say more: let "
				      "it run for longer.");
		return;
	}
	if (tried->function)
		print_slope(out, tried);
	else
		print_quota(out, tried);
	if (!strcmp(word, "noisy"))
		clew_print_folds(out, "That is too noisy to say more: let it run for longer.");
	else if (tried->predicted)
		clew_print_folds(out, "The capture predicts %.2f: they %s.", tried->prediction,
				 word);
}

static void print_table(FILE *out, const struct clew_tried_delay *tried)
{
	struct arm arm = {};

	if (!tried->function)
		fputs("\n         quota    blocks   operations   each took\n", out);
	else
		fputs("\n  delay a call    blocks   operations   each took    added to each\n",
		      out);
	for (bool first = true; next_arm(tried, first, &arm); first = false) {
		const char *change =
			!tried->function ? arm.delay ? "yes" : "no" : CLEW_DURATION(arm.delay);

		fprintf(out, "  %12s  %8zu  %11llu  %10s", change, arm.blocks,
			(unsigned long long)arm.operations,
			arm.operations ? CLEW_DURATION(each(arm.ns, arm.operations)) : "-");
		if (tried->function)
			fprintf(out, "  %15s", CLEW_DURATION(each(arm.added, arm.operations)));
		fputc('\n', out);
	}
	fputs("\n", out);
}

/* Names the operations that a recording showed. */
static void print_operations(FILE *out, const struct clew_tried_delay *tried)
{
	const char *name = tried->class ?: tried->operation;

	if (!name)
		return;
	fprintf(out, "An operation is one of the %s", tried->class ? "" : "calls ");
	clew_print_safe(out, name);
	fputs(".\n", out);
	if (!tried->others)
		return;
	fputs("These fit as well, and are left out: ", out);
	clew_print_safe(out, tried->others);
	fputs(".\n", out);
}

void clew_print_tried_delay(FILE *out, const struct clew_tried_delay *tried)
{
	const struct arm all = all_arms(tried);

	print_verdict(out, tried, &all);
	print_operations(out, tried);
	print_table(out, tried);
	if (all.left_out)
		clew_print_folds(out,
				 "%llu calls were not delayed, as the delays' share of a CPU was "
				 "used up.",
				 (unsigned long long)all.left_out);
	if (all.real_time)
		clew_print_folds(out,
				 "%llu calls of threads of a real-time policy were left alone.",
				 (unsigned long long)all.real_time);
	if (tried->busy > FULL && tried->function)
		clew_print_folds(out,
				 "The CPUs were busy for %.0f %% of the time. A delay holds its "
				 "CPU, so the figure contains what others lost by that.",
				 100 * tried->busy);
}
