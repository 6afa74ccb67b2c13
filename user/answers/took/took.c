/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sums of a recorded command in a few lines. */
#include "answers/took/took.h"

#include <clew/tokens.h>
#include <stdlib.h>
#include <string.h>

#include "format/text.h"
#include "words/object.h"
#include "words/task.h"

#define CLASSES_MOST  4
#define COMMAND_WIDTH 50

/* Time goes to a kind of waits, or to one of these. */
enum { CLASS_RUNNING = CLEW_WAIT_KIND_COUNT, CLASS_READY, CLASS_COUNT };

static uint64_t ns_of(const struct took *took, unsigned class)
{
	return class == CLASS_RUNNING ? took->running
	       : class == CLASS_READY ? took->ready
				      : took->waited[class];
}

/* The program that had the CPUs longest, apart from the command's; NULL: none is known. */
static const char *busiest(const struct clew_took_answer *answer, uint64_t *ret_ns)
{
	const struct map *others = &answer->took->others;
	struct map sums = {};
	const char *name = NULL;

	*ret_ns = 0;
	for (size_t i = 0; i < others->capacity; i++) {
		const struct map_slot *slot = &others->slots[i];
		uint32_t process;
		uint64_t *sum;

		if (!slot->used)
			continue;
		process = clew_trace_process(answer->names, (uint32_t)slot->key);
		sum = map_get(&sums, process, 0);
		if (!sum && map_set(&sums, process, 0, 0) < 0)
			break;
		sum = map_get(&sums, process, 0);
		*sum += slot->value;
		if (*sum > *ret_ns) {
			const struct clew_trace_task *task =
				clew_trace_task(answer->names, process);

			*ret_ns = *sum;
			name = task ? task->comm : NULL;
		}
	}
	map_done(&sums);
	return name;
}

static void print_ready(FILE *out, const struct clew_took_answer *answer)
{
	uint64_t ns;
	const char *name = busiest(answer, &ns);

	fputs("had no CPU", out);
	if (!name)
		return;
	fputs(": meanwhile ", out);
	clew_print_safe(out, name);
	fprintf(out, " had one for %s", CLEW_DURATION(ns));
}

/* A wait whose object is named; `sleep` NULL: none is. */
struct awaited {
	const struct clew_trace *names;
	const struct clew_sleep *sleep;
};

static void print_awaited(FILE *out, const void *context)
{
	const struct awaited *awaited = context;

	if (awaited->sleep)
		clew_print_object(out, awaited->names, &awaited->sleep->object, awaited->sleep);
}

static void print_wait(FILE *out, const struct clew_took_answer *answer, unsigned kind)
{
	const struct took_object *most = took_most(answer->took, kind);
	const struct clew_sleep *sleep = most ? &most->longest : NULL;
	const char *call = sleep ? clew_call_name(sleep->call) : NULL;
	const struct awaited awaited = {.names = answer->names,
					.sleep = kind == CLEW_WAIT_SLEEP ? NULL : sleep};
	char *object = clew_text_of(print_awaited, &awaited);

	if (!object)
		return;
	fputs(kind == CLEW_WAIT_SLEEP ? "slept, as it chose to" : clew_wait_kind_name(kind), out);
	if (call && strcmp(call, clew_wait_kind_name(kind)) != 0)
		fprintf(out, " (%s)", call);
	if (object[0] && most->ns >= answer->took->waited[kind] / 2)
		fprintf(out, " of %s", object);
	else if (object[0])
		fprintf(out, ", most of it of %s (%s)", object, CLEW_DURATION(most->ns));
	free(object);
	if (!most || most->by == CLEW_NO_TASK || kind == CLEW_WAIT_SLEEP)
		return;
	fputs(most->held ? ", held by " : ", ended by ", out);
	clew_print_task(out, answer->names, most->by, sleep->end);
}

static void print_class(FILE *out, const struct clew_took_answer *answer, unsigned class,
			uint64_t sum)
{
	uint64_t ns = ns_of(answer->took, class);

	fprintf(out, "  %3u %%  %8s  ", clew_percent(ns, sum), CLEW_DURATION(ns));
	if (class == CLASS_RUNNING)
		fputs("was running", out);
	else if (class == CLASS_READY)
		print_ready(out, answer);
	else
		print_wait(out, answer, class);
	fputc('\n', out);
}

static void print_classes(FILE *out, const struct clew_took_answer *answer, uint64_t sum)
{
	bool printed[CLASS_COUNT] = {};

	for (unsigned line = 0; line < CLASSES_MOST; line++) {
		unsigned most = CLASS_COUNT;

		for (unsigned class = 0; class < CLASS_COUNT; class ++)
			if (!printed[class] && ns_of(answer->took, class) &&
			    (most == CLASS_COUNT ||
			     ns_of(answer->took, class) > ns_of(answer->took, most)))
				most = class;
		/* Less than half a percent is nothing to look at. */
		if (most == CLASS_COUNT || ns_of(answer->took, most) * 200 < sum)
			return;
		printed[most] = true;
		print_class(out, answer, most, sum);
	}
}

void clew_print_took(FILE *out, const struct clew_took_answer *answer)
{
	const struct took *took = answer->took;
	uint64_t sum = 0;

	for (unsigned class = 0; class < CLASS_COUNT; class ++)
		sum += ns_of(took, class);
	fputs("clew: ", out);
	clew_print_cut(out, answer->command, COMMAND_WIDTH);
	if (answer->fault) {
		fprintf(out, ": %s: ask clew why ", answer->fault);
		clew_print_safe(out, answer->output);
		fputc('\n', out);
		return;
	}
	fprintf(out, " took %s", CLEW_DURATION(answer->to - took->from));
	if (took->threads.count > 1)
		fprintf(out, ", and its %zu threads %s in all", took->threads.count,
			CLEW_DURATION(sum));
	fputs(" (why: clew why ", out);
	clew_print_safe(out, answer->output);
	fputs("):\n", out);
	print_classes(out, answer, sum);
}
