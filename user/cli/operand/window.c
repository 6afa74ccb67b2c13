/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The interval that --from and --to choose. */
#include "cli/operand/window.h"

#include <errno.h>

#include "cli/front/fail.h"
#include "format/position.h"
#include "format/text.h"
#include "words/wall.h"

static int fail_outside(const char *option, const char *text, const struct clew_time_base *base)
{
	char from[40] = "", to[40] = "";

	if (!base->has_wall)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: '%s' is outside the capture: it is %s long, from %llu to "
				 "%llu",
				 option, text, CLEW_DURATION(base->end - base->start),
				 (unsigned long long)base->start, (unsigned long long)base->end);
	clew_format_wall(base->start, base, from, sizeof(from));
	clew_format_wall(base->end, base, to, sizeof(to));
	return clew_fail(CLEW_EXIT_INPUT,
			 "--%s: '%s' is outside the capture: it is %s long, from %llu to %llu, or "
			 "%s to %s",
			 option, text, CLEW_DURATION(base->end - base->start),
			 (unsigned long long)base->start, (unsigned long long)base->end, from, to);
}

int clew_moment_read(const char *option, const char *text, const struct clew_time_base *base,
		     uint64_t *moment)
{
	int r;

	if (!text)
		return 0;
	r = clew_parse_moment(text, base, moment);
	if (r == -EINVAL)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: '%s' is no moment: write 1.25s (since the start), -5s "
				 "(before the end), 10:32:07.5, or ns of CLOCK_MONOTONIC",
				 option, text);
	if (r == -ENODATA)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: '%s' is wall-clock time, which this trace does not have: "
				 "write a duration since its start, like 1.25s",
				 option, text);
	return r < 0 ? fail_outside(option, text, base) : 0;
}

int clew_moment_take(const char *option, const char *text, const struct clew_time_base *base,
		     uint64_t *moment)
{
	int status = clew_moment_read(option, text, base, moment);

	if (!status && text && (*moment < base->start || *moment > base->end))
		status = fail_outside(option, text, base);
	return status;
}

int clew_window_take_in(struct clew_window *window, const struct clew_time_base *base)
{
	int status;

	window->from = base->start;
	window->to = base->end;
	status = clew_moment_take("from", window->from_text, base, &window->from);
	if (!status)
		status = clew_moment_take("to", window->to_text, base, &window->to);
	if (!status && clew_window_given(window) && window->from >= window->to)
		status = clew_fail(CLEW_EXIT_INPUT,
				   "--from is not before --to: give an interval that has a length");
	return status;
}

int clew_window_take(struct clew_window *window, const struct clew_trace *trace)
{
	struct clew_time_base base;

	clew_wall_base(trace, &base);
	return clew_window_take_in(window, &base);
}
