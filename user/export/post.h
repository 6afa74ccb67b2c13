/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends bodies to a receiver of OTLP over HTTP, in order, as the OTLP specification says: packed
 * with gzip; tried again after 429, 502, 503, 504 and broken connections alone, after growing
 * pauses or those that the receiver asks for. Bodies wait in a queue of limited size. One that is
 * refused, or for which no patience is left, is dropped and counted.
 *
 * A sender belongs to one thread. libcurl is loaded when the first sender is made.
 */
#ifndef CLEW_EXPORT_POST_H
#define CLEW_EXPORT_POST_H

#include <stddef.h>
#include <stdint.h>

#include "base/message.h"

/*
 * A URL for messages: without a user, a password, a query or a fragment, any of which may be a
 * secret. The caller frees it; NULL: no memory.
 */
char *clew_post_shown(const char *url);

struct clew_post;

struct clew_post_options {
	const char *url;     /* without a path: /v1/traces is added */
	const char *type;    /* of the bodies: "application/json" */
	const char *headers; /* further ones: "NAME=VALUE,..", percent-encoded; NULL none */
	uint64_t patience;   /* ns for which nothing may be taken before bodies are dropped */
	size_t queue;	     /* bytes, packed, that may wait; one body always may */
};

/* The result of sending. */
struct clew_posted {
	size_t taken;	  /* items, as they were added */
	size_t dropped;	  /* items */
	size_t refused;	  /* spans that the receiver did not take although it took their body */
	char reason[256]; /* of the last drop or refusal, "" none */
};

/* -EINVAL: the URL or a header is none; -ENOSYS: there is no libcurl; -ENOMEM. */
int clew_post_new(const struct clew_post_options *options, struct clew_post **ret_post,
		  struct clew_message *message);
/* Puts a body into the queue; waits while that is full. 0 or -ENOMEM. */
int clew_post_add(struct clew_post *post, const void *body, size_t size, size_t items);
/* Sends or drops all that waits. */
void clew_post_finish(struct clew_post *post, struct clew_posted *ret_posted);
void clew_post_free(struct clew_post *post);

#endif
