/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits and wakes for CTF. Readers take the task on a wake's CPU for the waker, unless the CPU is
 * in an interrupt. So each wake by an interrupt stands between that one's entry and its exit, all
 * at the same time: a capture has no others, and not how long they took.
 */
#include "export/ctf.h"
#include "export/sched.h"
#include "words/describe.h"

#define VECTOR_TIMER 1
#define VECTOR_NET   3 /* packets received */
#define VECTOR_BLOCK 4
#define NO_IRQ	     (-1) /* its number is not known */
#define IPI_VECTOR   0xfd /* x86's for another CPU's wish that a task be chosen again */

uint16_t ctf_wake_place(const struct ctf *it, const struct clew_sleep *sleep, bool *ret_before)
{
	uint64_t at = sched_wake_time(sleep);
	uint16_t cpu = SCHED_NO_CPU;

	*ret_before = false;
	if (sched_woken_by_task(sleep)) {
		cpu = sched_cpu_at(it->trace, sleep->ended_by, at);
		if (cpu == SCHED_NO_CPU) {
			cpu = sched_cpu_before(it->trace, sleep->ended_by, at);
			*ret_before = cpu != SCHED_NO_CPU;
		}
	}
	return cpu;
}

/* An interrupt that woke: the events around the wake. */
struct interrupt {
	enum ctf_event entry; /* the exit follows it */
	int64_t number;
	const char *name;
};

static struct interrupt softirq(int64_t vector)
{
	return (struct interrupt){.entry = CTF_SOFTIRQ_ENTRY, .number = vector};
}

static struct interrupt irq(int64_t number, const char *name)
{
	return (struct interrupt){.entry = CTF_IRQ_ENTRY, .number = number, .name = name};
}

/* A request or a packet that it was about says more than its own number. */
static struct interrupt interrupt_of(const struct clew_sleep *sleep)
{
	const struct clew_link *link = sleep->links, *numbered = NULL;

	for (unsigned i = 0; i < sleep->link_count; i++, link++) {
		if (link->kind == CLEW_LINK_REQUEST)
			return softirq(VECTOR_BLOCK);
		if (link->kind == CLEW_LINK_PACKET)
			return softirq(VECTOR_NET);
		if (link->kind == CLEW_LINK_IRQ || link->kind == CLEW_LINK_SOFTIRQ)
			numbered = link;
	}
	switch (sleep->context) {
	case CLEW_WAKE_TIMER:
		return (struct interrupt){.entry = CTF_TIMER_ENTRY};
	case CLEW_WAKE_IPI:
		return (struct interrupt){.entry = CTF_IPI_ENTRY, .number = IPI_VECTOR};
	case CLEW_WAKE_IRQ:
		return irq(numbered && numbered->kind == CLEW_LINK_IRQ ? (int64_t)numbered->number
								       : NO_IRQ,
			   "");
	case CLEW_WAKE_SOFTIRQ:
		if (numbered && numbered->kind == CLEW_LINK_SOFTIRQ)
			return softirq((int64_t)numbered->number);
		if (sleep->link_count && sleep->links[0].kind == CLEW_LINK_TIMER)
			return softirq(VECTOR_TIMER);
		return irq(NO_IRQ, "softirq");
	default:
		return irq(NO_IRQ, "unknown");
	}
}

static void put_entry(struct ctf *it, const struct interrupt *by, const struct clew_sleep *sleep,
		      uint64_t at)
{
	uint64_t function = 0;

	if (by->entry != CTF_TIMER_ENTRY) {
		CTF_PUT(it, by->entry, at, CTF_NUMBER(by->number), CTF_STRING(by->name));
		return;
	}
	for (unsigned i = 0; i < sleep->link_count; i++)
		if (sleep->links[i].kind == CLEW_LINK_TIMER)
			function = sleep->links[i].number;
	CTF_PUT(it, by->entry, at, CTF_NUMBER(0), CTF_NUMBER(at), CTF_NUMBER(function));
}

void ctf_wake(struct ctf *it, const struct clew_sleep *sleep, uint64_t at)
{
	const struct clew_trace_task *task = clew_trace_task(it->trace, sleep->task);
	const struct ctf_value values[] = {
		CTF_STRING(clew_trace_comm_at(it->trace, sleep->task, at)),
		CTF_NUMBER(task->tid),
		CTF_NUMBER(ctf_priority(it, sleep->task, at)),
		CTF_NUMBER(sched_cpu_behind(it->trace, sleep)),
	};
	struct interrupt by;
	bool before;
	bool interrupted = ctf_wake_place(it, sleep, &before) == SCHED_NO_CPU;

	if (interrupted) {
		by = interrupt_of(sleep);
		put_entry(it, &by, sleep, at);
	}
	ctf_put(it, CTF_SCHED_WAKING, at, values);
	ctf_put(it, CTF_SCHED_WAKEUP, at, values);
	if (interrupted)
		CTF_PUT(it, by.entry + 1u, at, CTF_NUMBER(by.number), CTF_NUMBER(1));
}

void ctf_wait(struct ctf *it, const struct clew_sleep *sleep, uint64_t at)
{
	const struct clew_trace_task *task = clew_trace_task(it->trace, sleep->task);
	struct object_description object;
	bool ended = sleep->end != CLEW_TIME_OPEN;
	char holder[EXPORT_TASK_SIZE] = "", waker[EXPORT_TASK_SIZE] = "";

	if (!object_describe_then(it->trace, &sleep->object, sleep, sleep->start, &object))
		object.name[0] = 0;
	if (sleep->holder_count && !sleep->holders[0].coming)
		export_task_name(it->trace, sleep->holders[0].task, sleep->holders[0].from, holder);
	if (ended && sleep->ended_by != CLEW_NO_TASK)
		export_task_name(it->trace, sleep->ended_by, sched_wake_time(sleep), waker);
	CTF_PUT(it, CTF_CLEW_WAIT, at, CTF_NUMBER(task->tid),
		CTF_STRING(clew_wait_kind_name(sleep->kind)), CTF_STRING(object.name),
		CTF_STRING(clew_call_name(sleep->call)), CTF_STRING(holder),
		CTF_NUMBER(sleep->start), CTF_NUMBER(ended ? sleep->end : 0), CTF_STRING(waker),
		CTF_STRING(ended ? clew_context_name(sleep->context) : ""),
		CTF_STRING(ended && sleep->edge_type >= 0 ? clew_evidence_name(sleep->edge_evidence)
							  : ""),
		CTF_STRING(!sleep->blind   ? ""
			   : sleep->hidden ? "hidden"
					   : "lost"));
}
