/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Says what a recorded command took. */
#include "cli/record/record_took.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answers/took/took.h"
#include "base/clock.h"
#include "live/live.h"
#include "live/took.h"
#include "record/stream/kernel.h"
#include "trace/trace.h"

#define MEMORY_MOST (100u << 20) /* bytes, with the queues */
#define PAGES_MOST  (20u << 20)	 /* of them for pages of files */
#define QUEUES_MOST (40u << 20)	 /* of them for records on their way */
#define FINISH_MOST 1000000000u	 /* ns from the recording's end to the lines */
#define NAME_BYTES  512		 /* of the names, about what a record adds */

struct clew_record_took {
	struct took took;
	struct clew_trace *names; /* identities, and nothing else */
	struct clew_finding_taker identities;
	size_t names_bytes; /* of the records that it got */
	struct clew_live *live;
	_Atomic uint64_t ended; /* when the recording did, ns; 0: it goes on */
};

bool clew_record_took_wanted(void)
{
	char path[32], name[32] = "";
	pid_t leader = getpgrp();
	FILE *file;

	if (!isatty(STDERR_FILENO))
		return false;
	/* A shell makes each job a process group; of a script it is the script's. */
	if (leader == getpid())
		return true;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)leader);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(name, sizeof(name), file))
		name[0] = '\0';
	fclose(file);
	return leader == getppid() && (!strcmp(name, "sudo\n") || !strcmp(name, "doas\n"));
}

/* ---- the live thread ---- */

static int take_finding(void *context, struct clew_finding finding)
{
	struct clew_record_took *took = context;
	uint64_t ended = atomic_load_explicit(&took->ended, memory_order_relaxed);
	int r = took_take(&took->took, finding);

	if (r < 0)
		return r;
	if (ended && clock_read(CLOCK_MONOTONIC) > ended + FINISH_MOST)
		return -ETIME;
	if (finding.tag != CLEW_FINDING_IDENTITY)
		return 0;
	switch (finding.identity->kind) {
	case CLEW_KIND_ANNOUNCE:
	case CLEW_KIND_END:
	case CLEW_KIND_GAP:
		return 0;
	default:
		took->names_bytes += NAME_BYTES;
		return took->identities.take(took->identities.context, finding);
	}
}

static int look(void *context, const struct clew_builder *builder, uint64_t now)
{
	const struct clew_record_took *took = context;
	size_t bytes = QUEUES_MOST + clew_builder_memory(builder, NULL) + took->names_bytes +
		       took_memory(&took->took);

	(void)now;
	return bytes > MEMORY_MOST ? -E2BIG : 0;
}

/* ---- making and ending ---- */

static int start(struct clew_record_took *took)
{
	const struct clew_finding_taker taker = {
		.wants = TOOK_WANTS, .take = take_finding, .step = look, .context = took};
	unsigned cpus = (unsigned)clew_kernel_cpus();
	const struct clew_live_options options = {.size = sizeof(options),
						  .builder = {.memory_most = PAGES_MOST},
						  .cpus = cpus,
						  .queue_size = QUEUES_MOST / (cpus + 1),
						  .takers = &taker,
						  .taker_count = 1};

	return clew_live_new(&options, &took->live);
}

struct clew_record_took *clew_record_took_new(pid_t pid)
{
	struct clew_record_took *took = calloc(1, sizeof(*took));
	struct stat status;

	if (!took)
		return NULL;
	took_init(&took->took, pid,
		  stat("/proc/self/ns/pid", &status) ? 0 : (uint32_t)status.st_ino);
	if (clew_trace_new(NULL, 0, &took->names) < 0) {
		took->names = NULL;
		clew_record_took_free(took);
		return NULL;
	}
	took->identities = clew_trace_taker(took->names);
	if (start(took) < 0) {
		clew_record_took_free(took);
		return NULL;
	}
	return took;
}

static void end(void *context, uint64_t time)
{
	struct clew_record_took *took = context;
	struct clew_record_taker taker = clew_live_taker(took->live);

	atomic_store(&took->ended, clock_read(CLOCK_MONOTONIC));
	taker.end(taker.context, time);
}

static int take(void *context, unsigned stream, const struct clew_header *record, size_t size)
{
	const struct clew_record_taker taker =
		clew_live_taker(((struct clew_record_took *)context)->live);

	return taker.take(taker.context, stream, record, size);
}

static void advance(void *context, unsigned stream, const struct clew_round *round)
{
	const struct clew_record_taker taker =
		clew_live_taker(((struct clew_record_took *)context)->live);

	taker.round(taker.context, stream, round);
}

static void begin(void *context, uint64_t time)
{
	const struct clew_record_taker taker =
		clew_live_taker(((struct clew_record_took *)context)->live);

	taker.begin(taker.context, time);
}

struct clew_record_taker clew_record_took_taker(struct clew_record_took *took)
{
	return (struct clew_record_taker){
		.context = took, .begin = begin, .take = take, .round = advance, .end = end};
}

void clew_record_took_free(struct clew_record_took *took)
{
	if (!took)
		return;
	clew_live_free(took->live);
	took_done(&took->took);
	clew_trace_free(took->names);
	free(took);
}

/* Why the sums are not what the command took; NULL: they are. */
static const char *find_fault(const struct took *took, int r,
			      const struct clew_live_summary *summary)
{
	return r == -E2BIG		    ? "to add up what it took needs more than 100 MB"
	       : r == -ETIME		    ? "to add up what it took needs more than a second"
	       : r < 0			    ? "there is no memory to add up what it took"
	       : summary->missed	    ? "records came too fast to add up what it took"
	       : took->root == CLEW_NO_TASK ? "its begin was not seen"
	       : !took->from		    ? "it was not seen to begin"
					    : NULL;
}

void clew_record_took_print(struct clew_record_took *took, const char *command, const char *output)
{
	struct clew_live_summary summary;
	const struct took *found = &took->took;
	int r = clew_live_finish(took->live, &summary);
	const char *fault = find_fault(found, r, &summary);
	uint64_t to = found->to ?: atomic_load(&took->ended);

	if (!fault && clew_trace_finish(took->names, to) < 0)
		fault = find_fault(found, -ENOMEM, &summary);
	clew_print_took(stderr, &(struct clew_took_answer){.took = found,
							   .names = took->names,
							   .to = to,
							   .fault = fault,
							   .command = command,
							   .output = output});
}
