/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Judges findings by rules. */
#include "live/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "builder/block.h"
#include "builder/build.h"
#include "live/announced.h"
#include "live/operation.h"
#include "live/usual.h"
#include "live/window.h"
#include "store/capture.h"

#define OPENED_MOST  65536u
#define PENDING_MOST 65536u
#define SECONDS_MOST 120 /* that are looked at after a time in which nothing came */

struct rule {
	struct clew_trigger trigger;
	struct map opened;    /* what it was met for while that went on; all requests that it was */
	struct window window; /* of a rule about the last seconds */
	bool above;	      /* its value was above the threshold a second ago */
};

struct met {
	struct clew_slow slow;
	size_t rule;
};

struct clew_judge {
	struct clew_judge_options options;
	struct known known;
	struct announced announced;
	struct operations operations;
	struct usual usual; /* of operations, for rules about a multiple of that */
	struct rule *rules;
	size_t count;
	bool sums, waits, calls, works, requests; /* some rule needs what is open of these */
	bool usuals;				  /* .. or what is usual of operations */
	struct vector pending;			  /* struct met */
	struct vector open; /* struct met, of sums: what goes on in this step */
	uint64_t now;
	uint64_t second; /* up to which windows were looked at, 0 none */
};

/* ---- matches ---- */

static int keep(struct vector *vector, size_t rule, const struct clew_slow *slow)
{
	if (vector->count >= PENDING_MOST)
		return 0;
	if (vector_reserve(vector, vector->count + 1) < 0)
		return -ENOMEM;
	((struct met *)vector->data)[vector->count++] = (struct met){.slow = *slow, .rule = rule};
	return 0;
}

static int by_time(const void *left, const void *right)
{
	const struct met *a = left, *b = right;

	if (a->slow.at != b->slow.at)
		return a->slow.at < b->slow.at ? -1 : 1;
	if (a->rule != b->rule)
		return a->rule < b->rule ? -1 : 1;
	if (a->slow.start != b->slow.start)
		return a->slow.start < b->slow.start ? -1 : 1;
	if (a->slow.task != b->slow.task)
		return a->slow.task < b->slow.task ? -1 : 1;
	return a->slow.request.sector < b->slow.request.sector
		       ? -1
		       : a->slow.request.sector > b->slow.request.sector;
}

/* Hands on the matches up to a time. */
static void hand_on(struct clew_judge *judge, uint64_t until)
{
	struct met *pending = judge->pending.data;
	size_t done = 0;

	if (!judge->pending.count)
		return;
	qsort(pending, judge->pending.count, sizeof(*pending), by_time);
	for (; done < judge->pending.count && pending[done].slow.at <= until; done++)
		judge->options.met(judge->options.context, pending[done].rule, &pending[done].slow,
				   known_find(&judge->known, pending[done].slow.task));
	memmove(pending, pending + done, (judge->pending.count - done) * sizeof(*pending));
	judge->pending.count -= done;
}

static bool is_meant(const struct clew_judge *judge, const struct clew_trigger *trigger,
		     uint32_t serial)
{
	const struct known_task *task = known_find(&judge->known, serial);

	return !(task && task->flags & CLEW_TASK_SELF) &&
	       clew_trigger_wants(trigger, task ? task->comm : NULL,
				  task ? known_path(&judge->known, task->cgroup) : NULL);
}

/* ---- single ones ---- */

/* A task does one thing at a time, but queues several requests at once. */
static bool was_met(const struct rule *rule, const struct clew_slow *slow)
{
	return slow->kind == CLEW_SLOW_REQUEST
		       ? map_get(&rule->opened, slow->request.number, CLEW_NO_TASK)
		       : map_get(&rule->opened, slow->start, slow->task);
}

static int note_met(struct rule *rule, const struct clew_slow *slow)
{
	if (rule->opened.count >= OPENED_MOST)
		map_done(&rule->opened);
	return slow->kind == CLEW_SLOW_REQUEST
		       ? map_set(&rule->opened, slow->request.number, CLEW_NO_TASK, 1)
		       : map_set(&rule->opened, slow->start, slow->task, 1);
}

