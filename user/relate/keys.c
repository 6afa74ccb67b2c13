/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reading the keys of announced calls. See keys.h; keys_format.h has the bytes. */
#include "relate/keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "relate/keys_format.h"

#define SAMPLE 4096 /* bytes at each end of a capture that its stamp has the hash of */

struct clew_keys {
	const uint8_t *data;
	size_t size;
	struct keys_tail tail;
	const struct keys_call *calls;
	const struct sort_key *entries;
	const struct keys_kind *kinds;
	const struct keys_task *tasks;
	size_t call_count, entry_count, kind_count, task_count;
};

/* Hashes the bytes at a place; a file may be shorter. */
static int hash_at(int fd, uint64_t at, uint64_t *hash)
{
	char buffer[SAMPLE];
	ssize_t got = pread(fd, buffer, sizeof(buffer), (off_t)at);

	if (got < 0)
		return -errno;
	*hash = hash_bytes(*hash, buffer, (size_t)got);
	return 0;
}

int clew_keys_stamp(int fd, struct clew_keys_stamp *ret_stamp)
{
	struct stat status;
	int r;

	if (fstat(fd, &status) < 0)
		return -errno;
	*ret_stamp = (struct clew_keys_stamp){
		.bytes = (uint64_t)status.st_size,
		.changed = (uint64_t)status.st_mtim.tv_sec * 1000000000u +
			   (uint64_t)status.st_mtim.tv_nsec,
		.content = HASH_SEED,
	};
	r = hash_at(fd, 0, &ret_stamp->content);
	return r < 0 || ret_stamp->bytes <= SAMPLE
		       ? r
		       : hash_at(fd, ret_stamp->bytes - SAMPLE, &ret_stamp->content);
}

/* A section, in items of a size; NULL: it does not lie in the file. */
static const void *find_section(const struct clew_keys *keys, enum keys_section section,
				size_t item, size_t *ret_count)
{
	uint64_t at = keys->tail.sections[section].at, bytes = keys->tail.sections[section].bytes;

	if (at % 8 || at > keys->size || bytes > keys->size - at || bytes % item)
		return NULL;
	*ret_count = bytes / item;
	return keys->data + at;
}

static bool find_sections(struct clew_keys *keys)
{
	const uint8_t *words, *names;
	size_t word_bytes, name_bytes;

	keys->calls = find_section(keys, KEYS_CALLS, sizeof(*keys->calls), &keys->call_count);
	keys->entries =
		find_section(keys, KEYS_ENTRIES, sizeof(*keys->entries), &keys->entry_count);
	keys->kinds = find_section(keys, KEYS_KINDS, sizeof(*keys->kinds), &keys->kind_count);
	keys->tasks = find_section(keys, KEYS_TASKS, sizeof(*keys->tasks), &keys->task_count);
	words = find_section(keys, KEYS_WORDS, 1, &word_bytes);
	names = find_section(keys, KEYS_NAMES, 1, &name_bytes);
	return keys->calls && keys->entries && keys->kinds && keys->tasks && words && names &&
	       (!name_bytes || !names[name_bytes - 1]);
}

/* True if the file ends as one of keys does, of whatever version. */
static bool is_keys(int fd, const struct stat *status)
{
	uint64_t magic;

	return S_ISREG(status->st_mode) && (size_t)status->st_size >= sizeof(magic) &&
	       pread(fd, &magic, sizeof(magic), status->st_size - (off_t)sizeof(magic)) ==
		       sizeof(magic) &&
	       magic == KEYS_MAGIC;
}

int clew_keys_open(int fd, const struct clew_keys_stamp *stamp, struct clew_keys **ret_keys)
{
	struct clew_keys *keys;
	struct stat status;
	void *data;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!is_keys(fd, &status))
		return -EINVAL;
	if ((size_t)status.st_size < sizeof(keys->tail))
		return -ESTALE;
	keys = calloc(1, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED) {
		free(keys);
		return -errno;
	}
	keys->data = data;
	keys->size = (size_t)status.st_size - sizeof(keys->tail);
	memcpy(&keys->tail, keys->data + keys->size, sizeof(keys->tail));
	if (keys->tail.version != KEYS_VERSION ||
	    (stamp && memcmp(&keys->tail.stamp, stamp, sizeof(*stamp))) || !find_sections(keys)) {
		clew_keys_close(keys);
		return -ESTALE;
	}
	*ret_keys = keys;
	return 0;
}

void clew_keys_close(struct clew_keys *keys)
{
	if (!keys)
		return;
	munmap((void *)keys->data, keys->size + sizeof(keys->tail));
	free(keys);
}

const struct clew_keys_about *clew_keys_about(const struct clew_keys *keys)
{
	return &keys->tail.about;
}

size_t clew_keys_count(const struct clew_keys *keys)
{
	return keys->call_count;
}

/* ---- calls ---- */

