/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words of the closed lists. Every word that clew writes or reads for a context, an
 * evidence, a request or the end of a call stands here and nowhere else, and those of wait
 * kinds and dependency types in their tables.
 */
#include <clew/kernel/records.h>
#include <clew/tokens.h>
#include <stddef.h>
#include <string.h>

static const char *const wait_kinds[CLEW_SEGMENT_KIND_COUNT] = {
#define CLEW_WAIT_KIND(NAME, name, ...)	   [CLEW_WAIT_##NAME] = #name,
#define CLEW_SEGMENT_KIND(NAME, name, ...) [CLEW_SEGMENT_##NAME] = #name,
#include <clew/wait_kinds.def>
};

static const char *const contexts[] = {
	[CLEW_WAKE_UNKNOWN] = "unknown", [CLEW_WAKE_TASK] = "task",   [CLEW_WAKE_IRQ] = "irq",
	[CLEW_WAKE_SOFTIRQ] = "softirq", [CLEW_WAKE_TIMER] = "timer", [CLEW_WAKE_IPI] = "ipi",
	[CLEW_WAKE_WORK] = "work",
};

static const char *const edge_types[CLEW_EDGE_TYPE_COUNT] = {
#define CLEW_EDGE_TYPE(NAME, name, ...) [CLEW_EDGE_##NAME] = #name,
#include <clew/edge_types.def>
};

static const char *const evidences[CLEW_EVIDENCE_COUNT] = {
	[CLEW_EVIDENCE_EXACT] = "exact",
	[CLEW_EVIDENCE_OBSERVED] = "observed",
	[CLEW_EVIDENCE_CANDIDATE] = "candidate",
};

static const char *const request_operations[CLEW_REQUEST_OPERATION_COUNT] = {
	[CLEW_REQUEST_READ] = "read",	  [CLEW_REQUEST_WRITE] = "write",
	[CLEW_REQUEST_FLUSH] = "flush",	  [CLEW_REQUEST_DISCARD] = "discard",
	[CLEW_REQUEST_ZEROES] = "zeroes", [CLEW_REQUEST_OTHER] = "other",
};

static const char *const request_reasons[CLEW_REQUEST_REASON_COUNT] = {
	[CLEW_REQUEST_REASON_UNKNOWN] = "unknown",
	[CLEW_REQUEST_REASON_BACKGROUND] = "background",
	[CLEW_REQUEST_REASON_PERIODIC] = "periodic",
	[CLEW_REQUEST_REASON_SYNC] = "sync",
	[CLEW_REQUEST_REASON_FSYNC] = "fsync",
	[CLEW_REQUEST_REASON_MEMORY] = "memory",
	[CLEW_REQUEST_REASON_THROTTLED] = "throttled",
	[CLEW_REQUEST_REASON_DIRECT] = "direct",
	[CLEW_REQUEST_REASON_JOURNAL] = "journal",
	[CLEW_REQUEST_REASON_METADATA] = "metadata",
	[CLEW_REQUEST_REASON_READAHEAD] = "readahead",
	[CLEW_REQUEST_REASON_READ] = "read",
	[CLEW_REQUEST_REASON_CALL] = "call",
};

static const char *const frame_closed[] = {"returned", "tail-call", "longjmp", "exception",
					   "exit",     "canceled",  "crash",   "exec",
					   "unwound",  "lost",	    "open",    "point"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *word(const char *const *words, size_t count, unsigned value)
{
	return value < count && words[value] ? words[value] : "unknown";
}

static int value_of(const char *const *words, size_t count, const char *name)
{
	for (size_t i = 0; name && i < count; i++)
		if (words[i] && !strcmp(words[i], name))
			return (int)i;
	return -1;
}

const char *clew_wait_kind_name(unsigned kind)
{
	return word(wait_kinds, COUNT(wait_kinds), kind);
}

const char *clew_context_name(unsigned context)
{
	return word(contexts, COUNT(contexts), context);
}

const char *clew_edge_type_name(unsigned type)
{
	return word(edge_types, COUNT(edge_types), type);
}

const char *clew_evidence_name(unsigned evidence)
{
	return word(evidences, COUNT(evidences), evidence);
}

const char *clew_frame_closed_name(unsigned closed)
{
	return word(frame_closed, COUNT(frame_closed), closed);
}

enum clew_request_operation clew_request_operation(unsigned operation, unsigned bytes)
{
	switch (operation & 0xff) {
	case 0:
		return CLEW_REQUEST_READ;
	case 1:
		return bytes ? CLEW_REQUEST_WRITE : CLEW_REQUEST_FLUSH;
	case 2:
		return CLEW_REQUEST_FLUSH;
	case 3:
	case 5:
		return CLEW_REQUEST_DISCARD;
	case 9:
		return CLEW_REQUEST_ZEROES;
	default:
		return CLEW_REQUEST_OTHER;
	}
}

const char *clew_request_operation_name(unsigned operation, unsigned bytes)
{
	return word(request_operations, COUNT(request_operations),
		    clew_request_operation(operation, bytes));
}

int clew_request_operation_from_name(const char *name)
{
	return value_of(request_operations, COUNT(request_operations), name);
}

const char *clew_request_reason_name(unsigned reason)
{
	return word(request_reasons, COUNT(request_reasons), reason);
}

int clew_request_reason_from_name(const char *name)
{
	return value_of(request_reasons, COUNT(request_reasons), name);
}

int clew_wait_kind_from_name(const char *name)
{
	return value_of(wait_kinds, COUNT(wait_kinds), name);
}

int clew_edge_type_from_name(const char *name)
{
	return value_of(edge_types, COUNT(edge_types), name);
}

const char *clew_edge_relation(unsigned type)
{
	static const char *const relations[CLEW_EDGE_TYPE_COUNT] = {
#define CLEW_EDGE_TYPE(NAME, name, relation, ...) [CLEW_EDGE_##NAME] = #relation,
#include <clew/edge_types.def>
	};

	return type < CLEW_EDGE_TYPE_COUNT ? relations[type] : "horizontal";
}
