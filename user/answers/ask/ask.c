/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sums of all that a question found: how long they took, who held the lock, and where the time
 * of all of them together went.
 */
#include "answers/ask/ask.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/sums.h"
#include "answers/why/by_program.h"
#include "format/text.h"
#include "words/describe.h"
#include "words/descriptors.h"
#include "words/frame.h"
#include "words/functions.h"
#include "words/object.h"
#include "words/task.h"
#include "words/wait.h"

/* So many of the longest are explained together, and so many lines and names say how. */
enum { TOGETHER_MOST = 1000, TOGETHER_LINES = 6, HOLDERS_MOST = 4, BUSY_MOST = 4 };

/* ---- all of them together ---- */

/* The segments of many whys in a row, as one why. */
struct together {
	struct clew_why *whys;
	size_t count;
	struct clew_why all;
	struct clew_program_share *shares;
	size_t share_count;
};

static void together_done(struct together *together)
{
	for (size_t i = 0; i < together->count; i++)
		clew_why_done(&together->whys[i]);
	free(together->whys);
	free(together->all.segments);
	free(together->shares);
}

static int join(struct together *together)
{
	struct clew_why *all = &together->all;
	size_t count = 0;

	for (size_t i = 0; i < together->count; i++)
		count += together->whys[i].segment_count;
	all->segments = calloc(count + 1, sizeof(*all->segments));
	if (!all->segments)
		return -ENOMEM;
	all->task = together->whys[0].task;
	for (size_t i = 0; i < together->count; i++) {
		const struct clew_why *why = &together->whys[i];

		memcpy(&all->segments[all->segment_count], why->segments,
		       why->segment_count * sizeof(*why->segments));
		all->segment_count += why->segment_count;
		all->to += why->to - why->from;
		/* Several threads: none is the one that is explained. */
		if (why->task != all->task)
			all->task = CLEW_NO_TASK;
	}
	return 0;
}

static int make_together(const struct clew_asked_of *in, const struct clew_operation *found,
			 size_t count, struct together *together)
{
	int r = 0;

	*together = (struct together){};
	count = count < TOGETHER_MOST ? count : TOGETHER_MOST;
	together->whys = calloc(count, sizeof(*together->whys));
	if (!together->whys)
		return -ENOMEM;
	for (size_t i = 0; i < count && r >= 0; i++) {
		r = clew_why_operation(in->trace, in->relations, &found[i], &together->whys[i]);
		together->count += r >= 0;
	}
	if (r >= 0)
		r = join(together);
	if (r >= 0)
		r = clew_by_program_make(in->trace, &together->all, &together->shares,
					 &together->share_count);
	if (r < 0)
		together_done(together);
	return r;
}

static uint64_t length_of(const struct clew_operation *operation)
{
	return operation->to - operation->from;
}

static uint64_t sum_of(const struct clew_operation *found, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += length_of(&found[i]);
	return sum;
}

/* The length that a share of those found, which come longest first, does not exceed. */
static uint64_t percentile(const struct clew_operation *found, size_t count, unsigned percent)
{
	return length_of(&found[count - (count * percent + 99) / 100]);
}

/* ---- who held it ---- */

static int add_holders_of(struct clew_sums *sums, const struct clew_trace *trace,
			  const struct clew_sleep *sleep)
{
	int r = 0;

	for (uint32_t i = 0; i < sleep->holder_count && r >= 0; i++) {
		const struct clew_holder *holder = &sleep->holders[i];
		uint64_t to = clew_trace_until(trace, holder->to);

		if (!holder->coming)
			r = clew_sums_add(sums, (struct clew_sum_key){{holder->task}},
					  to - holder->from, holder->task);
	}
	return r;
}

/* The waits of one call lie between its ends, in the order of all waits. */
static int add_holders(struct clew_sums *sums, const struct clew_trace *trace,
		       const struct clew_operation *operation)
{
	const struct clew_spin *spin = operation->spin;
	const struct clew_sleep *wait = operation->wait, *sleep = wait, *sleeps;
	size_t count;
	int r = 0;

	if (spin)
		return spin->holder == CLEW_NO_TASK
			       ? 0
			       : clew_sums_add(sums, (struct clew_sum_key){{spin->holder}},
					       spin->end - spin->start, spin->holder);
	if (!wait || operation->waits == 1)
		return wait ? add_holders_of(sums, trace, wait) : 0;
	sleeps = clew_trace_sleeps(trace, &count);
	while (sleep > sleeps && sleep[-1].start >= operation->from)
		sleep--;
	for (; sleep < sleeps + count && sleep->start < operation->to && r >= 0; sleep++)
		if (sleep->task == wait->task && sleep->call_id == wait->call_id &&
		    sleep->object.kind == wait->object.kind &&
		    sleep->object.number == wait->object.number)
			r = add_holders_of(sums, trace, sleep);
	return r;
}

