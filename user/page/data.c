/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The data that the page's scripts draw: the spans of all lanes in one script element, and a JSON
 * document in another, whose element "version" changes with their form. Times are ns since
 * "start".
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "page/internal.h"
#include "words/beside.h"
#include "words/segment_text.h"
#include "words/task.h"

#define VERSION 1

static int put_spans(struct page *page)
{
	struct document *document = &page->document;
	struct packed packed;
	int r;

	document_put(document, "<script type=\"text/plain\" id=\"spans\">");
	r = packed_begin(&packed, document->out);
	if (r < 0)
		return r;
	r = lanes_write(&page->lanes, &page->texts, &packed, page->options->progress,
			page->options->progress_context);
	packed_end(&packed);
	document_put(document, "</script>\n");
	return r;
}

static void json_lane(struct clew_json *json, const struct page *page, const struct lane *lane)
{
	const struct clew_trace_task *task = clew_trace_task(page->trace, lane->task);
	char *name = NULL;
	size_t size;
	FILE *out = open_memstream(&name, &size);

	if (!out)
		return;
	if (lane->job)
		clew_print_job(out, page->trace,
			       clew_job_at(clew_trace_jobs(page->trace), lane->job - 1));
	else if (task)
		clew_print_task_name(out, page->trace, lane->task, page->report->to);
	else
		fprintf(out, "CPU %u", lane->cpu);
	fclose(out);
	clew_json_object(json, NULL);
	clew_json_string(json, "name", name);
	clew_json_string(json, "kind", lane->job ? "span" : task ? "thread" : "cpu");
	clew_json_unsigned(json, "spans", lane->spans);
	if (task) {
		clew_json_string(json, "process",
				 clew_process_name(page->trace, task, page->report->to));
		clew_json_unsigned(json, "tid", task->tid);
		clew_json_unsigned(json, "pid", task->pid);
	}
	clew_json_object_end(json);
	free(name);
}

/* ---- explained operations ---- */

/* Sentences that segments share, each once. */
struct sentences {
	struct vector texts; /* char * */
	struct map numbers;  /* by hash */
};

/* Takes the text. */
static int add_sentence(struct sentences *sentences, char *text, uint64_t *ret_number)
{
	uint64_t hash, *known;
	int r;

	if (!text)
		return -ENOMEM;
	hash = hash_text(HASH_SEED, text);
	known = map_get(&sentences->numbers, hash, 0);
	if (known && !strcmp(((char **)sentences->texts.data)[*known], text)) {
		*ret_number = *known;
		free(text);
		return 0;
	}
	r = vector_reserve(&sentences->texts, sentences->texts.count + 1);
	if (r >= 0)
		r = map_set(&sentences->numbers, hash, 0, sentences->texts.count);
	if (r < 0) {
		free(text);
		return r;
	}
	*ret_number = sentences->texts.count;
	((char **)sentences->texts.data)[sentences->texts.count++] = text;
	return 0;
}

static void sentences_done(struct sentences *sentences)
{
	for (size_t i = 0; i < sentences->texts.count; i++)
		free(((char **)sentences->texts.data)[i]);
	vector_done(&sentences->texts);
	map_done(&sentences->numbers);
}

/* [start, length, class, 1 + lane, sentence, type of the dependency that led here, depth] */
static int json_segment(struct clew_json *json, const struct page *page,
			struct sentences *sentences, const struct clew_segment *segment)
{
	struct clew_beside beside;
	uint64_t sentence = 0;
	int r = clew_beside_find(page->trace, &segment, 1, &beside);

	if (r >= 0)
		r = add_sentence(
			sentences,
			clew_segment_text(page->trace, page->report->relations, segment, &beside),
			&sentence);
	if (r < 0)
		return r;
	clew_json_array(json, NULL);
	clew_json_unsigned(json, NULL, segment->start - page->report->from);
	clew_json_unsigned(json, NULL, clew_segment_length(segment));
	clew_json_unsigned(json, NULL, page_class_of_kind(segment->kind));
	clew_json_unsigned(json, NULL, lanes_of_task(&page->lanes, segment->task));
	clew_json_unsigned(json, NULL, sentence);
	clew_json_string(json, NULL,
			 segment->via_type < 0
				 ? ""
				 : clew_trace_type_name(page->trace, (unsigned)segment->via_type));
	clew_json_unsigned(json, NULL, segment->chain_length);
	clew_json_array_end(json);
	return 0;
}

