/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Quick chunks of the file to jobs for columns. */
#include "store/redo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct store_redo {
	struct store_decoder *decoder;
	struct store_rows rows;
	struct store_buffers *buffers;
	size_t buffer_size;
};

int store_redo_new(const struct store_schema *schema, struct store_buffers *buffers,
		   size_t buffer_size, struct store_redo **ret_redo)
{
	struct store_redo *redo = calloc(1, sizeof(*redo));
	int r;

	if (!redo)
		return -ENOMEM;
	redo->buffers = buffers;
	redo->buffer_size = buffer_size;
	r = store_decoder_new(schema, &redo->decoder);
	if (r < 0)
		store_redo_free(redo);
	else
		*ret_redo = redo;
	return r;
}

void store_redo_free(struct store_redo *redo)
{
	if (!redo)
		return;
	store_decoder_free(redo->decoder);
	store_rows_done(&redo->rows);
	free(redo);
}

/* Copies the rows into the job's buffer, as they were put. */
static int copy_rows(struct store_redo *redo, struct store_job_rows *job)
{
	const struct clew_header *record;

	while ((record = store_rows_next(&redo->rows))) {
		size_t size = store_record_size(record, SIZE_MAX), padded = (size + 7) & ~(size_t)7;

		if (padded > redo->buffer_size - job->bytes)
			return -EBADMSG;
		memcpy(job->records + job->bytes, record, size);
		job->bytes += padded;
		job->rows++;
	}
	return 0;
}

static int give(struct store_redo *redo, struct store_encoding *encoding, const uint8_t *bytes,
		size_t redoes, struct store_front *ret_front)
{
	struct store_job_rows job = {.patient = true, .redoes = redoes};
	const uint8_t *payload = bytes + sizeof(struct store_chunk_header);
	struct store_chunk_header header;
	int r;

	memcpy(&header, bytes, sizeof(header));
	if (store_checksum(&header, payload) != header.checksum)
		return -EBADMSG;
	r = store_front_parse(payload, header.size, ret_front);
	if (r == 0)
		r = store_decode(redo->decoder, &header, payload, &redo->rows);
	if (r < 0)
		return r;
	job.stream = header.stream;
	job.row = header.row;
	job.records = store_buffers_take(redo->buffers);
	if (!job.records)
		return -ENOMEM;
	r = copy_rows(redo, &job);
	if (r == 0 && job.rows != header.rows)
		r = -EBADMSG;
	if (r < 0)
		store_buffers_give(redo->buffers, job.records);
	else
		store_encoding_put(encoding, &job);
	return r;
}

int store_redo_next(struct store_redo *redo, struct store_output *output,
		    struct store_encoding *encoding, struct store_front *ret_front)
{
	uint8_t *bytes;
	size_t redoes;
	int r = store_output_next_quick(output, &bytes, &redoes);

	if (r <= 0)
		return r;
	r = give(redo, encoding, bytes, redoes, ret_front);
	free(bytes);
	return r < 0 ? r : 1;
}