/* Where no holder is known, who ended the wait: as far as is known, the one that let go. */
static int add_ender(struct clew_sums *sums, const struct clew_operation *operation)
{
	const struct clew_sleep *wait = operation->wait;

	return !wait || wait->holder_count || wait->ended_by == CLEW_NO_TASK
		       ? 0
		       : clew_sums_add(sums, (struct clew_sum_key){{wait->ended_by}},
				       operation->to - operation->from, wait->ended_by);
}

/*
 * The holders of what was waited for, or (`enders`) ended waits whose holders are not known;
 * longest first. free(3) *ret_groups, whose items are tasks.
 */
static int find_holders(const struct clew_trace *trace, const struct clew_operation *found,
			size_t count, bool enders, struct clew_sum **ret_groups, size_t *ret_count)
{
	struct clew_sums sums = {};
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++)
		r = enders ? add_ender(&sums, &found[i]) : add_holders(&sums, trace, &found[i]);
	if (r >= 0)
		r = clew_sums_make(&sums, ret_groups, ret_count);
	clew_sums_done(&sums);
	return r;
}

static int print_holders(FILE *out, const struct clew_trace *trace,
			 const struct clew_operation *found, size_t count, bool enders)
{
	struct clew_sum *groups;
	size_t group_count;
	int r = find_holders(trace, found, count, enders, &groups, &group_count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < group_count && i < HOLDERS_MOST; i++) {
		if (i)
			fputs(", ", out);
		else
			fputs(enders ? "Who held it is not known; waits were ended by "
				     : "Held meanwhile by ",
			      out);
		clew_print_task(out, trace, groups[i].longest, clew_trace_end(trace));
		fprintf(out, " %s", CLEW_DURATION(groups[i].total));
	}
	if (group_count > HOLDERS_MOST)
		fprintf(out, " and %zu more", group_count - HOLDERS_MOST);
	if (group_count)
		fputc('\n', out);
	free(groups);
	return 0;
}

static int json_holders(struct clew_json *json, const char *key, const struct clew_trace *trace,
			const struct clew_operation *found, size_t count, bool enders)
{
	struct clew_sum *groups;
	size_t group_count;
	int r = find_holders(trace, found, count, enders, &groups, &group_count);

	if (r < 0)
		return r;
	clew_json_array(json, key);
	for (size_t i = 0; i < group_count; i++) {
		clew_json_object(json, NULL);
		clew_json_task_fields(json, trace, groups[i].longest, clew_trace_end(trace));
		clew_json_sum(json, &groups[i]);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	free(groups);
	return 0;
}

/* The number that was not over at the end of the capture. */
static size_t open_of(const struct clew_trace *trace, const struct clew_operation *found,
		      size_t count)
{
	size_t open = 0;

	for (size_t i = 0; i < count; i++)
		open += found[i].frame	    ? found[i].frame->end == CLEW_TIME_OPEN
			: found[i].activity ? found[i].activity->end == CLEW_TIME_OPEN
					    : found[i].wait && found[i].to >= clew_trace_end(trace);
	return open;
}

/* ---- text ---- */

static void print_question(FILE *out, const struct clew_ask *ask)
{
	const char *parts[] = {ask->call, ask->lock, ask->operation, ask->span};
	const char *const names[] = {"", "lock ", "operation ", "function "};
	const char *const joints[] = {"", " for ", " in ", " in "};
	bool begun = false;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!parts[i])
			continue;
		fprintf(out, "%s%s", begun ? joints[i] : "", names[i]);
		clew_print_safe(out, parts[i]);
		begun = true;
	}
	if (ask->file) {
		fputs(begun ? " on " : "files ", out);
		clew_print_safe(out, ask->file);
	}
}

