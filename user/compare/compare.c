/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes the operations of captures, one capture after the other. */
#include "compare/compare.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "answers/classes.h"
#include "compare/about.h"
#include "compare/cause.h"
#include "compare/load.h"
#include "compare/normal.h"
#include "explain/summary.h"

void compare_begin(struct compare *compare, const struct compare_options *options)
{
	*compare = (struct compare){
		.options = options,
		.to = UINT64_MAX,
		.causes.list.item = sizeof(struct compare_name),
		.classes.list.item = sizeof(struct compare_name),
		.operations.item = sizeof(struct compare_operation),
		.shares.item = sizeof(struct compare_share),
		.left_out.item = sizeof(struct compare_left_out),
		.images.item = sizeof(struct compare_image),
		.lengths.item = sizeof(struct compare_lengths),
	};
}

void compare_done(struct compare *compare)
{
	compare_names_done(&compare->causes);
	compare_names_done(&compare->classes);
	vector_done(&compare->operations);
	vector_done(&compare->shares);
	vector_done(&compare->left_out);
	vector_done(&compare->images);
	vector_done(&compare->lengths);
	map_done(&compare->lengths_of);
	arena_done(&compare->memory);
}

/* ---- one capture ---- */

/* A capture on its way into a side. */
struct adding {
	struct compare *compare;
	const struct clew_trace *trace;
	const struct clew_operation_classes *found;
	struct cause_finder finder;
	uint32_t *classes; /* of each class that was found, its number here */
	enum compare_side_name side;
	uint64_t piece;	    /* where the piece begins that is being added */
	size_t first;	    /* share of the operation */
	struct vector seen; /* struct seen_cause, by number of the cause */
};

/* Where a cause was met last. */
struct seen_cause {
	size_t share; /* its index, and 1; 0: none */
	uint64_t piece;
};

char *compare_class_name(const struct clew_trace *trace, const struct clew_operation_classes *found,
			 size_t class)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	clew_print_class(out, trace, found, class, false);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	normal_text(text, false);
	return text;
}

static uint32_t name_class(struct adding *adding, size_t class)
{
	const struct clew_operation_class *it = &adding->found->classes[class];
	const struct clew_trace_task *task = clew_trace_task(adding->trace, it->program);
	char program[CLEW_COMM_SIZE + 1] = "", *text = compare_class_name(adding->trace,
									  adding->found, class);
	uint32_t number = UINT32_MAX;

	if (text) {
		if (task)
			clew_program_name(adding->trace, task, program);
		normal_text(program, false);
		number = compare_name_add(
			adding->compare, &adding->compare->classes, adding->side,
			&(struct compare_name){.text = text, .party = program, .kind = it->kind});
	}
	free(text);
	return number;
}

/* Adds a part of the operation's time. `context`: struct adding *. */
static int take_part(void *context, uint32_t cause, uint64_t ns)
{
	struct adding *adding = context;
	struct vector *all = &adding->compare->shares;
	struct seen_cause *seen;
	struct compare_share *share;

	/* A vector's memory is zero until it is written. */
	if (vector_reserve(&adding->seen, (size_t)cause + 1) < 0 ||
	    vector_reserve(all, all->count + 1) < 0)
		return -ENOMEM;
	seen = (struct seen_cause *)adding->seen.data + cause;
	if (seen->share <= adding->first) {
		((struct compare_share *)all->data)[all->count++] =
			(struct compare_share){.cause = cause, .operations = 1};
		*seen = (struct seen_cause){.share = all->count, .piece = UINT64_MAX};
	}
	share = (struct compare_share *)all->data + seen->share - 1;
	share->ns += ns;
	share->times += seen->piece != adding->piece;
	seen->piece = adding->piece;
	return 0;
}

static int leave_out(struct adding *adding, const struct clew_kind_operation *operation, bool blind)
{
	struct vector *all = &adding->compare->left_out;

	if (vector_reserve(all, all->count + 1) < 0)
		return -ENOMEM;
	((struct compare_left_out *)all->data)[all->count++] =
		(struct compare_left_out){.count = 1,
					  .class = adding->classes[operation->class],
					  .side = (uint8_t)adding->side,
					  .blind = blind};
	return 0;
}

static uint32_t tid_of(const struct adding *adding, uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(adding->trace, serial);

	return task ? task->tid : 0;
}

