/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Places of addresses in the memory of processes: the first one that an address had counts. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf/demangle.h"
#include "trace/internal.h"
#include "trace/name.h"

/* The function at an address of a process. */
static int take_code(struct clew_trace *trace, const struct clew_address *record)
{
	const char *name = (const char *)(record + 1);
	const struct trace_task *task = trace_task_find(trace, record->task);
	uint32_t process = task ? task->task.process : record->task;
	size_t length = strnlen(name, record->size);
	char *copy;

	if (length == record->size || map_get(&trace->codes, record->address, process))
		return 0;
	copy = symbol_demangle(name, false);
	name = arena_copy(&trace->arena, copy ?: name, copy ? strlen(copy) : length);
	free(copy);
	return name ? map_set(&trace->codes, record->address, process, (uintptr_t)name) : -ENOMEM;
}

const char *clew_trace_code(const struct clew_trace *trace, uint32_t process, uint64_t address)
{
	const uint64_t *found = map_get(&trace->codes, address, process);

	return found ? (const char *)(uintptr_t)*found : NULL;
}

int trace_take_address(struct clew_trace *trace, const struct clew_address *record)
{
	const char *name = (const char *)(record + 1);
	size_t length = strnlen(name, record->size), size = sizeof(*record) + record->size;
	char *copy;

	if (record->header.flags == CLEW_ADDRESS_CODE)
		return take_code(trace, record);
	if (length == record->size || map_get(&trace->addresses, record->address, record->memory))
		return 0;
	copy = arena_copy(&trace->arena, record, size);
	if (!copy ||
	    map_set(&trace->addresses, record->address, record->memory, (uintptr_t)copy) < 0)
		return -ENOMEM;
	return map_set(&trace->memories, record->address, record->task, record->memory);
}

uint32_t clew_trace_memory_at(const struct clew_trace *trace, uint64_t address, uint32_t task)
{
	const uint64_t *found = map_get(&trace->memories, address, task);

	return found ? (uint32_t)*found : 0;
}

bool clew_trace_address(const struct clew_trace *trace, const struct clew_object *object,
			struct clew_address_name *ret_name)
{
	const uint64_t *found = object->kind == CLEW_OBJECT_FUTEX && object->memory
					? map_get(&trace->addresses, object->number, object->memory)
					: NULL;
	const struct clew_address *record;

	if (!found)
		return false;
	record = (const struct clew_address *)(uintptr_t)*found;
	*ret_name = (struct clew_address_name){
		.place = record->header.flags,
		.offset = record->offset,
		.symbol = (const char *)(record + 1),
	};
	ret_name->path = ret_name->symbol + strlen(ret_name->symbol) + 1;
	return true;
}

const char *clew_address_name(const struct clew_trace *trace, const struct clew_object *object,
			      char *buffer, size_t size)
{
	struct clew_address_name name;
	const char *of, *slash;
	char *demangled = NULL;

	if (!clew_trace_address(trace, object, &name))
		return NULL;
	slash = strrchr(name.path, '/');
	switch (name.place) {
	case CLEW_ADDRESS_SYMBOL:
		demangled = symbol_demangle(name.symbol, false);
		of = demangled ?: name.symbol;
		break;
	case CLEW_ADDRESS_FILE:
		of = slash ? slash + 1 : name.path;
		break;
	case CLEW_ADDRESS_HEAP:
		of = "heap";
		break;
	default:
		return NULL;
	}
	if (name.offset)
		snprintf(buffer, size, "%s+0x%" PRIx64, of, name.offset);
	else
		snprintf(buffer, size, "%s", of);
	free(demangled);
	return buffer;
}
