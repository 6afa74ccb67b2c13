/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Added-up stacks as a profile for pprof, packed with gzip as pprof expects it. Each name of
 * a frame is a function and a location. The numbers of fields are those of profile.proto.
 */
#include "export/stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "export/gzip.h"
#include "export/proto.h"

#define PROFILE_TYPE	 1
#define PROFILE_SAMPLE	 2
#define PROFILE_LOCATION 4
#define PROFILE_FUNCTION 5
#define PROFILE_STRING	 6
#define PROFILE_TIME	 9
#define PROFILE_DURATION 10
#define PROFILE_PERIOD	 11
#define PROFILE_DEFAULT	 14

enum value { VALUE_COUNT, VALUE_NS, VALUE_BLOCKED, VALUE_RUNNING, VALUE_END };

/* The values of a sample, by what the stacks are. */
struct value_type {
	const char *name;
	const char *unit;
	enum value value;
};

static const struct value_type chain_types[] = {
	{"segments", "count", VALUE_COUNT},
	{"critical", "nanoseconds", VALUE_NS},
	{"blocked", "nanoseconds", VALUE_BLOCKED},
	{"cpu", "nanoseconds", VALUE_RUNNING},
	{NULL, NULL, VALUE_END},
};
static const struct value_type wait_types[] = {
	{"waits", "count", VALUE_COUNT},
	{"blocked", "nanoseconds", VALUE_NS},
	{NULL, NULL, VALUE_END},
};
static const struct value_type sample_types[] = {
	{"samples", "count", VALUE_COUNT},
	{NULL, NULL, VALUE_END},
};

static const struct value_type *types_of(const struct clew_export *export)
{
	switch (export->stacks) {
	case CLEW_STACKS_OFF_CPU:
		return wait_types;
	case CLEW_STACKS_ON_CPU:
		return sample_types;
	default:
		return chain_types;
	}
}

struct pprof {
	const struct clew_export *export;
	const struct stacks *stacks;
	struct proto profile;
	struct proto packed;
	uint64_t strings; /* written so far; names of frames come first, from 1 on */
};

static uint64_t put_string(struct pprof *pprof, const char *text)
{
	proto_string(&pprof->profile, PROFILE_STRING, text);
	return pprof->strings++;
}

static void put_type(struct pprof *pprof, unsigned field, uint64_t name, uint64_t unit)
{
	size_t opened = proto_open(&pprof->profile, field);

	proto_number(&pprof->profile, 1, name);
	proto_number(&pprof->profile, 2, unit);
	proto_close(&pprof->profile, opened);
}

/* The main one is the second, if there are two. */
static void put_types(struct pprof *pprof)
{
	const struct value_type *types = types_of(pprof->export);
	uint64_t name, unit, main_name = 0, main_unit = 0;

	for (size_t i = 0; types[i].name; i++) {
		name = put_string(pprof, types[i].name);
		unit = put_string(pprof, types[i].unit);
		put_type(pprof, PROFILE_TYPE, name, unit);
		if (i < 2) {
			main_name = name;
			main_unit = unit;
		}
	}
	put_type(pprof, PROFILE_PERIOD, main_name, main_unit);
	proto_number(&pprof->profile, PROFILE_DEFAULT, main_name);
}

static void put_functions(struct pprof *pprof)
{
	struct proto *profile = &pprof->profile;
	size_t opened, line;

	put_string(pprof, "");
	for (uint32_t i = 0; i < pprof->stacks->names.count; i++) {
		uint64_t name = put_string(pprof, stacks_name(pprof->stacks, i));

		opened = proto_open(profile, PROFILE_FUNCTION);
		proto_number(profile, 1, i + 1);
		proto_number(profile, 2, name);
		proto_number(profile, 3, name);
		proto_close(profile, opened);
		opened = proto_open(profile, PROFILE_LOCATION);
		proto_number(profile, 1, i + 1);
		line = proto_open(profile, 4);
		proto_number(profile, 1, i + 1);
		proto_close(profile, line);
		proto_close(profile, opened);
	}
}

static uint64_t value_of(const struct stack_node *node, enum value value)
{
	switch (value) {
	case VALUE_COUNT:
		return node->count;
	case VALUE_BLOCKED:
		return node->ns - node->running_ns;
	case VALUE_RUNNING:
		return node->running_ns;
	default:
		return node->ns;
	}
}

/* Locations come from the innermost outwards. `kinds`: the strings of the kinds. */
static void put_sample(struct pprof *pprof, size_t index, uint64_t kind_key, const uint64_t *kinds)
{
	const struct stack_node *node = stacks_node(pprof->stacks, index);
	const struct value_type *types = types_of(pprof->export);
	size_t opened = proto_open(&pprof->profile, PROFILE_SAMPLE), label;

	for (size_t i = index; i; i = stacks_node(pprof->stacks, i)->parent)
		proto_packed(&pprof->packed, stacks_node(pprof->stacks, i)->name + 1);
	proto_message(&pprof->profile, 1, &pprof->packed);
	proto_clear(&pprof->packed);
	for (size_t i = 0; types[i].name; i++)
		proto_packed(&pprof->packed, value_of(node, types[i].value));
	proto_message(&pprof->profile, 2, &pprof->packed);
	proto_clear(&pprof->packed);
	label = proto_open(&pprof->profile, 3);
	proto_number(&pprof->profile, 1, kind_key);
	proto_number(&pprof->profile, 2, kinds[node->kind]);
	proto_close(&pprof->profile, label);
	proto_close(&pprof->profile, opened);
}

static void put_samples(struct pprof *pprof)
{
	uint64_t kinds[CLEW_SEGMENT_KIND_COUNT], kind_key = put_string(pprof, "kind");

	for (unsigned i = 0; i < CLEW_SEGMENT_KIND_COUNT; i++)
		kinds[i] = put_string(pprof, clew_wait_kind_name(i));
	for (size_t i = 1; i < pprof->stacks->nodes.count; i++)
		if (stacks_node(pprof->stacks, i)->count)
			put_sample(pprof, i, kind_key, kinds);
}

static void put_times(struct pprof *pprof)
{
	const struct clew_export *export = pprof->export;
	const struct clew_capture_info *info = clew_trace_info(export->trace);

	if (info && info->clock_count)
		proto_number(&pprof->profile, PROFILE_TIME,
			     info->clocks[0].wall + export->from - info->clocks[0].monotonic);
	proto_number(&pprof->profile, PROFILE_DURATION, export->to - export->from);
}

static int write_packed(const struct proto *profile, FILE *out)
{
	uint8_t *packed;
	size_t size;
	int r = export_gzip(profile->data, profile->size, &packed, &size);

	if (r < 0)
		return r;
	fwrite(packed, 1, size, out);
	free(packed);
	return 0;
}

int clew_export_pprof(const struct clew_export *export)
{
	struct stacks stacks;
	struct pprof pprof = {.export = export, .stacks = &stacks};
	int r = stacks_make(&stacks, export);

	if (r >= 0) {
		put_functions(&pprof);
		put_types(&pprof);
		put_samples(&pprof);
		put_times(&pprof);
		r = pprof.profile.failed || pprof.packed.failed
			    ? -ENOMEM
			    : write_packed(&pprof.profile, export->out);
	}
	proto_done(&pprof.profile);
	proto_done(&pprof.packed);
	stacks_done(&stacks);
	return r;
}
