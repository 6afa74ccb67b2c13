/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a question is about: finding it, and what to say of all that was found. See ask.h.
 * A wait is for the files for which `clew io` counts it.
 */
#include "cli/ask.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fail.h"
#include "explain/io.h"
#include "words/by_program.h"
#include "words/describe.h"
#include "words/descriptors.h"
#include "words/file.h"
#include "words/match.h"
#include "words/object.h"
#include "words/sums.h"
#include "words/task.h"
#include "words/text.h"

/* So many of the longest are explained together, and so many lines say how. */
enum { TOGETHER_MOST = 1000, TOGETHER_LINES = 6, HOLDERS_MOST = 4 };

static int out_of_memory(void)
{
	return clew_fail(CLEW_EXIT_SYSTEM, "out of memory: free some and try again");
}

/* ---- what fits ---- */

static bool wanted(void *context, const struct clew_trace_task *task)
{
	const struct ask_search *search = context;

	return clew_selection_wants((void *)search->in->selection, task);
}

static bool for_file(const struct ask_search *search, const struct clew_sleep *sleep)
{
	const struct clew_trace *trace = search->in->trace;
	size_t count;
	uint32_t file = search->sleep_files[sleep - clew_trace_sleeps(trace, &count)];
	char buffer[CLEW_UNIX_PATH_SIZE];
	const char *path = clew_wait_path(trace, sleep, buffer, sizeof(buffer));

	return path ? clew_match_path(search->ask->file, path)
		    : file != UINT32_MAX && search->files[file];
}

static bool for_lock(const struct ask_search *search, const struct clew_sleep *sleep)
{
	char name[CLEW_NAME_SIZE];

	return clew_wait_lock(search->in->trace, sleep, name, sizeof(name))[0] &&
	       clew_match_list(search->ask->lock, name);
}

/* True if the thread was in an announced call that fits, at any depth. */
static bool in_operation(const struct ask_search *search, uint32_t task, uint64_t at)
{
	size_t count;
	const struct clew_activity *all, *activity;

	if (!search->in->relations)
		return false;
	all = clew_relations_activities(search->in->relations, &count);
	activity = clew_relations_at(search->in->relations, task, at);
	for (; activity;
	     activity = activity->parent == CLEW_NO_NUMBER ? NULL : &all[activity->parent])
		if (clew_match_activity(search->ask->operation, activity))
			return true;
	return false;
}

static bool fits(void *context, const struct clew_sleep *sleep)
{
	const struct ask_search *search = context;
	const struct clew_ask *ask = search->ask;

	return (!ask->call || (sleep->call < ASK_CALLS && search->calls[sleep->call])) &&
	       (!ask->lock || for_lock(search, sleep)) && (!ask->file || for_file(search, sleep)) &&
	       (!ask->operation || in_operation(search, sleep->task, sleep->start));
}

static bool spins(void *context, const struct clew_spin *spin)
{
	const struct ask_search *search = context;
	char name[CLEW_NAME_SIZE];

	clew_spin_lock(search->in->trace, spin, name, sizeof(name));
	return clew_match_list(search->ask->lock, name) &&
	       (!search->ask->operation || in_operation(search, spin->task, spin->start));
}

static bool announced(void *context, const struct clew_activity *activity)
{
	const struct ask_search *search = context;

	return clew_match_activity(search->ask->operation, activity);
}

/* ---- the search ---- */

static int choose_calls(struct ask_search *search)
{
	bool any = false;

	if (!search->ask->call)
		return 0;
	for (unsigned call = 0; call < ASK_CALLS; call++) {
		search->calls[call] = clew_match_list(search->ask->call, clew_call_name(call));
		any |= search->calls[call];
	}
	return any ? 0 : ask_fail(search);
}

static int choose_files(struct ask_search *search, struct clew_io *io)
{
	const struct clew_trace *trace = search->in->trace;

	if (!search->ask->file)
		return 0;
	if (clew_io_analyse(trace, io) < 0)
		return out_of_memory();
	search->files = calloc(io->file_count + 1, sizeof(*search->files));
	if (!search->files)
		return out_of_memory();
	for (size_t i = 0; i < io->file_count; i++) {
		const char *path = clew_file_path(trace, io->files[i].device, io->files[i].inode,
						  io->files[i].at);

		search->files[i] = path && clew_match_path(search->ask->file, path);
		search->knows_file |= search->files[i];
	}
	search->sleep_files = io->sleep_files;
	return 0;
}

