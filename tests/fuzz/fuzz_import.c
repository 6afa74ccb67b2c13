/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes the import of other tracers' text. Whatever it is: no crash, an error has a message of one
 * line, and of what was taken a trace can be made.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/import.h"
#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each record has its findings. */
static void load(const char *path)
{
	struct clew_trace *trace;
	char message[200];
	size_t count;

	if (clew_trace_load(path, NULL, &trace, message, sizeof(message)) < 0)
		return;
	clew_trace_edges(trace, &count);
	clew_trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct clew_message message = {};
	struct clew_imported imported;
	char path[40];
	FILE *in = tmpfile();
	int fd = memfd_create("import", 0), r;

	if (!in || fd < 0)
		abort();
	fwrite(data, 1, size, in);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = clew_import(in, path, &imported, &message);
	if (r == -EINVAL && (!message.text[0] || strchr(message.text, '\n')))
		abort();
	if (r >= 0)
		load(path);
	close(fd);
	fclose(in);
	return 0;
}
