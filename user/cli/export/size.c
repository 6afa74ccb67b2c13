/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Estimates how large an export becomes, by the waits that it has: the other things in it go with
 * them. Sizes of captures of PostgreSQL, of builds and of idle machines differ from it by a
 * quarter.
 */
#include "cli/export/size.h"

#include <sys/stat.h>

#include "format/text.h"

#define LARGE	    UINT64_C(100000000) /* bytes, of any export */
#define LARGE_LEAST UINT64_C(10000000)	/* of one that is LARGE_TIMES its capture */
#define LARGE_TIMES 20

static uint64_t size_of(const struct clew_export *export, const struct clew_export_format *format)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(export->trace, &count);
	uint64_t waits = 0;

	for (size_t i = 0; i < count; i++)
		waits += clew_export_has(export, sleeps[i].start, sleeps[i].end) &&
			 clew_export_wants(export, sleeps[i].task);
	return waits * format->wait_bytes;
}

void clew_export_note_size(const struct clew_export *export,
			   const struct clew_export_format *format, const char *operand)
{
	uint64_t size = format->wait_bytes ? size_of(export, format) : 0;
	uint64_t capture = 0;
	char times[64] = "";
	struct stat file;

	/* A folder of segments has no size of its own. */
	if (!stat(operand, &file) && S_ISREG(file.st_mode))
		capture = (uint64_t)file.st_size;
	if (size < LARGE && (!capture || size < LARGE_LEAST || size / LARGE_TIMES < capture))
		return;
	if (capture && size / capture > 1)
		snprintf(times, sizeof(times), ", %llu times the capture",
			 (unsigned long long)(size / capture));
	fprintf(stderr,
		"clew: %s: about %s%s: a part by --from and --to, or of the threads of --pid or "
		"--comm, is smaller\n",
		format->name, CLEW_BYTES(size), times);
}
