/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files, sockets, control groups and texts as values of attributes, and back.
 * Each has a key of its own.
 */
#include "base/device.h"
#include "convert/to_trace.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- from a trace to a model ---- */

static int compare_slots(const void *left, const void *right)
{
	const struct map_slot *a = *(const struct map_slot *const *)left,
			      *b = *(const struct map_slot *const *)right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->part < b->part ? -1 : a->part > b->part;
}

/* `number`: of the files that had this inode number, from 0. */
static void describe_version(struct pairs *pairs, const struct map_slot *slot,
			     const struct trace_file *file, unsigned number)
{
	const struct clew_file_record *record = &file->record;
	char name[80];
	int used;

	used = snprintf(name, sizeof(name), "%s.%" PRIu64, DEVICE_TEXT(slot->part), slot->key);
	if (number)
		snprintf(name + used, sizeof(name) - (size_t)used, ".%u", number);
	PAIRS_ROW_OF(pairs, ATTRIBUTE_KNOWN_FILE, name, {record->header.flags},
		     {record->mount_namespace}, {record->generation}, {number ? file->since : 0},
		     {.word = (const char *)(record + 1)});
}

static void describe_file(struct conversion *conversion, const struct map_slot *slot)
{
	const struct trace_file *newest = (const struct trace_file *)(uintptr_t)slot->value;
	const struct trace_file **files = malloc((newest->depth + 1ul) * sizeof(*files));

	if (!files) {
		conversion->pairs.failed = true;
		return;
	}
	for (const struct trace_file *file = newest; file; file = file->older)
		files[file->depth] = file;
	for (unsigned i = 0; i <= newest->depth; i++)
		describe_version(&conversion->pairs, slot, files[i], i);
	free(files);
}

/* By clew_header.flags of the record. */
static const char *const side_words[] = {"", "connected", "accepted", ""};

static void describe_socket(struct conversion *conversion, const struct map_slot *slot)
{
	const struct clew_socket_record *socket = (const void *)(uintptr_t)slot->value;
	char local_path[CLEW_UNIX_PATH_SIZE + 1] = "", peer_path[CLEW_UNIX_PATH_SIZE + 1] = "";
	char name[24];

	_Static_assert(sizeof(socket->local) == ATTRIBUTE_ADDRESS_SIZE, "one form of addresses");
	memcpy(local_path, socket->local_path, CLEW_UNIX_PATH_SIZE);
	memcpy(peer_path, socket->peer_path, CLEW_UNIX_PATH_SIZE);
	snprintf(name, sizeof(name), "%" PRIu64, slot->key);
	PAIRS_ROW_OF(&conversion->pairs, ATTRIBUTE_KNOWN_SOCKET, name, {socket->peer},
		     {socket->family}, {socket->type}, {socket->local_port}, {socket->peer_port},
		     {.address = socket->local}, {.address = socket->remote}, {.word = local_path},
		     {.word = peer_path}, {.word = side_words[socket->header.flags & 3]},
		     {socket->sent_first}, {socket->received_first});
}

static void describe_cgroup(struct conversion *conversion, const struct map_slot *slot)
{
	const struct clew_cgroup_record *cgroup = (const void *)(uintptr_t)slot->value;
	char name[24];

	snprintf(name, sizeof(name), "%" PRIu64, slot->key);
	PAIRS_ROW_OF(&conversion->pairs, ATTRIBUTE_KNOWN_CGROUP, name, {cgroup->hierarchy},
		     {.word = (const char *)(cgroup + 1)});
}

static void describe_text(struct conversion *conversion, const struct map_slot *slot)
{
	const struct clew_text_record *text = (const void *)(uintptr_t)slot->value;
	char name[24];

	/* It is an attribute of its process, which gets another serial on the
	 * way back. */
	if (capture_is_environment(slot->key))
		return;
	snprintf(name, sizeof(name), "%" PRIu64, slot->key);
	pairs_row_begin(&conversion->pairs, ATTRIBUTE_KNOWN_TEXT, name);
	pairs_text(&conversion->pairs, (const char *)(text + 1));
}