/* A write ends again when its disk's cache is flushed for it. */
static bool may_end_again(const struct clew_slow *slow)
{
	return slow->kind == CLEW_SLOW_REQUEST &&
	       slow->request.operation & (BLOCK_PREFLUSH | BLOCK_FUA);
}

/* The length beyond which a rule is met; CLEW_TIME_OPEN: none is. */
static uint64_t threshold_of(const struct rule *rule, const struct clew_slow *slow)
{
	if (!rule->trigger.factor)
		return rule->trigger.threshold;
	return slow->usual && slow->usual <= CLEW_TIME_OPEN / rule->trigger.factor / 2
		       ? slow->usual * rule->trigger.factor
		       : CLEW_TIME_OPEN;
}

/* Something goes on. */
static int judge_open(struct clew_judge *judge, size_t number, struct clew_slow slow)
{
	struct rule *rule = &judge->rules[number];
	uint64_t threshold = threshold_of(rule, &slow),
		 at = slow.start + threshold + CLEW_JUDGE_OPEN;

	if (threshold == CLEW_TIME_OPEN)
		return 0;

	/* It may have waited for longer than that until it was issued. */
	if (slow.kind == CLEW_SLOW_REQUEST && at < slow.at)
		at = slow.at;
	if (at > judge->now || was_met(rule, &slow) || !is_meant(judge, &rule->trigger, slow.task))
		return 0;
	if (note_met(rule, &slow) < 0)
		return -ENOMEM;
	slow.end = slow.at = at;
	slow.open = true;
	slow.value = rule->trigger.factor ? slow.usual : 0;
	return keep(&judge->pending, number, &slow);
}

/* Something has ended. */
static int judge_ended(struct clew_judge *judge, size_t number, struct clew_slow slow)
{
	struct rule *rule = &judge->rules[number];

	if (rule->opened.count && was_met(rule, &slow)) {
		if (slow.kind != CLEW_SLOW_REQUEST)
			map_remove(&rule->opened, slow.start, slow.task);
		else if (!may_end_again(&slow))
			map_remove(&rule->opened, slow.request.number, CLEW_NO_TASK);
		return 0;
	}
	if (slow.end - slow.start <= threshold_of(rule, &slow) ||
	    !is_meant(judge, &rule->trigger, slow.task))
		return 0;
	if (may_end_again(&slow) && note_met(rule, &slow) < 0)
		return -ENOMEM;
	slow.value = rule->trigger.factor ? slow.usual : 0;
	return keep(&judge->pending, number, &slow);
}

/* `open_start`: it began before the recording, so that its length is not known. */
static int judge_slow(struct clew_judge *judge, size_t number, struct clew_slow slow,
		      bool open_start)
{
	struct rule *rule = &judge->rules[number];
	bool goes_on = slow.end == CLEW_TIME_OPEN;

	if (rule->trigger.how == CLEW_TRIGGER_SUM) {
		if (!is_meant(judge, &rule->trigger, slow.task))
			return 0;
		if (goes_on)
			return keep(&judge->open, number, &slow);
		window_add_parts(&rule->window, &slow);
		return 0;
	}
	if (open_start)
		return 0;
	slow.at = slow.at ?: slow.end;
	if (rule->trigger.how == CLEW_TRIGGER_EACH)
		return goes_on ? judge_open(judge, number, slow) : judge_ended(judge, number, slow);
	return goes_on || !is_meant(judge, &rule->trigger, slow.task)
		       ? 0
		       : window_add_length(&rule->window, &slow);
}

/* ---- the last seconds ---- */