static const char *name_at(const struct clew_keys *keys, uint32_t place)
{
	return place < keys->tail.sections[KEYS_NAMES].bytes
		       ? (const char *)keys->data + keys->tail.sections[KEYS_NAMES].at + place
		       : "";
}

bool clew_keys_call(const struct clew_keys *keys, uint32_t number, struct clew_keys_call *ret_call)
{
	const uint64_t room = keys->tail.sections[KEYS_WORDS].bytes;
	const struct keys_call *call;
	const struct keys_kind *kind;

	if (number >= keys->call_count)
		return false;
	call = &keys->calls[number];
	if (call->kind >= keys->kind_count || call->task >= keys->task_count ||
	    call->words > room || call->caller_count * sizeof(uint32_t) > room - call->words ||
	    keys->tasks[call->task].comm[CLEW_COMM_SIZE - 1])
		return false;
	kind = &keys->kinds[call->kind];
	*ret_call = (struct clew_keys_call){
		.interface = name_at(keys, kind->interface),
		.operation = name_at(keys, kind->operation),
		.calls = name_at(keys, kind->calls),
		.comm = keys->tasks[call->task].comm,
		.begin = call->begin,
		.end = call->end,
		.token = call->token,
		.tid = keys->tasks[call->task].tid,
		.pid = keys->tasks[call->task].pid,
		.parent = call->parent,
		.caller_count = call->caller_count,
		.word_count = call->word_count,
		.evidence = call->evidence < CLEW_EVIDENCE_COUNT ? call->evidence
								 : CLEW_EVIDENCE_CANDIDATE,
		.bridged = call->flags & KEYS_CALL_BRIDGED,
		.is_async = kind->is_async,
		.callers = keys->data + keys->tail.sections[KEYS_WORDS].at + call->words,
	};
	ret_call->words = ret_call->callers + call->caller_count * sizeof(uint32_t);
	return true;
}

uint32_t clew_keys_caller(const struct clew_keys_call *call, uint32_t index)
{
	uint32_t number;

	memcpy(&number, call->callers + index * sizeof(number), sizeof(number));
	return number;
}

bool clew_keys_word(const struct clew_keys *keys, const struct clew_keys_call *call, size_t *at,
		    struct clew_keys_word *ret_word)
{
	const uint8_t *word = call->words + *at,
		      *end = keys->data + keys->tail.sections[KEYS_WORDS].at +
			     keys->tail.sections[KEYS_WORDS].bytes,
		      *value;
	uint32_t type;

	if ((size_t)(end - word) <= sizeof(type))
		return false;
	memcpy(&type, word, sizeof(type));
	value = word + sizeof(type);
	end = memchr(value, '\0', (size_t)(end - value));
	if (!end)
		return false;
	*ret_word = (struct clew_keys_word){.type = name_at(keys, type & ~KEYS_ATTRIBUTE),
					    .value = (const char *)value,
					    .attribute = type & KEYS_ATTRIBUTE};
	*at = (size_t)(end + 1 - call->words);
	return true;
}

/* ---- search ---- */

/* True if a word has such a type: kv/key is key, too, and @id an attribute only. */
static bool fits_type(const struct clew_keys_word *word, const char *type)
{
	size_t length = strlen(word->type), wanted = strlen(type);

	if (*type == '@')
		return word->attribute && !strcmp(word->type, type + 1);

	if (length < wanted || strcmp(word->type + length - wanted, type))
		return false;
	return length == wanted || (!word->attribute && word->type[length - wanted - 1] == '/');
}

static bool fits(const struct clew_keys_search *search, uint32_t number)
{
	struct clew_keys_call call;
	struct clew_keys_word word;
	size_t at = 0;

	if (!clew_keys_call(search->keys, number, &call))
		return false;
	for (uint32_t i = 0; i < call.word_count; i++) {
		if (!clew_keys_word(search->keys, &call, &at, &word))
			return false;
		if (!strcmp(word.value, search->value) &&
		    (!search->type || fits_type(&word, search->type)))
			return true;
	}
	return false;
}

/* The first entry whose key is `key` or higher. */
static size_t lower_bound(const struct clew_keys *keys, uint64_t key)
{
	size_t low = 0, high = keys->entry_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (keys->entries[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void clew_keys_search(const struct clew_keys *keys, const char *type, const char *value,
		      struct clew_keys_search *ret_search)
{
	uint64_t key = keys_hash(value);

	*ret_search = (struct clew_keys_search){
		.keys = keys,
		.type = type,
		.value = value,
		.next = lower_bound(keys, key),
		.end = key < UINT64_MAX ? lower_bound(keys, key + 1) : keys->entry_count,
		.last = CLEW_NO_NUMBER,
	};
}

bool clew_keys_next(struct clew_keys_search *search, uint32_t *ret_number)
{
	while (search->next < search->end) {
		uint32_t number = search->keys->entries[search->next++].index;

		/* A call that has the value twice is there twice. */
		if (number == search->last || !fits(search, number))
			continue;
		search->last = *ret_number = number;
		return true;
	}
	return false;
}
