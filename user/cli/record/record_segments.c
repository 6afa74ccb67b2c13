/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When a recording goes over to its next segment. */
#include "cli/record/record_segments.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"

#define TRY_AGAIN 1000000000ull	 /* ns: after a segment could not be begun */
#define SAY_AGAIN 60000000000ull /* ns */

int clew_take_span(const struct clew_option *option, const char *argument, void *value)
{
	if (amount_parse(argument, value) < 0)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: '%s' is no time and no size: write 10s, 256M, or 10s,256M",
				 option->name, argument);
	return 0;
}

int clew_take_rotate(const struct clew_option *option, const char *argument, void *value)
{
	const struct clew_amount *span = value;
	int status = clew_take_span(option, argument, value);

	if (!status && clew_segments_too_short(span))
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: '%s' is too little for a segment: at least 200ms and 1M",
				 option->name, argument);
	return status;
}

int clew_rotation_open(struct clew_rotation *rotation, const char *output, const char *elsewhere,
		       const char **ret_output)
{
	struct clew_message message;
	int r;

	*ret_output = output;
	if (!rotation->rotate.ns && !rotation->rotate.bytes) {
		if (rotation->keep.ns || rotation->keep.bytes)
			return clew_fail(CLEW_EXIT_INPUT,
					 "--keep goes with --rotate, which makes several files: "
					 "give both");
		return 0;
	}
	r = clew_segments_open(output, rotation->keep.ns, rotation->keep.bytes, elsewhere,
			       &rotation->segments, &message);
	if (r < 0)
		return clew_fail(r == -EINVAL ? CLEW_EXIT_INPUT : CLEW_EXIT_SYSTEM, "%s",
				 message.text);
	clew_segments_trim(rotation->segments, 0);
	*ret_output = clew_segments_next(rotation->segments);
	if (!*ret_output)
		return clew_fail(CLEW_EXIT_SYSTEM, "record: out of memory: free some");
	return 0;
}

int clew_rotation_tick(struct clew_rotation *rotation, struct clew_recorder *recorder,
		       struct clew_message *message)
{
	uint64_t now = clock_read(CLOCK_MONOTONIC), bytes;
	const char *path;
	int r;

	if (!rotation->segments)
		return 0;
	if (!rotation->next)
		rotation->next = now + rotation->rotate.ns;
	bytes = clew_recorder_file_bytes(recorder);
	if (!rotation->now && !(rotation->rotate.ns && now >= rotation->next) &&
	    !(rotation->rotate.bytes && bytes >= rotation->rotate.bytes)) {
		clew_segments_trim(rotation->segments, bytes);
		return 0;
	}
	rotation->now = false;
	path = clew_segments_next(rotation->segments);
	r = path ? clew_recorder_go_on(recorder, path, message)
		 : clew_say(message, -ENOMEM, "record: out of memory: free some");
	if (path && clew_is_shortage(r)) {
		clew_segments_undo(rotation->segments);
		if (now >= rotation->said + SAY_AGAIN)
			clew_fail(0, "%s", message->text);
		rotation->said = now >= rotation->said + SAY_AGAIN ? now : rotation->said;
		rotation->next = now + TRY_AGAIN;
		return 0;
	}
	if (now >= rotation->next)
		rotation->next += rotation->rotate.ns;
	if (rotation->next < now)
		rotation->next = now + rotation->rotate.ns;
	clew_segments_trim(rotation->segments, 0);
	return r;
}

void clew_rotation_change(struct clew_rotation *rotation, struct clew_amount rotate,
			  struct clew_amount keep)
{
	rotation->rotate = rotate;
	rotation->keep = keep;
	rotation->next = 0;
	clew_segments_keep(rotation->segments, keep.ns, keep.bytes);
}

void clew_rotation_close(struct clew_rotation *rotation)
{
	clew_segments_close(rotation->segments);
	rotation->segments = NULL;
}
