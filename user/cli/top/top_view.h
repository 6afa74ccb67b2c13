/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of clew top's screen: the table, order and filter that the user has chosen, and what
 * keys change of it. It knows nothing of the terminal.
 */
#ifndef CLEW_CLI_TOP_TOP_VIEW_H
#define CLEW_CLI_TOP_TOP_VIEW_H

#include "answers/top/top_table.h"

/* Keys that are no characters. */
enum top_key {
	TOP_KEY_NONE = 0,
	TOP_KEY_UP = 0x110000, /* behind all characters */
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ENTER,
	TOP_KEY_ESCAPE,
	TOP_KEY_BACKSPACE,
	TOP_KEY_RESIZE,
	TOP_KEY_GONE, /* the terminal is */
};

struct top_view {
	enum top_table table;
	enum top_by by;
	unsigned sort[TOP_TABLES]; /* a column */
	char filter[64];
	bool typing; /* keys go into the filter */
	bool frozen; /* later periods are not shown */
	bool help;
	bool quit;
	bool snapshot;	   /* one was asked for */
	char message[200]; /* about it; "" none */
	size_t selected;   /* a row */
	size_t page;	   /* rows that the screen shows */
	struct top_rows rows;
	/* An opened chain: its lines, and the first one that is shown. */
	char *chain;
	char chain_title[120];
	size_t chain_first, chain_lines;
};

/* Makes the rows of a period, which outlives them. 0 or -ENOMEM. */
int top_view_update(struct top_view *view, const struct top_period *period);

/* Takes a key: a character or enum top_key. `period`: what is shown, NULL: nothing yet. `lines`,
 * `width`: of the screen. 0 or -ENOMEM. */
int top_view_key(struct top_view *view, const struct top_period *period, int key, size_t lines,
		 size_t width);

void top_view_done(struct top_view *view);

#endif
