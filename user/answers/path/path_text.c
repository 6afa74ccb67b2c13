/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `path` as text. */
#include "answers/path/path.h"

#include <clew/tokens.h>
#include <inttypes.h>

#include "answers/path/path_stacks.h"
#include "answers/path/path_via.h"
#include "format/style.h"
#include "format/text.h"
#include "words/es.h"
#include "words/places.h"
#include "words/running.h"
#include "words/truth.h"

/* The answer, on its way out. */
struct printed {
	FILE *out;
	struct clew_path_sum *sum; /* its lists are sorted when they are asked for */
	struct clew_span_names names;
	int error; /* of the printing, 0 none */
};

/* The first failure of an output that goes on. */
static void note(struct printed *answer, int r)
{
	if (!answer->error)
		answer->error = r;
}

static void print_share(const struct printed *answer, clew_time part, clew_time whole)
{
	fprintf(answer->out, "%12s %5.1f %%  ", CLEW_DURATION((uint64_t)part),
		whole ? 100.0 * (double)part / (double)whole : 0.0);
}

static void print_calls(struct printed *answer, clew_time whole)
{
	enum { MOST = 10 };
	size_t count;
	const struct clew_place_sum *sums = clew_place_sums_list(&answer->sum->ran_in, &count);

	for (size_t i = 0; i < count && i < MOST; i++) {
		fputs(i ? "" : "\nrunning, by call\n", answer->out);
		print_share(answer, (clew_time)sums[i].ns, whole);
		clew_print_place_sum(answer->out, &sums[i]);
		putc('\n', answer->out);
	}
	if (count > MOST)
		fprintf(answer->out, "%12s          and %zu more\n", "", count - MOST);
}

static void print_totals(struct printed *answer, clew_time whole)
{
	static const char *const titles[] = {[CLEW_BY_KIND] = "by kind",
					     [CLEW_BY_THREAD] = "by thread",
					     [CLEW_BY_FUNCTION] = "by function",
					     [CLEW_BY_OBJECT] = "by object"};
	enum { MOST = 10 };
	size_t count, at = 0;
	const struct clew_path_total *totals = clew_path_totals_list(answer->sum->totals, &count);

	for (uint32_t dimension = 0; dimension < CLEW_BY_COUNT; dimension++) {
		size_t first = at;

		for (; at < count && totals[at].dimension == dimension; at++) {
			if (at == first)
				fprintf(answer->out, "\n%s\n", titles[dimension]);
			if (at - first >= MOST)
				continue;
			print_share(answer, totals[at].ns, whole);
			if (dimension == CLEW_BY_THREAD)
				clew_print_span(answer->out, &answer->names, totals[at].span);
			else if (totals[at].name)
				clew_print_safe(answer->out, totals[at].name);
			if (dimension == CLEW_BY_KIND || dimension == CLEW_BY_OBJECT)
				fprintf(answer->out, dimension == CLEW_BY_KIND ? "%s" : " (%s)",
					clew_wait_kind_name(totals[at].kind));
			putc('\n', answer->out);
		}
		if (at - first > MOST)
			fprintf(answer->out, "%12s          and %zu more\n", "", at - first - MOST);
	}
	print_calls(answer, whole);
	note(answer, clew_print_path_stacks(answer->out, &answer->sum->stacks));
}

static void print_place(const struct printed *answer, const struct clew_path_segment *segment)
{
	struct clew_segment place = clew_path_place(answer->sum, segment);
	const struct clew_segment *places = &place;
	struct clew_running running;

	clew_running_find(answer->sum->places, &places, 1, &running);
	clew_print_stay(answer->out, place.stay);
	clew_print_running(answer->out, &running);
}

/* `element`: the path's element at the last segment, to be advanced. `begins`: the segment before
 * is not of the same ES. */
