/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events of other tracers. */
#include "import/event.h"

#include <stdlib.h>
#include <string.h>

#include <clew/tokens.h>

#define SECTOR_BYTES 512
#define TID_MOST     (1u << 22)
#define MARK	     "tracing_mark_write"

/* The kernel's operations and flags of requests, as far as its letters tell them. */
enum {
	OPERATION_READ = 0,
	OPERATION_WRITE = 1,
	OPERATION_FLUSH = 2,
	OPERATION_DISCARD = 3,
	OPERATION_ZEROES = 9,
	OPERATION_OTHER = 34,
	OPERATION_SYNC = 1 << 11,
	OPERATION_META = 1 << 12,
};

static bool take_tid(const char *arguments, const char *key, uint32_t *ret_tid)
{
	uint64_t number;

	if (!line_number(arguments, key, &number) || number > TID_MOST)
		return false;
	*ret_tid = (uint32_t)number;
	return true;
}

static void take_state(const char *text, struct event *event)
{
	event->state = *text;
	event->preempted = *text == 'R' && text[1] == '+';
}

/* "prev_comm=A prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=B next_pid=2 next_prio=120" */
static bool read_switch(const char *arguments, struct event *event)
{
	const char *arrow = strstr(arguments, " ==> next_comm="), *end, *next;
	char state[8], left[512];

	/* A name may have all of this in it: the last one is the kernel's. */
	while (arrow && (next = strstr(arrow + 1, " ==> next_comm=")))
		arrow = next;
	if (!arrow) {
		if (!line_task(arguments, event->prev.comm, &event->prev.tid, &end))
			return false;
		take_state(end, event);
		arrow = strstr(end, "==> ");
		return arrow && line_task(arrow + 4, event->next.comm, &event->next.tid, &end);
	}
	if ((size_t)(arrow - arguments) >= sizeof(left))
		return false;
	memcpy(left, arguments, (size_t)(arrow - arguments));
	left[arrow - arguments] = '\0';
	if (!line_text(left, "prev_comm=", " prev_pid=", event->prev.comm,
		       sizeof(event->prev.comm)) ||
	    !line_text(left, "prev_state=", NULL, state, sizeof(state)) ||
	    !line_text(arrow, "next_comm=", " next_pid=", event->next.comm,
		       sizeof(event->next.comm)))
		return false;
	take_state(state, event);
	return take_tid(left, "prev_pid=", &event->prev.tid) &&
	       take_tid(arrow, "next_pid=", &event->next.tid);
}

/* "comm=A pid=1 prio=120 target_cpu=000", with "success=1" in old kernels; "A:1 [120] CPU:000" */
static bool read_woken(const char *arguments, struct event *event)
{
	const char *end;

	if (line_text(arguments, "comm=", " pid=", event->next.comm, sizeof(event->next.comm)))
		return take_tid(arguments, "pid=", &event->next.tid);
	return line_task(arguments, event->next.comm, &event->next.tid, &end);
}

/* "comm=A pid=1 child_comm=B child_pid=2" */
static bool read_fork(const char *arguments, struct event *event)
{
	line_text(arguments, "comm=", " pid=", event->prev.comm, sizeof(event->prev.comm));
	line_text(arguments, "child_comm=", " child_pid=", event->next.comm,
		  sizeof(event->next.comm));
	return take_tid(arguments, "pid=", &event->prev.tid) &&
	       take_tid(arguments, "child_pid=", &event->next.tid);
}

static bool read_exit(const char *arguments, struct event *event)
{
	line_text(arguments, "comm=", " pid=", event->next.comm, sizeof(event->next.comm));
	return take_tid(arguments, "pid=", &event->next.tid);
}

/* "filename=/bin/ls pid=1 old_pid=1" */
static bool read_exec(const char *arguments, struct event *event)
{
	return take_tid(arguments, "pid=", &event->next.tid);
}

