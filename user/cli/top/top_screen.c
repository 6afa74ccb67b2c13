/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew top's screen, by ncurses. */
#include "cli/top/top_screen.h"

#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "cli/front/fail.h"
#include "cli/front/screen.h"
#include "format/text.h"
#include "format/wrap.h"
#include "words/ledger.h"
#include "words/wall.h"

#define CHAIN_LINES 3  /* of the selected wait's chain, below the table of waits .. */
#define LEAST_LINES 14 /* .. on a screen that has so many lines */
#define HEADLINES   3  /* lines of the headline there at most; else it has one */
#define KEYS_SHORT  "1-6 tables  s sort  / filter  enter chain  space freeze  w save  h help  q quit"

static SCREEN *screen;

/* ---- the terminal ---- */

static const short colors_of[CLEW_STYLE_COUNT] = {
	[CLEW_STYLE_RUNNING] = COLOR_GREEN, [CLEW_STYLE_READY] = COLOR_YELLOW,
	[CLEW_STYLE_LOCK] = COLOR_RED,	    [CLEW_STYLE_DISK] = COLOR_MAGENTA,
	[CLEW_STYLE_NETWORK] = COLOR_CYAN,  [CLEW_STYLE_MEMORY] = COLOR_BLUE,
};

int top_screen_begin(bool colors)
{
	const char *name = getenv("TERM");

	/* Widths of characters only: numbers are written as before. */
	setlocale(LC_CTYPE, "");
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "the terminal '%s' is not known: set TERM, or use --text",
				 name ?: "");
	atexit(top_screen_end);
	clew_screen_register(top_screen_end);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	set_escdelay(50);
	if (!colors || !has_colors())
		return 0;
	start_color();
	use_default_colors();
	for (short style = 0; style < CLEW_STYLE_COUNT; style++)
		init_pair((short)(style + 1), colors_of[style] ?: -1, -1);
	return 0;
}

void top_screen_end(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

size_t top_screen_lines(void)
{
	return (size_t)LINES;
}

size_t top_screen_columns(void)
{
	return (size_t)COLS;
}

static bool is_gone(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&input, 1, 0) == 1 && input.revents & (POLLHUP | POLLERR | POLLNVAL);
}

int top_screen_key(unsigned milliseconds)
{
	int key;

	timeout((int)milliseconds);
	key = getch();
	switch (key) {
	case ERR:
		return is_gone() ? TOP_KEY_GONE : TOP_KEY_NONE;
	case KEY_UP:
		return TOP_KEY_UP;
	case KEY_DOWN:
		return TOP_KEY_DOWN;
	case KEY_PPAGE:
		return TOP_KEY_PAGE_UP;
	case KEY_NPAGE:
		return TOP_KEY_PAGE_DOWN;
	case KEY_HOME:
		return TOP_KEY_HOME;
	case KEY_END:
		return TOP_KEY_END;
	case KEY_ENTER:
	case '\n':
	case '\r':
		return TOP_KEY_ENTER;
	case KEY_BACKSPACE:
	case 0x7f:
	case '\b':
		return TOP_KEY_BACKSPACE;
	case 0x1b:
		return TOP_KEY_ESCAPE;
	case KEY_RESIZE:
		return TOP_KEY_RESIZE;
	default:
		return key < KEY_MIN ? key : TOP_KEY_NONE;
	}
}

/* ---- text ---- */

/* Puts as much of a text as fits in so many columns; blanks fill the rest. A question mark stands
 * for what is no character of the locale. */
static void put_text(int y, int x, size_t width, const char *text)
{
	mbstate_t state = {};
	size_t columns = 0;

	move(y, x);
	while (*text && *text != '\n') {
		wchar_t character;
		size_t length = mbrtowc(&character, text, strlen(text), &state);
		int wide = length && length < (size_t)-2 ? wcwidth(character) : -1;

		if (columns + (size_t)(wide < 0 ? 1 : wide) > width)
			break;
		if (wide < 0) {
			addch('?');
			state = (mbstate_t){};
			length = 1;
		} else {
			addnstr(text, (int)length);
		}
		columns += (size_t)(wide < 0 ? 1 : wide);
		text += length;
	}
	while (columns++ < width)
		addch(' ');
}

static void put_line(int y, const char *text, attr_t attributes)
{
	if (y >= LINES)
		return;
	attron(attributes);
	put_text(y, 0, top_screen_columns(), text);
	attroff(attributes);
}

static attr_t attribute_of(enum clew_style style)
{
	return colors_of[style] && has_colors() ? COLOR_PAIR(style + 1) : A_NORMAL;
}

/* ---- the head ---- */

/* CPU time of the recorder, of its programs in the kernel as far as that is known, and of clew top
 * itself, ns. */
static uint64_t own_cost(const struct top_period *period)
{
	const struct clew_cost *cost = &clew_trace_info(period->trace)->cost;

	return cost->user_ns + (cost->bpf_sampled ? cost->bpf_ns : 0) + period->own_ns;
}

