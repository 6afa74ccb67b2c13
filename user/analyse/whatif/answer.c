/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The answer of an applied program, apart from its trace: its error, and how many
 * things each statement applies to.
 */
#include "analyse/whatif/internal.h"
#include <stdarg.h>
#include <stdio.h>

int whatif_fail(struct whatif *w, int r, size_t offset, const char *format, ...)
{
	va_list arguments;

	w->error->offset = offset;
	va_start(arguments, format);
	vsnprintf(w->error->message, sizeof(w->error->message), format, arguments);
	va_end(arguments);
	return r;
}

void whatif_count(struct whatif *w, uint32_t resource, uint64_t count)
{
	for (uint32_t i = 0; i < w->program->count && w->options.matches; i++)
		if (w->program->statements[i].resources & resource &&
		    !w->program->statements[i].spans)
			w->options.matches[i] += count;
}
