/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tasks for CTF: which there were when the trace begins and in which state, and the begins and
 * ends of later ones; and the names of disks.
 */
#include "export/ctf.h"
#include "export/sched.h"
#include "trace/name.h"

#define PRIORITY_BASE 100 /* LTTng's numbers are that much less than the kernel's */

/* LTTng's numbers of states. */
enum status { STATUS_UNKNOWN = 0, STATUS_WAITS_FOR_CPU = 2, STATUS_WAITS = 5 };
enum type { TYPE_USER = 0, TYPE_KERNEL = 1 };

int ctf_priority(const struct ctf *it, uint32_t serial, uint64_t at)
{
	return sched_priority_at(it->trace, serial, at) - PRIORITY_BASE;
}

static uint32_t pid_of(const struct clew_trace_task *task)
{
	return !task ? 0 : task->pid ? task->pid : task->tid;
}

static void put_task(struct ctf *it, const struct clew_trace_task *task)
{
	struct clew_piece piece = {.kind = CLEW_PIECE_UNKNOWN};
	enum status status = STATUS_UNKNOWN;

	clew_trace_piece(it->trace, task->serial, it->begin, false, &piece);
	if (piece.kind == CLEW_PIECE_RUNNING || piece.kind == CLEW_PIECE_RUNQUEUE)
		status = STATUS_WAITS_FOR_CPU;
	else if (piece.kind == CLEW_PIECE_SLEEP)
		status = STATUS_WAITS;
	CTF_PUT(it, CTF_STATEDUMP_PROCESS, it->begin, CTF_NUMBER(task->tid),
		CTF_NUMBER(pid_of(task)),
		CTF_NUMBER(pid_of(clew_trace_task(it->trace, task->parent))),
		CTF_STRING(clew_trace_comm_at(it->trace, task->serial, it->begin)),
		CTF_NUMBER(task->flags & CLEW_TASK_KTHREAD ? TYPE_KERNEL : TYPE_USER),
		CTF_NUMBER(0), CTF_NUMBER(0), CTF_NUMBER(status),
		CTF_NUMBER(piece.kind == CLEW_PIECE_RUNNING ? piece.cpu : 0), CTF_NUMBER(0));
}

static void put_disks(struct ctf *it)
{
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(it->trace, &count);

	for (size_t i = 0; i < count; i++) {
		size_t first = 0;

		/* Each disk once: there are few, and most requests are for the first ones. */
		while (requests[first].block.device != requests[i].block.device)
			first++;
		if (first == i)
			CTF_PUT(it, CTF_STATEDUMP_DISK, it->begin,
				CTF_NUMBER(requests[i].block.device),
				CTF_STRING(CLEW_DISK(it->trace, requests[i].block.device)));
	}
}

void ctf_statedump(struct ctf *it)
{
	size_t count = clew_trace_task_count(it->trace);

	CTF_PUT(it, CTF_STATEDUMP_START, it->begin);
	for (size_t i = 0; i < count; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(it->trace, i);

		if (task->tid && task->birth <= it->begin && task->death >= it->begin)
			put_task(it, task);
	}
	put_disks(it);
	CTF_PUT(it, CTF_STATEDUMP_END, it->begin);
}

void ctf_fork(struct ctf *it, const struct clew_trace_task *task, uint64_t at)
{
	const struct clew_edge *fork = clew_trace_fork_of(it->trace, task->serial);
	const struct clew_trace_task *parent = clew_trace_task(it->trace, fork->from);
	const char *name = clew_trace_comm_at(it->trace, task->serial, at);
	struct clew_piece piece = {};

	CTF_PUT(it, CTF_SCHED_FORK, at, CTF_STRING(fork->from_comm), CTF_NUMBER(parent->tid),
		CTF_NUMBER(pid_of(parent)), CTF_NUMBER(parent->pid_namespace), CTF_STRING(name),
		CTF_NUMBER(task->tid), CTF_NUMBER(pid_of(task)), CTF_NUMBER(task->pid_namespace));
	/* The run queue of a new task says where it came to run. */
	if (!clew_trace_piece(it->trace, task->serial, task->birth, false, &piece) ||
	    piece.kind != CLEW_PIECE_RUNQUEUE || piece.cpu == SCHED_NO_CPU)
		piece.cpu = 0;
	CTF_PUT(it, CTF_SCHED_WAKEUP_NEW, at, CTF_STRING(name), CTF_NUMBER(task->tid),
		CTF_NUMBER(ctf_priority(it, task->serial, at)), CTF_NUMBER(piece.cpu));
}

void ctf_exit(struct ctf *it, const struct clew_trace_task *task, uint64_t at)
{
	CTF_PUT(it, CTF_SCHED_EXIT, at, CTF_STRING(clew_trace_comm_at(it->trace, task->serial, at)),
		CTF_NUMBER(task->tid), CTF_NUMBER(ctf_priority(it, task->serial, at)));
}
