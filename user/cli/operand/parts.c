/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program in parts. */
#include "cli/operand/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/query.h"

static int fail_for_memory(void)
{
	return clew_fail_memory();
}

/* Takes ownership of the text. */
static int keep(struct clew_parts *parts, const char *what, char *text, size_t size)
{
	struct clew_part *items = reallocarray(parts->items, parts->count + 1, sizeof(*items));
	char *name = strdup(what);

	if (items)
		parts->items = items;
	if (!items || !name || !text) {
		free(name);
		free(text);
		return fail_for_memory();
	}
	items[parts->count++] = (struct clew_part){.what = name, .text = text, .size = size};
	return 0;
}

int clew_add_part(struct clew_parts *parts, const char *what, const char *text)
{
	return keep(parts, what, strdup(text), strlen(text));
}

int clew_take_part(const struct clew_option *option, const char *argument, void *value)
{
	char what[64];

	snprintf(what, sizeof(what), "--%s", option->name);
	return clew_add_part(value, what, argument);
}

static int read_all(FILE *file, char **ret_text, size_t *ret_size)
{
	size_t room = 0, size = 0, got;
	char *text = NULL;

	do {
		char *more;

		room = 2 * room + 4096;
		more = realloc(text, room + 1);
		if (!more) {
			free(text);
			return -ENOMEM;
		}
		text = more;
		got = fread(text + size, 1, room - size, file);
		size += got;
	} while (size == room);
	text[size] = '\0';
	*ret_text = text;
	*ret_size = size;
	return ferror(file) ? -(errno ?: EIO) : 0;
}

int clew_take_part_file(const struct clew_option *option, const char *argument, void *value)
{
	FILE *file = fopen(argument, "re");
	char *text = NULL;
	size_t size = 0;
	int r;

	if (!file)
		return clew_fail(errno == ENOENT || errno == ENOTDIR ? CLEW_EXIT_INPUT
								     : CLEW_EXIT_SYSTEM,
				 "--%s: %s: %s: name a file of statements", option->name, argument,
				 strerror(errno));
	errno = 0;
	r = read_all(file, &text, &size);
	fclose(file);
	if (r < 0) {
		free(text);
		return clew_fail(r == -EISDIR ? CLEW_EXIT_INPUT : CLEW_EXIT_SYSTEM,
				 "--%s: %s: %s: name a file of statements", option->name, argument,
				 strerror(-r));
	}
	if (memchr(text, '\0', size)) {
		free(text);
		return clew_fail(CLEW_EXIT_INPUT, "--%s: %s: is no text: name a file of statements",
				 option->name, argument);
	}
	return keep(value, argument, text, size);
}

int clew_join_parts(struct clew_parts *parts)
{
	size_t size = 0;
	char *end;

	for (size_t i = 0; i < parts->count; i++)
		size += parts->items[i].size + 1;
	parts->text = end = malloc(size + 1);
	if (!end)
		return fail_for_memory();
	parts->size = size;
	for (size_t i = 0; i < parts->count; i++) {
		end = mempcpy(end, parts->items[i].text, parts->items[i].size);
		*end++ = '\n';
	}
	*end = '\0';
	return 0;
}

int clew_fail_in_parts(const struct clew_parts *parts, size_t offset, const char *message)
{
	const struct clew_part *part = parts->items;
	const char *begin, *end;
	char *line;

	if (!parts->count)
		return clew_fail(CLEW_EXIT_INPUT, "%s", message);
	while (part + 1 < parts->items + parts->count && offset > part->size) {
		offset -= part->size + 1;
		part++;
	}
	if (offset > part->size)
		offset = part->size;
	clew_fail(CLEW_EXIT_INPUT, "%s, at byte %zu: %s", part->what, offset, message);
	begin = offset ? memrchr(part->text, '\n', offset) : NULL;
	begin = begin ? begin + 1 : part->text;
	end = strchrnul(part->text + offset, '\n');
	line = strndup(begin, (size_t)(end - begin));
	if (line)
		clew_point_at(line, (size_t)(part->text + offset - begin));
	free(line);
	return CLEW_EXIT_INPUT;
}

void clew_parts_done(struct clew_parts *parts)
{
	for (size_t i = 0; i < parts->count; i++) {
		free(parts->items[i].what);
		free(parts->items[i].text);
	}
	free(parts->items);
	free(parts->text);
}
