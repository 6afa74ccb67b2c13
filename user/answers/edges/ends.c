/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ends of a dependency. */
#include <string.h>

#include "answers/edges/internal.h"
#include "format/text.h"
#include "words/task.h"

struct edge_end edge_destination(const struct clew_edge *edge)
{
	struct edge_end end = {.serial = edge->to, .at = edge->to_at};

	memcpy(end.comm, edge->to_comm, CLEW_COMM_SIZE);
	return end;
}

struct edge_end edge_origin(const struct clew_trace *trace, const struct clew_edge *edge, size_t i)
{
	struct edge_end end = {.serial = edge->from, .at = edge->from_at};
	const struct clew_link *link;

	if (i == 0) {
		memcpy(end.comm, edge->from_comm, CLEW_COMM_SIZE);
		return end;
	}
	link = &edge->links[edge->link_count + i - 1];
	end.serial = link->task;
	end.at = link->at;
	snprintf(end.comm, sizeof(end.comm), "%s", clew_trace_comm_at(trace, link->task, link->at));
	return end;
}

size_t edge_origin_count(const struct clew_edge *edge)
{
	return 1 + (size_t)(edge->type == CLEW_EDGE_REQUEST ? edge->and_count : 0);
}

void edge_json_end(struct clew_json *json, const struct clew_trace *trace,
		   const struct edge_end *end)
{
	const struct clew_trace_task *task = clew_trace_task(trace, end->serial);

	clew_json_object(json, NULL);
	if (task) {
		clew_json_unsigned(json, "pid", task->pid);
		clew_json_unsigned(json, "tid", task->tid);
	} else {
		clew_json_null(json, "pid");
		clew_json_null(json, "tid");
	}
	clew_json_string(json, "comm", end->comm);
	clew_json_task_place(json, trace, end->serial, end->at);
	clew_json_unsigned(json, "at", end->at);
	clew_json_object_end(json);
}

void edge_print_end(FILE *out, const struct clew_trace *trace, const struct edge_end *end)
{
	const struct clew_trace_task *task = clew_trace_task(trace, end->serial);

	clew_print_safe(out, end->comm);
	fprintf(out, "-%u", task ? task->tid : 0);
	clew_print_task_place(out, trace, end->serial, end->at);
}