/* "pid=1 oldcomm=A newcomm=B oom_score_adj=0" */
static bool read_rename(const char *arguments, struct event *event)
{
	return line_text(arguments, "newcomm=", " oom_score_adj=", event->next.comm,
			 sizeof(event->next.comm)) &&
	       take_tid(arguments, "pid=", &event->next.tid);
}

static uint32_t operation_of(const char *letters, size_t length)
{
	uint32_t operation = OPERATION_OTHER;

	for (size_t i = 0; i < length; i++)
		switch (letters[i]) {
		case 'R':
			operation = OPERATION_READ;
			break;
		case 'W':
			operation = OPERATION_WRITE;
			break;
		case 'D':
			operation = OPERATION_DISCARD;
			break;
		case 'F':
			/* In front of W it is a flush that comes first, behind it FUA. */
			if (operation == OPERATION_OTHER)
				operation = OPERATION_FLUSH;
			break;
		default:
			break;
		}
	if (memchr(letters, 'S', length))
		operation |= OPERATION_SYNC;
	if (memchr(letters, 'M', length))
		operation |= OPERATION_META;
	return operation;
}

/* "8,0 WS 4096 () 12345 + 8 [comm]"; completions have no bytes, and old ones a colon for a comma.
 */
static bool read_request(const char *arguments, struct event *event)
{
	char *end;
	uint64_t major = strtoull(arguments, &end, 10), minor, blocks;
	const char *letters, *plus;
	size_t length;

	if (end == arguments || (*end != ',' && *end != ':'))
		return false;
	letters = end + 1;
	minor = strtoull(letters, &end, 10);
	if (end == letters || *end != ' ' || major >= 1 << 12 || minor >= 1 << 20)
		return false;
	letters = end + 1;
	length = strcspn(letters, " ");
	plus = strstr(letters, " + ");
	if (!plus)
		return false;
	blocks = strtoull(plus + 3, NULL, 10);
	for (; plus > letters && plus[-1] >= '0' && plus[-1] <= '9'; plus--)
		;
	event->device = (uint32_t)(major << 20 | minor);
	event->operation = operation_of(letters, length);
	event->sector = strtoull(plus, NULL, 10);
	event->bytes = blocks < UINT32_MAX / SECTOR_BYTES ? (uint32_t)blocks * SECTOR_BYTES : 0;
	return true;
}

/* "NR 202 (7f0010, 80, 2, 0, 0, 0)", numbers in hexadecimal; "NR 202 = 0" */
static bool read_raw_call(const char *arguments, struct event *event)
{
	const char *at = strchr(arguments, '(');
	char *end;
	uint64_t call;

	if (strncmp(arguments, "NR ", 3) != 0)
		return false;
	call = strtoull(arguments + 3, &end, 10);
	if (end == arguments + 3 || call >= CLEW_NO_CALL)
		return false;
	event->call = (uint16_t)call;
	while (at && event->argument_count < 6) {
		event->arguments[event->argument_count++] = strtoull(at + 1, &end, 16);
		at = *end == ',' ? end : NULL;
	}
	return true;
}

/* "fd: 0x3, buf: 0x7f.."; the events of ftrace itself have brackets around them. */
static void read_named_call(const char *name, const char *arguments, struct event *event)
{
	const char *at = arguments;

	event->call = (uint16_t)clew_call_from_name(name);
	while (event->argument_count < 6 && (at = strstr(at, ": "))) {
		at += 2;
		event->arguments[event->argument_count++] = strtoull(at, NULL, 16);
	}
}

/* "B|123|name" and "E|123", as atrace and Perfetto write them; asynchronous ones and counters are
 * other events. */
