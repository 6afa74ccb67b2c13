/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The bytes of a file of keys: sections, each aligned to 8 bytes, and behind them the tail, with
 * which a whole file ends.
 *
 * calls     struct keys_call, in order of begin
 * words     of each call its callers, as 4 bytes each, then its words: the place of the type in the
 *	     names in 4 bytes, and the value with a NUL. Not aligned
 * entries   struct sort_key, in order of the key: the hash of a value, and the call that has it
 * kinds     struct keys_kind
 * tasks     struct keys_task
 * names     texts with a NUL each
 */
#ifndef CLEW_RELATE_KEYS_FORMAT_H
#define CLEW_RELATE_KEYS_FORMAT_H

#include "base/sort.h"
#include "relate/keys.h"

#define KEYS_MAGIC     UINT64_C(0x7379656b77656c63) /* "clewkeys" */
#define KEYS_VERSION   3
#define KEYS_ATTRIBUTE 0x80000000u /* flag of a word's type */

enum keys_section {
	KEYS_CALLS,
	KEYS_WORDS,
	KEYS_ENTRIES,
	KEYS_KINDS,
	KEYS_TASKS,
	KEYS_NAMES,
	KEYS_SECTION_COUNT,
};

#define KEYS_CALL_BRIDGED 0x1

struct keys_call {
	uint64_t begin;
	uint64_t end;
	uint64_t token;
	uint64_t words; /* place in the section */
	uint32_t task;	/* index */
	uint32_t parent;
	uint32_t kind; /* index */
	uint16_t caller_count;
	uint8_t word_count;
	uint8_t evidence : 4;
	uint8_t flags : 4;
};
_Static_assert(sizeof(struct keys_call) == 48, "a call is six words");

/* Calls of one kind share these; places in the names. */
struct keys_kind {
	uint32_t interface;
	uint32_t operation;
	uint32_t calls;
	uint32_t is_async;
};

/* A thread while it had one name. */
struct keys_task {
	uint32_t tid;
	uint32_t pid;
	char comm[CLEW_COMM_SIZE];
};

struct keys_tail {
	struct clew_keys_stamp stamp;
	struct clew_keys_about about;
	struct {
		uint64_t at;
		uint64_t bytes;
	} sections[KEYS_SECTION_COUNT];
	uint64_t version;
	uint64_t magic; /* the last bytes of each version */
};

/* The key of a value. */
uint64_t keys_hash(const char *value);

#endif