/* 1 + the number of the lane that an explanation is about; 0: it has none. */
static uint32_t lane_of(const struct page *page, const struct clew_why *why)
{
	const struct clew_jobs *jobs = clew_trace_jobs(page->trace);

	return why->job ? lanes_of_job(&page->lanes, (uint32_t)(why->job - clew_job_at(jobs, 0)))
			: lanes_of_task(&page->lanes, why->task);
}

static int json_operations(struct clew_json *json, const struct page *page)
{
	struct sentences sentences = {.texts.item = sizeof(char *)};
	int r = 0;

	clew_json_array(json, "operations");
	for (size_t i = 0; i < page->operation_count && r >= 0; i++) {
		const struct clew_operation *what = &page->operations[i].operation;
		const struct clew_why *why = &page->operations[i].why;

		clew_json_object(json, NULL);
		clew_json_unsigned(json, "lane", lane_of(page, why));
		clew_json_unsigned(json, "from", what->from - page->report->from);
		clew_json_unsigned(json, "to", what->to - page->report->from);
		clew_json_array(json, "segments");
		for (size_t k = 0; k < why->segment_count && r >= 0; k++)
			r = json_segment(json, page, &sentences, &why->segments[k]);
		clew_json_array_end(json);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_array(json, "sentences");
	for (size_t i = 0; i < sentences.texts.count; i++)
		clew_json_string(json, NULL, ((char **)sentences.texts.data)[i]);
	clew_json_array_end(json);
	sentences_done(&sentences);
	return r;
}

static void json_gaps(struct clew_json *json, const struct page *page)
{
	const struct clew_capture_info *info = clew_trace_info(page->trace);
	const struct report *report = page->report;

	clew_json_array(json, "gaps");
	for (size_t i = 0; info && i < info->gap_count; i++) {
		const struct clew_gap *gap = &info->gaps[i];
		uint64_t from = gap->from, to = gap->header.time;

		if (to <= report->from || from >= report->to)
			continue;
		clew_json_array(json, NULL);
		clew_json_unsigned(json, NULL, from > report->from ? from - report->from : 0);
		clew_json_unsigned(json, NULL, (to < report->to ? to : report->to) - report->from);
		clew_json_array_end(json);
	}
	clew_json_array_end(json);
}

static int put_meta(struct page *page)
{
	struct document *document = &page->document;
	struct clew_json json = {.out = document_json(document)};
	int r;

	document_put(document, "<script type=\"application/json\" id=\"meta\">");
	clew_json_object(&json, NULL);
	clew_json_unsigned(&json, "version", VERSION);
	clew_json_unsigned(&json, "start", page->report->from);
	clew_json_unsigned(&json, "length", page->report->to - page->report->from);
	clew_json_unsigned(&json, "offset", page->report->from - clew_trace_start(page->trace));
	clew_json_unsigned(&json, "unit", page->lanes.unit);
	clew_json_unsigned(&json, "left_out", page->lanes.left_out);
	clew_json_array(&json, "classes");
	for (unsigned i = 0; i < PAGE_CLASS_COUNT; i++)
		clew_json_string(&json, NULL, page_class_name(i));
	clew_json_array_end(&json);
	clew_json_array(&json, "lanes");
	for (size_t i = 0; i < page->lanes.lanes.count; i++)
		json_lane(&json, page, lanes_at(&page->lanes, i));
	clew_json_array_end(&json);
	clew_json_array(&json, "texts");
	for (size_t i = 0; i < page->texts.texts.count; i++)
		clew_json_string(&json, NULL, texts_at(&page->texts, i));
	clew_json_array_end(&json);
	json_gaps(&json, page);
	r = json_operations(&json, page);
	clew_json_object_end(&json);
	clew_json_end(&json);
	document_put(document, "</script>\n");
	return r;
}

int page_put_data(struct page *page)
{
	int r = put_spans(page);

	if (r >= 0)
		r = put_meta(page);
	return r;
}
