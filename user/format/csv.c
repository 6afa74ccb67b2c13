/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fields of comma-separated values. See csv.h. */
#include "format/csv.h"

#include <string.h>

void clew_csv_field(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	putc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', out);
		putc(*text, out);
	}
	putc('"', out);
}
