/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A whole screen that is drawn again and again. */
#include "cli/front/screen.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/front/terminal.h"

/* Control sequences (ECMA-48, and xterm's for the alternate screen). */
#define ENTER "\x1b[?1049h\x1b[?25l"
/* Cleared first: after a resize tmux 3.3 may leave lines of the alternate screen on the other. */
#define LEAVE	   "\x1b[H\x1b[J\x1b[?25h\x1b[?1049l"
#define TO_TOP	   "\x1b[H"
#define END_LINE   "\x1b[K\r\n"
#define CLEAR_REST "\x1b[0m\x1b[J"

static struct termios before;
static bool is_on;
static void (*registered)(void);

void clew_screen_begin(void)
{
	struct termios keys;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return;
	keys = before;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &keys);
	is_on = true;
	atexit(clew_screen_end);
	fputs(ENTER, stdout);
	fflush(stdout);
}

void clew_screen_register(void (*end)(void))
{
	registered = end;
}

void clew_screen_end(void)
{
	void (*end)(void) = registered;

	registered = NULL;
	if (end)
		end();
	if (!is_on)
		return;
	is_on = false;
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	fputs(LEAVE, stdout);
	fflush(stdout);
}

/* Writes a line without what lies right of the screen; sequences of colours take no room. */
static void draw_line(const char *line, size_t size, size_t width)
{
	size_t columns = 0;

	for (size_t i = 0; i < size;) {
		size_t length = 1;

		if (line[i] == '\x1b') {
			while (i + length < size && line[i + length] != 'm')
				length++;
			length += i + length < size;
		} else {
			/* The further bytes of a character of UTF-8. */
			while (i + length < size && (line[i + length] & 0xc0) == 0x80)
				length++;
			if (columns++ == width)
				return;
		}
		fwrite(line + i, 1, length, stdout);
		i += length;
	}
}

void clew_screen_draw(const char *text)
{
	size_t lines = clew_terminal_lines() - 1, width = clew_terminal_width();

	fputs(TO_TOP, stdout);
	for (const char *end; lines && (end = strchr(text, '\n')); text = end + 1, lines--) {
		draw_line(text, (size_t)(end - text), width);
		fputs(END_LINE, stdout);
	}
	fputs(CLEAR_REST, stdout);
	fflush(stdout);
}

int clew_screen_key(uint64_t ns)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	char key;

	if (poll(&input, 1, (int)(ns / 1000000)) <= 0)
		return 0;
	return read(STDIN_FILENO, &key, 1) == 1 ? key : 'q';
}
