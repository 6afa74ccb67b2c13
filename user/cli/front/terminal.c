/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Standard output as a person reads it.
 *
 * stdout becomes a stream of this module, which breaks lines. On a terminal the
 * lines are kept until a screen is full: only then is a pager started. SIGPIPE is
 * ignored (main.c); what a pager that was left does not read is dropped.
 */
#include "cli/front/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/front/fail.h"
#include "cli/front/words.h"
#include "format/style.h"
#include "format/wrap.h"

#define PLAIN_WIDTH 80
#define PLAIN_LINES 40
#define LEAST_LINES 24
#define LEAST_WIDTH 40

enum when { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER };

/* Bytes on their way, in a buffer that grows. */
struct bytes {
	char *data;
	size_t size, room;
};

static struct {
	enum when color;
	bool no_pager;
	FILE *stream;	   /* what stdout is; NULL: this module has no part in it */
	FILE *original;	   /* what stdout was */
	struct bytes line; /* the one that has no end yet */
	struct bytes held; /* whole lines, while it is not known if they fill the screen */
	size_t held_lines, most_lines, width;
	bool holds;
	pid_t pager; /* 0: none */
	int out;     /* where lines go */
	int error;   /* the first one in writing them, or 0 */
} terminal;

int clew_take_color(const struct clew_option *option, const char *argument, void *value)
{
	static const char *const words[] = {"auto", "always", "never"};

	int found = clew_take_word(option, argument, words, sizeof(words) / sizeof(words[0]));

	(void)value;
	if (found < 0)
		return CLEW_EXIT_INPUT;
	terminal.color = (enum when)found;
	return 0;
}

int clew_take_no_pager(const struct clew_option *option, const char *argument, void *value)
{
	(void)option;
	(void)argument;
	(void)value;
	terminal.no_pager = true;
	return 0;
}

static bool is_terminal(void)
{
	return isatty(terminal.original ? fileno(terminal.original) : STDOUT_FILENO);
}

size_t clew_terminal_width(void)
{
	struct winsize size;

	if (!is_terminal())
		return PLAIN_WIDTH;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col)
		return PLAIN_WIDTH;
	return size.ws_col < LEAST_WIDTH ? LEAST_WIDTH : size.ws_col;
}

bool clew_terminal_narrower(size_t columns)
{
	return is_terminal() && clew_terminal_width() < columns;
}

size_t clew_terminal_lines(void)
{
	struct winsize size;

	if (!is_terminal())
		return PLAIN_LINES;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row < LEAST_LINES)
		return LEAST_LINES;
	return size.ws_row;
}

bool clew_terminal_wants_color(void)
{
	const char *none = getenv("NO_COLOR"), *type = getenv("TERM");

	if (terminal.color != WHEN_AUTO)
		return terminal.color == WHEN_ALWAYS;
	return is_terminal() && !(none && none[0]) && type && strcmp(type, "dumb") != 0;
}

static int add(struct bytes *bytes, const char *data, size_t size)
{
	if (bytes->size + size > bytes->room) {
		size_t room = 2 * (bytes->size + size);
		char *larger = realloc(bytes->data, room);

		if (!larger)
			return -ENOMEM;
		bytes->data = larger;
		bytes->room = room;
	}
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
	return 0;
}

static void write_out(const char *data, size_t size)
{
	while (size && !terminal.error) {
		ssize_t n = write(terminal.out, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			terminal.error = -errno;
			return;
		}
		data += n;
		size -= (size_t)n;
	}
}

/* ---- the pager ---- */

static bool is_in_path(const char *program)
{
	const char *path = getenv("PATH") ?: "/usr/bin:/bin";
	char file[4096];

	for (;; path++) {
		size_t length = strcspn(path, ":");

		if (snprintf(file, sizeof(file), "%.*s/%s", (int)length, path, program) <
			    (int)sizeof(file) &&
		    access(file, X_OK) == 0)
			return true;
		path += length;
		if (!*path)
			return false;
	}
}

