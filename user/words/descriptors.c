/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Descriptors in JSON and in words. */
#include "words/descriptors.h"

#include <string.h>

#include "format/text.h"
#include "words/file.h"

void clew_describe_object(const struct clew_trace *trace, const struct clew_object *object,
			  uint64_t at, struct clew_description *description)
{
	uint64_t inode = object->number;
	uint32_t device = object->device;
	const char *path = NULL;
	size_t count;

	if (object->kind == CLEW_OBJECT_REQUEST) {
		const struct clew_trace_request *requests = clew_trace_requests(trace, &count);

		if (object->number >= count)
			return;
		inode = requests[object->number].block.inode;
		device = requests[object->number].block.file_device;
		at = requests[object->number].block.queued;
	} else if (object->kind != CLEW_OBJECT_FILE) {
		return;
	}
	if (inode)
		path = clew_file_path(trace, device, inode, at);
	clew_description_add(description, "path", path);
}

void clew_json_description(struct clew_json *json, const struct clew_description *description)
{
	clew_json_object(json, "descriptors");
	for (size_t i = 0; i < description->count; i++)
		clew_json_string(json, description->words[i].name, description->words[i].value);
	clew_json_object_end(json);
}

void clew_json_call(struct clew_json *json, const struct clew_relations *relations,
		    const struct clew_relation *relation)
{
	const struct clew_activity *lower = clew_relations_lower(relations, relation),
				   *upper = clew_relations_upper(relations, relation, 0);

	clew_json_object(json, "call");
	clew_json_string(json, "interface", lower->interface);
	clew_json_string(json, "operation", lower->operation);
	clew_json_unsigned(json, "begin", lower->begin);
	clew_json_known(json, "end", lower->end, CLEW_TIME_OPEN);
	clew_json_string(json, "from_interface", upper->interface);
	clew_json_string(json, "from_operation", upper->operation);
	clew_json_object_end(json);
}

void clew_print_call(FILE *out, const struct clew_activity *activity)
{
	clew_print_safe(out, activity->interface);
	fputc('.', out);
	clew_print_safe(out, activity->operation);
}

void clew_print_description(FILE *out, const struct clew_description *description)
{
	bool any = false;

	for (size_t i = 0; i < description->count; i++) {
		if (!strchr(description->words[i].name, '/'))
			continue;
		fputs(any ? " " : "  [", out);
		any = true;
		clew_print_safe(out, description->words[i].name);
		fputc('=', out);
		clew_print_safe(out, description->words[i].value);
	}
	if (any)
		fputc(']', out);
}
