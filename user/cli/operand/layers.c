/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Descriptions of layers from files. */
#include "cli/operand/layers.h"

#include "cli/front/fail.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MOST (1 << 20)

/* Appends a file's text and a line feed to the text so far. */
static int add_file(const char *name, char **text, size_t *size)
{
	FILE *file = fopen(name, "re");
	size_t got = 0;
	char *larger;

	if (!file)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s cannot be read: %s: give the file of a layer's description",
				 name, strerror(errno));
	larger = realloc(*text, *size + TEXT_MOST + 2);
	if (larger) {
		*text = larger;
		got = fread(larger + *size, 1, TEXT_MOST, file);
	}
	errno = 0;
	if (larger && (ferror(file) || fgetc(file) != EOF)) {
		fclose(file);
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s cannot be read: it is no text of less than a megabyte: give "
				 "the file of a layer's description",
				 name);
	}
	fclose(file);
	if (!larger)
		return clew_fail_memory();
	if (memchr(larger + *size, 0, got))
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s is no text: give the file of a layer's description", name);
	*size += got;
	(*text)[(*size)++] = '\n';
	(*text)[*size] = '\0';
	return 0;
}

static int read_layers(const char *text, size_t size, const char *name,
		       struct clew_layers **ret_layers)
{
	char message[300];
	int r = clew_layers_read(text, size, name, ret_layers, message, sizeof(message));

	if (r >= 0)
		return 0;
	if (r == -EINVAL)
		return clew_fail(CLEW_EXIT_INPUT, "%s", message);
	return clew_fail(CLEW_EXIT_SYSTEM, "%s: %s: free some memory and try again", name,
			 strerror(-r));
}

int clew_load_layers(const char *files, struct clew_layers **ret_layers, char **ret_text)
{
	char *text = NULL, *copy = strdup(files), *save = NULL;
	size_t size = 0;
	int status = copy ? 0 : clew_fail_memory();

	for (char *name = copy ? strtok_r(copy, ",", &save) : NULL; name && !status;
	     name = strtok_r(NULL, ",", &save)) {
		struct clew_layers *alone;
		size_t before = size;

		status = add_file(name, &text, &size);
		/*
		 * Each file is read alone first, so that messages have its own
		 * line numbers.
		 */
		if (!status)
			status = read_layers(text + before, size - before, name, &alone);
		if (!status)
			clew_layers_free(alone);
	}
	if (!status && !text)
		status = clew_fail(CLEW_EXIT_INPUT,
				   "'%s' names no file: give that of a layer's description", files);
	if (!status)
		status = read_layers(text, size, files, ret_layers);
	free(copy);
	if (status)
		free(text);
	else
		*ret_text = text;
	return status;
}