static int judge_second(struct clew_judge *judge, size_t number, uint64_t second)
{
	struct rule *rule = &judge->rules[number];
	const struct met *open = judge->open.data;
	struct window_value value;
	bool was_above = rule->above;
	int r = 0;

	if (rule->trigger.how == CLEW_TRIGGER_PERCENTILE) {
		r = window_percentile(&rule->window, second, rule->trigger.share, &value);
	} else {
		value = window_sum(&rule->window, second);
		for (size_t i = 0; i < judge->open.count; i++)
			if (open[i].rule == number)
				window_value_add_open(&rule->window, second, &open[i].slow, &value);
	}
	if (r < 0)
		return r;
	rule->above = value.longest.end && value.ns > rule->trigger.threshold;
	if (!rule->above || was_above)
		return 0;
	value.longest.at = second * WINDOW_SECOND;
	value.longest.value = value.ns;
	return keep(&judge->pending, number, &value.longest);
}

/* Looks at the windows of all seconds that are over and whose findings have come. */
static int judge_seconds(struct clew_judge *judge, uint64_t until)
{
	uint64_t last = until / WINDOW_SECOND;
	int r = 0;

	if (!judge->second)
		judge->second = last;
	if (judge->second + SECONDS_MOST < last)
		judge->second = last - SECONDS_MOST;
	while (judge->second < last && r >= 0) {
		judge->second++;
		for (size_t i = 0; i < judge->count && r >= 0; i++)
			if (judge->rules[i].trigger.how != CLEW_TRIGGER_EACH)
				r = judge_second(judge, i, judge->second);
	}
	return r;
}

/* ---- findings ---- */

static int judge_call(void *context, const struct announced_call *call, uint64_t end)
{
	struct clew_judge *judge = context;
	const struct clew_slow slow = {
		.start = call->begin, .end = end, .task = call->task, .kind = CLEW_SLOW_ANNOUNCED};
	int r = 0;

	for (size_t i = 0; i < judge->count && r >= 0; i++)
		if (clew_trigger_means_call(&judge->rules[i].trigger, call->name))
			r = judge_slow(judge, i, slow, false);
	return r;
}

static int judge_operation(void *context, const struct operation *operation)
{
	struct clew_judge *judge = context;
	bool goes_on = operation->end == CLEW_TIME_OPEN;
	uint64_t at = goes_on ? judge->now : operation->end;
	const struct clew_slow slow = {
		.start = operation->start,
		.end = operation->end,
		.at = operation->at,
		.task = operation->task,
		.kind = CLEW_SLOW_OPERATION,
		.usual = judge->usuals ? usual_median(&judge->usual, operation->class, at) : 0};
	int r = 0;

	for (size_t i = 0; i < judge->count && r >= 0; i++)
		if (judge->rules[i].trigger.what == CLEW_TRIGGER_OPERATION && !operation->within)
			r = judge_slow(judge, i, slow, false);
	if (r < 0 || goes_on || !judge->usuals)
		return r;
	return usual_add(&judge->usual, operation->class, at, operation->end - operation->start);
}

static int judge_identity(struct clew_judge *judge, const struct clew_header *record)
{
	const struct clew_announce *announce = (const struct clew_announce *)record;
	const struct known_task *task;
	int r = judge->works ? operations_take_identity(&judge->operations, record) : 0;

	if (r < 0)
		return r;
	/* A question that is stated again is known. */
	if (record->kind == CLEW_KIND_MESSAGE)
		return judge->works && record->cpu != CLEW_STREAM_USER
			       ? operations_take_message(&judge->operations, &judge->known,
							 (const struct clew_message_record *)record,
							 judge_operation, judge)
			       : 0;
	if (record->kind == CLEW_KIND_EXIT && judge->calls)
		announced_forget(&judge->announced, ((const struct clew_life *)record)->task);
	if (record->kind != CLEW_KIND_ANNOUNCE)
		return known_take(&judge->known, record);
	if (!judge->calls)
		return 0;
	task = known_find(&judge->known, announce->task);
	return announced_take(&judge->announced, announce, task ? task->process : announce->task,
			      judge_call, judge);
}

