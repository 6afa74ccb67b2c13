/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the daemon makes of findings. See watch.h. */
#include "daemon/watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "daemon/turns.h"

#define TASKS_MOST   (1u << 18)
#define FIRINGS_MOST 8
#define LINGER	     5000000000ull /* ns after its end that findings of a task may come */

struct watched {
	uint32_t tid, pid, flags;
	uint32_t group; /* of the sums */
	uint64_t cgroup;
	uint64_t ready, runs; /* ns: it was ready from .. to; equal: that was charged */
	uint64_t ran;	      /* ns: when its last run began .. */
	unsigned cpu;	      /* .. and where */
	char comm[CLEW_COMM_SIZE + 1];
};

struct ended {
	uint64_t time;
	uint32_t task;
};

struct clew_watch {
	pthread_mutex_t lock;
	struct map tasks; /* serial -> struct watched */
	struct vector ended;
	size_t gone;	  /* of `ended` */
	struct map paths; /* id of a cgroup -> its path */
	struct sums sums;
	struct turns turns;
	struct clew_rule *rules;
	struct clew_rule_counts *counts;
	uint64_t *quiet; /* matches since it last fired, by rule */
	size_t rule_count;
	struct clew_firing firings[FIRINGS_MOST];
	size_t firing_count;
};

/* ---- tasks and cgroups ---- */

static struct watched *find_task(const struct clew_watch *watch, uint32_t serial)
{
	const uint64_t *place = map_get(&watch->tasks, serial, 0);

	return place ? (struct watched *)(uintptr_t)*place : NULL;
}

static const char *path_of(const struct clew_watch *watch, uint64_t cgroup)
{
	const uint64_t *place = map_get(&watch->paths, cgroup, 0);

	return place ? (const char *)(uintptr_t)*place : NULL;
}

static void free_values(struct map *map)
{
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].used)
			free((void *)(uintptr_t)map->slots[i].value);
	map_done(map);
	*map = (struct map){};
}

static void forget_task(struct clew_watch *watch, uint32_t serial)
{
	free(find_task(watch, serial));
	map_remove(&watch->tasks, serial, 0);
}

/* Forgets tasks that ended some time ago. */
static void forget_ended(struct clew_watch *watch, uint64_t now)
{
	struct ended *ended = watch->ended.data;
	size_t count = watch->ended.count;

	while (watch->gone < count && ended[watch->gone].time + LINGER < now)
		forget_task(watch, ended[watch->gone++].task);
	if (watch->gone > 64 && watch->gone > count / 2) {
		memmove(ended, ended + watch->gone, (count - watch->gone) * sizeof(*ended));
		watch->ended.count -= watch->gone;
		watch->gone = 0;
	}
}

static int take_task(struct clew_watch *watch, const struct clew_task_record *record)
{
	struct watched *task = find_task(watch, record->task);

	if (!task && watch->tasks.count >= TASKS_MOST)
		free_values(&watch->tasks);
	if (!task) {
		task = calloc(1, sizeof(*task));
		if (!task || map_set(&watch->tasks, record->task, 0, (uintptr_t)task) < 0) {
			free(task);
			return -ENOMEM;
		}
	}
	task->tid = record->tid;
	task->pid = record->pid;
	task->flags = record->task_flags;
	task->cgroup = record->cgroup;
	task->group = sums_group_of(&watch->sums, task->cgroup, path_of(watch, task->cgroup));
	memcpy(task->comm, record->comm, CLEW_COMM_SIZE);
	return 0;
}

static int take_cgroup(struct clew_watch *watch, const struct clew_cgroup_record *record)
{
	char *path;

	if (path_of(watch, record->id))
		return 0;
	if (watch->paths.count >= TASKS_MOST)
		free_values(&watch->paths);
	path = strndup((const char *)(record + 1), record->path_size);
	if (!path || map_set(&watch->paths, record->id, 0, (uintptr_t)path) < 0) {
		free(path);
		return -ENOMEM;
	}
	return 0;
}

static int take_end(struct clew_watch *watch, const struct clew_life *life)
{
	if (vector_reserve(&watch->ended, watch->ended.count + 1) < 0)
		return -ENOMEM;
	((struct ended *)watch->ended.data)[watch->ended.count++] =
		(struct ended){.time = life->header.time, .task = life->task};
	return 0;
}

static int take_identity(struct clew_watch *watch, const struct clew_header *record)
{
	struct watched *task;

	forget_ended(watch, record->time);
	switch (record->kind) {
	case CLEW_KIND_TASK:
		return take_task(watch, (const struct clew_task_record *)record);
	case CLEW_KIND_CGROUP:
		return take_cgroup(watch, (const struct clew_cgroup_record *)record);
	case CLEW_KIND_EXIT:
		return take_end(watch, (const struct clew_life *)record);
	case CLEW_KIND_RENAME:
		task = find_task(watch, ((const struct clew_rename *)record)->task);
		if (task)
			memcpy(task->comm, ((const struct clew_rename *)record)->comm,
			       CLEW_COMM_SIZE);
		return 0;
	default:
		return 0;
	}
}

/* ---- lost time ---- */

