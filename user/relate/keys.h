/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The announced calls of a capture by the values of their descriptors and attributes, as a file
 * beside it. The file has all that an answer about such a call needs, so that the
 * capture is not read. It is for machines of one byte order, and is made anew when it does not
 * fit its capture.
 *
 * Whatever the file's bytes are, reading stays within them.
 */
#ifndef CLEW_RELATE_KEYS_H
#define CLEW_RELATE_KEYS_H

#include <stdio.h>

#include "relate/relate.h"

/* The capture that a file of keys belongs to. */
struct clew_keys_stamp {
	uint64_t bytes;
	uint64_t changed; /* ns, its time of modification */
	uint64_t content; /* hash of its first and last bytes */
};

/* The fields of the whole capture that an answer prints. */
struct clew_keys_about {
	uint64_t start; /* ns, CLOCK_MONOTONIC */
	uint64_t end;
	int64_t wall; /* ns that local time is ahead, if has_wall */
	int64_t zone; /* ns of that by the time zone */
	uint64_t lost;
	uint64_t missing;
	uint8_t has_wall;
	uint8_t has_ledger;
	uint8_t balanced;
	uint8_t complete;
	uint8_t lost_known; /* else `lost` is what only gaps tell */
	uint8_t reserved[3];
};

/* The stamp of an open file. 0 or -errno. */
int clew_keys_stamp(int fd, struct clew_keys_stamp *ret_stamp);

/* Writes the calls of `relations`. 0 or -ENOMEM; errors of the stream stay on it. */
int clew_keys_write(const struct clew_relations *relations, const struct clew_keys_stamp *stamp,
		    const struct clew_keys_about *about, FILE *out);

struct clew_keys;

/*
 * Opens a file of keys; the descriptor may be closed then. `stamp` NULL: of any capture. -EINVAL:
 * it is no such file; -ESTALE: it is of another capture or version, or damaged; or -errno. Closed
 * by clew_keys_close().
 */
int clew_keys_open(int fd, const struct clew_keys_stamp *stamp, struct clew_keys **ret_keys);
void clew_keys_close(struct clew_keys *keys);
const struct clew_keys_about *clew_keys_about(const struct clew_keys *keys);
/* The number of calls. */
size_t clew_keys_count(const struct clew_keys *keys);

/* A search for the calls that have a value, in order of begin. */
struct clew_keys_search {
	const struct clew_keys *keys;
	const char *type; /* INTERFACE/TYPE, TYPE, NAME or @NAME of an attribute; NULL: any */
	const char *value;
	size_t next, end; /* its own */
	uint32_t last;
};

/* `type` and `value` have to outlive the search. */
void clew_keys_search(const struct clew_keys *keys, const char *type, const char *value,
		      struct clew_keys_search *ret_search);
/* The number of the next call, for clew_keys_call(); false: there are no more. */
bool clew_keys_next(struct clew_keys_search *search, uint32_t *ret_number);

/* A call. Texts are those of the keys. */
struct clew_keys_call {
	const char *interface;
	const char *operation;
	const char *calls; /* "" none */
	const char *comm;  /* of the thread then */
	uint64_t begin;
	uint64_t end; /* CLEW_TIME_OPEN: not in the capture */
	uint64_t token;
	uint32_t tid;
	uint32_t pid;
	uint32_t parent; /* number of the call of its thread that it lies in, CLEW_NO_NUMBER none */
	uint32_t caller_count;
	uint32_t word_count;
	uint8_t evidence; /* of the callers */
	bool bridged, is_async;
	const uint8_t *callers, *words; /* their own */
};

/* False: there is no such call. */
bool clew_keys_call(const struct clew_keys *keys, uint32_t number, struct clew_keys_call *ret_call);
/* The number of a call that this one may be for. */
uint32_t clew_keys_caller(const struct clew_keys_call *call, uint32_t index);

struct clew_keys_word {
	const char *type;
	const char *value;
	bool attribute;
};

/* The words of a call one after another; *at is 0 at first. False: there are no more. */
bool clew_keys_word(const struct clew_keys *keys, const struct clew_keys_call *call, size_t *at,
		    struct clew_keys_word *ret_word);

#endif
