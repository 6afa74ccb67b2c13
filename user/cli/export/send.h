/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The encoding of an export to OpenTelemetry, and its receiver. */
#ifndef CLEW_CLI_EXPORT_SEND_H
#define CLEW_CLI_EXPORT_SEND_H

#include "cli/front/options.h"
#include "cli/front/progress.h"
#include "export/export.h"

#define CLEW_SEND_PATIENCE UINT64_MAX /* no patience was asked for */

struct clew_send {
	const char *encoding; /* NULL: by the file's name */
	const char *endpoint; /* NULL: it is written */
	uint64_t patience;    /* ns, CLEW_SEND_PATIENCE: the default */
};

/* The rows of an option table: `member` is a struct clew_send of the structure of values. */
#define CLEW_SEND_OPTIONS(structure, member)                                                       \
	{0,                                                                                        \
	 "encoding",                                                                               \
	 "json|protobuf",                                                                          \
	 "of otlp: by the file's name, else json, unless it is given",                             \
	 clew_take_string,                                                                         \
	 offsetof(structure, member.encoding)},                                                    \
		{0,                                                                                \
		 "endpoint",                                                                       \
		 "URL",                                                                            \
		 "of otlp: send it to this receiver, in place of writing it",                      \
		 clew_take_string,                                                                 \
		 offsetof(structure, member.endpoint)},                                            \
	{                                                                                          \
		0, "patience", "TIME",                                                             \
			"of otlp: give up once the receiver took nothing for that long (60s)",     \
			clew_take_seconds, offsetof(structure, member.patience)                    \
	}

/*
 * Checks what was given for a format and a file ("-": standard output), and chooses the encoding.
 * Returns 0 or, after clew_fail(), an exit status.
 */
int clew_send_check(const struct clew_send *send, const struct clew_export_format *format,
		    const char *output, enum clew_export_encoding *ret_encoding);

/* Exports to the endpoint, and says how much was taken. `progress` ends before that. Returns an
 * exit status. */
int clew_send_export(const struct clew_send *send, struct clew_export *export,
		     struct clew_progress *progress);

#endif