static const char *things_of(const struct clew_ask *ask, size_t count)
{
	if (ask->lock)
		return count == 1 ? "wait" : "waits";
	if (ask->call || ask->file)
		return count == 1 ? "call that waited" : "calls that waited";
	if (ask->span && !ask->operation)
		return count == 1 ? "activation" : "activations";
	return count == 1 ? "call" : "calls";
}

struct busy {
	const char *name;
	uint64_t ns;
};

static int longest_busy_first(const void *left, const void *right)
{
	const struct busy *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* The programs that had the CPU of those who were ready. Returns how many they are. */
static size_t find_busy(const struct clew_trace *trace, const struct together *together,
			struct busy *busy)
{
	size_t count = 0, known;

	for (size_t i = 0; i < together->share_count; i++) {
		const struct clew_program_share *share = &together->shares[i];
		const char *name;

		if (share->longest->kind != CLEW_SEGMENT_RUNQUEUE || !share->by)
			continue;
		name = clew_trace_comm_at(trace, share->longest->by, share->longest->start);
		for (known = 0; known < count && strcmp(busy[known].name, name) != 0;)
			known++;
		if (known == count)
			busy[count++] = (struct busy){.name = name};
		busy[known].ns += share->ns;
	}
	if (count)
		qsort(busy, count, sizeof(*busy), longest_busy_first);
	return count;
}

/* All time in which somebody was ready: one line, however many had the CPUs. */
static void print_ready(FILE *out, const struct clew_trace *trace, const struct together *together)
{
	struct busy *busy = calloc(together->share_count + 1, sizeof(*busy));
	size_t count = busy ? find_busy(trace, together, busy) : 0;

	fputs("ready to run, without a CPU", out);
	for (size_t i = 0; i < count && i < BUSY_MOST; i++) {
		fputs(i ? ", " : "; the CPUs were busy with ", out);
		clew_print_safe(out, busy[i].name);
		fprintf(out, " %s", CLEW_DURATION(busy[i].ns));
	}
	if (count > BUSY_MOST)
		fprintf(out, " and %zu more", count - BUSY_MOST);
	fputc('\n', out);
	free(busy);
}

/* Largest first; all time in which somebody was ready is put where its sum belongs. */
static void print_shares(FILE *out, const struct clew_trace *trace, const struct together *together)
{
	uint64_t ready = 0, rest = 0;
	size_t ready_count = 0, lines = 0, left = 0;

	for (size_t i = 0; i < together->share_count; i++)
		if (together->shares[i].longest->kind == CLEW_SEGMENT_RUNQUEUE) {
			ready += together->shares[i].ns;
			ready_count++;
		}
	for (size_t i = 0; i <= together->share_count; i++) {
		const struct clew_program_share *share =
			i < together->share_count ? &together->shares[i] : NULL;

		if (ready_count > 1 && ready && (!share || share->ns <= ready)) {
			clew_print_part(out, ready, together->all.to);
			print_ready(out, trace, together);
			lines++;
			ready = 0;
		}
		if (!share || (ready_count > 1 && share->longest->kind == CLEW_SEGMENT_RUNQUEUE))
			continue;
		if (lines++ >= TOGETHER_LINES) {
			rest += share->ns;
			left++;
			continue;
		}
		clew_print_part(out, share->ns, together->all.to);
		clew_print_program_share(out, trace, &together->all, share);
		fputc('\n', out);
	}
	if (!left)
		return;
	clew_print_part(out, rest, together->all.to);
	fprintf(out, "%zu more\n", left);
}

static int print_together(FILE *out, const struct clew_asked_of *in,
			  const struct clew_operation *found, size_t count)
{
	struct together together;
	int r = make_together(in, found, count, &together);

	if (r < 0)
		return r;
	if (together.count < count)
		fprintf(out, "Where the time of the %zu longest went:\n", together.count);
	else
		fprintf(out, "Where the time of all %zu went:\n", count);
	print_shares(out, in->trace, &together);
	together_done(&together);
	return 0;
}

int clew_print_ask(FILE *out, const struct clew_ask *ask, const struct clew_asked_of *in,
		   const struct clew_operation *found, size_t count)
{
	size_t open = open_of(in->trace, found, count);
	int r = 0;

	print_question(out, ask);
	fprintf(out, ": %zu %s, %s in all", count, things_of(ask, count),
		CLEW_DURATION(sum_of(found, count)));
	if (count > 1)
		fprintf(out, ", p50 %s, p99 %s, max %s",
			CLEW_DURATION(percentile(found, count, 50)),
			CLEW_DURATION(percentile(found, count, 99)),
			CLEW_DURATION(length_of(&found[0])));
	if (open)
		fprintf(out, "; %zu not over %s", open, clew_end_words(in->trace));
	fputc('\n', out);
	if (ask->lock)
		r = print_holders(out, in->trace, found, count, false);
	if (ask->lock && r >= 0)
		r = print_holders(out, in->trace, found, count, true);
	if (r >= 0 && count > 1)
		r = print_together(out, in, found, count);
	return r;
}

void clew_print_asked(FILE *out, const struct clew_trace *trace,
		      const struct clew_operation *operation)
{
	const struct clew_sleep *wait = operation->wait;
	const char *call = wait ? clew_call_name(wait->call) : NULL;

	if (operation->frame) {
		clew_print_frame(out, trace, operation->frame);
	} else if (operation->activity) {
		clew_print_call(out, operation->activity);
	} else if (operation->spin) {
		fputs("spun for ", out);
		clew_print_spin_object(out, trace, operation->spin);
	} else if (wait) {
		fputs(call ?: clew_wait_kind_name(wait->kind), out);
		if (clew_waits_for_object(wait)) {
			fputs(", ", out);
			clew_print_object(out, trace, &wait->object, wait);
		}
		if (operation->waits > 1)
			fprintf(out, " (%u waits)", operation->waits);
	}
}

/* ---- JSON ---- */

static int json_together(struct clew_json *json, const struct clew_asked_of *in,
			 const struct clew_operation *found, size_t count)
{
	struct together together;
	int r = make_together(in, found, count, &together);

	if (r < 0)
		return r;
	clew_json_unsigned(json, "together_of", together.count);
	clew_json_array(json, "together");
	for (size_t i = 0; i < together.share_count; i++)
		clew_json_program_share(json, in->trace, &together.all, &together.shares[i]);
	clew_json_array_end(json);
	together_done(&together);
	return 0;
}

int clew_json_ask(struct clew_json *json, const struct clew_ask *ask,
		  const struct clew_asked_of *in, const struct clew_operation *found, size_t count)
{
	int r = 0;

	clew_json_object(json, "asked");
	clew_json_string(json, "call", ask->call);
	clew_json_string(json, "file", ask->file);
	clew_json_string(json, "lock", ask->lock);
	clew_json_string(json, "operation", ask->operation);
	if (ask->span)
		clew_json_string(json, "span", ask->span);
	clew_json_object_end(json);
	if (!count)
		return 0;
	clew_json_unsigned(json, "total_ns", sum_of(found, count));
	clew_json_unsigned(json, "p50_ns", percentile(found, count, 50));
	clew_json_unsigned(json, "p99_ns", percentile(found, count, 99));
	clew_json_unsigned(json, "max_ns", length_of(&found[0]));
	clew_json_unsigned(json, "open", open_of(in->trace, found, count));
	if (ask->lock)
		r = json_holders(json, "holders", in->trace, found, count, false);
	if (ask->lock && r >= 0)
		r = json_holders(json, "enders", in->trace, found, count, true);
	return r < 0 ? r : json_together(json, in, found, count);
}

void clew_json_asked(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_operation *operation)
{
	const struct clew_sleep *wait = operation->wait;
	const struct clew_activity *activity = operation->activity;

	clew_json_object(json, "instance");
	clew_json_string(json, "call", wait ? clew_call_name(wait->call) : NULL);
	clew_json_unsigned(json, "waits", operation->waits);
	if (operation->spin)
		clew_json_spin_object(json, "object", trace, operation->spin);
	else if (wait)
		clew_json_object_of(json, "object", trace, &wait->object, wait);
	else
		clew_json_null(json, "object");
	clew_json_string(json, "interface", activity ? activity->interface : NULL);
	clew_json_string(json, "operation", activity ? activity->operation : NULL);
	if (clew_has_functions(trace))
		clew_json_string(json, "function",
				 operation->frame
					 ? clew_function_name(trace, operation->frame->function)
					 : NULL);
	if (operation->frame)
		clew_json_frame_values(json, trace, operation->frame);
	clew_json_object_end(json);
}
