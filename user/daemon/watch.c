/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the daemon makes of findings. See watch.h. */
#include "daemon/watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/served.h"
#include "daemon/turns.h"
#include "live/judge.h"

#define FIRINGS_MOST 8

struct watched {
	struct known_task known;
	uint32_t group;	      /* of the sums */
	uint64_t ready, runs; /* ns: it was ready from .. to; equal: that was charged */
	uint64_t ran;	      /* ns: when its last run began .. */
	unsigned cpu;	      /* .. and where */
};

struct clew_watch {
	pthread_mutex_t lock;
	struct clew_judge *judge;
	struct sums sums;
	struct turns turns;
	struct served served;
	struct clew_rule *rules;
	struct clew_rule_counts *counts;
	uint64_t *quiet; /* matches since it last fired, by rule */
	size_t rule_count;
	struct clew_firing firings[FIRINGS_MOST];
	size_t firing_count;
};

static struct watched *find_task(const struct clew_watch *watch, uint32_t serial)
{
	return (struct watched *)known_find(clew_judge_known(watch->judge), serial);
}

static const char *path_of(const struct clew_watch *watch, uint64_t cgroup)
{
	return known_path(clew_judge_known(watch->judge), cgroup);
}

/* ---- lost time ---- */

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
}

static uint32_t group_of(struct clew_watch *watch, struct watched *task)
{
	if (!task)
		return SUMS_OTHER;
	/* The record of the group may come after the task's. */
	if (task->group == SUMS_OTHER)
		task->group = sums_group_of(&watch->sums, task->known.cgroup,
					    path_of(watch, task->known.cgroup));
	return task->group;
}

/* Charges the holders of a lock with the time that they had it meanwhile. */
static void blame(struct clew_watch *watch, const struct clew_sleep *sleep, uint32_t victim)
{
	for (uint32_t i = 0; i < sleep->holder_count; i++) {
		const struct clew_holder *holder = &sleep->holders[i];
		uint64_t from = holder->from > sleep->start ? holder->from : sleep->start,
			 to = holder->to < sleep->end ? holder->to : sleep->end;

		if (from >= to || holder->coming || holder->evidence == CLEW_EVIDENCE_CANDIDATE)
			continue;
		sums_blame(&watch->sums,
			   &(struct sums_pair){
				   .victim = victim,
				   .antagonist = group_of(watch, find_task(watch, holder->task)),
				   .kind = sleep->kind,
				   .ns = to - from,
				   .grown = sleep->end});
	}
}

/*
 * Charges the group whose limit a wait is for: of CPU time, or of memory. Its path is known once a
 * task of it or of a group above was seen.
 */
static void blame_limit(struct clew_watch *watch, const struct clew_sleep *sleep, uint32_t victim)
{
	const uint64_t group = sleep->object.number;

	if (sleep->object.kind != CLEW_OBJECT_CGROUP || sleep->blind ||
	    (sleep->kind != CLEW_WAIT_THROTTLE && sleep->kind != CLEW_WAIT_MEMORY))
		return;
	sums_blame(&watch->sums,
		   &(struct sums_pair){
			   .victim = victim,
			   .antagonist = sums_group_of(&watch->sums, group, path_of(watch, group)),
			   .kind = sleep->kind,
			   .ns = sleep->end - sleep->start,
			   .grown = sleep->end});
}