int clew_ask_find(const struct clew_ask *ask, const struct clew_asked_in *in,
		  struct clew_operation **ret_found, size_t *ret_count)
{
	struct ask_search search = {.ask = ask, .in = in};
	bool waits = ask->call || ask->file || ask->lock;
	struct clew_asked asked = {.wanted = wanted,
				   .fits = waits ? fits : NULL,
				   .spins = ask->lock && !ask->call && !ask->file ? spins : NULL,
				   .announced = waits ? NULL : announced,
				   .context = &search,
				   .waits_alone = ask->lock,
				   .from = in->window->from,
				   .to = in->window->to};
	struct clew_io io = {};
	int status = choose_calls(&search);

	*ret_found = NULL;
	*ret_count = 0;
	if (!status)
		status = choose_files(&search, &io);
	if (!status &&
	    clew_operations_asked(in->trace, in->relations, &asked, ret_found, ret_count) < 0)
		status = out_of_memory();
	if (!status && !*ret_count)
		status = ask_fail(&search);
	free(search.files);
	clew_io_done(&io);
	return status;
}

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
		/* Of several threads, none is the one that is explained. */
		if (why->task != all->task)
			all->task = CLEW_NO_TASK;
	}
	return 0;
}

static int make_together(const struct clew_asked_in *in, const struct clew_operation *found,
			 size_t count, struct together *together)
{
	int r = 0;

	*together = (struct together){};
	count = count < TOGETHER_MOST ? count : TOGETHER_MOST;
	together->whys = calloc(count, sizeof(*together->whys));
	if (!together->whys)
		return -ENOMEM;
	for (size_t i = 0; i < count && r >= 0; i++) {
		r = clew_why_explain(in->trace, in->relations, found[i].task, found[i].from,
				     found[i].to, &together->whys[i]);
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
		uint64_t to = holder->to == CLEW_TIME_OPEN ? clew_trace_end(trace) : holder->to;

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

/* Who had what was waited for, longest first; free(3) *ret_groups, whose items are tasks. */
static int find_holders(const struct clew_trace *trace, const struct clew_operation *found,
			size_t count, struct clew_sum **ret_groups, size_t *ret_count)
{
	struct clew_sums sums = {};
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++)
		r = add_holders(&sums, trace, &found[i]);
	if (r >= 0)
		r = clew_sums_make(&sums, ret_groups, ret_count);
	clew_sums_done(&sums);
	return r;
}

static int print_holders(const struct clew_trace *trace, const struct clew_operation *found,
			 size_t count)
{
	struct clew_sum *groups;
	size_t group_count;

	if (find_holders(trace, found, count, &groups, &group_count) < 0)
		return out_of_memory();
	for (size_t i = 0; i < group_count && i < HOLDERS_MOST; i++) {
		fputs(i ? ", " : "Held meanwhile by ", stdout);
		clew_print_task(stdout, trace, groups[i].longest, clew_trace_end(trace));
		printf(" %s", CLEW_DURATION(groups[i].total));
	}
	if (group_count > HOLDERS_MOST)
		printf(" and %zu more", group_count - HOLDERS_MOST);
	if (group_count)
		putchar('\n');
	free(groups);
	return 0;
}

static int json_holders(struct clew_json *json, const struct clew_trace *trace,
			const struct clew_operation *found, size_t count)
{
	struct clew_sum *groups;
	size_t group_count;

	if (find_holders(trace, found, count, &groups, &group_count) < 0)
		return out_of_memory();
	clew_json_array(json, "holders");
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

/* ---- text ---- */

static void print_question(const struct clew_ask *ask)
{
	const char *parts[] = {ask->call, ask->lock, ask->operation};
	const char *const names[] = {"", "lock ", "operation "};
	const char *const joints[] = {"", " for ", " in "};
	bool begun = false;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!parts[i])
			continue;
		printf("%s%s", begun ? joints[i] : "", names[i]);
		clew_print_safe(stdout, parts[i]);
		begun = true;
	}
	if (ask->file) {
		fputs(begun ? " on " : "files ", stdout);
		clew_print_safe(stdout, ask->file);
	}
}

