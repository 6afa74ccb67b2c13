/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loads a trace: the first bytes of the file decide which reader it needs.
 */
#include "convert/convert.h"
#include "notation/read.h"
#include "relate/job.h"
#include "store/capture.h"
#include "store/format.h"
#include <clew/notation.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_AT_ONCE (1u << 20)

/* Notation is read in pieces of whole lines; `rest` begins with the remainder
 * of the piece before. */
struct source {
	int fd;
	struct vector rest; /* char */
	uint64_t size, done;
	bool is_over;
};

/* Reads more of the file after what is there. */
static int read_more(struct source *source)
{
	ssize_t got;

	if (vector_reserve(&source->rest, source->rest.count + READ_AT_ONCE) < 0)
		return -ENOMEM;
	do
		got = read(source->fd, (char *)source->rest.data + source->rest.count,
			   READ_AT_ONCE);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	source->rest.count += (size_t)got;
	source->done += (size_t)got;
	source->is_over = got == 0;
	return 0;
}

/* Reads enough to recognise the kind of file. */
static int read_beginning(struct source *source)
{
	int r = 0;

	while (r == 0 && !source->is_over && source->rest.count < 4096)
		r = read_more(source);
	return r;
}

/* Bytes up to the last line feed that surely ends a line: no backslash is
 * before it. */
static size_t whole_lines(const struct source *source)
{
	const char *text = source->rest.data, *feed = text + source->rest.count;

	if (source->is_over)
		return source->rest.count;
	while ((feed = memrchr(text, '\n', (size_t)(feed - text))))
		if (feed == text || feed[-1] != '\\')
			return (size_t)(feed - text) + 1;
	return 0;
}

static int read_notation(struct source *source, const struct clew_load_options *options,
			 struct reader *reader)
{
	for (;;) {
		size_t length = whole_lines(source);
		int r = reader_take(reader, source->rest.data, length);

		if (r < 0)
			return r;
		source->rest.count -= length;
		memmove(source->rest.data, (char *)source->rest.data + length, source->rest.count);
		if (source->is_over)
			return 0;
		if (options->progress && source->size)
			options->progress(options->progress_context,
					  (double)source->done / (double)source->size);
		r = read_more(source);
		if (r < 0)
			return r;
	}
}

static int load_notation(struct source *source, const struct clew_load_options *options,
			 struct clew_model **ret_model, char *message, size_t message_size)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return -ENOMEM;
	r = reader_begin(reader, options->name, message, message_size);
	if (r == 0)
		r = read_notation(source, options, reader);
	if (r == 0)
		r = reader_finish(reader, ret_model);
	reader_done(reader);
	free(reader);
	return r;
}

static int load_capture(const char *path, const struct clew_load_options *options,
			struct clew_model **ret_model, char *message, size_t message_size)
{
	const struct clew_trace_options trace_options = {
		.size = sizeof(trace_options),
		.progress = options->progress,
		.progress_context = options->progress_context,
	};
	struct clew_trace *trace;
	int r = clew_trace_load(path, &trace_options, &trace, message, message_size);

	if (r < 0)
		return r;
	r = clew_jobs_join(trace);
	if (r == 0)
		r = clew_model_with_frames(
			trace, options->frames ? options->frames - 1 : CLEW_FRAMES_MOST, ret_model);
	clew_trace_free(trace);
	if (r == -E2BIG) {
		snprintf(message, message_size, "has more in it than a causal trace can hold");
		r = -EINVAL;
	}
	return r;
}

static int load(const char *path, struct source *source, const struct clew_load_options *options,
		struct clew_model **ret_model, char *message, size_t message_size)
{
	const struct vector *text = &source->rest;
	/* Notation has no such bytes. */
	bool binary = text->count && memchr(text->data, 0, text->count);
	bool is_capture = (text->count >= STORE_MAGIC_SIZE &&
			   !memcmp(text->data, STORE_MAGIC, STORE_MAGIC_SIZE)) ||
			  (binary && clew_capture_probe(path) > 0);

	if (options->ret_capture)
		*options->ret_capture = is_capture;
	if (is_capture)
		return load_capture(path, options, ret_model, message, message_size);
	if (text->count == 0) {
		snprintf(message, message_size, "is empty");
		return -ENODATA;
	}
	if (binary) {
		snprintf(message, message_size, "is neither a capture nor a trace in notation");
		return -EINVAL;
	}
	return load_notation(source, options, ret_model, message, message_size);
}

int clew_model_load(const char *path, const struct clew_load_options *options,
		    struct clew_model **ret_model, char *message, size_t message_size)
{
	struct clew_load_options own = {.size = sizeof(own)};
	struct source source = {.rest = {.item = 1}};
	struct stat status;
	int r;

	if (options)
		memcpy(&own, options, options->size < sizeof(own) ? options->size : sizeof(own));
	if (!own.name)
		own.name = path;
	if (message_size)
		message[0] = '\0';
	source.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (source.fd < 0)
		return -errno;
	source.size = fstat(source.fd, &status) == 0 && S_ISREG(status.st_mode)
			      ? (uint64_t)status.st_size
			      : 0;
	r = read_beginning(&source);
	if (r == 0)
		r = load(path, &source, &own, ret_model, message, message_size);
	close(source.fd);
	vector_done(&source.rest);
	return r;
}

int clew_notation_read(const char *text, size_t length, const struct clew_load_options *options,
		       struct clew_model **ret_model, char *message, size_t message_size)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (message_size)
		message[0] = '\0';
	if (!reader)
		return -ENOMEM;
	r = reader_begin(reader, options && options->name ? options->name : "notation", message,
			 message_size);
	if (r == 0)
		r = reader_take(reader, text, length);
	if (r == 0)
		r = reader_finish(reader, ret_model);
	reader_done(reader);
	free(reader);
	return r;
}