/* The command that shows long answers; NULL: none. */
static const char *pager_command(void)
{
	const char *command = getenv("CLEW_PAGER") ?: getenv("PAGER");

	if (terminal.no_pager || !is_terminal())
		return NULL;
	if (command)
		return command[0] && strcmp(command, "cat") != 0 ? command : NULL;
	return is_in_path("less") ? "less -FRSX" : NULL;
}

/* Starts the pager; without it, lines go to the terminal. */
static void start_pager(void)
{
	const char *command = pager_command();
	int ends[2];
	pid_t child;

	if (!command || pipe(ends) < 0)
		return;
	child = fork();
	if (child == 0) {
		dup2(ends[0], STDIN_FILENO);
		close(ends[0]);
		close(ends[1]);
		signal(SIGPIPE, SIG_DFL);
		setenv("LESS", "FRSX", 0);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(ends[0]);
	if (child < 0) {
		close(ends[1]);
		return;
	}
	/* An interrupt from the keyboard is for the pager. */
	signal(SIGINT, SIG_IGN);
	terminal.pager = child;
	terminal.out = ends[1];
}

static void end_pager(void)
{
	if (!terminal.pager)
		return;
	close(terminal.out);
	while (waitpid(terminal.pager, NULL, 0) < 0 && errno == EINTR)
		;
	signal(SIGINT, SIG_DFL);
	terminal.pager = 0;
	terminal.out = STDOUT_FILENO;
	/* It was left before the end: that is no error. */
	if (terminal.error == -EPIPE)
		terminal.error = 0;
}

/* ---- lines ---- */

static void release(void)
{
	write_out(terminal.held.data, terminal.held.size);
	terminal.held.size = 0;
	terminal.holds = false;
}

static size_t count_lines(const char *text, size_t size)
{
	size_t lines = 0;

	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	return lines;
}

/* Breaks the line that is whole now, and passes it on. */
static int pass_line(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int r = 0;

	if (!out)
		return -ENOMEM;
	clew_print_line(out, terminal.line.data ?: "", terminal.line.size, terminal.width);
	terminal.line.size = 0;
	if (fclose(out)) {
		free(text);
		return -ENOMEM;
	}
	if (!terminal.holds) {
		write_out(text, size);
	} else {
		terminal.held_lines += count_lines(text, size);
		r = add(&terminal.held, text, size);
		if (terminal.held_lines > terminal.most_lines) {
			start_pager();
			release();
		}
	}
	free(text);
	return r;
}

static ssize_t take(void *cookie, const char *data, size_t size)
{
	size_t done = 0;
	int r = 0;

	(void)cookie;
	while (done < size && r >= 0) {
		const char *end = memchr(data + done, '\n', size - done);
		size_t length = end ? (size_t)(end - data) - done : size - done;

		r = add(&terminal.line, data + done, length);
		done += length + (end != NULL);
		if (r >= 0 && end)
			r = pass_line();
	}
	if (r < 0 && !terminal.error)
		terminal.error = r;
	return r < 0 ? 0 : (ssize_t)size;
}

void clew_terminal_begin(enum clew_output output)
{
	const cookie_io_functions_t functions = {.write = take};
	FILE *stream;

	clew_style_turn(output != CLEW_OUTPUT_RAW && clew_terminal_wants_color());
	if (output == CLEW_OUTPUT_RAW || (output == CLEW_OUTPUT_LINES && !is_terminal()))
		return;
	terminal.width = clew_terminal_width();
	terminal.holds = pager_command() != NULL;
	terminal.most_lines = clew_terminal_lines() - 1;
	terminal.out = STDOUT_FILENO;
	stream = fopencookie(NULL, "w", functions);
	if (!stream)
		return;
	fflush(stdout);
	terminal.original = stdout;
	terminal.stream = stream;
	stdout = stream;
}

int clew_terminal_end(void)
{
	int error;

	if (!terminal.stream)
		return 0;
	fclose(terminal.stream);
	terminal.stream = NULL;
	stdout = terminal.original;
	release();
	write_out(terminal.line.data, terminal.line.size);
	end_pager();
	free(terminal.line.data);
	free(terminal.held.data);
	terminal.line = terminal.held = (struct bytes){};
	error = terminal.error;
	terminal.error = 0;
	return error;
}
