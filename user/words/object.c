/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects in JSON and in words. */
#include "words/object.h"

#include <clew/tokens.h>
#include <inttypes.h>
#include <string.h>

#include "base/device.h"
#include "format/text.h"
#include "trace/name.h"
#include "words/describe.h"
#include "words/task.h"
#include "words/writers.h"

bool clew_has_sector(const struct clew_block_request *block)
{
	return block->sector != UINT64_MAX &&
	       strcmp(clew_request_operation_name(block->operation, block->bytes), "flush") != 0;
}

void clew_json_sector(struct clew_json *json, const struct clew_block_request *block)
{
	clew_json_maybe(json, "sector", clew_has_sector(block), block->sector);
}

void clew_json_device(struct clew_json *json, uint32_t device)
{
	clew_json_string(json, "dev", DEVICE_TEXT(device));
}

static void json_file(struct clew_json *json, const struct clew_object *object,
		      const struct object_description *it)
{
	clew_json_string(json, "path", it->path && it->path[0] ? it->path : NULL);
	if (object->kind == CLEW_OBJECT_PATH) {
		clew_json_null(json, "dev");
		clew_json_null(json, "ino");
	} else {
		clew_json_device(json, object->device);
		clew_json_unsigned(json, "ino", object->number);
	}
	clew_json_bool(json, "deleted", it->file && it->file->header.flags & CLEW_FILE_DELETED);
	if (it->file) {
		clew_json_bool(json, "directory", it->file->header.flags & CLEW_FILE_DIRECTORY);
		clew_json_bool(json, "truncated", it->file->header.flags & CLEW_FILE_TRUNCATED);
		clew_json_unsigned(json, "mount_namespace", it->file->mount_namespace);
	}
}

static void json_socket(struct clew_json *json, const struct clew_object *object,
			const struct object_description *it)
{
	clew_json_string(json, "family", it->family);
	clew_json_string(json, "protocol", it->protocol);
	clew_json_string(json, "local", it->local.text[0] ? it->local.text : NULL);
	clew_json_string(json, "peer", it->peer.text[0] ? it->peer.text : NULL);
	clew_json_known(json, "ino", object->number, 0);
}

static void json_request(struct clew_json *json, const struct clew_trace *trace,
			 const struct clew_object *object, const struct object_description *it)
{
	const struct clew_block_request *block = it->request;

	if (!block) {
		clew_json_null(json, "dev");
		clew_json_null(json, "sector");
		clew_json_null(json, "bytes");
		clew_json_null(json, "op");
		return;
	}
	clew_json_device(json, block->device);
	clew_json_sector(json, block);
	clew_json_unsigned(json, "bytes", block->bytes);
	clew_json_string(json, "op", clew_request_operation_name(block->operation, block->bytes));
	clew_json_string(json, "path", it->path && it->path[0] ? it->path : NULL);
	clew_json_request_writers(json, trace, object->number);
}

/* A kernel lock, and what it belongs to: the memory of a process, or a file. */
static void json_lock(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_object *object, uint64_t at,
		      const struct object_description *it)
{
	const struct clew_lock_name *lock = it->lock;
	bool memory = lock && lock->header.flags == CLEW_LOCK_MEMBER_MMAP;
	char address[32];

	snprintf(address, sizeof(address), "0x%" PRIx64, object->number);
	clew_json_string(json, "type", clew_lock_type_name(object->lock_type));
	clew_json_string(json, "address", address);
	clew_json_string(json, "symbol", it->function);
	clew_json_string(json, "member", clew_lock_member(lock));
	if (memory)
		clew_json_task_fields(json, trace, lock->process, at);
	if (!lock || memory)
		return;
	clew_json_device(json, lock->device);
	clew_json_unsigned(json, "ino", lock->inode);
	clew_json_string(json, "path", it->path && it->path[0] ? it->path : NULL);
}

/* The variable that a futex is in, or the file or memory. */
static void json_futex(struct clew_json *json, const struct clew_trace *trace,
		       const struct clew_object *object, const struct object_description *it)
{
	struct clew_address_name name = {.symbol = "", .path = ""};
	bool known = clew_trace_address(trace, object, &name);
	char address[32];

	snprintf(address, sizeof(address), "0x%" PRIx64, object->number);
	clew_json_string(json, "address", address);
	clew_json_string(json, "op", it->operation);
	clew_json_bool(json, "shared", object->shared);
	clew_json_string(json, "symbol", name.symbol[0] ? name.symbol : NULL);
	clew_json_string(json, "path", name.path[0] ? name.path : NULL);
	if (known)
		clew_json_unsigned(json, "offset", name.offset);
	else
		clew_json_null(json, "offset");
}

