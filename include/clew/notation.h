/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Causal traces as text (docs/notation.md), and the function that loads a trace
 * from any kind of file. Its content decides what it is, never its name.
 */
#ifndef CLEW_NOTATION_H
#define CLEW_NOTATION_H

#include <clew/model.h>
#include <stdio.h>

struct clew_load_options {
	size_t size;	   /* of this structure */
	const char *name;  /* of the file in messages; NULL: the path */
	bool *ret_capture; /* whether it was a capture; may be NULL */
	/* Called from time to time with the progress, 0..1; may be NULL. */
	void (*progress)(void *context, double done);
	void *progress_context;
	/* For a capture: 1 + how many activations of functions become spans at most, the longest
	 * ones; 0: 200,000. */
	uint64_t frames;
};

/*
 * Loads the trace of a file: a capture or notation. `options` may be NULL. The
 * caller frees the model with clew_model_free().
 *
 * -EINVAL: it is neither, or invalid. `message` explains the error; it begins
 * with "NAME:LINE:COLUMN: " if a line of notation is wrong. Columns are bytes
 * from 1. -ENODATA: it is empty. Other errors: -errno of opening and reading,
 * -ENOMEM; `message` is "" then.
 */
int clew_model_load(const char *path, const struct clew_load_options *options,
		    struct clew_model **ret_model, char *message, size_t message_size);

/* The same of notation in memory. -EINVAL and -ENOMEM as above. */
int clew_notation_read(const char *text, size_t length, const struct clew_load_options *options,
		       struct clew_model **ret_model, char *message, size_t message_size);

/*
 * Writes a trace as notation that reads back to the same trace: the same spans,
 * ESs, dependencies, categories, marks and attributes under the same numbers.
 * The caller checks the stream for errors. -EINVAL: notation cannot express the
 * trace, as `message` explains: a span whose ESs overlap, run backwards or
 * leave its extent; a name without a character. -ENOMEM.
 */
int clew_notation_write(const struct clew_model *model, FILE *out, char *message,
			size_t message_size);

#endif
