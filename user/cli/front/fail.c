/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The one line of an error. */
#include "cli/front/fail.h"

#include "cli/front/screen.h"
#include "cli/front/terminal.h"
#include "format/text.h"
#include <stdarg.h>
#include <stdlib.h>

int clew_fail(int status, const char *format, ...)
{
	char *message = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&message, format, arguments) < 0)
		message = NULL;
	va_end(arguments);
	fflush(stdout);
	/* The reader of a pager sees it behind the answer; a mere warning comes before. */
	if (status != CLEW_EXIT_DONE) {
		clew_screen_end();
		clew_terminal_end();
	}
	fputs("clew: ", stderr);
	clew_print_safe(stderr, message ?: "out of memory: free some and try again");
	fputc('\n', stderr);
	free(message);
	return status;
}

int clew_fail_memory(void)
{
	return clew_fail(CLEW_EXIT_SYSTEM, "out of memory: free some and try again");
}