static void describe_lock(struct conversion *conversion, const struct map_slot *slot)
{
	const struct trace_lock *newest = (const struct trace_lock *)(uintptr_t)slot->value;
	const struct trace_lock **locks = malloc((newest->number + 1ul) * sizeof(*locks));
	char name[40];

	if (!locks) {
		conversion->pairs.failed = true;
		return;
	}
	for (const struct trace_lock *lock = newest; lock; lock = lock->older)
		locks[lock->number] = lock;
	for (unsigned i = 0; i <= newest->number; i++) {
		const struct clew_lock_name *record = &locks[i]->record;

		snprintf(name, sizeof(name), i ? "%" PRIu64 ".%u" : "%" PRIu64, slot->key, i);
		PAIRS_ROW_OF(&conversion->pairs, ATTRIBUTE_KNOWN_LOCK, name, {record->header.flags},
			     {record->device}, {record->inode}, {record->header.time},
			     {record->owner},
			     {.word = capture_name_or_dash(conversion, record->process)});
	}
	free(locks);
}

static void describe_address(struct conversion *conversion, const struct map_slot *slot)
{
	const struct clew_address *record = (const void *)(uintptr_t)slot->value;
	const char *symbol = (const char *)(record + 1);
	char name[48];

	snprintf(name, sizeof(name), "%" PRIu32 ".%" PRIu64, slot->part, slot->key);
	PAIRS_ROW_OF(&conversion->pairs, ATTRIBUTE_KNOWN_ADDRESS, name, {record->header.flags},
		     {record->offset}, {.word = symbol}, {.word = symbol + strlen(symbol) + 1});
}

/* In order of keys, so that the same trace gives the same bytes. */
static void describe_map(struct conversion *conversion, const struct map *map,
			 void (*describe)(struct conversion *, const struct map_slot *))
{
	const struct map_slot **slots = malloc((map->count + 1) * sizeof(*slots));
	size_t count = 0;

	if (!slots) {
		conversion->pairs.failed = true;
		return;
	}
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].used)
			slots[count++] = &map->slots[i];
	if (count > 1)
		qsort(slots, count, sizeof(*slots), compare_slots);
	for (size_t i = 0; i < count; i++)
		describe(conversion, slots[i]);
	free(slots);
}

void capture_describe_identities(struct conversion *conversion)
{
	const struct clew_trace *trace = conversion->trace;

	describe_map(conversion, &trace->files, describe_file);
	describe_map(conversion, &trace->sockets, describe_socket);
	describe_map(conversion, &trace->cgroups, describe_cgroup);
	describe_map(conversion, &trace->texts, describe_text);
	describe_map(conversion, &trace->locks, describe_lock);
	describe_map(conversion, &trace->addresses, describe_address);
	capture_describe_functions(conversion);
}

/* ---- and back ---- */

/* Feeds the trace a record followed by a text. */
static int send_with_text(struct back *back, const void *record, size_t size, const char *text,
			  size_t length)
{
	char *bytes = malloc(size + length + 1);
	int r;

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, record, size);
	memcpy(bytes + size, text, length);
	bytes[size + length] = 0;
	r = trace_take(back->trace,
		       (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
					     .identity = (const struct clew_header *)bytes});
	free(bytes);
	return r;
}

/* The part of the key after its first point. */
static const char *name_of(const struct row *row)
{
	return strchr(row->name, '.') + 1;
}

static int take_file(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	const char *name = name_of(row), *path = row->count > 4 ? fields[4].word : "";
	struct clew_file_record record = {.header.kind = CLEW_KIND_FILE};
	size_t length = strnlen(path, CLEW_PATH_SIZE);
	uint64_t inode;

	if (!scan_value_device(&name, &record.device) || *name++ != '.' ||
	    !scan_value_number(&name, &inode))
		return back_fail_row(back);
	record.inode = inode;
	record.header.flags = (uint8_t)fields[0].number;
	record.mount_namespace = (uint32_t)fields[1].number;
	record.generation = (uint32_t)fields[2].number;
	record.header.time = fields[3].number;
	record.path_size = (uint16_t)(length + 1);
	return send_with_text(back, &record, sizeof(record), path, length);
}

static void copy_path(const struct row *row, size_t field, char path[static CLEW_UNIX_PATH_SIZE])
{
	const char *text = field < row->count ? row_fields(row)[field].word : "";

	memcpy(path, text, strnlen(text, CLEW_UNIX_PATH_SIZE));
}

