/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects that waits, dependencies and requests are about, as values of
 * attributes, and back.
 */
#include "base/hash.h"
#include "convert/to_trace.h"
#include <stdio.h>
#include <string.h>

static const char *const object_words[CLEW_OBJECT_KIND_COUNT] = {
	[CLEW_OBJECT_NONE] = "none",	     [CLEW_OBJECT_FILE] = "file",
	[CLEW_OBJECT_PIPE] = "pipe",	     [CLEW_OBJECT_SOCKET] = "socket",
	[CLEW_OBJECT_EVENTFD] = "eventfd",   [CLEW_OBJECT_TIMERFD] = "timerfd",
	[CLEW_OBJECT_SIGNALFD] = "signalfd", [CLEW_OBJECT_INOTIFY] = "inotify",
	[CLEW_OBJECT_EPOLL] = "epoll",	     [CLEW_OBJECT_PIDFD] = "pidfd",
	[CLEW_OBJECT_IO_URING] = "io_uring", [CLEW_OBJECT_TTY] = "tty",
	[CLEW_OBJECT_DEVICE] = "device",     [CLEW_OBJECT_ANONYMOUS] = "anonymous",
	[CLEW_OBJECT_FUTEX] = "futex",	     [CLEW_OBJECT_PATH] = "path",
	[CLEW_OBJECT_CHILD] = "child",	     [CLEW_OBJECT_FUNCTION] = "function",
	[CLEW_OBJECT_IPC] = "ipc",	     [CLEW_OBJECT_LOCK] = "lock",
	[CLEW_OBJECT_CGROUP] = "cgroup",     [CLEW_OBJECT_REQUEST] = "request",
	[CLEW_OBJECT_TIMER] = "timer",	     [CLEW_OBJECT_WORK] = "work",
	[CLEW_OBJECT_MEMORY] = "memory",
};

/* "none" for a kind that has no word. */
static const char *object_word(unsigned kind)
{
	return kind < CLEW_OBJECT_KIND_COUNT && object_words[kind] ? object_words[kind] : "none";
}

/* -1: it is no kind's word. */
static int object_kind(const char *word, size_t length)
{
	for (int i = 0; i < CLEW_OBJECT_KIND_COUNT; i++)
		if (object_words[i] && strlen(object_words[i]) == length &&
		    !memcmp(object_words[i], word, length))
			return i;
	return -1;
}

/* ---- from a trace to a model ---- */

const char *capture_path_of(const struct conversion *conversion, const struct clew_object *object,
			    uint64_t at)
{
	const char *path = NULL;

	if (object->kind == CLEW_OBJECT_LOCK)
		clew_trace_lock(conversion->trace, object->number, at, &path);
	if (object->kind == CLEW_OBJECT_FILE || object->kind == CLEW_OBJECT_TTY ||
	    object->kind == CLEW_OBJECT_DEVICE)
		clew_trace_file_then(conversion->trace, object->device, object->number, at, &path);
	return path;
}

/* Its name for people: a path or a text, else its number. */
static void name_object(struct conversion *conversion, const struct clew_object *object,
			const char *path)
{
	const struct clew_trace *trace = conversion->trace;
	struct pairs *pairs = &conversion->pairs;
	const char *name = path;
	char number[24];

	switch (object->kind) {
	case CLEW_OBJECT_CGROUP:
		name = clew_trace_cgroup(trace, object->number);
		break;
	case CLEW_OBJECT_PATH:
	case CLEW_OBJECT_FUNCTION:
	case CLEW_OBJECT_TIMER:
	case CLEW_OBJECT_WORK:
		name = clew_trace_text(trace, object->number);
		break;
	case CLEW_OBJECT_LOCK:
		name = name ?: clew_trace_text(trace, object->number);
		if (name)
			break;
		/* fallthrough */
	case CLEW_OBJECT_FUTEX:
	case CLEW_OBJECT_REQUEST:
	case CLEW_OBJECT_IO_URING:
	case CLEW_OBJECT_TIMERFD:
		snprintf(number, sizeof(number), "0x%llx", (unsigned long long)object->number);
		name = number;
		break;
	default:
		break;
	}
	if (name && name[0])
		pairs_text(pairs, name);
	else
		pairs_number(pairs, object->number);
}