static void print_segment(struct printed *answer, const struct clew_path *path,
			  const struct clew_path_segment *segment, bool begins, uint32_t *element)
{
	const struct clew_model *model = answer->sum->model;
	const char *object = clew_path_segment_object(model, segment);

	fprintf(answer->out, "  %12s %10s  ",
		CLEW_OFFSET((uint64_t)(segment->start - path->start),
			    (uint64_t)(path->end - path->start)),
		CLEW_DURATION((uint64_t)(segment->end - segment->start)));
	clew_print_styled(answer->out, clew_style_of_kind(segment->kind), 9,
			  clew_wait_kind_name(segment->kind));
	putc(' ', answer->out);
	clew_print_span(answer->out, &answer->names, segment->span);
	if (segment->kind == CLEW_SEGMENT_RUNNING)
		print_place(answer, segment);
	note(answer, clew_print_path_stack(answer->out, &answer->sum->stacks, model, segment));
	if (segment->dependency != CLEW_NONE) {
		fputs(", after ", answer->out);
		clew_print_safe(
			answer->out,
			clew_model_string(
				model,
				model->types[model->dependencies[segment->dependency].type]));
	}
	if (object) {
		fputs(", ", answer->out);
		clew_print_safe(answer->out, object);
	}
	if (segment->child != CLEW_NONE) {
		fputs(", in ", answer->out);
		clew_print_span(answer->out, &answer->names, segment->child);
	}
	if (segment->kind == CLEW_SEGMENT_RUNNING && !segment->on_path)
		fputs(", not on the path", answer->out);
	if (segment->on_path && begins) {
		while (path->es[*element] != segment->es && *element + 1 < path->count)
			++*element;
		clew_print_via_call(answer->out, model, path, *element);
	}
	putc('\n', answer->out);
}

static void print_marks(struct printed *answer, const struct clew_found_path *found)
{
	for (size_t i = 0; i < found->mark_count; i++) {
		const struct clew_mark *mark = &answer->sum->model->marks[found->marks[i].mark];

		fputs(i ? "" : "\nmarks\n", answer->out);
		fprintf(answer->out, "  %s%10s  ", mark->at < found->path.start ? "-" : " ",
			CLEW_DURATION((uint64_t)(mark->at < found->path.start
							 ? found->path.start - mark->at
							 : mark->at - found->path.start)));
		clew_print_safe(answer->out, clew_model_string(answer->sum->model, mark->label));
		fputs(" in ", answer->out);
		clew_print_span(answer->out, &answer->names,
				answer->sum->model->es[found->marks[i].es].span);
		putc('\n', answer->out);
	}
}

static void print_sums(struct printed *answer)
{
	const struct clew_path_counts *counts = &answer->sum->counts;

	fprintf(answer->out, "%s over %zu %s: %s in all",
		clew_strategy_name(answer->sum->asked->options.strategy), counts->count,
		answer->sum->asked->operations ? "operations" : "instances",
		CLEW_DURATION((uint64_t)counts->whole));
	fprintf(answer->out, ", %s of work on their paths", CLEW_DURATION((uint64_t)counts->work));
	if (counts->without_path)
		fprintf(answer->out, "; %zu more have no such path", counts->without_path);
	putc('\n', answer->out);
	print_totals(answer, counts->whole);
}

static void print_text(struct printed *answer)
{
	const char *strategy = clew_strategy_name(answer->sum->asked->options.strategy);

	if (answer->sum->asked->all) {
		print_sums(answer);
		return;
	}
	for (size_t i = 0; i < answer->sum->count; i++) {
		const struct clew_found_path *found = &answer->sum->found[i];
		clew_time whole = found->path.end - found->path.start;
		uint32_t element = 0;

		if (answer->sum->count > 1)
			fprintf(answer->out, "%spath %zu, ", i ? "\n" : "", i + 1);
		fprintf(answer->out, "%s: %s, %" PRIu32 " elements", strategy,
			CLEW_DURATION((uint64_t)whole), found->path.count);
		fprintf(answer->out, " with %s of work\n",
			CLEW_DURATION((uint64_t)found->path.work));
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

int clew_print_paths(FILE *out, struct clew_path_sum *sum)
{
	struct printed answer = {.out = out, .sum = sum, .names.model = sum->model};

	print_text(&answer);
	clew_print_model_truth(out, sum->model, sum->counts.start, sum->counts.end);
	clew_span_names_done(&answer.names);
	return answer.error;
}
