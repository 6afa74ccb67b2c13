/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew latency --live. See latency_live.h.
 *
 * A live builder makes waits of the records. Its thread adds each one to the histograms when it is
 * over, so that what is kept grows with the number of groups and tasks alone, not with time.
 */
#include "cli/latency_live.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/fail.h"
#include "cli/terminal.h"
#include "explain/operations.h"
#include "live/live.h"
#include "record/kernel.h"

#define PERIOD	    1000000000ull /* ns between two answers */
#define FRAME_LINES 8		  /* of a screen, around the groups */
#define WIDE	    120		  /* columns in which a group has two lines */

struct session {
	const struct clew_latency_live *asked;
	/* The live thread adds to all of these; who reads them has the lock. */
	pthread_mutex_t lock;
	struct clew_trace *tasks; /* identities of tasks, and nothing else */
	struct clew_latency latency;
	struct clew_latency_left_out left_out;
	struct clew_latency_names *names;
	struct clew_finding_taker identities;
	/* The main thread's. */
	uint64_t start, next; /* ns, CLOCK_MONOTONIC; 0: it does not record yet */
	bool screen;
};

/* ---- the live thread ---- */

/* Only what names tasks and their groups is kept. */
static bool names_tasks(const struct clew_header *record)
{
	switch (record->kind) {
	case CLEW_KIND_TASK:
	case CLEW_KIND_RENAME:
	case CLEW_KIND_FORK:
	case CLEW_KIND_EXEC:
	case CLEW_KIND_CGROUP:
		return true;
	default:
		return false;
	}
}

static int take_sleep(struct session *session, const struct clew_sleep *sleep)
{
	const struct clew_trace_task *task = clew_trace_task(session->tasks, sleep->task);
	struct clew_latency_item item = {.task = task,
					 .from = sleep->start,
					 .to = sleep->switch_in,
					 .sleep = sleep,
					 .open = sleep->open || sleep->end == CLEW_TIME_OPEN ||
						 sleep->switch_in == CLEW_TIME_OPEN};

	if (!task || !clew_selection_wants(session->asked->selection, task))
		return 0;
	if (!session->asked->options->idle && sleep_is_idle(session->tasks, sleep)) {
		session->left_out.idle++;
		return 0;
	}
	if (!item.open) {
		item.split[clew_split_of(session->tasks, sleep)] += sleep->end - sleep->start;
		item.split[CLEW_SPLIT_RUNQUEUE] += sleep->switch_in - sleep->end;
	}
	return clew_latency_take(session->names, &item);
}

static int take_finding(void *context, struct clew_finding finding)
{
	struct session *session = context;
	int r = 0;

	pthread_mutex_lock(&session->lock);
	if (finding.tag == CLEW_FINDING_SLEEP)
		r = take_sleep(session, finding.sleep);
	else if (names_tasks(finding.identity))
		r = session->identities.take(session->identities.context, finding);
	pthread_mutex_unlock(&session->lock);
	return r;
}

/* ---- answers ---- */

static int print_json(const struct session *session, FILE *out,
		      const struct clew_live_summary *summary)
{
	struct clew_json json = {.out = out, .one_line = true};
	int r;

	clew_json_object(&json, NULL);
	clew_json_unsigned(&json, "time", clock_read(CLOCK_MONOTONIC));
	clew_json_unsigned(&json, "period_ns", PERIOD);
	r = clew_json_latency(&json, &session->latency, session->asked->options,
			      session->asked->top, &session->left_out, !summary);
	if (summary)
		clew_json_unsigned(&json, "missed", summary->missed);
	clew_json_object_end(&json);
	clew_json_end(&json);
	return r;
}