static void draw_head(const struct top_period *period)
{
	const struct clew_capture_info *info = clew_trace_info(period->trace);
	uint64_t length = period->report.to - period->report.from, busy = 0, ready = 0;
	char line[512], wall[64];
	struct clew_ledger_sum ledger;
	size_t cpus = 0;

	for (size_t i = 0; i < period->queue_count; i++) {
		cpus += period->queues[i].seen;
		busy += period->queues[i].busy_ns;
		ready += period->queues[i].ready_ns;
	}
	clew_ledger_add_up(info, &ledger);
	clew_format_wall(period->report.to, &period->report.base, wall, sizeof(wall));
	/* Without the date and the milliseconds. */
	wall[strcspn(wall, ".")] = '\0';
	snprintf(
		line, sizeof(line),
		"clew top  %s  %s  %zu CPUs %u %% busy, %.2f ready, lost %llu, clew %.1f %% of one",
		strrchr(wall, ' ') ? strrchr(wall, ' ') + 1 : wall, CLEW_DURATION(length), cpus,
		clew_percent(busy, length * (cpus ?: 1)),
		length ? (double)ready / (double)length : 0, (unsigned long long)ledger.total.lost,
		length ? 100.0 * (double)own_cost(period) / (double)length : 0);
	put_line(0, line, A_BOLD);
}

/* Puts a text on the lines from y to before `bottom`, broken at blanks. Two dots stand for what has
 * no room. A character of several bytes counts as so many columns. Returns the line behind it. */
static int put_wrapped(int y, int bottom, const char *text, attr_t attributes)
{
	const size_t width = top_screen_columns();

	for (; y < bottom && *text; y++) {
		const bool last = y + 1 == bottom && strlen(text) > width;
		size_t length = strlen(text), room = last && width > 3 ? width - 3 : width,
		       end = length < room ? length : room;
		char line[1024];

		while (end < length && end && text[end] != ' ')
			end--;
		/* A word that is longer than a line is cut. */
		end = end ?: room;
		snprintf(line, sizeof(line), "%.*s%s", (int)end, text, last ? " .." : "");
		put_line(y, line, attributes);
		text += end < length ? end : length;
		text += strspn(text, " ");
	}
	return y;
}

/* Returns the line behind it. */
static int draw_headline(const struct top_period *period)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int y;

	if (!out)
		return 1;
	report_print_headline(out, &period->report);
	fclose(out);
	text[strcspn(text, "\n")] = '\0';
	y = put_wrapped(1, LINES >= LEAST_LINES ? 1 + HEADLINES : 2, text, A_NORMAL);
	free(text);
	return y;
}

static void draw_tabs(const struct top_view *view, int line)
{
	const struct top_column *sorted = &top_columns[view->table][view->sort[view->table]];
	const char *filter = view->typing ? "" : view->filter;
	char rest[sizeof(view->filter) + 80];
	int x, y;

	move(line, 0);
	clrtoeol();
	for (enum top_table table = 0; table < TOP_TABLES; table++) {
		if (table == view->table)
			attron(A_REVERSE);
		printw(" %d %s ", table + 1, top_table_names[table]);
		attroff(A_REVERSE);
	}
	snprintf(rest, sizeof(rest), "%s%s%s%s  by %s%s", view->frozen ? "  FROZEN" : "",
		 *filter ? "  filter '" : "", filter, *filter ? "'" : "", sorted->title,
		 view->table != TOP_BLAME     ? ""
		 : view->by == TOP_BY_PROGRAM ? ", programs"
					      : ", control groups");
	getyx(stdscr, y, x);
	if (y == line && (size_t)x < top_screen_columns())
		put_text(line, x, top_screen_columns() - (size_t)x, rest);
}

/* ---- tables ---- */

/* The width of each column. */
static void find_widths(enum top_table table, size_t widths[TOP_COLUMNS_MOST])
{
	const struct top_column *columns = top_columns[table];
	size_t taken = 0, growing = 0, count = 0;

	for (; columns[count].title; count++) {
		widths[count] = columns[count].width;
		taken += widths[count] + 1;
		growing += columns[count].grows;
	}
	for (size_t i = 0; i < count && taken < top_screen_columns(); i++)
		if (columns[i].grows)
			widths[i] += (top_screen_columns() - taken) / growing;
}

static void put_cell(int y, int *x, const struct top_column *column, size_t width, const char *text)
{
	size_t length = strlen(text), left = top_screen_columns() - (size_t)*x;

	if ((size_t)*x >= top_screen_columns())
		return;
	if (width > left)
		width = left;
	if (column->end && clew_columns(text, length) > width && width > 2) {
		/* Columns of a name in ASCII are its bytes. */
		text += length - (width - 2);
		while ((*text & 0xc0) == 0x80)
			text++;
		put_text(y, *x, 2, "..");
		put_text(y, *x + 2, width - 2, text);
	} else if (column->number && length < width)
		put_text(y, *x + (int)(width - length), length, text);
	else
		put_text(y, *x, width, text);
	*x += (int)width + 1;
}

