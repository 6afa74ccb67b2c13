/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time for which a rule was met, in JSON and in words. */
#include "answers/slow.h"

#include <clew/tokens.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/device.h"
#include "words/object.h"

static void json_request(struct clew_json *json, const struct clew_slow *slow)
{
	const struct clew_slow_request *request = &slow->request;
	const struct clew_block_request block = {.sector = request->sector,
						 .bytes = request->bytes,
						 .operation = request->operation};

	if (slow->kind != CLEW_SLOW_REQUEST) {
		clew_json_null(json, "request");
		return;
	}
	clew_json_object(json, "request");
	clew_json_device(json, request->device);
	clew_json_sector(json, &block);
	clew_json_unsigned(json, "bytes", request->bytes);
	clew_json_string(json, "op",
			 clew_request_operation_name(request->operation, request->bytes));
	clew_json_object_end(json);
}

void clew_slow_json(struct clew_json *json, const struct clew_slow *slow)
{
	clew_json_string(json, "kind", clew_slow_name(slow->kind));
	clew_json_unsigned(json, "start", slow->start);
	clew_json_unsigned(json, "end", slow->end);
	clew_json_unsigned(json, "ns", slow->end - slow->start);
	clew_json_bool(json, "open", slow->open);
	clew_json_unsigned(json, "at", slow->at);
	clew_json_known(json, "value", slow->value, 0);
	json_request(json, slow);
}

void clew_print_slow_request(FILE *out, const struct clew_slow_request *request, const char *disk)
{
	const char *operation = clew_request_operation_name(request->operation, request->bytes);

	if (request->sector == UINT64_MAX || !request->bytes)
		fprintf(out, "%s of ", operation);
	else
		fprintf(out, "%s of %u bytes at sector %" PRIu64 " of ", operation, request->bytes,
			request->sector);
	fputs(disk && disk[0] ? disk : DEVICE_TEXT(request->device), out);
}
