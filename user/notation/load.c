// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Loading a trace: what the file is, by its first bytes, and who reads that.
 */
#include <clew/model_capture.h>
#include <clew/notation.h>
#include <errno.h>
#include <fcntl.h>
#include <model/vector.h>
#include <store/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_AT_ONCE (4u << 20)

/* The whole file into `text`, but of a capture only its beginning. */
static int read_file(int fd, struct vector *text)
{
	for (;;) {
		ssize_t got;

		if (vector_reserve(text, text->count + READ_AT_ONCE) < 0)
			return -ENOMEM;
		got = read(fd, (char *)text->data + text->count, READ_AT_ONCE);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		text->count += (size_t)got;
		if (got == 0)
			return 0;
		if (text->count >= STORE_MAGIC_SIZE && !memcmp(text->data, STORE_MAGIC, STORE_MAGIC_SIZE))
			return 0;
	}
}

static int load_capture(const char *path, const struct clew_load_options *options, struct clew_model **ret_model, char *message,
			size_t message_size)
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
	r = clew_model_from_trace(trace, ret_model);
	clew_trace_free(trace);
	if (r == -E2BIG) {
		snprintf(message, message_size, "has more in it than a causal trace can hold");
		r = -EINVAL;
	}
	return r;
}

static int load(const char *path, const struct vector *text, const struct clew_load_options *options, struct clew_model **ret_model,
		char *message, size_t message_size)
{
	bool is_capture = text->count >= STORE_MAGIC_SIZE && !memcmp(text->data, STORE_MAGIC, STORE_MAGIC_SIZE);

	if (options->ret_capture)
		*options->ret_capture = is_capture;
	if (is_capture)
		return load_capture(path, options, ret_model, message, message_size);
	if (text->count == 0) {
		snprintf(message, message_size, "is empty");
		return -ENODATA;
	}
	/* Text has no such bytes: what has them was never meant as notation. */
	if (memchr(text->data, 0, text->count < 4096 ? text->count : 4096)) {
		snprintf(message, message_size, "is neither a capture nor a trace in notation");
		return -EINVAL;
	}
	return clew_notation_read(text->data, text->count, options, ret_model, message, message_size);
}

int clew_model_load(const char *path, const struct clew_load_options *options, struct clew_model **ret_model, char *message,
		    size_t message_size)
{
	struct clew_load_options own = {.size = sizeof(own)};
	struct vector text = {.item = 1};
	int fd, r;

	if (options)
		memcpy(&own, options, options->size < sizeof(own) ? options->size : sizeof(own));
	if (!own.name)
		own.name = path;
	if (message_size)
		message[0] = '\0';
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = read_file(fd, &text);
	close(fd);
	if (r == 0)
		r = load(path, &text, &own, ret_model, message, message_size);
	vector_done(&text);
	return r;
}
