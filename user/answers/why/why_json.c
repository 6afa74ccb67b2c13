/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The segments and sums of a why as JSON. Tasks, objects, stacks, hops and calls of segments are
 * numbers; the tables that they lead to stand before all else.
 */
#include "answers/why/why_json.h"

#include <clew/tokens.h>
#include <inttypes.h>

#include "answers/why/by_program.h"
#include "answers/why/causes.h"
#include "answers/why/restraints.h"
#include "words/beside.h"
#include "words/deadlock.h"
#include "words/functions.h"
#include "words/group.h"
#include "words/ledger.h"
#include "words/limit.h"
#include "words/lines.h"
#include "words/link.h"
#include "words/other_end.h"
#include "words/remote.h"
#include "words/running.h"
#include "words/samples.h"
#include "words/segment.h"
#include "words/stack.h"
#include "words/task.h"
#include "words/tried.h"

/* The dependency that led to the segment's task. */
static void json_via(struct clew_why_answer *answer, const struct clew_segment *segment)
{
	const struct clew_trace *trace = answer->tables.trace;
	struct clew_json *json = &answer->fields.json;

	if (segment->via_type < 0) {
		clew_json_null(json, "via");
		return;
	}
	clew_json_object(json, "via");
	clew_json_string(json, "type", clew_trace_type_name(trace, (unsigned)segment->via_type));
	clew_json_string(json, "evidence", clew_evidence_name(segment->via_evidence));
	if (segment->called)
		clew_json_unsigned(json, "called", why_call(&answer->tables, segment->called));
	if (segment->born != CLEW_NO_TASK)
		clew_json_unsigned(json, "to",
				   why_task(&answer->tables, segment->born,
					    clew_segment_awaited_until(trace, segment)));
	clew_json_object_end(json);
}

/* The logical span that was queued or suspended. */
static void json_job(struct clew_why_answer *answer, const struct clew_segment *segment)
{
	const struct clew_jobs *jobs =
		answer->tables.relations ? clew_relations_jobs(answer->tables.relations) : NULL;
	struct clew_json *json = &answer->fields.json;

	if (!segment->job || !jobs)
		return;
	clew_json_object(json, "logical");
	clew_json_string(json, "runtime", segment->job->runtime->name);
	clew_json_string(json, "kind", segment->job->kind->name);
	clew_json_string(json, "name", clew_job_name(jobs, segment->job));
	clew_json_string(json, "state",
			 segment->piece ? clew_job_piece_word(segment->piece->kind) : NULL);
	clew_json_object_end(json);
}

/* The lock of a runtime that the segment's task had. */
static void json_lock(struct clew_json *json, const struct clew_segment *segment)
{
	char object[24];

	if (!segment->lock)
		return;
	clew_json_object(json, "lock");
	clew_json_string(json, "runtime", segment->lock->runtime->name);
	clew_json_string(json, "kind", segment->lock->kind->name);
	clew_json_string(json, "name", segment->lock->label);
	snprintf(object, sizeof(object), "0x%" PRIx64, segment->lock->object);
	clew_json_string(json, "object", object);
	clew_json_object_end(json);
}

static void json_job_hop(struct clew_json *json, const struct clew_jobs *jobs,
			 const struct clew_job_hop *hop)
{
	if (!hop)
		return;
	json_job_hop(json, jobs, hop->up);
	clew_json_object(json, NULL);
	clew_json_string(json, "runtime", hop->job->runtime->name);
	clew_json_string(json, "kind", hop->job->kind->name);
	clew_json_string(json, "name", clew_job_name(jobs, hop->job));
	clew_json_string(json, "by", clew_job_name(jobs, hop->waker));
	clew_json_object_end(json);
}

/* The logical spans that were suspended, and which ones resumed them. */
static void json_job_hops(struct clew_why_answer *answer, const struct clew_segment *segment)
{
	struct clew_json *json = &answer->fields.json;

	if (!segment->job_hops)
		return;
	clew_json_array(json, "suspended");
	json_job_hop(json, clew_relations_jobs(answer->tables.relations), segment->job_hops);
	clew_json_array_end(json);
}

