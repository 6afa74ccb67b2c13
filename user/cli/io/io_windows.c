/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew io of a long capture: the sums of its windows. See explain/io_windows.h. */
#include "explain/io_windows.h"

#include <string.h>

#include "cli/front/fail.h"
#include "cli/io/io.h"
#include "cli/operand/windows.h"

/* Threads are chosen by what is known of them at the end of the capture. */
struct choice {
	struct clew_selection *selection;
	struct clew_trace *tasks; /* all of the capture */
};

static bool wants(void *context, const struct clew_trace_task *task)
{
	const struct choice *choice = context;
	const struct clew_trace_task *known = clew_trace_task(choice->tasks, task->serial);

	return known && clew_selection_wants(choice->selection, known);
}

int io_sum_windows(const char *operand, struct clew_reader *reader,
		   struct clew_selection *selection, struct clew_io *ret_io,
		   struct clew_trace **ret_names)
{
	struct choice choice = {.selection = selection};
	struct clew_chosen chosen = {};
	struct clew_io_windows *windows = clew_io_windows_new(&chosen);
	int status = windows ? 0 : clew_fail_memory();

	*ret_names = NULL;
	if (!status && clew_groups_asked(&selection->group)) {
		chosen = (struct clew_chosen){wants, &choice};
		status = clew_windows_names(operand, reader, &choice.tasks);
		if (!status)
			status = clew_selection_resolve(selection, choice.tasks);
	}
	if (!status) {
		const struct clew_windows_taker taker = clew_io_windows_taker(windows);

		status = clew_windows_look(operand, reader, 0, &taker, ret_names);
	}
	if (!status && clew_io_windows_finish(windows, *ret_names, ret_io) < 0)
		status = clew_fail_memory();
	clew_io_windows_free(windows);
	clew_trace_free(choice.tasks);
	return status;
}
