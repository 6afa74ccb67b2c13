/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files of a history: their names, and the blocks in them. */
#ifndef CLEW_COMPARE_HISTORY_FILE_H
#define CLEW_COMPARE_HISTORY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"

#define HISTORY_MAGIC 0x48574c43u /* "CLWH", as all numbers in little-endian order */
#define HISTORY_NAME  40

/* Before the compressed text. */
struct history_block {
	uint32_t magic;
	uint32_t packed;   /* bytes that follow */
	uint64_t checksum; /* of all behind it: FNV-1a */
	uint32_t text;	   /* bytes of the text */
	uint32_t unused;   /* 0 */
};

/* The checksum of a block of `size` bytes. */
static inline uint64_t history_checksum(const char *block, size_t size)
{
	const size_t begin = offsetof(struct history_block, text);

	return hash_bytes(HASH_SEED, block + begin, size - begin);
}

/* The name of the file of the day of a moment. */
static inline void history_name(uint64_t at, char name[static HISTORY_NAME])
{
	time_t second = (time_t)(at / 1000000000);
	struct tm day;

	gmtime_r(&second, &day);
	strftime(name, HISTORY_NAME, "history-%Y-%m-%d", &day);
}

static inline bool history_is_name(const char *name)
{
	return !strncmp(name, "history-", strlen("history-")) &&
	       strlen(name) == strlen("history-2026-11-29");
}

#endif
