/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Folded stacks: a line for each, its frames from the outermost inwards with semicolons
 * between them, and a number: ns, or how many samples there were.
 */
#include "export/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/utf8.h"

/* A semicolon would end the frame, and a control character may end the line. */
static void write_frame(FILE *out, const char *name)
{
	uint32_t character;

	while (*name) {
		size_t length = clew_utf8_length(name, &character);

		if (!length)
			fputs("\xef\xbf\xbd", out);
		else if (character == ';')
			putc(',', out);
		else if (character < 0x20 || (character >= 0x7f && character < 0xa0) ||
			 character == 0x2028 || character == 0x2029)
			putc(' ', out);
		else
			fwrite(name, 1, length, out);
		name += length ? length : 1;
	}
}

/* `path` has room for all frames. */
static void write_stack(const struct clew_export *export, const struct stacks *stacks, size_t index,
			uint32_t *path)
{
	const struct stack_node *node = stacks_node(stacks, index);
	size_t depth = 0;

	for (size_t i = index; i; i = stacks_node(stacks, i)->parent)
		path[depth++] = stacks_node(stacks, i)->place;
	for (size_t i = depth; i > 0; i--) {
		write_frame(export->out, stacks_place(stacks, path[i - 1])->name);
		putc(i > 1 ? ';' : ' ', export->out);
	}
	fprintf(export->out, "%" PRIu64 "\n",
		export->stacks == CLEW_STACKS_ON_CPU ? node->count : node->ns);
}

int clew_export_folded(const struct clew_export *export)
{
	struct stacks stacks;
	int r = stacks_make(&stacks, export);
	uint32_t *path = r < 0 ? NULL : malloc(stacks.nodes.count * sizeof(*path));

	for (size_t i = 1; path && i < stacks.nodes.count; i++) {
		const struct stack_node *node = stacks_node(&stacks, i);

		if (export->stacks == CLEW_STACKS_ON_CPU ? node->count : node->ns)
			write_stack(export, &stacks, i, path);
	}
	if (r >= 0 && !path)
		r = -ENOMEM;
	free(path);
	stacks_done(&stacks);
	return r;
}