static uint64_t later(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

/* Has those charged whose requests were ahead of the one that ended a wait. */
static void blame_disk(struct clew_watch *watch, const struct clew_sleep *sleep, uint32_t victim)
{
	const struct clew_link *last =
		sleep->link_count ? &sleep->links[sleep->link_count - 1] : NULL;
	uint64_t queued;

	if (!last || sleep->edge_type != CLEW_EDGE_REQUEST || last->kind != CLEW_LINK_REQUEST ||
	    !last->at || sleep->blind || sleep->holder_count ||
	    sleep->edge_evidence == CLEW_EVIDENCE_CANDIDATE)
		return;
	/* Until its release, a limit keeps a request out of its disk's queue. */
	queued = later(last->at, last->released);
	served_await(&watch->served, last->device,
		     &(struct served_wait){.from = later(sleep->start, queued),
					   .to = sleep->end,
					   .queued = queued,
					   .task = sleep->task,
					   .group = victim});
}

static void charge_disk(void *context, const struct served_wait *wait, uint32_t group, uint64_t ns)
{
	struct clew_watch *watch = context;

	sums_blame(&watch->sums, &(struct sums_pair){.victim = wait->group,
						     .antagonist = group,
						     .kind = SUMS_DISK,
						     .ns = ns,
						     .grown = wait->to});
}

static int take_served(struct clew_watch *watch, const struct clew_block_request *request)
{
	struct watched *task = find_task(watch, request->submitter);

	if (!request->queued)
		return 0;
	return served_add(
		&watch->served, request->device,
		&(struct served_request){.queued = later(request->queued, request->released),
					 .end = request->completed,
					 .task = request->submitter,
					 .group = group_of(watch, task)});
}

/* A wait for a CPU that is being charged. */
struct charge {
	struct clew_watch *watch;
	uint32_t victim;
	uint64_t time;
};

static void charge_run(void *context, uint32_t group, uint64_t ns)
{
	const struct charge *charge = context;

	sums_blame(&charge->watch->sums, &(struct sums_pair){.victim = charge->victim,
							     .antagonist = group,
							     .kind = CLEW_SEGMENT_RUNQUEUE,
							     .ns = ns,
							     .grown = charge->time});
}

/*
 * Charges what ran on the CPU that a task then got. When it became ready and where it then ran are
 * two findings, which come in any order.
 */
static void blame_runs(struct clew_watch *watch, struct watched *task)
{
	struct charge charge = {.watch = watch, .time = task->ran};

	if (task->ready == task->runs || task->runs != task->ran)
		return;
	charge.victim = group_of(watch, task);
	turns_between(&watch->turns, task->cpu, task->ready, task->runs, charge_run, &charge);
	task->ready = task->runs;
}

static void was_ready(struct clew_watch *watch, struct watched *task, uint64_t from, uint64_t to)
{
	sums_add(&watch->sums, group_of(watch, task), CLEW_SEGMENT_RUNQUEUE, to - from);
	if (!task)
		return;
	task->ready = from;
	task->runs = to;
	blame_runs(watch, task);
}

static int take_run(struct clew_watch *watch, const struct clew_run *run)
{
	struct watched *task = find_task(watch, run->task);

	/* An idle CPU keeps nobody waiting. */
	if (!run->task || run->end == CLEW_TIME_OPEN || run->end <= run->start)
		return 0;
	if (task && !run->open_start) {
		task->ran = run->start;
		task->cpu = run->cpu;
		blame_runs(watch, task);
	}
	return turns_add(&watch->turns, run->cpu,
			 (struct turn){run->start, run->end, group_of(watch, task)});
}

static bool is_own(const struct watched *task)
{
	return task && task->known.flags & CLEW_TASK_SELF;
}

static void take_sleep(struct clew_watch *watch, const struct clew_sleep *sleep)
{
	struct watched *task = find_task(watch, sleep->task);
	uint32_t group;

	if (is_own(task) || sleep->end == CLEW_TIME_OPEN)
		return;
	group = group_of(watch, task);
	sums_add(&watch->sums, group, sleep->kind, sleep->end - sleep->start);
	if (sleep->switch_in != CLEW_TIME_OPEN && sleep->switch_in > sleep->end)
		was_ready(watch, task, sleep->end, sleep->switch_in);
	blame(watch, sleep, group);
	blame_limit(watch, sleep, group);
	blame_disk(watch, sleep, group);
}

static void take_ready(struct clew_watch *watch, const struct clew_ready *ready)
{
	struct watched *task = find_task(watch, ready->task);

	if (!is_own(task) && ready->end != CLEW_TIME_OPEN)
		was_ready(watch, task, ready->start, ready->end);
}

/* The task may be in another group now. */
static void take_identity(struct clew_watch *watch, const struct clew_header *record)
{
	struct watched *task =
		record->kind == CLEW_KIND_TASK
			? find_task(watch, ((const struct clew_task_record *)record)->task)
			: NULL;

	if (task)
		task->group = sums_group_of(&watch->sums, task->known.cgroup,
					    path_of(watch, task->known.cgroup));
}

static int take(void *context, struct clew_finding finding)
{
	struct clew_watch *watch = context;
	int r;

	pthread_mutex_lock(&watch->lock);
	r = clew_judge_take(watch->judge, finding);
	if (finding.tag == CLEW_FINDING_SLEEP)
		take_sleep(watch, finding.sleep);
	else if (finding.tag == CLEW_FINDING_READY)
		take_ready(watch, finding.ready);
	else if (finding.tag == CLEW_FINDING_RUN && r >= 0)
		r = take_run(watch, finding.run);
	else if (finding.tag == CLEW_FINDING_SERVED && r >= 0)
		r = take_served(watch, finding.request);
	else if (finding.tag == CLEW_FINDING_IDENTITY)
		take_identity(watch, finding.identity);
	pthread_mutex_unlock(&watch->lock);
	return r;
}

static int step(void *context, const struct clew_builder *builder, uint64_t now)
{
	struct clew_watch *watch = context;
	int r;

	pthread_mutex_lock(&watch->lock);
	r = clew_judge_step(watch->judge, builder, now);
	served_step(&watch->served, now);
	pthread_mutex_unlock(&watch->lock);
	return r;
}

struct clew_finding_taker clew_watch_taker(struct clew_watch *watch)
{
	return (struct clew_finding_taker){.wants = CLEW_JUDGE_WANTS |
						    CLEW_FINDING_BIT(CLEW_FINDING_RUN) |
						    CLEW_FINDING_BIT(CLEW_FINDING_SERVED),
					   .take = take,
					   .step = step,
					   .context = watch};
}

/* ---- the other thread ---- */

int clew_watch_new(struct clew_watch **ret_watch)
{
	struct clew_judge_options options = {.task_size = sizeof(struct watched), .met = fire};
	struct clew_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	pthread_mutex_init(&watch->lock, NULL);
	watch->served = (struct served){.charge = charge_disk, .context = watch};
	options.context = watch;
	if (sums_init(&watch->sums) < 0 || clew_judge_new(&options, &watch->judge) < 0) {
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
	sums_done(&watch->sums);
	turns_done(&watch->turns);
	served_done(&watch->served);
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

void clew_watch_count(struct clew_watch *watch, const char *rule, bool made)
{
	struct clew_rule_counts *counts;
	size_t at;

	pthread_mutex_lock(&watch->lock);
	counts = find_rule(watch, rule, &at);
	if (counts && made)
		counts->made++;
	else if (counts)
		counts->failed++;
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
		     void (*read)(void *context, const struct sums *sums,
				  const struct clew_rule *rules,
				  const struct clew_rule_counts *counts, size_t count),
		     void *context)
{
	pthread_mutex_lock(&watch->lock);
	read(context, &watch->sums, watch->rules, watch->counts, watch->rule_count);
	pthread_mutex_unlock(&watch->lock);
}
