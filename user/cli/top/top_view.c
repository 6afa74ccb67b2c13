/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of clew top's screen. */
#include "cli/top/top_view.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_HEAD 3 /* lines of the screen that an open chain does not have */

/* Lines of an open chain that the screen shows. */
static size_t chain_page(size_t lines)
{
	return lines > CHAIN_HEAD ? lines - CHAIN_HEAD : 1;
}

/* Selects the row of that name again; the first one stays the first one. */
static void select_again(struct top_view *view, uint64_t name)
{
	for (size_t i = 0; view->selected && i < view->rows.count; i++)
		if (view->rows.rows[i].name == name) {
			view->selected = i;
			return;
		}
	if (view->selected >= view->rows.count)
		view->selected = view->rows.count ? view->rows.count - 1 : 0;
}

int top_view_update(struct top_view *view, const struct top_period *period)
{
	uint64_t name =
		view->selected < view->rows.count ? view->rows.rows[view->selected].name : 0;
	const struct top_choice choice = {.table = view->table,
					  .by = view->by,
					  .sort = view->sort[view->table],
					  .filter = view->filter};
	int r;

	top_rows_done(&view->rows);
	r = period ? top_rows_make(period, &choice, &view->rows) : 0;
	if (r == 0)
		select_again(view, name);
	return r;
}

/* ---- moving ---- */

static size_t moved(size_t at, size_t count, size_t page, int key)
{
	const size_t last = count ? count - 1 : 0;

	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		return at ? at - 1 : 0;
	case TOP_KEY_DOWN:
	case 'j':
		return at < last ? at + 1 : last;
	case TOP_KEY_PAGE_UP:
		return at > page ? at - page : 0;
	case TOP_KEY_PAGE_DOWN:
		return at + page < last ? at + page : last;
	case TOP_KEY_HOME:
	case 'g':
		return 0;
	case TOP_KEY_END:
	case 'G':
		return last;
	default:
		return at;
	}
}

/* ---- the filter ---- */

static void type(struct top_view *view, int key)
{
	size_t length = strlen(view->filter);

	if (key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE) {
		view->typing = false;
		if (key == TOP_KEY_ESCAPE)
			view->filter[0] = '\0';
	} else if (key == TOP_KEY_BACKSPACE) {
		if (length)
			view->filter[length - 1] = '\0';
	} else if (key > 0 && key < 0x80 && isprint(key) && length + 1 < sizeof(view->filter)) {
		view->filter[length] = (char)key;
		view->filter[length + 1] = '\0';
	}
}

/* ---- a chain ---- */

static void close_chain(struct top_view *view)
{
	free(view->chain);
	view->chain = NULL;
}

static int open_chain(struct top_view *view, const struct top_period *period, size_t lines,
		      size_t width)
{
	const struct top_row *row;

	if (!period || view->selected >= view->rows.count)
		return 0;
	row = &view->rows.rows[view->selected];
	if (!row->wait) {
		snprintf(view->message, sizeof(view->message),
			 "a chain belongs to a wait: open it in table 1, 2 or 5");
		return 0;
	}
	view->chain = top_chain_text(period, row->wait, chain_page(lines), width);
	if (!view->chain)
		return -ENOMEM;
	snprintf(view->chain_title, sizeof(view->chain_title), "%s",
		 view->table == TOP_OBJECTS ? row->cells[4] : row->cells[2]);
	view->chain_first = view->chain_lines = 0;
	for (const char *at = view->chain; *at; at++)
		view->chain_lines += *at == '\n';
	return 0;
}

static void key_in_chain(struct top_view *view, int key, size_t lines)
{
	size_t page = chain_page(lines), first;

	if (key == TOP_KEY_ESCAPE || key == TOP_KEY_ENTER || key == TOP_KEY_BACKSPACE ||
	    key == 'q' || key == 'Q') {
		close_chain(view);
		return;
	}
	first = moved(view->chain_first, view->chain_lines, page, key);
	/* The last line is at the bottom. */
	if (first + page > view->chain_lines)
		first = view->chain_lines > page ? view->chain_lines - page : 0;
	view->chain_first = first;
}

/* ---- all keys ---- */

static void go_to_table(struct top_view *view, enum top_table table)
{
	view->table = table;
	view->selected = 0;
}

static void sort_by_next(struct top_view *view)
{
	unsigned *sort = &view->sort[view->table];

	if (!top_columns[view->table][++*sort].title)
		*sort = 0;
}

static int key_in_table(struct top_view *view, const struct top_period *period, int key,
			size_t lines, size_t width)
{
	switch (key) {
	case 'q':
	case 'Q':
		view->quit = true;
		break;
	case ' ':
		view->frozen = !view->frozen;
		break;
	case '1' ... '0' + TOP_TABLES:
		go_to_table(view, (enum top_table)(key - '1'));
		break;
	case '\t':
		go_to_table(view, (enum top_table)((view->table + 1) % TOP_TABLES));
		break;
	case 's':
		sort_by_next(view);
		break;
	case '/':
		view->typing = true;
		break;
	case TOP_KEY_ESCAPE:
		view->filter[0] = '\0';
		break;
	case 'c':
		view->by = view->by == TOP_BY_PROGRAM ? TOP_BY_CGROUP : TOP_BY_PROGRAM;
		break;
	case 'w':
		view->snapshot = true;
		break;
	case 'h':
	case '?':
		view->help = true;
		break;
	case TOP_KEY_ENTER:
		return open_chain(view, period, lines, width);
	default:
		view->selected = moved(view->selected, view->rows.count, view->page, key);
		return 0;
	}
	return top_view_update(view, period);
}

int top_view_key(struct top_view *view, const struct top_period *period, int key, size_t lines,
		 size_t width)
{
	if (key == TOP_KEY_NONE || key == TOP_KEY_RESIZE)
		return 0;
	if (key == TOP_KEY_GONE) {
		view->quit = true;
		return 0;
	}
	view->message[0] = '\0';
	if (view->help) {
		view->help = false;
		view->quit = key == 'q' || key == 'Q';
		return 0;
	}
	if (view->typing) {
		type(view, key);
		return top_view_update(view, period);
	}
	if (view->chain) {
		key_in_chain(view, key, lines);
		return 0;
	}
	return key_in_table(view, period, key, lines, width);
}

void top_view_done(struct top_view *view)
{
	close_chain(view);
	top_rows_done(&view->rows);
}