static int judge_sleep(struct clew_judge *judge, const struct clew_sleep *sleep)
{
	struct clew_slow slow;
	int r = 0;

	if (judge->works && sleep->end == CLEW_TIME_OPEN)
		r = operations_take_open(&judge->operations, &judge->known, sleep, judge->now,
					 judge_operation, judge);
	else if (judge->works)
		r = operations_take(&judge->operations, &judge->known, sleep, judge_operation,
				    judge);
	for (size_t i = 0; i < judge->count && r >= 0; i++)
		if (clew_trigger_means(&judge->rules[i].trigger, sleep, &slow))
			r = judge_slow(judge, i, slow, sleep->open & CLEW_OPEN_START);
	return r;
}

static int judge_ready(struct clew_judge *judge, const struct clew_ready *ready)
{
	struct clew_slow slow;
	int r = 0;

	for (size_t i = 0; i < judge->count && r >= 0; i++)
		if (clew_trigger_means_ready(&judge->rules[i].trigger, ready, &slow))
			r = judge_slow(judge, i, slow, false);
	return r;
}

/* A request that was served, or goes on: then it was issued. */
static int judge_request(struct clew_judge *judge, const struct clew_block_request *request)
{
	const struct clew_slow slow = {.start = request->queued,
				       .end = request->completed ?: CLEW_TIME_OPEN,
				       .at = request->completed ?: request->issued,
				       .task = request->reason_task != CLEW_NO_TASK
						       ? request->reason_task
						       : request->submitter,
				       .kind = CLEW_SLOW_REQUEST,
				       .request = {.number = request->number,
						   .sector = request->sector,
						   .bytes = request->bytes,
						   .device = request->device,
						   .operation = request->operation}};
	const char *disk = known_disk(&judge->known, request->device);
	int r = 0;

	if (!slow.start || slow.end < slow.start)
		return 0;
	for (size_t i = 0; i < judge->count && r >= 0; i++) {
		const struct clew_trigger *trigger = &judge->rules[i].trigger;

		/* Among many, it counts once. */
		if (clew_trigger_means_request(trigger, request, disk) &&
		    !(request->again && trigger->how == CLEW_TRIGGER_PERCENTILE))
			r = judge_slow(judge, i, slow, false);
	}
	return r;
}

static int take_open(void *context, struct clew_finding finding)
{
	if (finding.tag == CLEW_FINDING_REQUEST)
		return judge_request(context, finding.request);
	return finding.tag == CLEW_FINDING_SLEEP ? judge_sleep(context, finding.sleep)
						 : judge_ready(context, finding.ready);
}

int clew_judge_take(struct clew_judge *judge, struct clew_finding finding)
{
	switch (finding.tag) {
	case CLEW_FINDING_IDENTITY:
		return judge_identity(judge, finding.identity);
	case CLEW_FINDING_SLEEP:
		/* A wait that is open at the end was judged before. */
		return finding.sleep->end == CLEW_TIME_OPEN ? 0 : judge_sleep(judge, finding.sleep);
	case CLEW_FINDING_READY:
		return finding.ready->end == CLEW_TIME_OPEN ? 0 : judge_ready(judge, finding.ready);
	case CLEW_FINDING_SERVED:
		return judge_request(judge, finding.request);
	default:
		return 0;
	}
}

int clew_judge_step(struct clew_judge *judge, const struct clew_builder *builder, uint64_t now)
{
	const uint64_t sure = now > CLEW_JUDGE_HOLD ? now - CLEW_JUDGE_HOLD : 0;
	int r = 0;

	judge->now = now;
	judge->open.count = 0;
	if (judge->waits || judge->sums || judge->works)
		r = clew_builder_open(builder, take_open, judge);
	if (judge->requests && r >= 0)
		r = clew_builder_open_requests(builder, take_open, judge);
	for (size_t i = 0; judge->calls && i < judge->announced.calls.count && r >= 0; i++)
		r = judge_call(judge, (struct announced_call *)judge->announced.calls.data + i,
			       CLEW_TIME_OPEN);
	if (judge->works && r >= 0)
		r = operations_step(&judge->operations, &judge->known, now, judge_operation, judge);
	if (r >= 0)
		r = judge_seconds(judge, sure);
	hand_on(judge, sure);
	return r;
}

