/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The events that Chrome's format has. While they are counted nothing is written. */
#include "export/chrome.h"

static void open_event(struct chrome *it, const char *phase, uint64_t at, uint32_t pid,
		       uint32_t tid)
{
	clew_json_object(&it->json, NULL);
	clew_json_string(&it->json, "ph", phase);
	clew_json_microseconds(&it->json, "ts", at);
	clew_json_unsigned(&it->json, "pid", pid);
	clew_json_unsigned(&it->json, "tid", tid);
}

bool chrome_open(struct chrome *it, const struct chrome_event *event)
{
	it->count++;
	if (it->counting)
		return false;
	open_event(it, event->end == CLEW_TIME_OPEN ? "B" : "X", event->start, event->pid,
		   event->tid);
	if (event->end != CLEW_TIME_OPEN)
		clew_json_microseconds(&it->json, "dur", event->end - event->start);
	clew_json_string(&it->json, "cat", event->category);
	clew_json_string(&it->json, "name", event->name);
	clew_json_object(&it->json, "args");
	return true;
}

void chrome_close(struct chrome *it)
{
	clew_json_object_end(&it->json);
	clew_json_object_end(&it->json);
}

void chrome_flow(struct chrome *it, uint64_t number, bool ends, const char *type, uint64_t at,
		 uint32_t pid, uint32_t tid)
{
	it->count++;
	if (it->counting)
		return;
	open_event(it, ends ? "f" : "s", at, pid, tid);
	if (ends)
		clew_json_string(&it->json, "bp", "e");
	clew_json_unsigned(&it->json, "id", number);
	clew_json_string(&it->json, "cat", "flow");
	clew_json_string(&it->json, "name", type);
	clew_json_object_end(&it->json);
}

void chrome_name(struct chrome *it, uint32_t pid, uint32_t tid, const char *name)
{
	it->count++;
	if (it->counting)
		return;
	clew_json_object(&it->json, NULL);
	clew_json_string(&it->json, "ph", "M");
	clew_json_unsigned(&it->json, "pid", pid);
	clew_json_unsigned(&it->json, "tid", tid);
	clew_json_string(&it->json, "name", tid ? "thread_name" : "process_name");
	clew_json_object(&it->json, "args");
	clew_json_string(&it->json, "name", name);
	chrome_close(it);
}
