/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Handles the findings of the live builder. */
#include "daemon/watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/judge.h"

#define FIRINGS_MOST 8

struct clew_watch {
	pthread_mutex_t lock;
	struct clew_judge *judge;
	struct account account;
	struct clew_rule *rules;
	struct clew_rule_counts *counts;
	uint64_t *quiet; /* matches since it last fired, by rule */
	size_t rule_count;
	struct clew_firing firings[FIRINGS_MOST];
	size_t firing_count;
};

static const char *path_of(const struct clew_watch *watch, uint64_t cgroup)
{
	return known_path(clew_judge_known(watch->judge), cgroup);
}

/* A rule was met. */
static void fire(void *context, size_t rule, const struct clew_slow *slow,
		 const struct known_task *task)
{
	struct clew_watch *watch = context;
	struct clew_rule *fired = &watch->rules[rule];
	const char *path = task ? path_of(watch, task->cgroup) : NULL;
	struct clew_firing *firing;

	if (watch->firing_count == FIRINGS_MOST || !clew_trigger_fire(&fired->trigger, slow->at)) {
		watch->counts[rule].suppressed++;
		watch->quiet[rule]++;
		return;
	}
	watch->counts[rule].fired++;
	firing = &watch->firings[watch->firing_count++];
	*firing = (struct clew_firing){.slow = *slow,
				       .suppressed = watch->quiet[rule],
				       .tid = task ? task->tid : 0,
				       .pid = task ? task->pid : 0};
	watch->quiet[rule] = 0;
	strcpy(firing->rule, fired->name);
	strcpy(firing->text, fired->text);
	snprintf(firing->comm, sizeof(firing->comm), "%s", task ? task->comm : "");
	snprintf(firing->cgroup, sizeof(firing->cgroup), "%s", path ?: "");
	if (slow->kind == CLEW_SLOW_REQUEST)
		snprintf(firing->disk, sizeof(firing->disk), "%s",
			 known_disk(clew_judge_known(watch->judge), slow->request.device) ?: "");
}

static int take(void *context, struct clew_finding finding)
{
	struct clew_watch *watch = context;
	int r;

	pthread_mutex_lock(&watch->lock);
	r = clew_judge_take(watch->judge, finding);
	if (r >= 0)
		r = account_take(&watch->account, finding);
	pthread_mutex_unlock(&watch->lock);
	return r;
}

static int step(void *context, const struct clew_builder *builder, uint64_t now)
{
	struct clew_watch *watch = context;
	int r;

	pthread_mutex_lock(&watch->lock);
	r = clew_judge_step(watch->judge, builder, now);
	if (r >= 0)
		r = account_step(&watch->account, builder, now);
	pthread_mutex_unlock(&watch->lock);
	return r;
}

struct clew_finding_taker clew_watch_taker(struct clew_watch *watch)
{
	return (struct clew_finding_taker){.wants = CLEW_JUDGE_WANTS | ACCOUNT_WANTS,
					   .take = take,
					   .step = step,
					   .context = watch};
}

/* ---- the other thread ---- */

int clew_watch_new(struct clew_watch **ret_watch)
{
	struct clew_judge_options options = {.task_size = sizeof(struct account_task), .met = fire};
	struct clew_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	pthread_mutex_init(&watch->lock, NULL);
	options.context = watch;
	if (clew_judge_new(&options, &watch->judge) < 0 ||
	    account_init(&watch->account, clew_judge_known(watch->judge)) < 0) {
		clew_watch_free(watch);
		return -ENOMEM;
	}
	*ret_watch = watch;
	return 0;
}

void clew_watch_free(struct clew_watch *watch)
{
	if (!watch)
		return;
	clew_judge_free(watch->judge);
	account_done(&watch->account);
	free(watch->rules);
	free(watch->counts);
	free(watch->quiet);
	pthread_mutex_destroy(&watch->lock);
	free(watch);
}

static struct clew_rule_counts *find_rule(struct clew_watch *watch, const char *name,
					  size_t *ret_at)
{
	for (size_t i = 0; i < watch->rule_count; i++)
		if (!strcmp(watch->rules[i].name, name)) {
			*ret_at = i;
			return &watch->counts[i];
		}
	return NULL;
}