/* Where a segment belongs: its chain, its object, the calls that it is in or may be for. */
static void json_place(struct clew_why_answer *answer, const struct clew_segment *segment)
{
	struct why_tables *tables = &answer->tables;
	struct clew_json *json = &answer->fields.json;

	/*
	 * The name at the segment's end: a new process soon gets the name of
	 * its program.
	 */
	clew_json_unsigned(json, "task", why_task(tables, segment->task, segment->end - 1));
	clew_json_array(json, "hops");
	for (uint32_t i = 0; i < segment->chain_length; i++)
		clew_json_unsigned(json, NULL, why_hop(tables, segment, i));
	clew_json_array_end(json);
	clew_json_table_number(json, "object", why_segment_object(tables, segment));
	if (segment->spin)
		clew_json_unsigned(json, "holder",
				   why_task(tables, segment->spin->holder, segment->spin->start));
	json_via(answer, segment);
	if (segment->activity)
		clew_json_unsigned(json, "activity", why_activity(tables, segment));
	if (segment->perhaps) {
		const struct clew_activity *lower =
			clew_relations_lower(tables->relations, segment->perhaps);

		clew_json_object(json, "perhaps");
		clew_json_unsigned(json, "task", why_task(tables, lower->task, lower->begin));
		clew_json_string(json, "evidence", clew_evidence_name(segment->perhaps->evidence));
		clew_json_unsigned(json, "called", why_call(tables, segment->perhaps));
		clew_json_object_end(json);
	}
	json_job(answer, segment);
	json_lock(json, segment);
	json_job_hops(answer, segment);
}

/* Fields that are there only where they apply, but for those of traced functions and samples. */
static void json_particulars(struct clew_why_answer *answer, const struct clew_segment *segment)
{
	const struct clew_trace *trace = answer->tables.trace;
	const struct clew_trace_request *request = clew_segment_request(trace, segment->link);
	const struct clew_sleep *waited = segment->sleep ?: clew_segment_awaiting(trace, segment);
	struct clew_json *json = &answer->fields.json;
	struct clew_beside beside;

	if (waited && clew_trace_retried(trace, waited))
		clew_json_slices(json, trace, waited);
	if (waited)
		clew_json_tried(json, trace, waited);
	if (segment->sleep)
		clew_json_other_end(json, trace, segment->sleep);
	if (segment->cycle)
		clew_json_bool(json, "cycle", true);
	if (segment->cycle && clew_trace_stuck_step(trace, segment->task))
		clew_json_deadlock(json, "deadlock", trace,
				   clew_trace_deadlock_of(trace, segment->task));
	if (segment->late) {
		clew_json_bool(json, "late", true);
		clew_json_string(json, "late_by",
				 segment->late == CLEW_LATE_SLACK ? "slack" : "interrupt");
	}
	if (waited && waited->frozen)
		clew_json_bool(json, "frozen", true);
	if (segment->held)
		clew_json_string(json, "held_back", clew_held_name(segment->held));
	if (segment->sleep)
		clew_json_remote(json, trace, segment->sleep);
	if (clew_segment_read_again(trace, segment))
		clew_json_bool(json, "read_again", true);
	if (segment->sleep && segment->sleep->blind)
		clew_json_bool(json, "blind", true);
	if (segment->below)
		clew_json_table_number(json, "below",
				       why_link_object(&answer->tables, segment->below));
	if (segment->kind == CLEW_WAIT_THROTTLE && request)
		clew_json_limit(json, trace, &request->block);
	if ((segment->kind == CLEW_SEGMENT_DEVICE || segment->kind == CLEW_SEGMENT_QUEUED) &&
	    !clew_beside_find(trace, &segment, 1, &beside))
		clew_json_beside(json, trace, &beside);
}

static int json_segment(struct clew_why_answer *answer, const struct clew_segment *segment)
{
	const struct clew_trace *trace = answer->tables.trace;
	struct clew_json *json = &answer->fields.json;
	int r;

	clew_json_object(json, NULL);
	clew_json_unsigned(json, "start", segment->start);
	clew_json_unsigned(json, "end", segment->end);
	clew_json_unsigned(json, "ns", segment->end - segment->start);
	clew_json_string(json, "kind", clew_wait_kind_name(segment->kind));
	json_place(answer, segment);
	if (segment->kind == CLEW_SEGMENT_RUNNING)
		clew_json_running(json, trace, segment);
	if (segment->sleep && segment->kind != CLEW_SEGMENT_RUNNING &&
	    segment->kind != CLEW_SEGMENT_RUNQUEUE)
		clew_json_string(json, "call", clew_call_name(segment->sleep->call));
	json_particulars(answer, segment);
	if (answer->tables.stacks.trace)
		clew_json_table_number(
			json, "stack",
			clew_stack_of_sleep(&answer->tables.stacks, clew_stack_sleep(segment)));
	r = clew_json_segment_samples(json, trace, segment);
	if (r >= 0)
		r = clew_json_functions(json, trace, segment);
	clew_json_object_end(json);
	return r;
}

