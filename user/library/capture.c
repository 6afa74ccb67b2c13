/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A capture for programs with libclew: the trace, and what is related in it. */
#include <clew/notation.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"
#include "library/internal.h"
#include "relate/job.h"
#include "store/capture.h"
#include "words/task.h"

static int load_notation(const char *path, const struct clew_capture_options *options,
			 struct clew_trace **ret_trace, char *message, size_t message_size)
{
	const struct clew_load_options load = {.size = sizeof(load),
					       .progress = options->progress,
					       .progress_context = options->progress_context};
	const struct clew_trace_options part = {
		.size = sizeof(part), .from = options->from, .to = options->to};
	struct clew_model *model;
	int r = clew_model_load(path, &load, &model, message, message_size);

	if (r < 0)
		return r;
	r = clew_trace_from_model(model, &part, ret_trace, message, message_size);
	clew_model_free(model);
	return r;
}

static int load(const char *path, const struct clew_capture_options *options,
		struct clew_trace **ret_trace, char *message, size_t message_size)
{
	const struct clew_trace_options part = {.size = sizeof(part),
						.progress = options->progress,
						.progress_context = options->progress_context,
						.from = options->from,
						.to = options->to};
	int r = clew_capture_probe(path);

	if (r < 0)
		return r;
	return r ? clew_trace_load(path, &part, ret_trace, message, message_size)
		 : load_notation(path, options, ret_trace, message, message_size);
}

int clew_capture_open(const char *path, const struct clew_capture_options *options,
		      struct clew_capture **ret_capture, char *message, size_t message_size)
{
	struct clew_capture_options own = {.size = sizeof(own)};
	struct clew_capture *capture;
	int r;

	if (message_size)
		message[0] = '\0';
	if (options && options->size > sizeof(own))
		return -EINVAL;
	if (options)
		memcpy(&own, options, options->size);
	capture = calloc(1, sizeof(*capture));
	if (!capture)
		return -ENOMEM;
	r = load(path, &own, &capture->trace, message, message_size);
	if (r < 0) {
		free(capture);
		return r;
	}
	r = clew_jobs_join(capture->trace);
	if (r >= 0)
		r = clew_relations_new(capture->trace, NULL, &capture->relations);
	if (r < 0) {
		clew_capture_close(capture);
		return r;
	}
	*ret_capture = capture;
	return 0;
}

void clew_capture_close(struct clew_capture *capture)
{
	if (!capture)
		return;
	clew_relations_free(capture->relations);
	clew_trace_free(capture->trace);
	free(capture);
}

uint64_t clew_capture_start(const struct clew_capture *capture)
{
	return clew_trace_start(capture->trace);
}

uint64_t clew_capture_end(const struct clew_capture *capture)
{
	return clew_trace_end(capture->trace);
}

size_t clew_capture_gaps(const struct clew_capture *capture, uint64_t from, uint64_t to)
{
	return clew_trace_gaps(capture->trace, from, to, NULL);
}

size_t clew_capture_task_count(const struct clew_capture *capture)
{
	return clew_trace_task_count(capture->trace);
}

static struct clew_capture_task task_of(const struct clew_trace_task *task)
{
	return (struct clew_capture_task){
		.task = task->serial,
		.process = task->process,
		.tid = task->tid,
		.pid = task->pid,
		.birth = task->birth,
		.death = task->death,
		.comm = task->comm,
		.command_line = task->command_line,
		.executable = task->executable,
	};
}

int clew_capture_task_at(const struct clew_capture *capture, size_t index,
			 struct clew_capture_task *ret_task)
{
	if (index >= clew_trace_task_count(capture->trace))
		return -ENOENT;
	*ret_task = task_of(clew_trace_task_at(capture->trace, index));
	return 0;
}

int clew_capture_task(const struct clew_capture *capture, uint32_t task,
		      struct clew_capture_task *ret_task)
{
	const struct clew_trace_task *found =
		task == CLEW_NO_TASK ? NULL : clew_trace_task(capture->trace, task);

	if (!found)
		return -ENOENT;
	*ret_task = task_of(found);
	return 0;
}

char *clew_capture_task_words(const struct clew_capture *capture, uint32_t task, uint64_t at)
{
	char *words = NULL;
	size_t size;
	FILE *out = open_memstream(&words, &size);

	if (!out)
		return NULL;
	clew_print_task(out, capture->trace, task, at);
	if (fclose(out) == 0)
		return words;
	free(words);
	return NULL;
}
