/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Descriptions of layers from files. */
#include "cli/operand/layers.h"

#include "cli/front/fail.h"
#include "cli/operand/runtimes.h"
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

/* The text of all descriptions so far. */
struct texts {
	char *text;
	size_t size;
};

/* Adds a description that comes with clew. */
static int add_text(struct texts *texts, const char *text)
{
	size_t length = strlen(text);
	char *larger = realloc(texts->text, texts->size + length + 2);

	if (!larger)
		return clew_fail_memory();
	texts->text = larger;
	memcpy(larger + texts->size, text, length + 1);
	texts->size += length;
	return 0;
}

/* Each file is read alone first, so that messages have its own line numbers. */
static int add_checked(struct texts *texts, const char *name)
{
	struct clew_layers *alone;
	size_t before = texts->size;
	int status = add_file(name, &texts->text, &texts->size);

	if (!status)
		status = read_layers(texts->text + before, texts->size - before, name, &alone);
	if (!status)
		clew_layers_free(alone);
	return status;
}

static int add_layer(struct texts *texts, const char *name, bool *ret_auto)
{
	(void)ret_auto;
	return add_checked(texts, name);
}

static bool is_file(const char *name)
{
	static const char ending[] = ".runtime";
	size_t length = strlen(name);

	return strchr(name, '/') ||
	       (length >= sizeof(ending) && !strcmp(name + length - sizeof(ending) + 1, ending));
}

static int add_runtime(struct texts *texts, const char *name, bool *ret_auto)
{
	const char *text = clew_runtime_text(name, strlen(name));
	int status = 0;

	if (is_file(name))
		return add_checked(texts, name);
	if (text)
		return add_text(texts, text);
	if (strcmp(name, "auto"))
		return clew_fail_runtime(name, strlen(name));
	*ret_auto = true;
	for (size_t i = 0; !status && (text = clew_runtime_text_at(i, &name)); i++)
		status = add_text(texts, text);
	return status;
}

/* Takes what the words of a list, with commas between, stand for. */
static int add_list(struct texts *texts, const char *list,
		    int (*add)(struct texts *texts, const char *name, bool *ret_auto),
		    bool *ret_auto)
{
	char *copy = strdup(list), *save = NULL;
	size_t before = texts->size;
	int status = copy ? 0 : clew_fail_memory();

	for (char *name = copy ? strtok_r(copy, ",", &save) : NULL; name && !status;
	     name = strtok_r(NULL, ",", &save))
		status = add(texts, name, ret_auto);
	free(copy);
	if (!status && texts->size == before)
		status = clew_fail(CLEW_EXIT_INPUT,
				   "'%s' names no file: give that of a description", list);
	return status;
}

int clew_load_layers(const char *files, const char *runtimes, struct clew_layers **ret_layers,
		     char **ret_text, bool *ret_auto)
{
	struct texts texts = {};
	int status = files ? add_list(&texts, files, add_layer, ret_auto) : 0;
	char *text;
	size_t size;

	*ret_auto = false;
	if (!status && runtimes)
		status = add_list(&texts, runtimes, add_runtime, ret_auto);
	text = texts.text;
	size = texts.size;
	if (!status)
		status = read_layers(text, size, files ?: runtimes, ret_layers);
	if (status)
		free(text);
	else
		*ret_text = text;
	return status;
}