static void json_cause(struct clew_json *json, const struct clew_trace *trace,
		       const struct clew_why *why, const struct clew_why_cause *cause)
{
	clew_json_object(json, NULL);
	clew_json_unsigned(json, "ns", cause->ns);
	clew_json_string(json, "text", cause->text);
	clew_json_number(json, "share", (double)cause->ns / (double)(why->to - why->from));
	clew_json_string(json, "kind", clew_wait_kind_name(cause->first->kind));
	clew_json_task_fields(json, trace, cause->first->task, cause->first->end - 1);
	clew_json_unsigned(json, "segments", cause->segments);
	clew_json_object_end(json);
}

static void json_sums(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_why *why, const struct clew_why_sums *sums)
{
	uint64_t vain;
	size_t times;

	clew_json_array(json, "causes");
	for (size_t i = 0; i < sums->cause_count; i++)
		json_cause(json, trace, why, &sums->causes[i]);
	clew_json_array_end(json);
	clew_json_array(json, "programs");
	for (size_t i = 0; i < sums->share_count; i++)
		clew_json_program_share(json, trace, why, &sums->shares[i]);
	clew_json_array_end(json);
	clew_json_array(json, "restraints");
	for (size_t i = 0; i < sums->restraint_count; i++)
		clew_json_restraint(json, trace, &sums->restraints[i]);
	clew_json_array_end(json);
	times = clew_trace_vain_sum(trace, why->task, why->from, why->to, &vain);
	if (!times)
		return;
	clew_json_object(json, "woken_for_nothing");
	clew_json_unsigned(json, "times", times);
	clew_json_unsigned(json, "ns", vain);
	clew_json_object_end(json);
}

static void json_stack_share(struct clew_json *json, const struct clew_trace *trace,
			     const struct clew_why *why)
{
	uint64_t waited, with;

	if (!clew_trace_has_stacks(trace))
		return;
	clew_stack_share(trace, why, &waited, &with);
	clew_json_unsigned(json, "waited_ns", waited);
	clew_json_unsigned(json, "stacks_ns", with);
}

/* All samples of what ran, whatever it ran in. */
static int json_samples(struct clew_json *json, const struct clew_trace *trace,
			const struct clew_why *why)
{
	struct clew_samples samples = {};
	int r = clew_samples_of_why(&samples, trace, why);

	if (r >= 0 && clew_trace_has_stacks(trace))
		clew_json_samples_told(json, trace, &samples);
	if (r >= 0)
		r = clew_json_samples(json, trace, &samples);
	clew_samples_done(&samples);
	return r;
}

int clew_json_why(struct clew_why_answer *answer, const struct clew_why *why,
		  const struct clew_why_sums *sums)
{
	const struct clew_trace *trace = answer->tables.trace;
	struct clew_json *json = &answer->fields.json;
	uint64_t probe;
	int r = clew_functions_probe(trace, why, &probe);

	clew_json_unsigned(json, "from", why->from);
	clew_json_unsigned(json, "to", why->to);
	clew_json_unsigned(json, "total_ns", why->to - why->from);
	clew_json_unsigned(json, "unknown_ns", why->unknown_ns);
	if (clew_has_functions(trace))
		clew_json_unsigned(json, "probe_ns", probe);
	json_stack_share(json, trace, why);
	if (r >= 0)
		r = json_samples(json, trace, why);
	clew_json_task_fields(json, trace, why->task, why->to);
	clew_json_group(json, trace, clew_trace_task(trace, why->task));
	clew_json_array(json, "segments");
	for (size_t i = 0; i < why->segment_count && r >= 0; i++)
		r = json_segment(answer, &why->segments[i]);
	clew_json_array_end(json);
	json_sums(json, trace, why, sums);
	clew_json_ledger(json, trace, why->from, why->to);
	return r;
}

int clew_why_answer_begin(struct clew_why_answer *answer, const struct clew_trace *trace,
			  const struct clew_relations *relations)
{
	int r = why_tables_begin(&answer->tables, trace, relations);

	if (r < 0)
		return r;
	r = clew_json_part_begin(&answer->fields, 1);
	if (r < 0)
		why_tables_done(&answer->tables);
	answer->fields.json.stacks = &answer->tables.stacks;
	return r;
}

int clew_why_answer_end(struct clew_why_answer *answer, FILE *out)
{
	struct clew_json json = {.out = out};
	int r;

	clew_json_lines_told(&answer->fields.json, answer->tables.trace);
	clew_json_answer(&json);
	r = why_tables_write(&answer->tables, &json);
	if (r == 0)
		r = clew_json_part_write(&answer->fields, &json);
	clew_json_object_end(&json);
	clew_json_end(&json);
	clew_json_part_done(&answer->fields);
	why_tables_done(&answer->tables);
	return r;
}