static int take_socket(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct clew_socket_record record = {.header.kind = CLEW_KIND_SOCKET};
	const char *name = name_of(row);
	uint64_t inode;

	if (!scan_value_number(&name, &inode))
		return back_fail_row(back);
	record.inode = inode;
	record.peer = fields[0].number;
	record.family = (uint16_t)fields[1].number;
	record.type = (uint16_t)fields[2].number;
	record.local_port = (uint16_t)fields[3].number;
	record.peer_port = (uint16_t)fields[4].number;
	memcpy(record.local, fields[5].address, sizeof(record.local));
	memcpy(record.remote, fields[6].address, sizeof(record.remote));
	copy_path(row, 7, record.local_path);
	copy_path(row, 8, record.peer_path);
	for (unsigned i = CLEW_SOCKET_CONNECTED; i <= CLEW_SOCKET_ACCEPTED; i++)
		if (row->count > 9 && !strcmp(fields[9].word, side_words[i]))
			record.header.flags = (uint8_t)i;
	record.sent_first = row->count > 11 ? (uint32_t)fields[10].number : 0;
	record.received_first = row->count > 11 ? (uint32_t)fields[11].number : 0;
	return trace_take(back->trace, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
							     .identity = &record.header});
}

static int take_cgroup(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	const char *name = name_of(row), *path = row->count > 1 ? fields[1].word : "";
	struct clew_cgroup_record record = {.header.kind = CLEW_KIND_CGROUP};
	size_t length = strnlen(path, CLEW_PATH_SIZE);
	uint64_t id;

	if (!scan_value_number(&name, &id))
		return back_fail_row(back);
	record.id = id;
	record.hierarchy = (uint32_t)fields[0].number;
	record.path_size = (uint16_t)(length + 1);
	return send_with_text(back, &record, sizeof(record), path, length);
}

static int take_text(struct back *back, const char *key, const char *value)
{
	const char *name = strchr(key, '.') + 1;
	struct clew_text_record record = {.header.kind = CLEW_KIND_TEXT};
	size_t length = strlen(value);
	uint64_t hash;

	if (!scan_value_number(&name, &hash) || length > UINT16_MAX)
		return back_fail(back, "%s=%.60s: a row is not as it is written by `clew convert`",
				 key, value);
	record.hash = hash;
	record.text_size = (uint16_t)length;
	return send_with_text(back, &record, sizeof(record), value, length);
}

static int take_lock(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct clew_lock_name record = {.header.kind = CLEW_KIND_LOCK_NAME};
	const char *name = name_of(row);
	uint64_t lock;

	if (!scan_value_number(&name, &lock))
		return back_fail_row(back);
	record.lock = lock;
	record.header.flags = (uint8_t)fields[0].number;
	record.device = (uint32_t)fields[1].number;
	record.inode = fields[2].number;
	record.header.time = fields[3].number;
	record.owner = (uint32_t)fields[4].number;
	record.process = back_serial(back, fields[5].word);
	return trace_take(back->trace, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
							     .identity = &record.header});
}

static int take_address(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	const char *symbol = row->count > 2 ? fields[2].word : "", *name = name_of(row),
		   *path = row->count > 3 ? fields[3].word : "";
	struct {
		struct clew_address address;
		char words[2 * CLEW_PATH_SIZE];
	} record = {.address.header.kind = CLEW_KIND_ADDRESS};
	uint64_t memory, address;
	int size;

	if (!scan_value_number(&name, &memory) || *name++ != '.' ||
	    !scan_value_number(&name, &address))
		return back_fail_row(back);
	record.address.address = address;
	record.address.memory = (uint32_t)memory;
	record.address.header.flags = (uint8_t)fields[0].number;
	record.address.offset = fields[1].number;
	size = snprintf(record.words, sizeof(record.words), "%.*s%c%.*s", CLEW_PATH_SIZE - 1,
			symbol, '\0', CLEW_PATH_SIZE - 1, path);
	record.address.size = (uint16_t)size;
	return trace_take(back->trace, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
							     .identity = &record.address.header});
}

int back_identity(struct back *back, enum attribute_key key, const char *name, const char *value)
{
	switch (key) {
	case ATTRIBUTE_KNOWN_FILE:
		return back_rows_of(back, key, name, value, take_file, NULL);
	case ATTRIBUTE_KNOWN_SOCKET:
		return back_rows_of(back, key, name, value, take_socket, NULL);
	case ATTRIBUTE_KNOWN_CGROUP:
		return back_rows_of(back, key, name, value, take_cgroup, NULL);
	case ATTRIBUTE_KNOWN_TEXT:
		return take_text(back, name, value);
	case ATTRIBUTE_KNOWN_LOCK:
		return back_rows_of(back, key, name, value, take_lock, NULL);
	case ATTRIBUTE_KNOWN_ADDRESS:
		return back_rows_of(back, key, name, value, take_address, NULL);
	case ATTRIBUTE_FUNCTIONS:
		return back_functions(back, name, value);
	case ATTRIBUTE_DROPPED:
		return back_dropped(back, name, value);
	default:
		return 0;
	}
}
