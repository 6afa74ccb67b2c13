/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts the sites of each file by probe and reason. */
#include "record/functions/left_alone.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/code/probes.h"

#define ROWS_MOST 4096

struct row {
	char *line; /* without the count */
	size_t count;
};

void left_alone_init(struct left_alone *left)
{
	*left = (struct left_alone){.rows = {.item = sizeof(struct row)}};
}

void left_alone_next_file(struct left_alone *left)
{
	left->file = left->rows.count;
}

int left_alone_add(struct left_alone *left, const char *reason, const struct clew_probe *probe,
		   const char *path)
{
	struct row *rows;
	char *line;
	int length = asprintf(&line, "%s\t%s:%s\t%s", reason, probe->provider, probe->name, path);

	if (length < 0)
		return -ENOMEM;
	/* A path may have any byte in it. */
	for (char *at = line + length - strlen(path); *at; at++)
		if ((unsigned char)*at < ' ')
			*at = '?';
	rows = left->rows.data;
	for (size_t i = left->file; i < left->rows.count; i++) {
		if (!strcmp(rows[i].line, line)) {
			rows[i].count++;
			free(line);
			return 0;
		}
	}
	/* The list is of what was found first. */
	if (left->rows.count == ROWS_MOST) {
		free(line);
		return 0;
	}
	if (vector_reserve(&left->rows, left->rows.count + 1) < 0) {
		free(line);
		return -ENOMEM;
	}
	((struct row *)left->rows.data)[left->rows.count++] =
		(struct row){.line = line, .count = 1};
	return 0;
}

char *left_alone_text(const struct left_alone *left)
{
	const struct row *rows = left->rows.data;
	char *text = NULL;
	size_t size = 0;
	FILE *out = left->rows.count ? open_memstream(&text, &size) : NULL;

	if (!out)
		return NULL;
	for (size_t i = 0; i < left->rows.count; i++)
		fprintf(out, "%zu\t%s\n", rows[i].count, rows[i].line);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

void left_alone_done(struct left_alone *left)
{
	struct row *rows = left->rows.data;

	for (size_t i = 0; i < left->rows.count; i++)
		free(rows[i].line);
	vector_done(&left->rows);
}