int clew_judge_finish(struct clew_judge *judge, uint64_t end)
{
	int r = judge_seconds(judge, end);

	hand_on(judge, UINT64_MAX);
	return r;
}

const struct known *clew_judge_known(const struct clew_judge *judge)
{
	return &judge->known;
}

/* ---- rules ---- */

static void free_rules(struct rule *rules, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		map_done(&rules[i].opened);
		window_done(&rules[i].window);
	}
	free(rules);
}

/* True if rules need open waits. */
static void find_needs(struct clew_judge *judge)
{
	judge->sums = judge->waits = judge->calls = judge->works = judge->requests = false;
	judge->usuals = false;
	for (size_t i = 0; i < judge->count; i++) {
		const struct clew_trigger *trigger = &judge->rules[i].trigger;

		judge->sums |= trigger->how == CLEW_TRIGGER_SUM;
		judge->waits |= trigger->how == CLEW_TRIGGER_EACH &&
				trigger->what != CLEW_TRIGGER_ANNOUNCED &&
				trigger->what != CLEW_TRIGGER_OPERATION &&
				trigger->what != CLEW_TRIGGER_REQUEST;
		judge->calls |= trigger->what == CLEW_TRIGGER_ANNOUNCED;
		judge->works |= trigger->what == CLEW_TRIGGER_OPERATION;
		judge->usuals |= trigger->factor;
		judge->requests |=
			trigger->how == CLEW_TRIGGER_EACH && trigger->what == CLEW_TRIGGER_REQUEST;
	}
	if (!judge->calls)
		judge->announced.calls.count = 0;
	if (!judge->works)
		operations_done(&judge->operations);
	if (!judge->usuals)
		usual_done(&judge->usual);
}

/* Matches that wait to be handed on stay those of their rules, if these go on. */
static void renumber(struct clew_judge *judge, const size_t *before, size_t count)
{
	struct met *pending = judge->pending.data;
	size_t kept = 0;

	for (size_t i = 0; i < judge->pending.count; i++)
		for (size_t rule = 0; before && rule < count; rule++)
			if (before[rule] == pending[i].rule) {
				pending[kept] = pending[i];
				pending[kept++].rule = rule;
				break;
			}
	judge->pending.count = kept;
}

int clew_judge_set(struct clew_judge *judge, const struct clew_trigger *const *triggers,
		   const size_t *before, size_t count)
{
	struct rule *rules = calloc(count + 1, sizeof(*rules));
	int r = rules ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r == 0; i++) {
		rules[i].trigger = *triggers[i];
		if (triggers[i]->how != CLEW_TRIGGER_EACH)
			r = window_init(&rules[i].window, triggers[i]->over);
	}
	if (r < 0) {
		free_rules(rules, rules ? count : 0);
		return r;
	}
	for (size_t i = 0; before && i < count; i++) {
		struct rule fresh = rules[i];

		if (before[i] == SIZE_MAX)
			continue;
		rules[i] = judge->rules[before[i]];
		judge->rules[before[i]] = fresh;
	}
	renumber(judge, before, count);
	free_rules(judge->rules, judge->count);
	judge->rules = rules;
	judge->count = count;
	find_needs(judge);
	return 0;
}

int clew_judge_new(const struct clew_judge_options *options, struct clew_judge **ret_judge)
{
	struct clew_judge *judge = calloc(1, sizeof(*judge));

	if (!judge)
		return -ENOMEM;
	judge->options = *options;
	judge->pending.item = judge->open.item = sizeof(struct met);
	known_init(&judge->known, options->task_size);
	announced_init(&judge->announced);
	*ret_judge = judge;
	return 0;
}

void clew_judge_free(struct clew_judge *judge)
{
	if (!judge)
		return;
	free_rules(judge->rules, judge->count);
	known_done(&judge->known);
	announced_done(&judge->announced);
	operations_done(&judge->operations);
	usual_done(&judge->usual);
	vector_done(&judge->pending);
	vector_done(&judge->open);
	free(judge);
}
