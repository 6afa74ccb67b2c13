/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes notation. The input is read as it is. Whatever it is: no crash and no endless
 * loop, an error has a message with a line; and what was taken is written, reads back,
 * and is written the same again.
 */
#include <clew/model_make.h>
#include <clew/notation.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *write_text(const struct clew_model *model, size_t *ret_length)
{
	char message[300], *text = NULL;
	FILE *out = open_memstream(&text, ret_length);

	if (!out || clew_notation_write(model, out, message, sizeof(message)) < 0)
		abort();
	fclose(out);
	return text;
}

static void try_round_trip(const struct clew_model *model)
{
	struct clew_model *again;
	size_t length, length_again;
	char *text = write_text(model, &length), *text_again, message[300];
	struct clew_problem *problems;
	size_t problem_count;

	if (clew_notation_read(text, length, NULL, &again, message, sizeof(message)) < 0)
		abort();
	if (again->es_count != model->es_count ||
	    again->dependency_count != model->dependency_count ||
	    again->span_count != model->span_count)
		abort();
	text_again = write_text(again, &length_again);
	if (length != length_again || memcmp(text, text_again, length) != 0)
		abort();
	if (clew_model_check(again, false, &problems, &problem_count) < 0)
		abort();
	free(problems);
	clew_model_free(again);
	free(text);
	free(text_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct clew_model *model;
	char message[300];
	int r = clew_notation_read((const char *)data, size, NULL, &model, message,
				   sizeof(message));

	if (r == -EINVAL) {
		if (strncmp(message, "notation:", strlen("notation:")) != 0)
			abort();
		return 0;
	}
	if (r < 0)
		abort();
	try_round_trip(model);
	clew_model_free(model);
	return 0;
}
