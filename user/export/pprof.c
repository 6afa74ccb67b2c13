/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Added-up stacks as a profile for pprof, packed with gzip as pprof expects it. Each place of
 * a frame is a location, with the functions that were compiled into its own. The numbers of fields
 * are those of profile.proto.
 */
#include "export/stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
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
	uint64_t strings;     /* written so far */
	struct map functions; /* hash of a name and a file -> number, from 1 on */
	int error;	      /* 0 or -ENOMEM */
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

/* The number of a function, which is written when it is met first. */
static uint64_t put_function(struct pprof *pprof, const struct stack_place *place)
{
	uint64_t hash = hash_text(hash_text(HASH_SEED, place->name), place->file ?: "");
	uint64_t *known = map_get(&pprof->functions, hash, 0);
	uint64_t number = pprof->functions.count + 1, name;
	size_t opened;

	if (known)
		return *known;
	if (map_set(&pprof->functions, hash, 0, number) < 0)
		pprof->error = -ENOMEM;
	name = put_string(pprof, place->name);
	if (place->file)
		put_string(pprof, place->file);
	opened = proto_open(&pprof->profile, PROFILE_FUNCTION);
	proto_number(&pprof->profile, 1, number);
	proto_number(&pprof->profile, 2, name);
	proto_number(&pprof->profile, 3, name);
	if (place->file)
		proto_number(&pprof->profile, 4, name + 1);
	proto_close(&pprof->profile, opened);
	return number;
}

/* The lines of a location begin with what was compiled into the others. */
static void put_location(struct pprof *pprof, uint64_t *functions, size_t number)
{
	struct proto *profile = &pprof->profile;
	size_t opened = proto_open(profile, PROFILE_LOCATION), line;

	proto_number(profile, 1, number + 1);
	for (size_t next = number + 1; next; next = stacks_place(pprof->stacks, next - 1)->outer) {
		line = proto_open(profile, 4);
		proto_number(profile, 1, functions[next - 1]);
		if (stacks_place(pprof->stacks, next - 1)->line)
			proto_number(profile, 2, stacks_place(pprof->stacks, next - 1)->line);
		proto_close(profile, line);
	}
	proto_close(profile, opened);
}

static void put_places(struct pprof *pprof)
{
	size_t count = pprof->stacks->places.count;
	uint64_t *functions = calloc(count + 1, sizeof(*functions));

	put_string(pprof, "");
	if (!functions)
		pprof->error = -ENOMEM;
	for (size_t i = 0; functions && i < count; i++)
		functions[i] = put_function(pprof, stacks_place(pprof->stacks, i));
	for (size_t i = 0; functions && i < count; i++)
		put_location(pprof, functions, i);
	free(functions);
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
		proto_packed(&pprof->packed, stacks_node(pprof->stacks, i)->place + 1);
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
		put_places(&pprof);
		put_types(&pprof);
		put_samples(&pprof);
		put_times(&pprof);
		r = pprof.error || pprof.profile.failed || pprof.packed.failed
			    ? -ENOMEM
			    : write_packed(&pprof.profile, export->out);
	}
	proto_done(&pprof.profile);
	proto_done(&pprof.packed);
	map_done(&pprof.functions);
	stacks_done(&stacks);
	return r;
}
