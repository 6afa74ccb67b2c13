/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A stream of events: packets of bounded size, each with a head that says which time it covers
 * and how many events are missing up to its end.
 *
 * An event's head has the low 32 bits of its time if it comes less than 2^32 ns after the one
 * before, which readers need to find the rest; else it has all of it.
 */
#include "export/ctf.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define PACKET_MAGIC 0xc1fc1fc1u
#define PACKET_SIZE  (256u << 10)
#define TEXT_MOST    (14u << 10) /* bytes of one text */
#define EVENT_MOST   (20u << 10) /* bytes of one event */
#define EXTENDED     0xffffu	 /* an id: the head is a long one */
#define NAME_SIZE    16

static void put_bytes(struct ctf_stream *stream, const void *bytes, size_t size)
{
	memcpy(stream->packet + stream->used, bytes, size);
	stream->used += size;
}

static void put_16(struct ctf_stream *stream, uint16_t value)
{
	value = htole16(value);
	put_bytes(stream, &value, sizeof(value));
}

static void put_32(struct ctf_stream *stream, uint32_t value)
{
	value = htole32(value);
	put_bytes(stream, &value, sizeof(value));
}

static void put_64(struct ctf_stream *stream, uint64_t value)
{
	value = htole64(value);
	put_bytes(stream, &value, sizeof(value));
}

/* At most `most` bytes of a text, each byte that is no UTF-8 as U+FFFD. Returns how many. */
static size_t put_text(struct ctf_stream *stream, const char *text, size_t most)
{
	size_t begin = stream->used;
	uint32_t character;

	while (*text) {
		size_t length = clew_utf8_length(text, &character);
		size_t shown_size = length ?: 3;

		if (stream->used - begin + shown_size > most)
			break;
		put_bytes(stream, length ? text : "\xef\xbf\xbd", shown_size);
		text += length ?: 1;
	}
	return stream->used - begin;
}

/* A name of a task, which has no NUL if it is as long as it may be. */
static void put_name(struct ctf_stream *stream, const char *name)
{
	static const uint8_t zeros[NAME_SIZE];
	char text[CLEW_COMM_SIZE + 1];
	size_t size;

	snprintf(text, sizeof(text), "%.*s", CLEW_COMM_SIZE, name);
	size = put_text(stream, text, NAME_SIZE - 1);
	put_bytes(stream, zeros, NAME_SIZE - size);
}

static void put_value(struct ctf_stream *stream, enum ctf_type type, const struct ctf_value *value)
{
	switch (type) {
	case CTF_NAME:
		put_name(stream, value->text);
		break;
	case CTF_TEXT:
		/* babeltrace2 2.0 shows an empty text as the one before it. */
		put_text(stream, value->text && value->text[0] ? value->text : CTF_NO_TEXT,
			 TEXT_MOST);
		put_bytes(stream, "", 1);
		break;
	case CTF_I32:
	case CTF_U32:
		put_32(stream, (uint32_t)value->number);
		break;
	case CTF_I64:
	case CTF_U64:
		put_64(stream, (uint64_t)value->number);
		break;
	}
}

/* The head as ctf_metadata.c describes it: what of it is not known yet comes when the packet is
 * cut. */
static void put_head(struct ctf *it, uint64_t end, size_t size)
{
	struct ctf_stream *stream = &it->stream;

	stream->used = 0;
	put_32(stream, PACKET_MAGIC);
	put_bytes(stream, it->uuid, sizeof(it->uuid));
	put_32(stream, 0);
	put_64(stream, stream->begin);
	put_64(stream, end);
	put_64(stream, size * 8);
	put_64(stream, size * 8);
	put_64(stream, stream->sequence);
	put_64(stream, stream->discarded);
	put_32(stream, stream->cpu);
}

void ctf_cut(struct ctf *it, uint64_t at)
{
	struct ctf_stream *stream = &it->stream;
	size_t size = stream->used;
	uint64_t end = at > stream->last ? at : stream->last;

	put_head(it, end, size);
	fwrite(stream->packet, 1, size, stream->out);
	stream->begin = stream->last = end;
	stream->sequence++;
	put_head(it, 0, 0);
}

void ctf_put(struct ctf *it, unsigned event, uint64_t at, const struct ctf_value *values)
{
	struct ctf_stream *stream = &it->stream;
	const struct ctf_field *field = ctf_fields(event);

	if (stream->used + EVENT_MOST > PACKET_SIZE)
		ctf_cut(it, stream->last);
	if (at < stream->last)
		at = stream->last;
	if (at - stream->last <= UINT32_MAX) {
		put_16(stream, (uint16_t)event);
		put_32(stream, (uint32_t)at);
	} else {
		put_16(stream, EXTENDED);
		put_32(stream, event);
		put_64(stream, at);
	}
	stream->last = at;
	for (; field->type; field++, values++)
		put_value(stream, field->type, values);
}

int ctf_stream_open(struct ctf *it, uint16_t cpu)
{
	struct ctf_stream *stream = &it->stream;
	char *path;

	if (asprintf(&path, "%s/kernel/channel0_%u", it->export->folder, cpu) < 0)
		return -ENOMEM;
	*stream = (struct ctf_stream){.out = fopen(path, "we"),
				      .cpu = cpu,
				      .packet = malloc(PACKET_SIZE),
				      .begin = it->begin,
				      .last = it->begin};
	free(path);
	if (!stream->out)
		return -errno;
	if (!stream->packet)
		return -ENOMEM;
	put_head(it, 0, 0);
	return 0;
}

int ctf_stream_close(struct ctf *it)
{
	struct ctf_stream *stream = &it->stream;
	int r = 0;

	if (stream->out && stream->packet)
		ctf_cut(it, it->end);
	errno = 0;
	if (stream->out && (ferror(stream->out) | fclose(stream->out)))
		r = -(errno ?: EIO);
	free(stream->packet);
	*stream = (struct ctf_stream){};
	return r;
}
