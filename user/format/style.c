/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Colours of text on a terminal. */
#include "format/style.h"

#include <clew/tokens.h>
#include <stdint.h>

static bool is_on;

/* The eight colours that each terminal has, bright or dark ground alike. */
static const char *const sequences[CLEW_STYLE_COUNT] = {
	[CLEW_STYLE_PLAIN] = "",	  [CLEW_STYLE_HEADING] = "\x1b[1m",
	[CLEW_STYLE_QUIET] = "\x1b[2m",	  [CLEW_STYLE_RUNNING] = "\x1b[32m",
	[CLEW_STYLE_READY] = "\x1b[33m",  [CLEW_STYLE_LOCK] = "\x1b[31m",
	[CLEW_STYLE_DISK] = "\x1b[35m",	  [CLEW_STYLE_NETWORK] = "\x1b[36m",
	[CLEW_STYLE_MEMORY] = "\x1b[34m", [CLEW_STYLE_QUOTA] = "\x1b[1;33m",
	[CLEW_STYLE_UNKNOWN] = "\x1b[7m",
};

void clew_style_turn(bool on)
{
	is_on = on;
}

const char *clew_style_begin(enum clew_style style)
{
	return is_on ? sequences[style] : "";
}

const char *clew_style_end(enum clew_style style)
{
	return is_on && style != CLEW_STYLE_PLAIN ? "\x1b[0m" : "";
}

void clew_print_styled(FILE *out, enum clew_style style, int columns, const char *text)
{
	fprintf(out, "%s%-*s%s", clew_style_begin(style), columns, text, clew_style_end(style));
}

enum clew_style clew_style_of_type(unsigned type)
{
	static const uint8_t styles[CLEW_EDGE_TYPE_COUNT] = {
#define CLEW_EDGE_TYPE(NAME, name, relation, style, ...) [CLEW_EDGE_##NAME] = CLEW_STYLE_##style,
#include <clew/edge_types.def>
	};

	return type < CLEW_EDGE_TYPE_COUNT ? styles[type] : CLEW_STYLE_PLAIN;
}

enum clew_style clew_style_of_kind(unsigned kind)
{
	static const uint8_t styles[CLEW_SEGMENT_KIND_COUNT] = {
#define CLEW_WAIT_KIND(NAME, name, edge, time, style, ...) [CLEW_WAIT_##NAME] = CLEW_STYLE_##style,
#define CLEW_SEGMENT_KIND(NAME, name, style)		   [CLEW_SEGMENT_##NAME] = CLEW_STYLE_##style,
#include <clew/wait_kinds.def>
	};

	return kind < CLEW_SEGMENT_KIND_COUNT ? styles[kind] : CLEW_STYLE_PLAIN;
}
