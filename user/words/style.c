/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Colours of text on a terminal. See style.h. */
#include "words/style.h"

#include <clew/tokens.h>

static bool is_on;

/* The eight colours that each terminal has, bright or dark ground alike. */
static const char *const sequences[CLEW_STYLE_COUNT] = {
	[CLEW_STYLE_PLAIN] = "",	  [CLEW_STYLE_HEADING] = "\x1b[1m",
	[CLEW_STYLE_QUIET] = "\x1b[2m",	  [CLEW_STYLE_RUNNING] = "\x1b[32m",
	[CLEW_STYLE_READY] = "\x1b[33m",  [CLEW_STYLE_LOCK] = "\x1b[31m",
	[CLEW_STYLE_DISK] = "\x1b[35m",	  [CLEW_STYLE_NETWORK] = "\x1b[36m",
	[CLEW_STYLE_MEMORY] = "\x1b[34m", [CLEW_STYLE_UNKNOWN] = "\x1b[7m",
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
	switch (type) {
	case CLEW_EDGE_UNLOCK:
		return CLEW_STYLE_LOCK;
	case CLEW_EDGE_SOCKET:
		return CLEW_STYLE_NETWORK;
	case CLEW_EDGE_THROTTLE:
		return CLEW_STYLE_READY;
	case CLEW_EDGE_REQUEST:
	case CLEW_EDGE_WRITEBACK:
	case CLEW_EDGE_JOURNAL:
	case CLEW_EDGE_READAHEAD:
	case CLEW_EDGE_IO_URING:
		return CLEW_STYLE_DISK;
	default:
		return CLEW_STYLE_PLAIN;
	}
}

enum clew_style clew_style_of_kind(unsigned kind)
{
	switch (kind) {
	case CLEW_SEGMENT_RUNNING:
		return CLEW_STYLE_RUNNING;
	case CLEW_SEGMENT_RUNQUEUE:
	case CLEW_WAIT_THROTTLE:
	case CLEW_WAIT_STOPPED:
		return CLEW_STYLE_READY;
	case CLEW_WAIT_FUTEX:
	case CLEW_WAIT_LOCK:
		return CLEW_STYLE_LOCK;
	case CLEW_SEGMENT_DEVICE:
	case CLEW_SEGMENT_QUEUED:
	case CLEW_WAIT_READ:
	case CLEW_WAIT_WRITE:
	case CLEW_WAIT_FSYNC:
	case CLEW_WAIT_FILE:
	case CLEW_WAIT_IO:
		return CLEW_STYLE_DISK;
	case CLEW_WAIT_SOCKET:
		return CLEW_STYLE_NETWORK;
	case CLEW_WAIT_MEMORY:
	case CLEW_WAIT_FAULT:
		return CLEW_STYLE_MEMORY;
	case CLEW_WAIT_UNKNOWN:
		return CLEW_STYLE_UNKNOWN;
	default:
		return CLEW_STYLE_PLAIN;
	}
}
