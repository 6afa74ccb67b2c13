/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hashes of texts and of sequences of numbers. They are the same on each machine
 * and in each run, so a key made of them may be written to a file.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_SEED UINT64_C(0xcbf29ce484222325)

/** FNV-1a of bytes, continued from a hash or from HASH_SEED. */
static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
	for (const unsigned char *byte = data, *end = byte + size; byte < end; byte++)
		hash = (hash ^ *byte) * UINT64_C(0x100000001b3);
	return hash;
}

/** FNV-1a of a text without its NUL. */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
	return hash_bytes(hash, text, strlen(text));
}

/** Adds a number to a key: one multiplication by 2^64 / phi (Knuth), one shift. */
static inline uint64_t hash_mix(uint64_t key, uint64_t value)
{
	key = (key ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return key ^ key >> 29;
}

#endif
