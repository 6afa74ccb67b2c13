/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums over a long capture. */
#include "cli/operand/windows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory_left.h"
#include "cli/front/fail.h"
#include "cli/front/progress.h"
#include "cli/operand/open.h"
#include "relate/job.h"
#include "words/ledger.h"

/* A number that the environment has; 0: the default. */
static uint64_t number_of(const char *variable)
{
	const char *value = getenv(variable);

	return value ? strtoull(value, NULL, 10) : 0;
}

static uint64_t records_of_window(void)
{
	return number_of("CLEW_WINDOW_RECORDS");
}

int clew_windows_open(const char *operand, bool models, struct clew_reader **ret_reader)
{
	struct clew_trace *trace;
	struct stat status;
	int r;

	*ret_reader = NULL;
	/* A pipe can be read once only. */
	if (stat(operand, &status) < 0 || !S_ISREG(status.st_mode) ||
	    clew_capture_probe(operand) <= 0)
		return 0;
	r = clew_open_info(operand, ret_reader, &trace);
	if (r || clew_windows_pay(*ret_reader, records_of_window(), models))
		return r;
	clew_reader_close(*ret_reader);
	*ret_reader = NULL;
	return 0;
}

/* `taker`: without look() if only the names are wanted. */
static int run(const char *operand, struct clew_reader *reader, uint32_t drop_types,
	       const struct clew_windows_taker *taker, struct clew_trace **ret_names)
{
	struct clew_progress progress;
	const struct clew_windows_options options = {
		.size = sizeof(options),
		.records = records_of_window(),
		.works_most = number_of("CLEW_WINDOW_WORKS"),
		.processes = (unsigned)number_of("CLEW_WINDOW_PROCESSES"),
		.drop_types = drop_types,
		.progress = clew_progress_update,
		.progress_context = &progress,
	};
	int r;

	fflush(NULL);
	/* Without the right to, it is as likely to be killed as others. */
	(void)memory_yield();
	clew_progress_begin(&progress, taker->look ? "reading the capture" : "reading names");
	r = clew_windows_run(reader, &options, taker, ret_names);
	clew_progress_end(&progress);
	if (r == -ECHILD)
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "%s: a process that looked at part of it was killed: free some "
				 "memory, or look at one part at a time (CLEW_WINDOW_PROCESSES=1)",
				 operand);
	if (r < 0)
		return clew_fail_to_read(operand, r, strerror(-r));
	return clew_jobs_join(*ret_names) < 0 ? clew_fail_memory() : 0;
}

int clew_windows_look(const char *operand, struct clew_reader *reader, uint32_t drop_types,
		      const struct clew_windows_taker *taker, struct clew_trace **ret_names)
{
	int status = run(operand, reader, drop_types, taker, ret_names);

	if (!status)
		clew_print_damage(stderr, operand, false, clew_trace_info(*ret_names));
	return status;
}

int clew_windows_again(const char *operand, struct clew_reader *reader,
		       const struct clew_windows_taker *taker)
{
	struct clew_trace *names = NULL;
	int status;

	clew_reader_rewind(reader);
	status = run(operand, reader, 0, taker, &names);
	clew_trace_free(names);
	return status;
}

int clew_windows_names(const char *operand, struct clew_reader *reader, bool works,
		       struct clew_trace **ret_names)
{
	const struct clew_windows_taker names = {.works = works};
	int status = run(operand, reader, 0, &names, ret_names);

	clew_reader_rewind(reader);
	return status;
}
