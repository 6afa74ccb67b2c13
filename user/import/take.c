/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events of another tracer as records of a capture. A wake is kept until its task runs, as clew's
 * own switch records carry the wake of the task that comes.
 */
#include <clew/kernel/call_numbers.h>
#include <errno.h>
#include <string.h>

#include "import/state.h"

#define NO_TASK 0 /* the idle task, or an unknown one */

/* ---- switches ---- */

static bool is_dead(char state)
{
	return state == 'X' || state == 'Z' || state == 'x';
}

/* The task leaves its CPU: its state, and what is known of its wait. */
static void leave(struct import_task *task, const struct event *event, struct clew_switch *record,
		  struct clew_wait *wait)
{
	*wait = (struct clew_wait){.descriptor = -1, .call = CLEW_NO_CALL};
	if (!task)
		return;
	task->kernel |= event->state == 'I';
	task->woken = 0;
	task->slept = false;
	if (is_dead(event->state)) {
		record->header.flags |= CLEW_SWITCH_DEAD;
	} else if (event->state == 'R') {
		record->header.flags |= event->preempted ? CLEW_SWITCH_PREEMPT : 0;
	} else {
		record->header.flags |= CLEW_SWITCH_SLEEP | CLEW_SWITCH_WAIT;
		record->prev_state = event_state(event->state);
		task->slept = true;
		wait->call = task->call;
		wait->flags = (task->same_call ? CLEW_WAIT_FLAG_SAME_CALL : 0) |
			      (task->kernel ? CLEW_WAIT_FLAG_KTHREAD : 0);
		if (task->futex) {
			wait->object_kind = CLEW_OBJECT_FUTEX;
			wait->object = task->futex;
			wait->futex_operation = task->operation;
		}
		task->same_call = task->call != CLEW_NO_CALL;
	}
}

/* The task comes on the CPU: how it was woken, if it slept. True: there is a cause. */
static bool enter(struct import_task *task, struct clew_switch *record, struct clew_cause *cause)
{
	bool has_cause = false;

	record->wake_descriptor = -1;
	record->wake_call = CLEW_NO_CALL;
	if (!task)
		return false;
	if (task->is_new)
		record->header.flags |= CLEW_SWITCH_NEXT_NEW;
	else if (task->slept)
		record->header.flags |= CLEW_SWITCH_NEXT_SLEPT;
	if ((task->is_new || task->slept) && task->woken) {
		record->wake_time = task->woken;
		record->waker = task->waker;
		record->wake_call = task->waker_call;
		record->wake_context = task->context;
		record->wake_flags = task->wake_flags;
		has_cause = task->request != 0;
		*cause = (struct clew_cause){.kind = CLEW_CAUSE_REQUEST, .object = task->request};
	}
	task->is_new = task->slept = false;
	task->woken = 0;
	return has_cause;
}

/* A task whose number is another's by now is the one that had it. */
static int take_switch(struct import *import, const struct line *line, const struct event *event)
{
	struct {
		struct clew_switch record;
		char behind[sizeof(struct clew_wait) + sizeof(struct clew_cause)];
	} full = {};
	struct import_cpu *cpu = &import->cpus[line->cpu];
	struct import_task *prev, *next;
	struct clew_cause cause;
	struct clew_wait wait;
	size_t size = sizeof(full.record);
	int r;

	prev = import_task(import, event->prev.tid, event->prev.comm, &r);
	if (r < 0)
		return r;
	full.record.prev = prev ? prev->serial : NO_TASK;
	leave(prev, event, &full.record, &wait);
	if (prev && is_dead(event->state))
		import_gone(import, prev);
	next = import_task(import, event->next.tid, event->next.comm, &r);
	if (r < 0)
		return r;
	full.record.next = next ? next->serial : NO_TASK;
	if (full.record.header.flags & CLEW_SWITCH_WAIT) {
		memcpy((char *)&full + size, &wait, sizeof(wait));
		size += sizeof(wait);
	}
	if (enter(next, &full.record, &cause)) {
		full.record.header.flags |= CLEW_SWITCH_CAUSE;
		memcpy((char *)&full + size, &cause, sizeof(cause));
		size += sizeof(cause);
	}
	cpu->tid = event->next.tid;
	cpu->known = true;
	/* No interrupt switches tasks: the event of its end was lost. */
	cpu->irqs = cpu->softirqs = 0;
	cpu->request = 0;
	return import_put(import, line->cpu, &full.record.header, CLEW_KIND_SWITCH, size);
}

/* ---- wakes ---- */

/* As the third flag of ftrace says: in an interrupt, in a softirq, or in a task. */
static uint8_t context_by_flags(const char *flags)
{
	switch (strlen(flags) > 2 ? flags[2] : '?') {
	case 'h':
	case 'H':
	case 'z':
	case 'Z':
		return CLEW_WAKE_IRQ;
	case 's':
		return CLEW_WAKE_SOFTIRQ;
	case '.':
		return CLEW_WAKE_TASK;
	default:
		return CLEW_WAKE_UNKNOWN;
	}
}

/*
 * The context of a wake. Without flags it is by the begins and ends of interrupts. The idle task
 * wakes nobody, and neither does a program outside of system calls.
 */