/* Rules that replace others, and the number that each had before. */
struct next {
	struct clew_rule *rules;
	struct clew_rule_counts *counts;
	uint64_t *quiet;
	const struct clew_trigger **triggers;
	size_t *before;
};

static void free_next(struct next *next)
{
	free(next->rules);
	free(next->counts);
	free(next->quiet);
	free(next->triggers);
	free(next->before);
}

static int make_next(struct clew_watch *watch, const struct clew_rule *rules, size_t count,
		     struct next *ret_next)
{
	struct next *next = ret_next;

	*next = (struct next){.rules = calloc(count + 1, sizeof(*rules)),
			      .counts = calloc(count + 1, sizeof(*next->counts)),
			      .quiet = calloc(count + 1, sizeof(*next->quiet)),
			      .triggers = calloc(count + 1, sizeof(*next->triggers)),
			      .before = calloc(count + 1, sizeof(*next->before))};
	if (!next->rules || !next->counts || !next->quiet || !next->triggers || !next->before)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct clew_rule_counts *before =
			find_rule(watch, rules[i].name, &next->before[i]);
		size_t at = next->before[i];

		next->rules[i] = rules[i];
		next->triggers[i] = &next->rules[i].trigger;
		if (!before || strcmp(rules[i].text, watch->rules[at].text) != 0) {
			next->before[i] = SIZE_MAX;
			continue;
		}
		next->rules[i] = watch->rules[at];
		next->counts[i] = *before;
		next->quiet[i] = watch->quiet[at];
	}
	return 0;
}

int clew_watch_set_rules(struct clew_watch *watch, const struct clew_rule *rules, size_t count)
{
	struct next next;
	int r;

	pthread_mutex_lock(&watch->lock);
	r = make_next(watch, rules, count, &next);
	if (r == 0)
		r = clew_judge_set(watch->judge, next.triggers, next.before, count);
	if (r == 0) {
		struct next last = {
			.rules = watch->rules, .counts = watch->counts, .quiet = watch->quiet};

		watch->rules = next.rules;
		watch->counts = next.counts;
		watch->quiet = next.quiet;
		watch->rule_count = count;
		next.rules = last.rules;
		next.counts = last.counts;
		next.quiet = last.quiet;
	}
	pthread_mutex_unlock(&watch->lock);
	free_next(&next);
	return r;
}

bool clew_watch_next(struct clew_watch *watch, struct clew_firing *ret_firing)
{
	bool found;

	pthread_mutex_lock(&watch->lock);
	found = watch->firing_count > 0;
	if (found) {
		*ret_firing = watch->firings[0];
		memmove(watch->firings, watch->firings + 1,
			--watch->firing_count * sizeof(*watch->firings));
	}
	pthread_mutex_unlock(&watch->lock);
	return found;
}

void clew_watch_count(struct clew_watch *watch, const struct clew_made *made)
{
	struct clew_rule_counts *counts;
	size_t at;

	pthread_mutex_lock(&watch->lock);
	counts = find_rule(watch, made->rule, &at);
	if (counts && made->made)
		counts->made++;
	else if (counts)
		counts->failed++;
	if (made->made)
		lengths_explain(&watch->account.lengths, &made->slow, made->id, made->wall);
	pthread_mutex_unlock(&watch->lock);
}

void clew_watch_suppress(struct clew_watch *watch, const char *rule)
{
	struct clew_rule_counts *counts;
	size_t at;

	pthread_mutex_lock(&watch->lock);
	counts = find_rule(watch, rule, &at);
	if (counts) {
		counts->suppressed++;
		counts->fired--;
		watch->quiet[at]++;
	}
	pthread_mutex_unlock(&watch->lock);
}

void clew_watch_read(struct clew_watch *watch,
		     void (*read)(void *context, const struct account *account,
				  const struct clew_rule *rules,
				  const struct clew_rule_counts *counts, size_t count),
		     void *context)
{
	pthread_mutex_lock(&watch->lock);
	read(context, &watch->account, watch->rules, watch->counts, watch->rule_count);
	pthread_mutex_unlock(&watch->lock);
}