void capture_object_pairs(struct conversion *conversion, const struct clew_object *object,
			  const char *path, bool whole)
{
	struct pairs *pairs = &conversion->pairs;

	if (object->kind != CLEW_OBJECT_NONE) {
		pairs_add(pairs, ATTRIBUTE_OBJECT, object_word(object->kind));
		pairs_byte(pairs, ':');
		name_object(conversion, object, path);
	}
	if (!whole)
		return;
	if (object->number)
		pairs_add_number(pairs, ATTRIBUTE_ID, object->number);
	if (object->kind == CLEW_OBJECT_FUTEX && object->memory)
		pairs_add_number(pairs, ATTRIBUTE_MEMORY, object->memory);
	else if (object->device)
		PAIRS_ROW(pairs, ATTRIBUTE_DEV, {object->device});
	if (object->descriptor >= 0)
		pairs_add_number(pairs, ATTRIBUTE_FD, (uint64_t)object->descriptor);
	else if (object->descriptor != -1)
		pairs_add_number(pairs, ATTRIBUTE_FD, (uint32_t)object->descriptor);
	if (object->futex_operation)
		pairs_add_number(pairs, ATTRIBUTE_OP, object->futex_operation);
	if (object->shared)
		pairs_add(pairs, ATTRIBUTE_SHARED, "yes");
}

/* ---- and back ---- */

/* Makes up an inode number from the name: a hand-written trace has only
 * names. */
static int name_file(struct back *back, struct clew_object *object, const char *path)
{
	char bytes[sizeof(struct clew_file_record) + CLEW_PATH_SIZE] = {0};
	struct clew_file_record *record = (struct clew_file_record *)bytes;
	size_t length = strnlen(path, CLEW_PATH_SIZE - 1);

	object->number = hash_bytes(object->number, path, length) >> 1;
	record->header.kind = CLEW_KIND_FILE;
	record->inode = object->number;
	record->path_size = (uint16_t)(length + 1);
	memcpy(record + 1, path, length);
	return trace_take(back->trace, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
							     .identity = &record->header});
}

/* For hand-written "KIND:NAME": a name that is a number is that of the
 * object. */
static int object_by_name(struct back *back, const char *name, struct clew_object *object)
{
	const char *at = name;
	uint64_t number = 0;

	if (object->kind == CLEW_OBJECT_FILE)
		return name_file(back, object, name);
	if (at[0] == '0' && at[1] == 'x') {
		for (at += 2; (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'); at++)
			number = number << 4 | (uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
		object->number = number;
	} else if (scan_value_number(&at, &number)) {
		object->number = number;
	}
	return 0;
}

int back_object(struct back *back, const struct values *values, struct clew_object *ret_object)
{
	struct clew_object object = {.descriptor = -1};
	const char *text = values->of[ATTRIBUTE_OBJECT], *colon = text ? strchr(text, ':') : NULL;
	uint64_t descriptor = UINT32_MAX, operation = 0, memory = 0;
	int kind = text ? object_kind(text, colon ? (size_t)(colon - text) : strlen(text))
			: CLEW_OBJECT_NONE,
	    r = 0;

	/* Answers show nothing of a kind that clew does not know. */
	object.kind = kind < 0 ? CLEW_OBJECT_NONE : (uint8_t)kind;
	if (values->of[ATTRIBUTE_ID])
		r = back_number(back, values, ATTRIBUTE_ID, &object.number);
	else if (!back->from_capture && colon)
		r = object_by_name(back, colon + 1, &object);
	if (r == 0)
		r = back_row(back, ATTRIBUTE_DEV, values);
	if (r > 0)
		object.device = (uint32_t)row_fields(&back->row)[0].number;
	if (r >= 0)
		r = BACK_NUMBERS(back, values, {ATTRIBUTE_FD, &descriptor},
				 {ATTRIBUTE_OP, &operation}, {ATTRIBUTE_MEMORY, &memory});
	if (object.kind == CLEW_OBJECT_FUTEX)
		object.memory = (uint32_t)memory;
	object.descriptor = (int32_t)(uint32_t)descriptor;
	object.futex_operation = (uint8_t)operation;
	object.shared = values->of[ATTRIBUTE_SHARED] != NULL;
	*ret_object = object;
	return r;
}
