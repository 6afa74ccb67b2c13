/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Asserts that two traces give the same answers.
 */
#ifndef CLEW_SAME_TRACE_H
#define CLEW_SAME_TRACE_H

#include "explain/why.h"
#include "relate/relate.h"
#include "synthetic.h"
#include <stdio.h>

/* Segments of a why that a call led to. */
static unsigned followed;

/* Serials differ between the two, their order does not. */
static void same_task(const struct clew_trace *a, uint32_t serial_a, const struct clew_trace *b,
		      uint32_t serial_b)
{
	const struct trace_task *task_a = trace_task_find(a, serial_a),
				*task_b = trace_task_find(b, serial_b);

	assert_int_equal(task_a != NULL, task_b != NULL);
	if (task_a)
		assert_int_equal(task_a->index, task_b->index);
}

static void same_tasks(const struct clew_trace *a, const struct clew_trace *b)
{
	assert_int_equal(clew_trace_task_count(a), clew_trace_task_count(b));
	for (size_t i = 0; i < clew_trace_task_count(a); i++) {
		const struct trace_task *x = trace_task_at(a, i), *y = trace_task_at(b, i);

		assert_int_equal(x->task.tid, y->task.tid);
		assert_int_equal(x->task.pid, y->task.pid);
		assert_int_equal(x->task.user, y->task.user);
		assert_int_equal(x->task.flags, y->task.flags);
		assert_int_equal(x->task.instance, y->task.instance);
		assert_int_equal(x->task.pid_namespace, y->task.pid_namespace);
		assert_int_equal(x->task.cgroup, y->task.cgroup);
		assert_int_equal(x->task.birth, y->task.birth);
		assert_int_equal(x->task.death, y->task.death);
		assert_int_equal(x->begin, y->begin);
		assert_int_equal(x->end, y->end);
		assert_string_equal(x->task.comm, y->task.comm);
		assert_string_equal(x->task.command_line, y->task.command_line);
		assert_string_equal(x->task.executable, y->task.executable);
		same_task(a, x->task.process, b, y->task.process);
		same_task(a, x->task.parent, b, y->task.parent);
		for (uint64_t at = x->begin; at < x->end; at += 1 + (x->end - x->begin) / 16)
			assert_string_equal(clew_trace_comm_at(a, x->task.serial, at),
					    clew_trace_comm_at(b, y->task.serial, at));
	}
}

static void same_object(const struct clew_object *a, const struct clew_object *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->number, b->number);
	assert_int_equal(a->device, b->device);
	assert_int_equal(a->descriptor, b->descriptor);
	assert_int_equal(a->futex_operation, b->futex_operation);
	assert_int_equal(a->shared, b->shared);
}

static void same_sleeps(const struct clew_trace *a, const struct clew_trace *b)
{
	size_t count, other;
	const struct clew_sleep *x = clew_trace_sleeps(a, &count),
				*y = clew_trace_sleeps(b, &other);

	assert_int_equal(count, other);
	for (size_t i = 0; i < count; i++) {
		same_task(a, x[i].task, b, y[i].task);
		assert_int_equal(x[i].start, y[i].start);
		assert_int_equal(x[i].end, y[i].end);
		assert_int_equal(x[i].raw_end, y[i].raw_end);
		assert_int_equal(x[i].switch_in, y[i].switch_in);
		assert_int_equal(x[i].call_id, y[i].call_id);
		assert_int_equal(x[i].call, y[i].call);
		assert_int_equal(x[i].kind, y[i].kind);
		assert_int_equal(x[i].context, y[i].context);
		assert_int_equal(x[i].open, y[i].open);
		assert_int_equal(x[i].flags, y[i].flags);
		assert_int_equal(x[i].edge_type, y[i].edge_type);
		if (x[i].edge_type >= 0) {
			assert_int_equal(x[i].edge_evidence, y[i].edge_evidence);
			same_task(a, x[i].from, b, y[i].from);
			assert_int_equal(x[i].from_at, y[i].from_at);
		}
		same_task(a, x[i].ended_by, b, y[i].ended_by);
		assert_int_equal(x[i].blind, y[i].blind);
		assert_int_equal(x[i].hidden, y[i].hidden);
		assert_int_equal(x[i].operation, y[i].operation);
		assert_int_equal(x[i].poller, y[i].poller);
		same_object(&x[i].object, &y[i].object);
		assert_int_equal(x[i].holder_count, y[i].holder_count);
		for (uint32_t k = 0; k < x[i].holder_count; k++) {
			same_task(a, x[i].holders[k].task, b, y[i].holders[k].task);
			assert_int_equal(x[i].holders[k].from, y[i].holders[k].from);
			assert_int_equal(x[i].holders[k].to, y[i].holders[k].to);
			assert_int_equal(x[i].holders[k].evidence, y[i].holders[k].evidence);
			assert_int_equal(x[i].holders[k].barged, y[i].holders[k].barged);
			assert_int_equal(x[i].holders[k].coming, y[i].holders[k].coming);
		}
		assert_int_equal(x[i].link_count, y[i].link_count);
		assert_int_equal(x[i].and_count, y[i].and_count);
		for (unsigned k = 0; k < (unsigned)x[i].link_count + x[i].and_count; k++) {
			same_task(a, x[i].links[k].task, b, y[i].links[k].task);
			same_task(a, x[i].links[k].worker, b, y[i].links[k].worker);
			assert_int_equal(x[i].links[k].kind, y[i].links[k].kind);
			assert_int_equal(x[i].links[k].at, y[i].links[k].at);
			assert_int_equal(x[i].links[k].begin, y[i].links[k].begin);
			assert_int_equal(x[i].links[k].end, y[i].links[k].end);
			assert_int_equal(x[i].links[k].number, y[i].links[k].number);
		}
	}
}