static void fire(struct clew_watch *watch, size_t rule, const struct watched *task,
		 const struct clew_slow *slow)
{
	struct clew_rule *fired = &watch->rules[rule];
	const char *path = task ? path_of(watch, task->cgroup) : NULL;
	struct clew_firing *firing;

	if (!clew_trigger_wants(&fired->trigger, task ? task->comm : NULL, path))
		return;
	if (watch->firing_count == FIRINGS_MOST || !clew_trigger_fire(&fired->trigger, slow->end)) {
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
		task->group =
			sums_group_of(&watch->sums, task->cgroup, path_of(watch, task->cgroup));
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

static void take_sleep(struct clew_watch *watch, const struct clew_sleep *sleep)
{
	struct watched *task = find_task(watch, sleep->task);
	struct clew_slow slow;
	uint32_t group;

	if ((task && task->flags & CLEW_TASK_SELF) || sleep->end == CLEW_TIME_OPEN)
		return;
	group = group_of(watch, task);
	sums_add(&watch->sums, group, sleep->kind, sleep->end - sleep->start);
	if (sleep->switch_in != CLEW_TIME_OPEN && sleep->switch_in > sleep->end)
		was_ready(watch, task, sleep->end, sleep->switch_in);
	blame(watch, sleep, group);
	/* A wait that began before the recording has no known begin. */
	if (sleep->open & CLEW_OPEN_START)
		return;
	for (size_t i = 0; i < watch->rule_count; i++)
		if (clew_trigger_matches(&watch->rules[i].trigger, sleep, &slow))
			fire(watch, i, task, &slow);
}

static void take_ready(struct clew_watch *watch, const struct clew_ready *ready)
{
	struct watched *task = find_task(watch, ready->task);
	struct clew_slow slow;

	if ((task && task->flags & CLEW_TASK_SELF) || ready->end == CLEW_TIME_OPEN)
		return;
	was_ready(watch, task, ready->start, ready->end);
	for (size_t i = 0; i < watch->rule_count; i++)
		if (clew_trigger_matches_ready(&watch->rules[i].trigger, ready, &slow))
			fire(watch, i, task, &slow);
}

static int take(void *context, struct clew_finding finding)
{
	struct clew_watch *watch = context;
	int r = 0;

	pthread_mutex_lock(&watch->lock);
	if (finding.tag == CLEW_FINDING_SLEEP)
		take_sleep(watch, finding.sleep);
	else if (finding.tag == CLEW_FINDING_READY)
		take_ready(watch, finding.ready);
	else if (finding.tag == CLEW_FINDING_RUN)
		r = take_run(watch, finding.run);
	else
		r = take_identity(watch, finding.identity);
	pthread_mutex_unlock(&watch->lock);
	return r;
}

struct clew_finding_taker clew_watch_taker(struct clew_watch *watch)
{
	return (struct clew_finding_taker){.wants = CLEW_FINDING_BIT(CLEW_FINDING_IDENTITY) |
						    CLEW_FINDING_BIT(CLEW_FINDING_SLEEP) |
						    CLEW_FINDING_BIT(CLEW_FINDING_READY) |
						    CLEW_FINDING_BIT(CLEW_FINDING_RUN),
					   .take = take,
					   .context = watch};
}

/* ---- the other thread ---- */

int clew_watch_new(struct clew_watch **ret_watch)
{
	struct clew_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	pthread_mutex_init(&watch->lock, NULL);
	watch->ended.item = sizeof(struct ended);
	if (sums_init(&watch->sums) < 0) {
		clew_watch_free(watch);
		return -ENOMEM;
	}
	*ret_watch = watch;
	return 0;
}

static void free_rules(struct clew_watch *watch)
{
	free(watch->rules);
	free(watch->counts);
	free(watch->quiet);
}

void clew_watch_free(struct clew_watch *watch)
{
	if (!watch)
		return;
	free_values(&watch->tasks);
	free_values(&watch->paths);
	vector_done(&watch->ended);
	sums_done(&watch->sums);
	turns_done(&watch->turns);
	free_rules(watch);
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

int clew_watch_set_rules(struct clew_watch *watch, const struct clew_rule *rules, size_t count)
{
	struct clew_watch next = {.rules = calloc(count + 1, sizeof(*rules)),
				  .counts = calloc(count + 1, sizeof(*next.counts)),
				  .quiet = calloc(count + 1, sizeof(*next.quiet))};
	size_t at;

	if (!next.rules || !next.counts || !next.quiet) {
		free_rules(&next);
		return -ENOMEM;
	}
	pthread_mutex_lock(&watch->lock);
	for (size_t i = 0; i < count; i++) {
		const struct clew_rule_counts *before = find_rule(watch, rules[i].name, &at);

		next.rules[i] = rules[i];
		if (!before || strcmp(rules[i].text, watch->rules[at].text) != 0)
			continue;
		next.rules[i] = watch->rules[at];
		next.counts[i] = *before;
		next.quiet[i] = watch->quiet[at];
	}
	free_rules(watch);
	watch->rules = next.rules;
	watch->counts = next.counts;
	watch->quiet = next.quiet;
	watch->rule_count = count;
	pthread_mutex_unlock(&watch->lock);
	return 0;
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