static uint8_t context_of(const struct import *import, const struct line *line,
			  const struct import_task *waker)
{
	const struct import_cpu *cpu = &import->cpus[line->cpu];
	uint8_t context = line->flags[0] ? context_by_flags(line->flags) : CLEW_WAKE_UNKNOWN;

	if (context == CLEW_WAKE_UNKNOWN && cpu->irqs)
		context = CLEW_WAKE_IRQ;
	if (context == CLEW_WAKE_UNKNOWN && cpu->softirqs)
		context = CLEW_WAKE_SOFTIRQ;
	if (context == CLEW_WAKE_UNKNOWN)
		context = waker && !(waker->calls && waker->call == CLEW_NO_CALL && !waker->exiting)
				  ? CLEW_WAKE_TASK
				  : CLEW_WAKE_IRQ;
	return context == CLEW_WAKE_TASK && !waker ? CLEW_WAKE_UNKNOWN : context;
}

/* The first wake since the task left its CPU counts: later ones found it ready. */
static int take_wake(struct import *import, const struct line *line, const struct event *event)
{
	struct import_task *task, *waker;
	uint32_t serial;
	int r;

	task = import_task(import, event->next.tid, event->next.comm, &r);
	if (r < 0 || !task || task->woken || (!task->slept && !task->is_new))
		return r;
	serial = task->serial;
	waker = import_task(import, line->tid, line->comm, &r);
	if (r < 0)
		return r;
	task = (struct import_task *)import->tasks.data + serial - 1;
	task->woken = import->now;
	task->context = context_of(import, line, waker);
	task->waker = waker ? waker->serial : NO_TASK;
	task->waker_call = waker ? waker->call : CLEW_NO_CALL;
	task->wake_flags = waker && waker->exiting ? CLEW_WAKE_EXITING : 0;
	/* A request that ended in this interrupt, or just now in it, ended the wait. */
	task->request = task->context != CLEW_WAKE_TASK ? import->cpus[line->cpu].request : 0;
	return 0;
}

/* ---- lives ---- */

static int put_life(struct import *import, const struct line *line, unsigned kind, uint32_t task,
		    uint32_t other)
{
	struct clew_life record = {.task = task, .other = other};

	return import_put(import, line->cpu, &record.header, kind, sizeof(record));
}

static int take_fork(struct import *import, const struct line *line, const struct event *event)
{
	struct import_task *parent, *child;
	uint32_t serial;
	int r;

	parent = import_task(import, event->prev.tid, event->prev.comm, &r);
	if (!parent)
		return r;
	serial = parent->serial;
	child = import_begin(import, event->next.tid, event->next.comm, parent, &r);
	if (!child)
		return r;
	child->woken = import->now;
	child->waker = serial;
	child->context = CLEW_WAKE_TASK;
	child->waker_call = CLEW_NO_CALL;
	return put_life(import, line, CLEW_KIND_FORK, serial, child->serial);
}

static int take_life(struct import *import, const struct line *line, const struct event *event)
{
	struct import_task *task;
	int r;

	task = import_task(import, event->next.tid, event->next.comm, &r);
	if (!task)
		return r;
	if (event->kind == EVENT_RENAME)
		return 0;
	if (event->kind == EVENT_EXEC)
		return put_life(import, line, CLEW_KIND_EXEC, task->serial, task->serial);
	task->exiting = true;
	return put_life(import, line, CLEW_KIND_EXIT, task->serial, 0);
}

/* ---- calls ---- */

static int take_call(struct import *import, const struct line *line, const struct event *event)
{
	struct import_task *task;
	int r;

	task = import_task(import, line->tid, line->comm, &r);
	if (!task)
		return r;
	task->calls = true;
	task->same_call = false;
	task->futex = 0;
	task->call = event->kind == EVENT_ENTER ? event->call : CLEW_NO_CALL;
	if (task->call == CLEW_NR_futex && event->argument_count >= 2) {
		task->futex = event->arguments[0];
		task->operation = (uint8_t)event->arguments[1];
	}
	return 0;
}

int import_take(struct import *import, const struct line *line, const struct event *event)
{
	struct import_cpu *cpu = &import->cpus[line->cpu];

	switch (event->kind) {
	case EVENT_SWITCH:
		return take_switch(import, line, event);
	case EVENT_WAKEUP:
		if (import->sums->has & CLEW_IMPORT_WAKING)
			return 0;
		return take_wake(import, line, event);
	case EVENT_WAKING:
	case EVENT_WAKE_NEW:
		return take_wake(import, line, event);
	case EVENT_FORK:
		return take_fork(import, line, event);
	case EVENT_EXEC:
	case EVENT_EXIT:
	case EVENT_RENAME:
		return take_life(import, line, event);
	case EVENT_QUEUE:
		return import_queue(import, line, event);
	case EVENT_ISSUE:
		return import_issue(import, line, event);
	case EVENT_COMPLETE:
		return import_complete(import, line, event);
	case EVENT_ENTER:
	case EVENT_LEAVE:
		return take_call(import, line, event);
	case EVENT_SLICE_BEGIN:
		return import_slice_begin(import, line, event);
	case EVENT_SLICE_END:
		return import_slice_end(import, line);
	case EVENT_IRQ_BEGIN:
	case EVENT_TIMER_BEGIN:
		cpu->irqs++;
		return 0;
	case EVENT_SOFTIRQ_BEGIN:
		cpu->softirqs++;
		return 0;
	case EVENT_IRQ_END:
	case EVENT_TIMER_END:
		cpu->irqs -= cpu->irqs > 0;
		break;
	case EVENT_SOFTIRQ_END:
		cpu->softirqs -= cpu->softirqs > 0;
		break;
	default:
		return 0;
	}
	if (!cpu->irqs && !cpu->softirqs)
		cpu->request = 0;
	return 0;
}