static void same_edges(const struct clew_trace *a, const struct clew_trace *b)
{
	uint32_t *order_a, *begin_a, *order_b, *begin_b;
	size_t count, other, groups, other_groups;
	const struct clew_edge *x = clew_trace_edges(a, &count), *y = clew_trace_edges(b, &other);

	assert_int_equal(count, other);
	for (size_t i = 0; i < count; i++) {
		same_task(a, x[i].from, b, y[i].from);
		same_task(a, x[i].to, b, y[i].to);
		assert_int_equal(x[i].from_at, y[i].from_at);
		assert_int_equal(x[i].to_at, y[i].to_at);
		assert_int_equal(x[i].type, y[i].type);
		assert_int_equal(x[i].evidence, y[i].evidence);
		assert_int_equal(x[i].context, y[i].context);
		assert_int_equal(x[i].ends_sleep, y[i].ends_sleep);
		assert_int_equal(strncmp(x[i].from_comm, y[i].from_comm, CLEW_COMM_SIZE), 0);
		assert_int_equal(strncmp(x[i].to_comm, y[i].to_comm, CLEW_COMM_SIZE), 0);
		same_object(&x[i].object, &y[i].object);
	}
	assert_int_equal(clew_trace_edge_groups(a, &order_a, &begin_a, &groups), 0);
	assert_int_equal(clew_trace_edge_groups(b, &order_b, &begin_b, &other_groups), 0);
	assert_int_equal(groups, other_groups);
	assert_memory_equal(order_a, order_b, count * sizeof(*order_a));
	assert_memory_equal(begin_a, begin_b, (groups + 1) * sizeof(*begin_a));
	free(order_a);
	free(begin_a);
	free(order_b);
	free(begin_b);
}

static void same_timelines(const struct clew_trace *a, const struct clew_trace *b)
{
	for (size_t i = 0; i < clew_trace_task_count(a); i++) {
		const struct trace_task *x = trace_task_at(a, i), *y = trace_task_at(b, i);
		struct clew_piece piece, other;

		for (uint64_t at = x->begin; at < x->end; at = piece.end) {
			assert_true(clew_trace_piece(a, x->task.serial, at, false, &piece));
			assert_true(clew_trace_piece(b, y->task.serial, at, false, &other));
			assert_int_equal(piece.kind, other.kind);
			assert_int_equal(piece.cpu, other.cpu);
			if (piece.kind != CLEW_PIECE_UNKNOWN) {
				assert_int_equal(piece.start, other.start);
				assert_int_equal(piece.end, other.end);
			}
		}
	}
	for (uint16_t cpu = 0; cpu < a->cpu_count; cpu++)
		for (uint64_t at = a->start; at < a->end; at += 1 + (a->end - a->start) / 200) {
			struct clew_run run, other;

			assert_int_equal(clew_trace_running(a, cpu, at, &run),
					 clew_trace_running(b, cpu, at, &other));
			if (!clew_trace_running(a, cpu, at, &run))
				continue;
			same_task(a, run.task, b, other.task);
			assert_int_equal(run.start, other.start);
			assert_int_equal(run.end, other.end);
		}
}

/* The announcements of programs: who calls whom, what of it are dependencies, and every thread's
 * why that goes through it. */
