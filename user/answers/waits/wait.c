/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A wait in a list: in words and as JSON. */
#include <stdlib.h>

#include "answers/waits/waits.h"
#include "words/stack.h"

#define STACK_MOST 5 /* functions of a stack in text */
#define STACK_LEAD "                        in "
#define WAKER_LEAD "                  woken in "

void clew_json_wait(struct clew_json *json, const struct clew_trace *trace, bool stacks,
		    const struct clew_sleep *sleep)
{
	struct clew_row row = {.trace = trace, .item = sleep, .context = &stacks};

	clew_json_object(json, NULL);
	clew_json_row(json, clew_wait_columns, &row);
	clew_json_object_end(json);
	free(row.text);
}

static void print_stack(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	if (clew_has_stack(trace, sleep)) {
		fputs(STACK_LEAD, out);
		clew_print_stack(out, trace, sleep, STACK_MOST);
		putc('\n', out);
	}
	if (clew_print_waker_stack(out, WAKER_LEAD, trace, sleep, STACK_MOST))
		putc('\n', out);
}

void clew_print_wait(FILE *out, const struct clew_trace *trace, bool stacks,
		     const struct clew_sleep *sleep)
{
	const struct clew_row row = {.trace = trace, .item = sleep};

	clew_print_row(out, clew_wait_columns, &row);
	putc('\n', out);
	if (stacks)
		print_stack(out, trace, sleep);
}
