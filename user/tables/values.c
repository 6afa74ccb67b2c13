/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values of columns that several tables have. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tables/internal.h"
#include "words/describe.h"
#include "words/task.h"

void set_tid(const struct table_source *source, uint32_t task, struct table_value *value)
{
	const struct clew_trace_task *known = clew_trace_task(source->trace, task);

	if (known)
		set_number(value, known->tid);
}

void set_pid(const struct table_source *source, uint32_t task, struct table_value *value)
{
	const struct clew_trace_task *known = clew_trace_task(source->trace, task);

	if (known)
		set_number(value, known->pid);
}

void set_comm(const struct table_source *source, uint32_t task, uint64_t at,
	      struct table_value *value)
{
	if (clew_trace_task(source->trace, task))
		set_string(value, clew_trace_comm_at(source->trace, task, at));
}

void set_process(const struct table_source *source, uint32_t task, uint64_t at,
		 struct table_value *value)
{
	const struct clew_trace_task *known = clew_trace_task(source->trace, task);

	if (known)
		set_string(value, clew_process_name(source->trace, known, at));
}

int set_copy(struct table_cursor *cursor, const char *text, struct table_value *value)
{
	free(cursor->text);
	cursor->text = strdup(text);
	if (!cursor->text)
		return -ENOMEM;
	set_string(value, cursor->text);
	return 0;
}

int set_object(struct table_cursor *cursor, const struct clew_object *object,
	       const struct clew_sleep *sleep, bool name, struct table_value *value)
{
	struct object_description it;

	if (!object_describe(cursor->source->trace, object, sleep, &it))
		return 0;
	if (name)
		return set_copy(cursor, it.name, value);
	set_string(value, it.kind);
	return 0;
}
