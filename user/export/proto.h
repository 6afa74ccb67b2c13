/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writing messages in the wire format of protocol buffers into memory. Running out of
 * memory sets `failed`; what is written afterwards is lost.
 */
#ifndef CLEW_EXPORT_PROTO_H
#define CLEW_EXPORT_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Zeroed at first; freed by proto_done(). */
struct proto {
	uint8_t *data;
	size_t size;
	size_t room;
	bool failed;
};

/* Fields: `field` is the number in the message's description. */
void proto_number(struct proto *proto, unsigned field, uint64_t value);
void proto_fixed(struct proto *proto, unsigned field, uint64_t value);
void proto_bytes(struct proto *proto, unsigned field, const void *bytes, size_t size);
/* A string field has to be UTF-8: each byte of `text` that is no part of it becomes U+FFFD. */
void proto_string(struct proto *proto, unsigned field, const char *text);
/* The bytes of another message, or of packed numbers; nothing if it is empty. */
void proto_message(struct proto *proto, unsigned field, const struct proto *message);
/* The fields of another message as fields of this one. */
void proto_append(struct proto *proto, const struct proto *message);
/* A message that is written in place: what is written between open and close belongs to it.
 * Returns what close needs. */
size_t proto_open(struct proto *proto, unsigned field);
void proto_close(struct proto *proto, size_t opened);

/* A number without a field: an element of a packed field. */
void proto_packed(struct proto *proto, uint64_t value);

/* Writes the message as a field of the message that the stream is. */
void proto_write(const struct proto *proto, unsigned field, FILE *out);

static inline void proto_clear(struct proto *proto)
{
	proto->size = 0;
}
void proto_done(struct proto *proto);

#endif