static int add_operation(struct adding *adding, const struct clew_kind_operation *operation)
{
	struct compare *compare = adding->compare;
	const struct clew_operation *what = &operation->operation;
	struct compare_operation added = {.from = what->from,
					  .ns = what->to - what->from,
					  .count = 1,
					  .first_share = compare->shares.count,
					  .class = adding->classes[operation->class],
					  .tid = tid_of(adding, what->task),
					  .capture = compare->captures[adding->side],
					  .block = CLEW_NO_NUMBER,
					  .side = (uint8_t)adding->side,
					  .within = operation->kind == CLEW_OPERATION_REQUEST ||
						    operation->kind == CLEW_OPERATION_CONNECT};
	struct clew_piece piece;
	int r = 0;

	adding->first = added.first_share;
	for (uint64_t at = what->from, until; at < what->to && r == 0; at = until) {
		if (!clew_trace_piece(adding->trace, what->task, at, false, &piece) ||
		    piece.end <= at)
			piece = (struct clew_piece){
				.start = at, .end = what->to, .kind = CLEW_PIECE_UNKNOWN};
		until = piece.end < what->to ? piece.end : what->to;
		adding->piece = piece.start;
		r = cause_each(&adding->finder, operation, &piece, at, until, take_part, adding);
	}
	added.share_count = (uint32_t)(compare->shares.count - added.first_share);
	if (r == 0)
		r = vector_reserve(&compare->operations, compare->operations.count + 1);
	if (r == 0)
		((struct compare_operation *)
			 compare->operations.data)[compare->operations.count++] = added;
	return r;
}

/* True if all words of a text stand in a name, in order. */
static bool has_words(const char *name, const char *words)
{
	while (name && *words) {
		size_t length = strcspn(words, " ");
		char word[256];

		snprintf(word, sizeof(word), "%.*s", (int)length, words);
		name = strstr(name, word);
		name = name ? name + length : NULL;
		words += length;
		words += strspn(words, " ");
	}
	return name;
}

bool compare_fits(const char *asked, const char *class)
{
	return !fnmatch(asked, class, 0) || has_words(class, asked);
}

bool compare_is_wanted(const struct compare *compare, const char *class)
{
	const struct compare_options *options = compare->options;
	bool found = !options->only;

	for (size_t i = 0; i < options->only_count && !found; i++)
		found = !strcmp(options->only[i], class);
	if (!found)
		return false;
	return !options->class || compare_fits(options->class, class);
}

static const char *name_of(const struct adding *adding, const struct clew_kind_operation *operation)
{
	return compare_name_at(&adding->compare->classes, adding->classes[operation->class])->text;
}

/* True if an operation belongs to the part of the capture that is added. */
static bool is_in_part(const struct compare *compare, const struct clew_kind_operation *operation)
{
	if (!compare_is_part(compare))
		return true;
	return operation->operation.to > compare->from && operation->operation.to <= compare->to &&
	       (!operation->goes_on || compare->to == UINT64_MAX);
}

static int add_operations(struct adding *adding)
{
	const struct clew_operation_classes *found = adding->found;
	int r = 0;

	for (size_t i = 0; i < found->class_count && r == 0; i++) {
		if (found->classes[i].kind == CLEW_OPERATION_SPAN)
			continue;
		adding->classes[i] = name_class(adding, i);
		r = adding->classes[i] == UINT32_MAX ? -ENOMEM : 0;
	}
	for (size_t i = 0; i < found->operation_count && r == 0; i++) {
		const struct clew_kind_operation *operation = &found->operations[i];
		bool blind = clew_trace_gaps(adding->trace, operation->operation.from,
					     operation->operation.to, NULL) > 0;

		/* The time of a logical span is not that of one thread. */
		if (operation->kind == CLEW_OPERATION_SPAN ||
		    !is_in_part(adding->compare, operation) ||
		    !compare_is_wanted(adding->compare, name_of(adding, operation)))
			continue;
		if (blind || operation->begun_before || operation->goes_on ||
		    operation->operation.from < adding->compare->known)
			r = leave_out(adding, operation, blind);
		else
			r = add_operation(adding, operation);
	}
	return r;
}

int compare_add(struct compare *compare, enum compare_side_name side,
		const struct clew_trace *trace, const struct clew_chosen *chosen)
{
	struct clew_operation_classes found;
	struct adding adding = {.compare = compare,
				.trace = trace,
				.found = &found,
				.finder = {.compare = compare, .trace = trace, .side = side},
				.side = side,
				.seen.item = sizeof(struct seen_cause)};
	int r = clew_classes_find(trace, chosen, clew_trace_start(trace), clew_trace_end(trace),
				  &found);

	if (r < 0)
		return r;
	adding.classes = calloc(found.class_count + 1, sizeof(*adding.classes));
	r = adding.classes ? add_operations(&adding) : -ENOMEM;
	if (r == 0) {
		load_add(compare, side, trace, &found);
		r = about_add(compare, side, trace);
	}
	compare->captures[side]++;
	cause_finder_done(&adding.finder);
	free(adding.classes);
	vector_done(&adding.seen);
	clew_classes_done(&found);
	return r;
}
