/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers that mean one thing on one host and another thing on another one: of sockets, control
 * groups, users and interrupts. A stitched trace names none of them, as a name would be true of one
 * host alone. Files and disks have numbers of their own then, unless names stay.
 */
#include "analyse/stitch/internal.h"
#include "base/hash.h"

/* The part of a value that says what has the number; NULL: the key names no such thing. The fields
 * before it are numbers. */
static const char *thing_of(const char *key, const char *value, bool names_stay)
{
	static const struct {
		const char *prefix;
		unsigned fields;
		bool of_device;
	} kinds[] = {{"socket.", 0, false},
		     {"file.", 4, true},
		     {"cgroup.", 1, false},
		     {"text.", 0, false}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strncmp(key, kinds[i].prefix, strlen(kinds[i].prefix)))
			continue;
		if (!names_stay && (kinds[i].of_device || capture_names_disk(key)))
			return NULL;
		for (unsigned field = 0; field < kinds[i].fields; field++) {
			value += strcspn(value, " ");
			value += *value == ' ';
		}
		return value;
	}
	return NULL;
}

static int note(struct stitch_clash *clash, const char *key, const char *thing)
{
	const uint64_t hash = hash_text(HASH_SEED, thing) | 1;
	uint32_t string;
	uint64_t *things;
	int r = strings_add(&clash->keys, key, &string);

	if (r == 0)
		r = vector_reserve(&clash->things, (size_t)string + 1);
	if (r < 0)
		return r;
	things = clash->things.data;
	if (string == clash->things.count)
		things[clash->things.count++] = hash;
	else if (things[string] != hash)
		things[string] = 0;
	return 0;
}

int stitch_clash_begin(struct stitch_clash *clash, const struct stitch *s)
{
	int r = 0;

	*clash = (struct stitch_clash){.things.item = sizeof(uint64_t)};
	strings_begin(&clash->keys);
	for (uint32_t trace = 0; trace < s->count && s->options->connections && r == 0; trace++) {
		const struct clew_model *model = s->traces[trace];

		for (uint32_t i = 0; i < model->attribute_count && r == 0; i++) {
			const char *key = clew_model_string(model, model->attributes[i].key);
			const char *thing =
				thing_of(key, clew_model_string(model, model->attributes[i].value),
					 s->options->prefix == CLEW_PREFIX_NEVER);

			r = thing ? note(clash, key, thing) : 0;
		}
	}
	return r;
}

bool stitch_clashes(const struct stitch_clash *clash, const char *key)
{
	uint32_t string = strings_find(&clash->keys, key);

	return string != CLEW_NONE && !((const uint64_t *)clash->things.data)[string];
}

void stitch_clash_done(struct stitch_clash *clash)
{
	strings_done(&clash->keys);
	vector_done(&clash->things);
}
