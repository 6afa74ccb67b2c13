/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lanes of the timeline: which there are. */
#include "page/lanes.h"

#include <errno.h>
#include <stdlib.h>

#include "relate/job.h"

#define UNIT	  128	/* ns; 2^32 of them are 549 s */
#define MOST_LANE 65534 /* so that a lane's number + 1 fits in 2 bytes */

static int add_lane(struct lanes *lanes, struct lane lane)
{
	int r = vector_reserve(&lanes->lanes, lanes->lanes.count + 1);

	if (r >= 0)
		((struct lane *)lanes->lanes.data)[lanes->lanes.count++] = lane;
	return r;
}

const struct lane *lanes_at(const struct lanes *lanes, size_t number)
{
	return (const struct lane *)lanes->lanes.data + number;
}

uint32_t lanes_of_task(const struct lanes *lanes, uint32_t serial)
{
	const uint64_t *number = map_get(&lanes->of_task, serial, LANES_TASKS);

	return number ? (uint32_t)*number + 1 : 0;
}

uint32_t lanes_of_job(const struct lanes *lanes, uint32_t job)
{
	const uint64_t *number = map_get(&lanes->of_task, job, LANES_JOBS);

	return number ? (uint32_t)*number + 1 : 0;
}

/* Counts the runs of each task and each CPU in the interval. */
static int count_runs(const struct lanes *lanes, struct map *tasks, struct map *cpus)
{
	size_t count;
	const struct clew_run *runs = clew_trace_runs(lanes->trace, &count);
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		uint64_t *task = map_get(tasks, runs[i].task, 0);
		uint64_t *cpu = map_get(cpus, runs[i].cpu, 0);

		if (runs[i].end <= lanes->from || runs[i].start >= lanes->to)
			continue;
		r = map_set(cpus, runs[i].cpu, 0, cpu ? *cpu + 1 : 1);
		if (r >= 0 && runs[i].task != CLEW_NO_TASK)
			r = map_set(tasks, runs[i].task, 0, task ? *task + 1 : 1);
	}
	return r;
}

static int add_cpus(struct lanes *lanes, const struct map *cpus)
{
	int r = 0;

	for (unsigned cpu = 0; cpu < UINT16_MAX && lanes->cpus < cpus->count && r >= 0; cpu++) {
		const uint64_t *runs = map_get(cpus, cpu, 0);

		if (!runs)
			continue;
		r = add_lane(lanes, (struct lane){.task = CLEW_NO_TASK,
						  .cpu = (uint16_t)cpu,
						  .spans = (uint32_t)*runs});
		lanes->cpus++;
	}
	return r;
}

static int most_first(const void *left, const void *right)
{
	const struct lane *a = left, *b = right;

	if (a->on_path != b->on_path)
		return a->on_path ? -1 : 1;
	if (a->spans != b->spans)
		return a->spans > b->spans ? -1 : 1;
	return a->task < b->task ? -1 : a->task > b->task;
}

static uint32_t count_pieces(const struct clew_jobs *jobs, uint32_t number)
{
	uint32_t count = 0;

	for (uint32_t i = clew_job_at(jobs, number)->first; i != CLEW_NO_NUMBER;
	     i = clew_job_piece_at(jobs, i)->next)
		count++;
	return count;
}

/* All tasks that ran or are on a path, and all logical spans that are. */
static struct lane *candidates(const struct lanes *lanes, const struct clew_chosen *chosen,
			       const struct map *paths, const struct map *runs, size_t *ret_count)
{
	const struct clew_jobs *jobs = clew_trace_jobs(lanes->trace);
	size_t tasks = clew_trace_task_count(lanes->trace), spans = jobs ? jobs->list.count : 0;
	struct lane *found = calloc(tasks + spans + 1, sizeof(*found));

	*ret_count = 0;
	for (size_t i = 0; i < tasks && found; i++) {
		uint32_t serial = clew_trace_task_at(lanes->trace, i)->serial;
		const uint64_t *ran = map_get(runs, serial, 0);
		bool on_path = map_get(paths, serial, LANES_TASKS);

		if (!on_path && (!ran || !clew_is_chosen(chosen, lanes->trace, serial)))
			continue;
		/* A run is followed by a sleep and a time in the run queue, at most. */
		found[(*ret_count)++] = (struct lane){.task = serial,
						      .on_path = on_path,
						      .spans = 3 * (ran ? (uint32_t)*ran : 0) + 2};
	}
	for (uint32_t i = 0; i < spans && found; i++)
		if (map_get(paths, i, LANES_JOBS))
			found[(*ret_count)++] =
				(struct lane){.task = clew_job_task(jobs, clew_job_at(jobs, i)),
					      .job = i + 1,
					      .on_path = true,
					      .spans = count_pieces(jobs, i)};
	if (found)
		qsort(found, *ret_count, sizeof(*found), most_first);
	return found;
}

static int add_tasks(struct lanes *lanes, const struct lane *found, size_t count, uint64_t most)
{
	uint64_t spans = 0;
	int r = 0;

	for (size_t i = 0; i < lanes->cpus; i++)
		spans += lanes_at(lanes, i)->spans;
	for (size_t i = 0; i < count && r >= 0; i++) {
		spans += found[i].spans;
		if ((spans > most && !found[i].on_path) || lanes->lanes.count == MOST_LANE) {
			lanes->left_out = count - i;
			break;
		}
		r = found[i].job ? map_set(&lanes->of_task, found[i].job - 1, LANES_JOBS,
					   lanes->lanes.count)
				 : map_set(&lanes->of_task, found[i].task, LANES_TASKS,
					   lanes->lanes.count);
		if (r >= 0)
			r = add_lane(lanes, found[i]);
	}
	return r;
}

int lanes_choose(struct lanes *lanes, const struct clew_trace *trace,
		 const struct clew_chosen *chosen, const struct map *paths, uint64_t from,
		 uint64_t to, uint64_t most)
{
	struct map tasks = {}, cpus = {};
	struct lane *found = NULL;
	size_t count = 0;
	int r;

	*lanes = (struct lanes){.trace = trace,
				.from = from,
				.to = to,
				.unit = UNIT,
				.lanes.item = sizeof(struct lane)};
	while ((to - from) / lanes->unit > UINT32_MAX / 2)
		lanes->unit *= 2;
	r = count_runs(lanes, &tasks, &cpus);
	if (r >= 0)
		r = add_cpus(lanes, &cpus);
	if (r >= 0) {
		found = candidates(lanes, chosen, paths, &tasks, &count);
		r = found ? add_tasks(lanes, found, count, most) : -ENOMEM;
	}
	free(found);
	map_done(&tasks);
	map_done(&cpus);
	return r;
}

void lanes_done(struct lanes *lanes)
{
	vector_done(&lanes->lanes);
	map_done(&lanes->of_task);
}
