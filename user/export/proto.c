/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The wire format of protocol buffers. */
#include "export/proto.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define LENGTH_MOST 10 /* bytes of a varint */

enum wire { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES };

/* Room for `more` bytes at the end; false: there is none. */
static bool reserve(struct proto *proto, size_t more)
{
	size_t room = proto->room ? proto->room : 256;
	uint8_t *data;

	if (proto->failed)
		return false;
	if (proto->room - proto->size >= more)
		return true;
	while (room - proto->size < more)
		room *= 2;
	data = realloc(proto->data, room);
	if (!data) {
		proto->failed = true;
		return false;
	}
	proto->data = data;
	proto->room = room;
	return true;
}

static size_t varint(uint8_t *to, uint64_t value)
{
	size_t size = 0;

	for (; value > 0x7f; value >>= 7)
		to[size++] = (uint8_t)(value | 0x80);
	to[size++] = (uint8_t)value;
	return size;
}

void proto_packed(struct proto *proto, uint64_t value)
{
	if (reserve(proto, LENGTH_MOST))
		proto->size += varint(proto->data + proto->size, value);
}

static void tag(struct proto *proto, unsigned field, enum wire wire)
{
	proto_packed(proto, (uint64_t)field << 3 | wire);
}

void proto_number(struct proto *proto, unsigned field, uint64_t value)
{
	tag(proto, field, WIRE_VARINT);
	proto_packed(proto, value);
}

void proto_fixed(struct proto *proto, unsigned field, uint64_t value)
{
	tag(proto, field, WIRE_FIXED64);
	if (!reserve(proto, sizeof(value)))
		return;
	for (unsigned i = 0; i < sizeof(value); i++)
		proto->data[proto->size++] = (uint8_t)(value >> 8 * i);
}

static void append(struct proto *proto, const void *bytes, size_t size)
{
	if (!size || !reserve(proto, size))
		return;
	memcpy(proto->data + proto->size, bytes, size);
	proto->size += size;
}

void proto_bytes(struct proto *proto, unsigned field, const void *bytes, size_t size)
{
	tag(proto, field, WIRE_BYTES);
	proto_packed(proto, size);
	append(proto, bytes, size);
}

void proto_message(struct proto *proto, unsigned field, const struct proto *message)
{
	proto->failed |= message->failed;
	if (message->size)
		proto_bytes(proto, field, message->data, message->size);
}

void proto_append(struct proto *proto, const struct proto *message)
{
	proto->failed |= message->failed;
	append(proto, message->data, message->size);
}

void proto_string(struct proto *proto, unsigned field, const char *text)
{
	size_t opened = proto_open(proto, field);
	uint32_t character;

	while (*text) {
		size_t length = clew_utf8_length(text, &character);

		if (length)
			append(proto, text, length);
		else
			append(proto, "\xef\xbf\xbd", 3);
		text += length ? length : 1;
	}
	proto_close(proto, opened);
}

size_t proto_open(struct proto *proto, unsigned field)
{
	tag(proto, field, WIRE_BYTES);
	if (reserve(proto, 1))
		proto->size++;
	return proto->size;
}

/* One byte was left for the length; a longer one moves the message. */
void proto_close(struct proto *proto, size_t opened)
{
	uint8_t length[LENGTH_MOST];
	size_t message = proto->size - opened, size = varint(length, message);

	if (!reserve(proto, size - 1))
		return;
	memmove(proto->data + opened + size - 1, proto->data + opened, message);
	memcpy(proto->data + opened - 1, length, size);
	proto->size += size - 1;
}

void proto_write(const struct proto *proto, unsigned field, FILE *out)
{
	uint8_t head[2 * LENGTH_MOST];
	size_t size = varint(head, (uint64_t)field << 3 | WIRE_BYTES);

	size += varint(head + size, proto->size);
	fwrite(head, 1, size, out);
	fwrite(proto->data, 1, proto->size, out);
}

void proto_done(struct proto *proto)
{
	free(proto->data);
	*proto = (struct proto){};
}