static void same_calls(const struct clew_trace *a, const struct clew_trace *b)
{
	struct clew_relations *x, *y;
	struct clew_call_dependency *calls, *others;
	size_t count, other;

	clew_trace_announcements(a, &count);
	clew_trace_announcements(b, &other);
	assert_int_equal(count, other);
	if (!count)
		return;
	assert_int_equal(clew_relations_new(a, NULL, &x), 0);
	assert_int_equal(clew_relations_new(b, NULL, &y), 0);
	assert_int_equal(clew_relations_dependencies(x, &calls, &count), 0);
	assert_int_equal(clew_relations_dependencies(y, &others, &other), 0);
	assert_int_equal(count, other);
	for (size_t i = 0; i < count; i++) {
		same_task(a, calls[i].from, b, others[i].from);
		same_task(a, calls[i].to, b, others[i].to);
		assert_int_equal(calls[i].from_at, others[i].from_at);
		assert_int_equal(calls[i].to_at, others[i].to_at);
		assert_int_equal(calls[i].is_return, others[i].is_return);
		assert_int_equal(calls[i].relation->evidence, others[i].relation->evidence);
	}
	for (size_t i = 0; i < clew_trace_task_count(a); i++) {
		const struct trace_task *p = trace_task_at(a, i), *q = trace_task_at(b, i);
		struct clew_why why, again;
		uint64_t at = p->begin;

		assert_int_equal(clew_why_explain(a, x, p->task.serial, p->begin, p->end, &why), 0);
		assert_int_equal(clew_why_explain(b, y, q->task.serial, q->begin, q->end, &again),
				 0);
		assert_int_equal(why.segment_count, again.segment_count);
		for (size_t k = 0; k < why.segment_count; k++) {
			const struct clew_segment *m = &why.segments[k], *n = &again.segments[k];

			assert_int_equal(m->start, at);
			at = m->end;
			assert_int_equal(m->end, n->end);
			assert_int_equal(m->kind, n->kind);
			assert_int_equal(m->via_type, n->via_type);
			assert_int_equal(m->called != NULL, n->called != NULL);
			assert_int_equal(m->perhaps != NULL, n->perhaps != NULL);
			same_task(a, m->task, b, n->task);
			followed += m->called != NULL;
		}
		assert_int_equal(at, p->end);
		clew_why_done(&why);
		clew_why_done(&again);
	}
	free(calls);
	free(others);
	clew_relations_free(x);
	clew_relations_free(y);
}

static void same_frames(const struct clew_trace *a, const struct clew_trace *b)
{
	assert_int_equal(clew_trace_function_count(a), clew_trace_function_count(b));
	for (uint32_t i = 0; i < clew_trace_function_count(a); i++) {
		const struct clew_trace_function *x = clew_trace_function(a, i),
						 *y = clew_trace_function(b, i);

		assert_int_equal(x != NULL, y != NULL);
		if (!x)
			continue;
		assert_string_equal(x->name, y->name);
		assert_string_equal(x->readable, y->readable);
		assert_string_equal(x->object, y->object);
		assert_string_equal(x->arguments, y->arguments);
		assert_int_equal(x->offset, y->offset);
		assert_int_equal(x->length, y->length);
		assert_int_equal(x->build_id_size, y->build_id_size);
		assert_memory_equal(x->build_id, y->build_id, x->build_id_size);
	}
	assert_int_equal(a->frames.count, b->frames.count);
	for (uint32_t i = 0; i < a->frames.count; i++) {
		const struct clew_trace_frame *x = trace_frame(a, i), *y = trace_frame(b, i);
		const struct clew_frame_detail *detail = clew_trace_frame_detail(a, x),
					       *other = clew_trace_frame_detail(b, y);

		assert_memory_equal(x, y, offsetof(struct clew_trace_frame, detail));
		assert_memory_equal(&x->depth, &y->depth,
				    sizeof(*x) - offsetof(struct clew_trace_frame, depth));
		assert_int_equal(detail != NULL, other != NULL);
		if (!detail)
			continue;
		same_task(a, detail->end_task, b, other->end_task);
		assert_int_equal(detail->unread, other->unread);
		assert_int_equal(detail->values_size, other->values_size);
		assert_int_equal(detail->returned_size, other->returned_size);
		assert_memory_equal(detail->values, other->values,
				    (size_t)detail->values_size + detail->returned_size);
	}
}

static void same(const struct clew_trace *a, const struct clew_trace *b)
{
	assert_int_equal(a->start, b->start);
	assert_int_equal(a->end, b->end);
	assert_int_equal(clew_trace_gaps(a, 0, UINT64_MAX, NULL),
			 clew_trace_gaps(b, 0, UINT64_MAX, NULL));
	same_tasks(a, b);
	same_sleeps(a, b);
	same_edges(a, b);
	same_timelines(a, b);
	same_calls(a, b);
	same_frames(a, b);
	assert_sane(b);
}

/* ---- the way there and back ---- */

#endif
