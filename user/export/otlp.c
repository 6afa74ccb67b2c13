/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations as traces of OpenTelemetry, written to a file or handed to a sender in batches. Only
 * one operation, and the batch, are in memory at once.
 */
#include "export/otlp.h"

#include <errno.h>
#include <stdlib.h>

#include "export/post.h"

#define BATCH_BYTES (1u << 20) /* a batch is sent when it is that large */

struct batch {
	const struct clew_export *export;
	struct clew_json json;
	struct proto proto;
	char *text; /* of a batch in JSON that is to be sent */
	size_t size;
	size_t operations;
};

/* JSON goes straight to its file; what is sent is in memory first. */
static int batch_begin(struct batch *batch)
{
	const struct clew_export *export = batch->export;

	batch->operations = 0;
	if (export->encoding != CLEW_ENCODING_JSON)
		return 0;
	batch->json = (struct clew_json){.out = export->out, .one_line = true};
	if (export->post)
		batch->json.out = open_memstream(&batch->text, &batch->size);
	if (!batch->json.out)
		return -ENOMEM;
	clew_json_object(&batch->json, NULL);
	clew_json_array(&batch->json, "resourceSpans");
	return 0;
}

static int batch_end(struct batch *batch)
{
	const struct clew_export *export = batch->export;
	bool is_json = export->encoding == CLEW_ENCODING_JSON;
	int r = 0;

	if (is_json) {
		clew_json_array_end(&batch->json);
		clew_json_object_end(&batch->json);
		clew_json_end(&batch->json);
	}
	if (!export->post) {
		if (!is_json)
			fwrite(batch->proto.data, 1, batch->proto.size, export->out);
		proto_clear(&batch->proto);
		return 0;
	}
	if (is_json && fclose(batch->json.out) != 0)
		r = -ENOMEM;
	if (r >= 0 && batch->operations)
		r = clew_post_add(export->post,
				  is_json ? (uint8_t *)batch->text : batch->proto.data,
				  is_json ? batch->size : batch->proto.size, batch->operations);
	free(batch->text);
	batch->text = NULL;
	proto_clear(&batch->proto);
	return r;
}

static size_t batch_size(struct batch *batch)
{
	if (batch->export->encoding != CLEW_ENCODING_JSON)
		return batch->proto.size;
	if (batch->export->post)
		fflush(batch->json.out);
	return batch->size;
}

static int put_operation(struct batch *batch, const struct clew_operation *operation)
{
	struct otlp otlp;
	int r = otlp_build(batch->export, operation, &otlp);

	if (r >= 0)
		r = batch->export->encoding == CLEW_ENCODING_JSON
			    ? otlp_put_json(&otlp, &batch->json)
			    : otlp_put_proto(&otlp, &batch->proto);
	otlp_done(&otlp);
	batch->operations++;
	return r;
}

int clew_export_otlp(const struct clew_export *export)
{
	struct batch batch = {.export = export};
	int r = batch_begin(&batch), ended;

	if (r < 0)
		return r;
	for (size_t i = 0; i < export->operation_count && r >= 0; i++) {
		r = put_operation(&batch, &export->operations[i]);
		export->progress(export->progress_context,
				 (double)(i + 1) / (double)export->operation_count);
		if (r < 0 || batch_size(&batch) < BATCH_BYTES ||
		    (!export->post && export->encoding == CLEW_ENCODING_JSON))
			continue;
		r = batch_end(&batch);
		if (r >= 0)
			r = batch_begin(&batch);
		if (r < 0)
			break;
	}
	ended = batch_end(&batch);
	proto_done(&batch.proto);
	return r < 0 ? r : ended;
}