static const char *things_of(const struct clew_ask *ask, size_t count)
{
	if (ask->lock)
		return count == 1 ? "wait" : "waits";
	if (ask->call || ask->file)
		return count == 1 ? "call that waited" : "calls that waited";
	return count == 1 ? "call" : "calls";
}

static void print_shares(const struct clew_trace *trace, const struct together *together)
{
	uint64_t total = together->all.to, rest = 0;

	for (size_t i = 0; i < together->share_count; i++) {
		const struct clew_program_share *share = &together->shares[i];

		if (i >= TOGETHER_LINES) {
			rest += share->ns;
			continue;
		}
		printf("  %5.1f %%  %9s  ", 100.0 * (double)share->ns / (double)total,
		       CLEW_DURATION(share->ns));
		clew_print_program_share(stdout, trace, &together->all, share);
		putchar('\n');
	}
	if (together->share_count > TOGETHER_LINES)
		printf("  %5.1f %%  %9s  %zu more\n", 100.0 * (double)rest / (double)total,
		       CLEW_DURATION(rest), together->share_count - TOGETHER_LINES);
}

static int print_together(const struct clew_asked_in *in, const struct clew_operation *found,
			  size_t count)
{
	struct together together;

	if (make_together(in, found, count, &together) < 0)
		return out_of_memory();
	if (together.count < count)
		printf("Where the time of the %zu longest went:\n", together.count);
	else
		printf("Where the time of all %zu went:\n", count);
	print_shares(in->trace, &together);
	together_done(&together);
	return 0;
}

int clew_ask_print(const struct clew_ask *ask, const struct clew_asked_in *in,
		   const struct clew_operation *found, size_t count)
{
	int status = 0;

	print_question(ask);
	printf(": %zu %s, %s in all", count, things_of(ask, count),
	       CLEW_DURATION(sum_of(found, count)));
	if (count > 1)
		printf(", p50 %s, p99 %s, max %s", CLEW_DURATION(percentile(found, count, 50)),
		       CLEW_DURATION(percentile(found, count, 99)),
		       CLEW_DURATION(length_of(&found[0])));
	putchar('\n');
	if (ask->lock)
		status = print_holders(in->trace, found, count);
	if (!status && count > 1)
		status = print_together(in, found, count);
	return status;
}

void clew_print_asked(FILE *out, const struct clew_trace *trace,
		      const struct clew_operation *operation)
{
	const struct clew_sleep *wait = operation->wait;
	const char *call = wait ? clew_call_name(wait->call) : NULL;

	if (operation->activity) {
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

static int json_together(struct clew_json *json, const struct clew_asked_in *in,
			 const struct clew_operation *found, size_t count)
{
	struct together together;

	if (make_together(in, found, count, &together) < 0)
		return out_of_memory();
	clew_json_unsigned(json, "together_of", together.count);
	clew_json_array(json, "together");
	for (size_t i = 0; i < together.share_count; i++)
		clew_json_program_share(json, in->trace, &together.all, &together.shares[i]);
	clew_json_array_end(json);
	together_done(&together);
	return 0;
}

int clew_ask_json(struct clew_json *json, const struct clew_ask *ask,
		  const struct clew_asked_in *in, const struct clew_operation *found, size_t count)
{
	int status = 0;

	clew_json_object(json, "asked");
	clew_json_string(json, "call", ask->call);
	clew_json_string(json, "file", ask->file);
	clew_json_string(json, "lock", ask->lock);
	clew_json_string(json, "operation", ask->operation);
	clew_json_object_end(json);
	if (!count)
		return 0;
	clew_json_unsigned(json, "total_ns", sum_of(found, count));
	clew_json_unsigned(json, "p50_ns", percentile(found, count, 50));
	clew_json_unsigned(json, "p99_ns", percentile(found, count, 99));
	clew_json_unsigned(json, "max_ns", length_of(&found[0]));
	if (ask->lock)
		status = json_holders(json, in->trace, found, count);
	return status ?: json_together(json, in, found, count);
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
	clew_json_object_end(json);
}
