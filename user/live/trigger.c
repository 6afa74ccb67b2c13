/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses the findings that a rule is about, and limits how often it fires. */
#include "live/trigger.h"

#include <clew/tokens.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/device.h"

#define DAY 86400000000000ull /* ns */

const char *clew_slow_name(unsigned kind)
{
	if (kind == CLEW_SLOW_OPERATION)
		return "operation";
	if (kind == CLEW_SLOW_REQUEST)
		return "request";
	return kind == CLEW_SLOW_ANNOUNCED ? "announced" : clew_wait_kind_name(kind);
}

bool clew_trigger_means(const struct clew_trigger *trigger, const struct clew_sleep *sleep,
			struct clew_slow *ret_slow)
{
	struct clew_slow slow = {
		.start = sleep->start, .end = sleep->end, .task = sleep->task, .kind = sleep->kind};
	bool meant = false;

	switch (trigger->what) {
	case CLEW_TRIGGER_WAIT:
		meant = trigger->kinds >> sleep->kind & 1;
		break;
	case CLEW_TRIGGER_LOCK:
		/* Threads at a condition variable wait for work, as far as anybody can tell. */
		meant = trigger->kinds >> sleep->kind & 1 &&
			(sleep->kind == CLEW_WAIT_LOCK || sleep->holder_count);
		break;
	case CLEW_TRIGGER_CALL:
		meant = sleep->call == trigger->call;
		break;
	case CLEW_TRIGGER_RUNQUEUE:
		slow.start = sleep->end;
		slow.end = sleep->switch_in;
		slow.kind = CLEW_SEGMENT_RUNQUEUE;
		meant = sleep->end != CLEW_TIME_OPEN && slow.start < slow.end;
		break;
	case CLEW_TRIGGER_ANNOUNCED:
	case CLEW_TRIGGER_OPERATION:
	case CLEW_TRIGGER_REQUEST:
		break;
	}
	if (meant)
		*ret_slow = slow;
	return meant;
}

bool clew_trigger_means_ready(const struct clew_trigger *trigger, const struct clew_ready *ready,
			      struct clew_slow *ret_slow)
{
	if (trigger->what != CLEW_TRIGGER_RUNQUEUE)
		return false;
	*ret_slow = (struct clew_slow){.start = ready->start,
				       .end = ready->end,
				       .task = ready->task,
				       .kind = CLEW_SEGMENT_RUNQUEUE};
	return true;
}

bool clew_trigger_means_call(const struct clew_trigger *trigger, const char *name)
{
	return trigger->what == CLEW_TRIGGER_ANNOUNCED && !fnmatch(trigger->name, name, 0);
}

/* A disk has up to four names: "dm-0" and "root" of "dm-0 (root)", both as one, and its number. */
static bool means_disk(const char *glob, uint32_t device, const char *disk)
{
	const char *bracket = disk ? strstr(disk, " (") : NULL;
	char part[CLEW_TEXT_SIZE];

	if (disk && !fnmatch(glob, disk, 0))
		return true;
	if (bracket) {
		snprintf(part, sizeof(part), "%.*s", (int)(bracket - disk), disk);
		if (!fnmatch(glob, part, 0))
			return true;
		snprintf(part, sizeof(part), "%.*s", (int)strcspn(bracket + 2, ")"), bracket + 2);
		if (!fnmatch(glob, part, 0))
			return true;
	}
	return !fnmatch(glob, DEVICE_TEXT(device), 0);
}

bool clew_trigger_means_request(const struct clew_trigger *trigger,
				const struct clew_block_request *request, const char *disk)
{
	unsigned operation = clew_request_operation(request->operation, request->bytes);

	return trigger->what == CLEW_TRIGGER_REQUEST &&
	       (!trigger->operations || trigger->operations >> operation & 1) &&
	       means_disk(trigger->name, request->device, disk);
}

bool clew_trigger_wants(const struct clew_trigger *trigger, const char *comm, const char *cgroup)
{
	return (!trigger->comm[0] || (comm && !fnmatch(trigger->comm, comm, 0))) &&
	       (!trigger->cgroup[0] || (cgroup && !fnmatch(trigger->cgroup, cgroup, 0)));
}

bool clew_trigger_fire(struct clew_trigger *trigger, uint64_t time)
{
	const unsigned all = CLEW_TRIGGER_DAY_MOST;
	uint64_t oldest = trigger->fired[(trigger->next + all - trigger->limit) % all],
		 before = trigger->fired[(trigger->next + all - CLEW_TRIGGER_BURST) % all];

	if ((oldest && time - oldest < DAY) || (before && time - before < CLEW_TRIGGER_SPAN))
		return false;
	trigger->fired[trigger->next] = time;
	trigger->next = (trigger->next + 1) % all;
	return true;
}