static void draw_row(int y, enum top_table table, const struct top_row *row, bool selected)
{
	const struct top_column *columns = top_columns[table];
	size_t widths[TOP_COLUMNS_MOST];
	int x = 0;

	if (y >= LINES)
		return;
	find_widths(table, widths);
	move(y, 0);
	clrtoeol();
	if (selected)
		put_line(y, "", A_REVERSE);
	for (size_t i = 0; columns[i].title; i++) {
		attr_t attributes = !row       ? A_BOLD
				    : selected ? A_REVERSE
				    : i < 2    ? attribute_of(row->style)
					       : A_NORMAL;

		attron(attributes);
		put_cell(y, &x, &columns[i], widths[i], row ? row->cells[i] : columns[i].title);
		attroff(attributes);
	}
}

static const char *const nothing[TOP_TABLES] = {
	[TOP_WAITS] = "nobody waits for a lock, a file, a disk, memory, a limit or an answer",
	[TOP_OBJECTS] = "nobody waited for an object",
	[TOP_BLAME] = "nobody kept anybody waiting",
	[TOP_CPUS] = "nothing ran",
	[TOP_REQUESTS] = "no request waits for its answer",
	[TOP_SPANS] = "no logical span is known: --runtime NAME records them",
};

/* Puts the chain of the selected wait below the table, as its column may be too narrow. */
static void draw_selected(const struct top_view *view, int bottom)
{
	bool chosen = view->selected < view->rows.count;

	for (int y = put_wrapped(bottom, LINES - 1,
				 chosen ? view->rows.rows[view->selected].cells[3] : "", A_DIM);
	     y < LINES - 1; y++)
		put_line(y, "", A_DIM);
}

/* `head`: the line of the columns' titles. */
static void draw_table(struct top_view *view, const struct top_period *period, int head)
{
	const bool chain = view->table == TOP_WAITS && LINES >= LEAST_LINES;
	int bottom = LINES - 1 - (chain ? CHAIN_LINES : 0);
	size_t first;

	view->page = bottom > head + 1 ? (size_t)(bottom - head - 1) : 1;
	first = view->selected >= view->page ? view->selected - view->page + 1 : 0;
	draw_row(head, view->table, NULL, false);
	for (int y = head + 1; y < bottom; y++) {
		size_t i = first + (size_t)(y - head - 1);

		if (i < view->rows.count)
			draw_row(y, view->table, &view->rows.rows[i], i == view->selected);
		else
			put_line(y, "", A_NORMAL);
	}
	if (!view->rows.count)
		put_line(head + 1,
			 !period	 ? "the first period is being recorded"
			 : *view->filter ? "nothing has the text of the filter: escape clears it"
					 : nothing[view->table],
			 A_DIM);
	if (chain)
		draw_selected(view, bottom);
}

static void draw_foot(const struct top_view *view)
{
	char line[sizeof(view->filter) + 40];

	if (view->typing) {
		snprintf(line, sizeof(line), "filter: %s_", view->filter);
		put_line(LINES - 1, line, A_BOLD);
	} else {
		put_line(LINES - 1, *view->message ? view->message : KEYS_SHORT,
			 *view->message ? A_BOLD : A_DIM);
	}
}

/* ---- what lies over the tables ---- */

static void draw_chain(const struct top_view *view)
{
	const char *line = view->chain;
	size_t skipped = 0;

	put_line(0, view->chain_title, A_BOLD);
	put_line(1, "", A_NORMAL);
	while (skipped < view->chain_first && line && (line = strchr(line, '\n'))) {
		line++;
		skipped++;
	}
	for (int y = 2; y < LINES - 1; y++) {
		put_line(y, line ?: "", A_NORMAL);
		line = line ? strchr(line, '\n') : NULL;
		line += line != NULL;
	}
	put_line(LINES - 1, "arrows scroll  escape back", A_DIM);
}

static const char *const help[] = {
	"clew top",
	"",
	"1      waits under way: how long, who, and why, to the chain's end",
	"2      objects that threads waited for in the period: seconds in each second",
	"3      who blocks whom: had the lock, the CPU or the disk, or has the limit",
	"4      CPUs: how busy, and how many threads were ready for each on average",
	"tab    the next table",
	"s      sort by the next column",
	"/      show only rows with a text; escape shows all",
	"enter  open the chain of a wait, or of an object's longest wait",
	"space  stay at this period, or go on",
	"c      who blocks whom: programs, or control groups",
	"w      save what was recorded of late as a capture, for clew why",
	"h      this text",
	"q      quit",
	"",
	"A plus behind an age: the wait is older than what clew top has seen.",
};

static void draw_help(void)
{
	erase();
	for (size_t i = 0; i < sizeof(help) / sizeof(help[0]); i++)
		put_line((int)i, help[i], i ? A_NORMAL : A_BOLD);
	put_line(LINES - 1, "any key: back", A_DIM);
}

void top_screen_draw(struct top_view *view, const struct top_period *period)
{
	int tabs = 2;

	if (view->help) {
		draw_help();
	} else if (view->chain) {
		draw_chain(view);
	} else {
		erase();
		if (period) {
			draw_head(period);
			tabs = draw_headline(period);
		} else {
			put_line(0, "clew top", A_BOLD);
		}
		draw_tabs(view, tabs);
		draw_table(view, period, tabs + 1);
		draw_foot(view);
	}
	refresh();
}
