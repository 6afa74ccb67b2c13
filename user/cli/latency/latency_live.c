/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew latency --live.
 *
 * A live builder makes waits and calls of the records. Its thread adds each one to the histograms
 * when it is over, so that what is kept grows with the number of groups and tasks alone, not with
 * time.
 */
#include "cli/latency/latency_live.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/front/fail.h"
#include "cli/front/screen.h"
#include "cli/front/terminal.h"
#include "cli/latency/latency_calls.h"
#include "cli/latency/latency_keys.h"
#include "explain/operations.h"
#include "format/style.h"
#include "live/live.h"
#include "record/functions/probe_cost.h"
#include "record/stream/kernel.h"
#include "words/dropped.h"

#define PERIOD	    1000000000ull /* ns between two answers */
#define FRAME_LINES 9		  /* of a screen, around the groups */
#define GROUPS_MOST 16384	  /* callsite paths; a call in another one is in no group */
#define ROOM_MOST   (128u << 20)  /* bytes of all histograms */

struct session {
	const struct clew_latency_live *asked;
	/* The live thread adds to all of these; who reads them has the lock. */
	pthread_mutex_t lock;
	struct clew_trace *tasks; /* identities of tasks, and nothing else */
	struct clew_latency latency;
	struct clew_latency_left_out left_out;
	struct clew_latency_names *names;
	struct clew_latency_calls *calls; /* NULL: the histograms are of waits */
	struct clew_finding_taker identities;
	/* The main thread's. */
	uint64_t start, next; /* ns, CLOCK_MONOTONIC; 0: it does not record yet */
	bool screen;
	struct clew_latency_keys keys;
};

static bool of_calls(const struct clew_latency_live *live)
{
	return live->options->by == CLEW_LATENCY_PATH || live->options->by == CLEW_LATENCY_FUNCTION;
}

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
	case CLEW_KIND_SITE:
	case CLEW_KIND_DROPPED:
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
	if (finding.tag != CLEW_FINDING_IDENTITY)
		r = session->calls ? clew_latency_calls_take(session->calls, finding)
				   : take_sleep(session, finding.sleep);
	else if (names_tasks(finding.identity))
		r = session->identities.take(session->identities.context, finding);
	pthread_mutex_unlock(&session->lock);
	return r;
}

/* ---- answers ---- */

/* The part of the results so far that is shown. */
struct shown {
	const struct session *session;
	const struct clew_latency *latency;
	struct clew_latency_options options;
	const struct clew_live_summary *summary; /* of the whole, NULL while it records */
};

static int print_json(const struct shown *shown, FILE *out)
{
	const struct session *session = shown->session;
	struct clew_json json = {.out = out, .one_line = true};
	int r;

	clew_json_answer(&json);
	clew_json_unsigned(&json, "time", clock_read(CLOCK_MONOTONIC));
	clew_json_unsigned(&json, "period_ns", PERIOD);
	r = clew_json_latency(&json, shown->latency, &shown->options, session->asked->top,
			      &session->left_out, !shown->summary);
	clew_json_array(&json, "groups_dropped");
	clew_json_dropped(&json, session->tasks);
	clew_json_array_end(&json);
	if (shown->summary)
		clew_json_unsigned(&json, "missed", shown->summary->missed);
	clew_json_object_end(&json);
	clew_json_end(&json);
	return r;
}

static int print_text(const struct shown *shown, FILE *out)
{
	const struct session *session = shown->session;
	const struct clew_live_summary *summary = shown->summary;
	double seconds = (double)(clock_read(CLOCK_MONOTONIC) - session->start) / 1e9;
	/* A group has two lines. */
	size_t top = session->asked->top, fit = (clew_terminal_lines() - FRAME_LINES) / 2;
	int r;

	if (session->screen && !summary && top > fit)
		top = fit ?: 1;
	if (session->screen && !summary)
		clew_latency_keys_print(out, &session->keys);
	fprintf(out, "%.1f s%s\n", seconds, summary ? "" : " so far (Ctrl-C stops)");
	r = clew_print_latency(out, shown->latency, &shown->options, top, &session->left_out);
	clew_print_dropped(out, session->tasks);
	if (summary && summary->missed)
		fprintf(out, "%llu records came too fast, and are missing here\n",
			(unsigned long long)summary->missed);
	if (!summary && !session->screen)
		fputc('\n', out);
	return r;
}

