/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The keys of clew latency --live. */
#include "cli/latency/latency_keys.h"

#include <string.h>

#include "cli/front/screen.h"
#include "format/style.h"
#include "format/text.h"

#define ESCAPE	  0x1b
#define DELETE	  0x7f
#define BACKSPACE 0x08

static const char *const sorts[CLEW_LATENCY_SORTS] = {
	[CLEW_LATENCY_SORT_TOTAL] = "total", [CLEW_LATENCY_SORT_COUNT] = "count",
	[CLEW_LATENCY_SORT_P50] = "p50",     [CLEW_LATENCY_SORT_P99] = "p99",
	[CLEW_LATENCY_SORT_MAX] = "max",
};

static void type(struct clew_latency_keys *keys, int key)
{
	size_t length = strlen(keys->filter);

	if (key == '\n' || key == '\r' || key == ESCAPE)
		keys->typing = false;
	if (key == ESCAPE)
		keys->filter[0] = '\0';
	if ((key == DELETE || key == BACKSPACE) && length)
		keys->filter[length - 1] = '\0';
	if (key >= ' ' && key < DELETE && length + 1 < sizeof(keys->filter)) {
		keys->filter[length] = (char)key;
		keys->filter[length + 1] = '\0';
	}
}

bool clew_latency_keys_read(struct clew_latency_keys *keys)
{
	bool changed = false;
	int key;

	while (!keys->quit && (key = clew_screen_key(0))) {
		changed = true;
		if (keys->typing)
			type(keys, key);
		else if (key == 'q' || key == 'Q')
			keys->quit = true;
		else if (key == ' ')
			keys->frozen = !keys->frozen;
		else if (key == 's')
			keys->view.sort = (keys->view.sort + 1) % CLEW_LATENCY_SORTS;
		else if (key == '/')
			keys->typing = true;
	}
	keys->view.filter = keys->filter[0] ? keys->filter : NULL;
	return changed;
}

void clew_latency_keys_print(FILE *out, const struct clew_latency_keys *keys)
{
	fputs(clew_style_begin(CLEW_STYLE_QUIET), out);
	if (keys->typing) {
		fputs("clew latency: groups with the text (Enter, Esc for all): ", out);
		clew_print_safe(out, keys->filter);
		fputc('_', out);
	} else {
		fprintf(out, "clew latency: q quit, space %s, s sort (%s), / filter",
			keys->frozen ? "go on" : "stay", sorts[keys->view.sort]);
		if (keys->filter[0]) {
			fputs(" (", out);
			clew_print_safe(out, keys->filter);
			fputc(')', out);
		}
	}
	fprintf(out, "%s\n", clew_style_end(CLEW_STYLE_QUIET));
}
