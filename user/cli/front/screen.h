/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A whole screen that is drawn again and again, and keys without a line feed. The terminal is as it
 * was once the program ends, whatever way it does.
 */
#ifndef CLEW_CLI_FRONT_SCREEN_H
#define CLEW_CLI_FRONT_SCREEN_H

#include <stddef.h>
#include <stdint.h>

/* Both standard input and output are a terminal. */
void clew_screen_begin(void);
/* Ends this screen or the one that was registered; does nothing without one. */
void clew_screen_end(void);
/* Another screen has the terminal: clew_screen_end() calls `end`, once. */
void clew_screen_register(void (*end)(void));

/* Draws lines of text from the top, as many as fit; lines are cut at the right edge. */
void clew_screen_draw(const char *text);

/* A key that is pressed within `ns`, or 0. */
int clew_screen_key(uint64_t ns);

#endif
