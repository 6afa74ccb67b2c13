/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends an export to a receiver of OpenTelemetry. */
#include "cli/export/send.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/fail.h"
#include "cli/front/words.h"
#include "export/post.h"
#include "format/text.h"

#define PATIENCE UINT64_C(60000000000) /* ns */
#define QUEUE	 (16u << 20)	       /* bytes */

static bool ends_in(const char *name, const char *ending)
{
	size_t length = strlen(name), size = strlen(ending);

	return length >= size && !strcmp(name + length - size, ending);
}

int clew_send_check(const struct clew_send *send, const struct clew_export_format *format,
		    const char *output, enum clew_export_encoding *ret_encoding)
{
	const bool patience = send->patience != CLEW_SEND_PATIENCE;
	const char *wrong = send->endpoint   ? "endpoint"
			    : send->encoding ? "encoding"
			    : patience	     ? "patience"
					     : NULL;

	*ret_encoding = CLEW_ENCODING_JSON;
	if (wrong && format->write != clew_export_otlp)
		return clew_fail(CLEW_EXIT_INPUT, "--%s is for otlp: give --to otlp", wrong);
	if (patience && !send->endpoint)
		return clew_fail(CLEW_EXIT_INPUT, "--patience is for --endpoint: give both");
	if (send->endpoint && strcmp(output, "-") != 0)
		return clew_fail(CLEW_EXIT_INPUT, "--endpoint and -o at once: choose one");
	if (send->encoding && !strcmp(send->encoding, "protobuf"))
		*ret_encoding = CLEW_ENCODING_PROTOBUF;
	else if (send->encoding && strcmp(send->encoding, "json") != 0)
		return clew_fail_word("encoding", send->encoding, strlen(send->encoding),
				      (const char *const[]){"json", "protobuf"}, 2);
	else if (!send->encoding)
		*ret_encoding = send->endpoint || ends_in(output, ".pb") ||
						ends_in(output, ".binpb") ||
						ends_in(output, ".proto")
					? CLEW_ENCODING_PROTOBUF
					: CLEW_ENCODING_JSON;
	if (*ret_encoding == CLEW_ENCODING_PROTOBUF && !send->endpoint && !strcmp(output, "-") &&
	    isatty(STDOUT_FILENO))
		return clew_fail(CLEW_EXIT_INPUT, "protobuf is nothing for a terminal: name a "
						  "file with -o");
	return 0;
}

/* `endpoint`: without what may be a secret. */
static int say_how_it_went(const char *endpoint, const struct clew_posted *posted)
{
	size_t all = posted->taken + posted->dropped;

	if (posted->dropped)
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "%zu of %zu operations were not taken by %s, as %s: try again, or "
				 "write a file with -o",
				 posted->dropped, all, endpoint, posted->reason);
	if (posted->refused)
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "%zu spans of %zu operations were refused by %s, as %s: see what "
				 "it wants",
				 posted->refused, all, endpoint, posted->reason);
	fprintf(stderr, "clew: %zu operation%s sent to ", all, all == 1 ? "" : "s");
	clew_print_safe(stderr, endpoint);
	fputc('\n', stderr);
	return 0;
}

int clew_send_export(const struct clew_send *send, struct clew_export *export,
		     struct clew_progress *progress)
{
	const struct clew_post_options options = {
		.url = send->endpoint,
		.type = export->encoding == CLEW_ENCODING_JSON ? "application/json"
							       : "application/x-protobuf",
		.headers = getenv("OTEL_EXPORTER_OTLP_HEADERS"),
		.patience = send->patience == CLEW_SEND_PATIENCE ? PATIENCE : send->patience,
		.queue = QUEUE,
	};
	struct clew_message message = {};
	struct clew_posted posted;
	char *endpoint;
	int r = clew_post_new(&options, &export->post, &message), status;

	if (r == -ENOMEM)
		return clew_fail_memory();
	if (r < 0)
		return clew_fail(r == -EINVAL ? CLEW_EXIT_INPUT : CLEW_EXIT_SYSTEM, "%s",
				 message.text);
	r = clew_export_otlp(export);
	if (r >= 0)
		clew_post_finish(export->post, &posted);
	clew_post_free(export->post);
	clew_progress_end(progress);
	endpoint = r < 0 ? NULL : clew_post_shown(send->endpoint);
	status = endpoint ? say_how_it_went(endpoint, &posted) : clew_fail_memory();
	free(endpoint);
	return status;
}
