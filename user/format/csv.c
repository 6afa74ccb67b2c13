/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fields of comma-separated values. */
#include "format/csv.h"

#include <string.h>

#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Programs that read CSV refuse a whole file for one byte that is no UTF-8. */
static void print_valid(FILE *out, const char *text)
{
	while (*text) {
		uint32_t character;
		size_t length = clew_utf8_length(text, &character);

		if (!length) {
			fputs(REPLACEMENT, out);
			text++;
			continue;
		}
		if (*text == '"')
			putc('"', out);
		fwrite(text, 1, length, out);
		text += length;
	}
}

void clew_csv_field(FILE *out, const char *text, bool spreadsheet)
{
	bool formula = spreadsheet && *text && strchr("=+-@\t\r", *text);
	bool quoted = strpbrk(text, ",\"\r\n");

	if (quoted)
		putc('"', out);
	if (formula)
		putc('\'', out);
	print_valid(out, text);
	if (quoted)
		putc('"', out);
}
