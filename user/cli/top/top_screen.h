/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew top's screen on a terminal. */
#ifndef CLEW_CLI_TOP_TOP_SCREEN_H
#define CLEW_CLI_TOP_TOP_SCREEN_H

#include "cli/top/top_view.h"

/* Takes the terminal. Returns 0 or, after clew_fail(), an exit status. */
int top_screen_begin(bool colors);
/* Gives it back as it was; does nothing unless it was taken. */
void top_screen_end(void);

size_t top_screen_lines(void);
size_t top_screen_columns(void);

/* A key that is pressed within that time: a character or enum top_key. */
int top_screen_key(unsigned milliseconds);

/* Draws all. `period`: NULL: there is none yet. Sets view->page. */
void top_screen_draw(struct top_view *view, const struct top_period *period);

#endif