static void json_fields(struct clew_json *json, const struct clew_trace *trace,
			const struct clew_object *object, uint64_t at,
			const struct object_description *it)
{
	switch (object->kind) {
	case CLEW_OBJECT_FILE:
	case CLEW_OBJECT_PATH:
		json_file(json, object, it);
		break;
	case CLEW_OBJECT_SOCKET:
		json_socket(json, object, it);
		break;
	case CLEW_OBJECT_PIPE:
		clew_json_known(json, "ino", object->number, 0);
		break;
	case CLEW_OBJECT_EVENTFD:
		/* Its number, which begins at 0. */
		clew_json_unsigned(json, "ino", object->number);
		break;
	case CLEW_OBJECT_FUTEX:
		json_futex(json, trace, object, it);
		break;
	case CLEW_OBJECT_CHILD:
		if (it->pid)
			clew_json_signed(json, "pid", it->pid);
		else
			clew_json_null(json, "pid");
		break;
	case CLEW_OBJECT_TIMERFD:
	case CLEW_OBJECT_TIMER:
		clew_json_known(json, "expires", it->expires, 0);
		clew_json_string(json, "function", it->function);
		break;
	case CLEW_OBJECT_LOCK:
		json_lock(json, trace, object, at, it);
		break;
	case CLEW_OBJECT_REQUEST:
		json_request(json, trace, object, it);
		break;
	case CLEW_OBJECT_WORK:
		clew_json_string(json, "function", it->function);
		break;
	case CLEW_OBJECT_CGROUP:
		clew_json_string(json, "path", it->path);
		break;
	case CLEW_OBJECT_FUNCTION:
		clew_json_string(json, "function", it->name);
		break;
	case CLEW_OBJECT_IPC:
		clew_json_unsigned(json, "id", object->number);
		break;
	case CLEW_OBJECT_TTY:
	case CLEW_OBJECT_DEVICE:
		clew_json_device(json, object->device);
		break;
	}
}

static void json_object_at(struct clew_json *json, const char *key, const struct clew_trace *trace,
			   const struct clew_object *object, const struct clew_sleep *sleep,
			   uint64_t at)
{
	struct object_description it;

	if (!object_describe_then(trace, object, sleep, at, &it)) {
		clew_json_null(json, key);
		return;
	}
	clew_json_object(json, key);
	clew_json_string(json, "kind", it.kind);
	clew_json_string(json, "name", it.name);
	json_fields(json, trace, object, at, &it);
	if (object->descriptor >= 0)
		clew_json_signed(json, "descriptor", object->descriptor);
	clew_json_object_end(json);
}

void clew_json_object_of(struct clew_json *json, const char *key, const struct clew_trace *trace,
			 const struct clew_object *object, const struct clew_sleep *sleep)
{
	json_object_at(json, key, trace, object, sleep, sleep ? sleep->start : CLEW_TIME_OPEN);
}

bool clew_print_object(FILE *out, const struct clew_trace *trace, const struct clew_object *object,
		       const struct clew_sleep *sleep)
{
	struct object_description it;

	if (!object_describe(trace, object, sleep, &it))
		return false;
	clew_print_safe(out, it.name);
	return true;
}

struct clew_object clew_spin_object(const struct clew_spin *spin)
{
	return (struct clew_object){.kind = CLEW_OBJECT_LOCK,
				    .number = spin->lock,
				    .lock_type = spin->type,
				    .descriptor = -1};
}

void clew_json_spin_object(struct clew_json *json, const char *key, const struct clew_trace *trace,
			   const struct clew_spin *spin)
{
	struct clew_object lock = clew_spin_object(spin);

	json_object_at(json, key, trace, &lock, NULL, spin->end);
}

void clew_print_spin_object(FILE *out, const struct clew_trace *trace, const struct clew_spin *spin)
{
	struct clew_object lock = clew_spin_object(spin);
	struct object_description it;

	object_describe_then(trace, &lock, NULL, spin->end, &it);
	clew_print_safe(out, it.name);
}