static void read_mark(const char *text, struct event *event)
{
	char *end;

	if ((text[0] != 'B' && text[0] != 'E') || (text[1] && text[1] != '|'))
		return;
	event->pid = text[1] ? (uint32_t)strtoull(text + 2, &end, 10) : 0;
	if (event->pid > TID_MOST)
		event->pid = 0;
	if (text[0] == 'E') {
		event->kind = EVENT_SLICE_END;
		return;
	}
	if (!text[1] || *end != '|' || !end[1])
		return;
	event->kind = EVENT_SLICE_BEGIN;
	event->name = end + 1;
	event->name_length = strlen(event->name);
	if (event->name_length > IMPORT_SLICE_NAME)
		event->name_length = IMPORT_SLICE_NAME;
}

static const struct {
	const char *name;
	enum event_kind kind;
	bool (*read)(const char *arguments,
		     struct event *event); /* NULL: there is nothing to read */
} kinds[] = {
	{"sched_switch", EVENT_SWITCH, read_switch},
	{"sched_waking", EVENT_WAKING, read_woken},
	{"sched_wakeup", EVENT_WAKEUP, read_woken},
	{"sched_wakeup_new", EVENT_WAKE_NEW, read_woken},
	{"sched_process_fork", EVENT_FORK, read_fork},
	{"sched_process_exec", EVENT_EXEC, read_exec},
	{"sched_process_exit", EVENT_EXIT, read_exit},
	{"task_rename", EVENT_RENAME, read_rename},
	{"block_rq_insert", EVENT_QUEUE, read_request},
	{"block_rq_issue", EVENT_ISSUE, read_request},
	{"block_rq_complete", EVENT_COMPLETE, read_request},
	{"sys_enter", EVENT_ENTER, read_raw_call},
	{"sys_exit", EVENT_LEAVE, read_raw_call},
	{"irq_handler_entry", EVENT_IRQ_BEGIN, NULL},
	{"irq_handler_exit", EVENT_IRQ_END, NULL},
	{"local_timer_entry", EVENT_TIMER_BEGIN, NULL},
	{"local_timer_exit", EVENT_TIMER_END, NULL},
	{"softirq_entry", EVENT_SOFTIRQ_BEGIN, NULL},
	{"softirq_exit", EVENT_SOFTIRQ_END, NULL},
};

void event_read(const struct line *line, struct event *ret_event)
{
	const char *name = line->event, *mark;

	*ret_event = (struct event){.call = CLEW_NO_CALL};
	if (!strcmp(name, MARK)) {
		read_mark(line->arguments, ret_event);
		return;
	}
	/* trace-cmd and perf have it as text that was printed. */
	mark = strcmp(name, "print") ? NULL : strstr(line->arguments, MARK ": ");
	if (mark) {
		read_mark(mark + sizeof(MARK ": ") - 1, ret_event);
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(name, kinds[i].name)) {
			bool good = !kinds[i].read || kinds[i].read(line->arguments, ret_event);

			ret_event->kind = good ? kinds[i].kind : EVENT_BAD;
			return;
		}
	if (!strncmp(name, "sys_enter_", 10)) {
		read_named_call(name + 10, line->arguments, ret_event);
		ret_event->kind = EVENT_ENTER;
	} else if (!strncmp(name, "sys_exit_", 9)) {
		ret_event->call = (uint16_t)clew_call_from_name(name + 9);
		ret_event->kind = EVENT_LEAVE;
	} else if (!strncmp(name, "sys_", 4)) {
		/* "sys_read(fd: 3, ..)", "sys_read -> 0x10" */
		read_named_call(name + 4, line->arguments, ret_event);
		ret_event->kind = line->arguments[0] == '(' ? EVENT_ENTER : EVENT_LEAVE;
	}
}

uint16_t event_state(char letter)
{
	switch (letter) {
	case 'S':
		return 0x0001;
	case 'D':
		return 0x0002;
	case 'T':
		return 0x0004;
	case 't':
		return 0x0008;
	case 'P':
		return 0x0040;
	case 'I':
		return 0x0402;
	case 'R':
	case 'X':
	case 'x':
	case 'Z':
		return 0;
	default:
		return 0x0002;
	}
}
