/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Causal traces as text (docs/notation.md), and the one way to load a trace from a
 * file, whatever it is: it is told by its content, never by its name.
 */
#ifndef CLEW_NOTATION_H
#define CLEW_NOTATION_H

#include <clew/model.h>
#include <stdio.h>

struct clew_load_options {
	size_t size;	   /* of this structure */
	const char *name;  /* of the file in messages; NULL: the path */
	bool *ret_capture; /* whether it was a capture; may be NULL */
	/* Called now and then with 0..1; may be NULL. */
	void (*progress)(void *context, double done);
	void *progress_context;
};

/*
 * Loads the trace of a file: a capture or notation. `options` may be NULL. The model is
 * the caller's to free with clew_model_free().
 *
 * -EINVAL: it is neither, or cannot be taken: `message` says what is wrong, and begins
 * "NAME:LINE:COLUMN: " where a line of notation is to blame, columns being bytes from 1.
 * -ENODATA: it is empty. Other errors: -errno of opening and reading, -ENOMEM; `message`
 * is "" then.
 */
int clew_model_load(const char *path, const struct clew_load_options *options,
		    struct clew_model **ret_model, char *message, size_t message_size);

/* The same of notation in memory. -EINVAL and -ENOMEM as above. */
int clew_notation_read(const char *text, size_t length, const struct clew_load_options *options,
		       struct clew_model **ret_model, char *message, size_t message_size);

/*
 * Writes a trace as notation that reads back to the same trace: the same spans, ESs,
 * dependencies, categories, marks and attributes under the same numbers. Errors of the
 * stream are left on the stream.
 * -EINVAL: notation cannot say it, which `message` explains: a span whose ESs overlap,
 * run backwards or leave its extent; a name without a character. -ENOMEM.
 */
int clew_notation_write(const struct clew_model *model, FILE *out, char *message,
			size_t message_size);

#endif