/* With the lock: writes an answer. */
static int write_answer(const struct session *session, const struct clew_live_summary *summary,
			FILE *stream)
{
	struct shown shown = {.session = session,
			      .latency = &session->latency,
			      .options = *session->asked->options,
			      .summary = summary};
	struct clew_latency together = {};
	int r = 0;

	shown.options.narrow = session->screen && clew_terminal_narrower(CLEW_LATENCY_WIDE);
	if (!summary)
		shown.options.view = session->keys.view;
	if (shown.options.by == CLEW_LATENCY_FUNCTION) {
		r = clew_latency_aggregate(&session->latency, &together);
		shown.latency = &together;
	}
	if (r == 0)
		r = (session->asked->json ? print_json : print_text)(&shown, stream);
	clew_latency_done(&together);
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
	r = write_answer(session, summary, stream);
	pthread_mutex_unlock(&session->lock);
	if (fclose(stream) != 0)
		r = -ENOMEM;
	if (r == 0 && session->screen && !summary)
		clew_screen_draw(text);
	else if (r == 0)
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
	bool changed = session->screen && clew_latency_keys_read(&session->keys);

	if (session->keys.quit)
		return false;
	if (!session->start) {
		session->start = now;
		session->next = now + PERIOD;
	}
	if (now >= session->next) {
		session->next += PERIOD;
		changed |= !session->keys.frozen;
	}
	if (!changed)
		return true;
	return print(session, NULL) == 0 && !ferror(stdout);
}

/* ---- the recording ---- */

/* The costs of probes, as the recorder will find them, too. */
static struct clew_builder_options costs(const struct session *session)
{
	struct clew_builder_options options = {};
	struct clew_probe_cost cost;

	if (!session->calls)
		return options;
	clew_probe_cost_measure(&cost);
	for (unsigned i = 0; i < CLEW_SITE_CLASSES; i++)
		options.probe_ns[i] = clew_probe_cost_of(&cost, i);
	options.return_ns = cost.trampoline;
	return options;
}

static int record(struct session *session)
{
	struct clew_recording *recording = session->asked->recording;
	const struct clew_finding_taker taker = {
		.wants = CLEW_FINDING_BIT(CLEW_FINDING_IDENTITY) |
			 (session->calls ? CLEW_LATENCY_CALLS_WANT
					 : CLEW_FINDING_BIT(CLEW_FINDING_SLEEP)),
		.take = take_finding,
		.context = session};
	struct clew_live_options options = {.size = sizeof(options),
					    .builder = costs(session),
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
	if (session->screen) {
		clew_style_turn(clew_terminal_wants_color());
		clew_screen_begin();
	}
	status = clew_recording_run(recording, no_command, &recorded);
	clew_screen_end();
	r = clew_live_finish(live, &summary);
	if (r >= 0 && session->calls)
		r = clew_latency_calls_finish(session->calls);
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
				  .screen = !live->json && isatty(STDIN_FILENO) &&
					    isatty(STDOUT_FILENO)};
	int status = 0;

	session.latency.most = GROUPS_MOST;
	session.latency.room = ROOM_MOST;
	if (clew_trace_new(NULL, 0, &session.tasks) < 0)
		return clew_fail_memory();
	session.identities = clew_trace_taker(session.tasks);
	if (clew_latency_names_new(session.tasks, live->options, &session.latency,
				   &session.left_out, &session.names) < 0 ||
	    (of_calls(live) &&
	     clew_latency_calls_new(session.tasks, live->selection, &session.latency, session.names,
				    &session.calls) < 0))
		status = clew_fail_memory();
	else
		status = record(&session);
	clew_latency_calls_free(session.calls);
	clew_latency_names_free(session.names);
	clew_latency_done(&session.latency);
	clew_trace_free(session.tasks);
	return status;
}
