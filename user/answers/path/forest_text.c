/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A spawning forest as trees drawn in text.
 *
 * Below a root span are the root spans that it started, and those of its
 * children that started some. Each root span's own tree is drawn once, however
 * many spans started it. A cycle has no root: it is drawn from its first root
 * span.
 */
#include "answers/path/forest_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "format/text.h"

/* The items below a span; those from `next` on are still to be drawn. */
struct frame {
	uint32_t span;
	size_t next, end; /* indexes of items */
};

/* The state of the drawing. */
struct drawing {
	const struct grove *grove;
	bool *shown; /* by span: it was drawn (root spans only) */
	uint32_t *items;
	size_t item_room;
	struct frame *frames;
	size_t frame_count, frame_room;
	uint32_t cycles;
};

/* ---- what is below a span ---- */

static int compare_spans(const void *a, const void *b, void *context)
{
	const struct clew_model *model = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	clew_time s = model->spans[x].start, t = model->spans[y].start;

	if (s != t)
		return s < t ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int add_item(struct drawing *drawing, size_t *count, uint32_t span)
{
	if (*count == drawing->item_room) {
		size_t room = drawing->item_room ? 2 * drawing->item_room : 64;
		uint32_t *items = reallocarray(drawing->items, room, sizeof(*items));

		if (!items)
			return -ENOMEM;
		drawing->items = items;
		drawing->item_room = room;
	}
	drawing->items[(*count)++] = span;
	return 0;
}

/*
 * Pushes a frame with the root spans that a span started and the children that
 * lead to more, in order of their starts.
 */
static int enter(struct drawing *drawing, uint32_t span)
{
	const struct grove *grove = drawing->grove;
	size_t begin = drawing->frame_count ? drawing->frames[drawing->frame_count - 1].end : 0,
	       end = begin;
	uint32_t count;
	const uint32_t *spawned = clew_forest_spawned(grove->forest, span, &count);

	if (drawing->frame_count == drawing->frame_room) {
		size_t room = drawing->frame_room ? 2 * drawing->frame_room : 64;
		struct frame *frames = reallocarray(drawing->frames, room, sizeof(*frames));

		if (!frames)
			return -ENOMEM;
		drawing->frames = frames;
		drawing->frame_room = room;
	}
	for (uint32_t i = 0; i < count; i++)
		if (add_item(drawing, &end, spawned[i]) < 0)
			return -ENOMEM;
	for (uint32_t child = grove->model->spans[span].first_child; child != CLEW_NONE;
	     child = grove->model->spans[child].next_sibling)
		if (grove->carries[child] && add_item(drawing, &end, child) < 0)
			return -ENOMEM;
	if (end > begin)
		qsort_r(drawing->items + begin, end - begin, sizeof(*drawing->items), compare_spans,
			(void *)grove->model);
	drawing->frames[drawing->frame_count++] = (struct frame){span, begin, end};
	return 0;
}

/* ---- drawing ---- */

static void print_branches(FILE *out, const struct drawing *drawing)
{
	enum { MOST_DRAWN = 48 };
	size_t first = drawing->frame_count > MOST_DRAWN ? drawing->frame_count - MOST_DRAWN : 0;

	if (first)
		fprintf(out, "(%zu levels)  ", first);
	for (size_t i = first; i < drawing->frame_count; i++) {
		bool more = drawing->frames[i].next < drawing->frames[i].end;

		if (i + 1 < drawing->frame_count)
			fputs(more ? "│  " : "   ", out);
		else
			fputs(more ? "├─ " : "└─ ", out);
	}
}

/* `below`: the span above it in the drawing, CLEW_NONE none. */
static void print_line(FILE *out, const struct drawing *drawing, uint32_t number, uint32_t below,
		       const char *remark)
{
	const struct grove *grove = drawing->grove;
	const struct clew_span *span = &grove->model->spans[number];
	uint32_t at = clew_forest_spawned_at(grove->forest, number);

	fprintf(out, "%14s %10s  ",
		CLEW_OFFSET((uint64_t)span->start - (uint64_t)grove->start, grove->length),
		CLEW_DURATION((uint64_t)span->end - (uint64_t)span->start));
	print_branches(out, drawing);
	fputs(grove_is_root(grove, number) ? "" : "/", out);
	clew_print_safe(out, clew_model_string(grove->model, span->name));
	if (at != CLEW_NONE && clew_forest_spawner(grove->forest, number) == below) {
		fputs("  ", out);
		clew_print_safe(out, grove_type_name(grove, grove->model->es[at].in));
	}
	fprintf(out, "%s\n", remark);
}

static int print_tree(FILE *out, struct drawing *drawing, uint32_t root, const char *remark)
{
	const struct grove *grove = drawing->grove;
	int r;

	print_line(out, drawing, root, CLEW_NONE, remark);
	drawing->shown[root] = true;
	r = enter(drawing, root);
	while (r == 0 && drawing->frame_count) {
		struct frame *frame = &drawing->frames[drawing->frame_count - 1];
		uint32_t span;
		bool again;

		if (frame->next == frame->end) {
			drawing->frame_count--;
			continue;
		}
		span = drawing->items[frame->next++];
		again = grove_is_root(grove, span) && drawing->shown[span];
		print_line(out, drawing, span, frame->span, again ? "  (shown above)" : "");
		drawing->shown[span] = true;
		if (!again && grove->carries[span])
			r = enter(drawing, span);
	}
	return r;
}

static int print_trees(FILE *out, struct drawing *drawing, bool all)
{
	const struct grove *grove = drawing->grove;
	const struct clew_model *model = grove->model;
	uint32_t count;
	const uint32_t *unspawned = clew_forest_unspawned(grove->forest, &count);
	int r = 0;

	for (uint32_t i = 0; i < count && r == 0; i++)
		if (grove->carries[unspawned[i]])
			r = print_tree(out, drawing, unspawned[i], "");
	for (uint32_t root = model->first_root; root != CLEW_NONE && r == 0;
	     root = model->spans[root].next_sibling) {
		if (drawing->shown[root] || clew_forest_spawner(grove->forest, root) == CLEW_NONE)
			continue;
		r = print_tree(out, drawing, root, "  (by what it started)");
		drawing->cycles++;
	}
	for (uint32_t i = 0; i < count && all && r == 0; i++)
		if (!grove->carries[unspawned[i]])
			print_line(out, drawing, unspawned[i], CLEW_NONE, "");
	return r;
}

static void print_sums(FILE *out, const struct drawing *drawing)
{
	const struct grove *grove = drawing->grove;

	fprintf(out,
		"\n%" PRIu32 " root span%s: %" PRIu32 " started by others, in %" PRIu32
		" tree%s; %" PRIu32 " alone",
		grove->roots, grove->roots == 1 ? "" : "s", grove->spawned, grove->trees,
		grove->trees == 1 ? "" : "s", grove->alone);
	if (drawing->cycles)
		fprintf(out, "; %" PRIu32 " cycle%s", drawing->cycles,
			drawing->cycles == 1 ? "" : "s");
	putc('\n', out);
}

int clew_print_forest(FILE *out, const struct grove *grove, bool all)
{
	struct drawing drawing = {
		.grove = grove,
		.shown = calloc((size_t)grove->model->span_count + 1, sizeof(*drawing.shown))};
	int r = -ENOMEM;

	if (drawing.shown) {
		fprintf(out, "%14s %10s\n", "start", "length");
		r = print_trees(out, &drawing, all);
	}
	if (r == 0)
		print_sums(out, &drawing);
	free(drawing.shown);
	free(drawing.items);
	free(drawing.frames);
	return r;
}

int clew_forest_survey(struct grove *grove)
{
	const struct clew_model *model = grove->model;
	clew_time end = INT64_MIN;

	grove->carries = calloc((size_t)model->span_count + 1, sizeof(*grove->carries));
	if (!grove->carries)
		return -ENOMEM;
	grove->start = INT64_MAX;
	/* Children come after their parents. */
	for (uint32_t i = model->span_count; i-- > 0;) {
		uint32_t count;

		clew_forest_spawned(grove->forest, i, &count);
		grove->carries[i] |= count > 0;
		if (!grove_is_root(grove, i))
			grove->carries[model->spans[i].parent] |= grove->carries[i];
	}
	for (uint32_t root = model->first_root; root != CLEW_NONE;
	     root = model->spans[root].next_sibling) {
		bool spawned = clew_forest_spawner(grove->forest, root) != CLEW_NONE;

		grove->roots++;
		grove->spawned += spawned;
		grove->trees += !spawned && grove->carries[root];
		grove->alone += !spawned && !grove->carries[root];
		grove->start = model->spans[root].start < grove->start ? model->spans[root].start
								       : grove->start;
		end = model->spans[root].end > end ? model->spans[root].end : end;
	}
	grove->length = grove->roots ? (uint64_t)end - (uint64_t)grove->start : 0;
	return 0;
}
