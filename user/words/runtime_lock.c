/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "words/runtime_lock.h"

#include <inttypes.h>

#include "format/text.h"

void clew_print_runtime_lock(FILE *out, const struct clew_job_wait *wait)
{
	clew_print_safe(out, wait->runtime->name);
	fputc(' ', out);
	clew_print_safe(out, wait->kind->name);
	if (wait->label) {
		fputc(' ', out);
		clew_print_safe(out, wait->label);
	}
	/* The only one of its kind has no address. */
	if (wait->object)
		fprintf(out, " 0x%" PRIx64, wait->object);
}

void clew_print_segment_lock(FILE *out, const struct clew_segment *segment)
{
	if (!segment->lock)
		return;
	fputs(", with ", out);
	clew_print_runtime_lock(out, segment->lock);
}