static int print_text(const struct session *session, FILE *out,
		      const struct clew_live_summary *summary)
{
	double seconds = (double)(clock_read(CLOCK_MONOTONIC) - session->start) / 1e9;
	size_t top = session->asked->top, fit = clew_terminal_lines() - FRAME_LINES;
	int r;

	/* A group has two lines, or three where its name needs another one. */
	fit /= clew_terminal_width() < WIDE ? 3 : 2;
	if (session->screen && !summary && top > fit)
		top = fit;
	if (session->screen)
		fputs("\033[H\033[J", out);
	fprintf(out, "%.1f s%s\n", seconds, summary ? "" : " so far (Ctrl-C stops)");
	r = clew_print_latency(out, &session->latency, session->asked->options, top,
			       &session->left_out);
	if (summary && summary->missed)
		fprintf(out, "%llu records came too fast, and are missing here\n",
			(unsigned long long)summary->missed);
	if (!summary && !session->screen)
		fputc('\n', out);
	return r;
}

/* `summary`: of the whole, NULL while it records. A slow reader does not hold up the live thread.
 * 0 or -ENOMEM. */
static int print(struct session *session, const struct clew_live_summary *summary)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	int r;

	if (!stream)
		return -ENOMEM;
	pthread_mutex_lock(&session->lock);
	r = (session->asked->json ? print_json : print_text)(session, stream, summary);
	pthread_mutex_unlock(&session->lock);
	if (fclose(stream) != 0)
		r = -ENOMEM;
	if (r == 0)
		fwrite(text, 1, size, stdout);
	free(text);
	fflush(stdout);
	return r;
}

/* False: nobody reads any more. */
static bool tick(void *context)
{
	struct session *session = context;
	uint64_t now = clock_read(CLOCK_MONOTONIC);

	if (!session->start) {
		session->start = now;
		session->next = now + PERIOD;
	}
	if (now < session->next)
		return true;
	session->next += PERIOD;
	return print(session, NULL) == 0 && !ferror(stdout);
}

/* ---- the recording ---- */

static int record(struct session *session)
{
	struct clew_recording *recording = session->asked->recording;
	const struct clew_finding_taker taker = {.wants = CLEW_FINDING_BIT(CLEW_FINDING_IDENTITY) |
							  CLEW_FINDING_BIT(CLEW_FINDING_SLEEP),
						 .take = take_finding,
						 .context = session};
	struct clew_live_options options = {.size = sizeof(options),
					    .cpus = (unsigned)clew_kernel_cpus(),
					    .takers = &taker,
					    .taker_count = 1};
	struct clew_live_summary summary;
	struct clew_record_taker records;
	char *no_command[] = {NULL};
	struct clew_live *live;
	bool recorded;
	int r = clew_live_new(&options, &live), status;

	if (r < 0)
		return clew_fail_memory();
	records = clew_live_taker(live);
	recording->output = "/dev/null";
	recording->title = "live";
	recording->taker = &records;
	recording->tick = tick;
	recording->tick_context = session;
	status = clew_recording_run(recording, no_command, &recorded);
	r = clew_live_finish(live, &summary);
	if (!status && r < 0)
		status = clew_fail(CLEW_EXIT_SYSTEM, "the live builder failed: %s: try it again",
				   strerror(-r));
	if (!status && print(session, &summary) < 0)
		status = clew_fail_memory();
	clew_live_free(live);
	return status;
}

int clew_latency_live_run(const struct clew_latency_live *live)
{
	struct session session = {.asked = live,
				  .lock = PTHREAD_MUTEX_INITIALIZER,
				  .latency = clew_latency_new(live->digits),
				  .screen = !live->json && isatty(STDOUT_FILENO)};
	int status = 0;

	if (clew_trace_new(NULL, 0, &session.tasks) < 0)
		return clew_fail_memory();
	session.identities = clew_trace_taker(session.tasks);
	if (clew_latency_names_new(session.tasks, live->options, &session.latency,
				   &session.left_out, &session.names) < 0)
		status = clew_fail_memory();
	else
		status = record(&session);
	clew_latency_names_free(session.names);
	clew_latency_done(&session.latency);
	clew_trace_free(session.tasks);
	return status;
}
