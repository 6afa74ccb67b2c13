/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of clew path as text. See path.h. */
#include <clew/tokens.h>
#include <inttypes.h>

#include "answers/path/path_via.h"
#include "cli/path/path.h"
#include "format/style.h"
#include "format/text.h"
#include "words/running.h"

static void print_share(clew_time part, clew_time whole)
{
	printf("%12s %5.1f %%  ", CLEW_DURATION((uint64_t)part),
	       whole ? 100.0 * (double)part / (double)whole : 0.0);
}

static void print_calls(struct path_answer *answer, clew_time whole)
{
	enum { MOST = 10 };
	size_t count;
	const struct clew_place_sum *sums = clew_place_sums_list(&answer->ran_in, &count);

	for (size_t i = 0; i < count && i < MOST; i++) {
		fputs(i ? "" : "\nrunning, by call\n", stdout);
		print_share((clew_time)sums[i].ns, whole);
		clew_print_place_sum(stdout, &sums[i]);
		putchar('\n');
	}
	if (count > MOST)
		printf("%12s          and %zu more\n", "", count - MOST);
}

static void print_totals(struct path_answer *answer, clew_time whole)
{
	static const char *const titles[] = {[CLEW_BY_KIND] = "by kind",
					     [CLEW_BY_THREAD] = "by thread",
					     [CLEW_BY_FUNCTION] = "by function",
					     [CLEW_BY_OBJECT] = "by object"};
	enum { MOST = 10 };
	size_t count, at = 0;
	const struct clew_path_total *totals = clew_path_totals_list(answer->totals, &count);

	for (uint32_t dimension = 0; dimension < CLEW_BY_COUNT; dimension++) {
		size_t first = at;

		for (; at < count && totals[at].dimension == dimension; at++) {
			if (at == first)
				printf("\n%s\n", titles[dimension]);
			if (at - first >= MOST)
				continue;
			print_share(totals[at].ns, whole);
			if (dimension == CLEW_BY_THREAD)
				clew_print_span(stdout, &answer->names, totals[at].span);
			else if (totals[at].name)
				clew_print_safe(stdout, totals[at].name);
			if (dimension == CLEW_BY_KIND || dimension == CLEW_BY_OBJECT)
				printf(dimension == CLEW_BY_KIND ? "%s" : " (%s)",
				       clew_wait_kind_name(totals[at].kind));
			putchar('\n');
		}
		if (at - first > MOST)
			printf("%12s          and %zu more\n", "", at - first - MOST);
	}
	print_calls(answer, whole);
	path_note(answer, clew_print_path_stacks(stdout, &answer->stacks));
}

static void print_place(const struct path_answer *answer, const struct clew_path_segment *segment)
{
	struct clew_segment place = path_place_of(answer, segment);
	const struct clew_segment *places = &place;
	struct clew_running running;

	clew_running_find(answer->places, &places, 1, &running);
	clew_print_stay(stdout, place.stay);
	clew_print_running(stdout, &running);
}

/* `element`: the path's element at the last segment, to be advanced. `begins`: the segment before
 * is not of the same ES. */
static void print_segment(struct path_answer *answer, const struct clew_path *path,
			  const struct clew_path_segment *segment, bool begins, uint32_t *element)
{
	const struct clew_model *model = answer->model;
	const char *object = clew_path_segment_object(model, segment);

	printf("  %12s %10s  ",
	       CLEW_OFFSET((uint64_t)(segment->start - path->start),
			   (uint64_t)(path->end - path->start)),
	       CLEW_DURATION((uint64_t)(segment->end - segment->start)));
	clew_print_styled(stdout, clew_style_of_kind(segment->kind), 9,
			  clew_wait_kind_name(segment->kind));
	putchar(' ');
	clew_print_span(stdout, &answer->names, segment->span);
	if (segment->kind == CLEW_SEGMENT_RUNNING)
		print_place(answer, segment);
	path_note(answer, clew_print_path_stack(stdout, &answer->stacks, model, segment));
	if (segment->dependency != CLEW_NONE) {
		fputs(", after ", stdout);
		clew_print_safe(
			stdout,
			clew_model_string(
				model,
				model->types[model->dependencies[segment->dependency].type]));
	}
	if (object) {
		fputs(", ", stdout);
		clew_print_safe(stdout, object);
	}
	if (segment->child != CLEW_NONE) {
		fputs(", in ", stdout);
		clew_print_span(stdout, &answer->names, segment->child);
	}
	if (segment->kind == CLEW_SEGMENT_RUNNING && !segment->on_path)
		fputs(", not on the path", stdout);
	if (segment->on_path && begins) {
		while (path->es[*element] != segment->es && *element + 1 < path->count)
			++*element;
		clew_print_via_call(stdout, model, path, *element);
	}
	putchar('\n');
}

static void print_marks(struct path_answer *answer, const struct path_found *found)
{
	for (size_t i = 0; i < found->mark_count; i++) {
		const struct clew_mark *mark = &answer->model->marks[found->marks[i].mark];

		fputs(i ? "" : "\nmarks\n", stdout);
		printf("  %s%10s  ", mark->at < found->path.start ? "-" : " ",
		       CLEW_DURATION((uint64_t)(mark->at < found->path.start
							? found->path.start - mark->at
							: mark->at - found->path.start)));
		clew_print_safe(stdout, clew_model_string(answer->model, mark->label));
		fputs(" in ", stdout);
		clew_print_span(stdout, &answer->names, answer->model->es[found->marks[i].es].span);
		putchar('\n');
	}
}

static void print_sums(struct path_answer *answer)
{
	const struct path_sum *sum = &answer->sum;

	printf("%s over %zu %s: %s in all", clew_strategy_name(answer->values->strategy),
	       sum->count, answer->values->operations ? "operations" : "instances",
	       CLEW_DURATION((uint64_t)sum->whole));
	printf(", %s of work on their paths", CLEW_DURATION((uint64_t)sum->work));
	if (sum->without_path)
		printf("; %zu more have no such path", sum->without_path);
	putchar('\n');
	print_totals(answer, sum->whole);
}

void path_print_text(struct path_answer *answer)
{
	const char *strategy = clew_strategy_name(answer->values->strategy);

	if (path_is_all(answer->values)) {
		print_sums(answer);
		return;
	}
	for (size_t i = 0; i < answer->count; i++) {
		const struct path_found *found = &answer->found[i];
		clew_time whole = found->path.end - found->path.start;
		uint32_t element = 0;

		if (answer->count > 1)
			printf("%spath %zu, ", i ? "\n" : "", i + 1);
		printf("%s: %s, %" PRIu32 " elements", strategy, CLEW_DURATION((uint64_t)whole),
		       found->path.count);
		printf(" with %s of work\n", CLEW_DURATION((uint64_t)found->path.work));
		for (size_t j = 0; j < found->segment_count; j++)
			print_segment(answer, &found->path, &found->segments[j],
				      !j || found->segments[j - 1].es != found->segments[j].es ||
					      !found->segments[j - 1].on_path,
				      &element);
		print_marks(answer, found);
		if (i == 0)
			print_totals(answer, whole);
	}
}
