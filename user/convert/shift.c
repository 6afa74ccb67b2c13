/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attributes of a capture's trace under another clock. docs/causal-trace.md says what
 * they mean; a value that is not of its form stays as it is.
 */
#include "convert/shift.h"
#include <clew/tokens.h>
#include <stdlib.h>
#include <string.h>

/*
 * What each word of a row is: t a moment, 0 being none, n a name, c the number of a CPU, r of a
 * request; the last one is that of all further ones. N: the whole value is a name.
 */
static const struct {
	const char *key, *words;
} forms[] = {
	{"holder", "ntt."},
	{"ended_by", "N"},
	{"from_task", "N"},
	{"process", "N"},
	{"parent", "N"},
	{"submitter", "N"},
	{"from", "t"},
	{"to", "t"},
	{"raw_at", "t"},
	{"since", "t"},
	{"until", "t"},
	{"ended", "t"},
	{"born", "t"},
	{"died", "t"},
	{"names", "t."},
	{"spins", "tt..n"},
	{"links", ".ttt...n"},
	{"lost", "ctt."},
	{"capture.file", "...tt."},
	{"capture.clocks", "t."},
	{"capture.gaps", "ctt."},
	{"capture.ledger", "c."},
	{"cpu", "c"},
	{"below", "r"},
};

void capture_shift_begin(struct capture_shift *shift)
{
	pairs_init(&shift->value);
	pairs_init(&shift->label);
	shift->word.item = 1;
}

void capture_shift_done(struct capture_shift *shift)
{
	pairs_done(&shift->value);
	pairs_done(&shift->label);
	vector_done(&shift->word);
}

static const char *text_of(const struct pairs *pairs)
{
	return pairs->failed ? NULL : pairs_value(pairs);
}

static void put_name(struct capture_shift *shift, const char *name)
{
	if (shift->is_renamed(shift->context, name))
		pairs_word(&shift->value, shift->prefix);
	pairs_word(&shift->value, name);
}

/* A word of a row; false: it is none of that form. */
static bool put_word(struct capture_shift *shift, char form, const char **at)
{
	char *word = shift->word.data;
	uint64_t number;

	if (form == '.' || form == 'n') {
		if (!scan_value_word(at, word, shift->word.capacity))
			return false;
		if (form == 'n')
			put_name(shift, word);
		else
			pairs_word(&shift->value, word);
		return true;
	}
	if (!scan_value_number(at, &number))
		return false;
	if (form == 't' && number) {
		__int128 moved = (__int128)number + shift->offset;

		number = moved < 0 ? 0 : moved > INT64_MAX ? INT64_MAX : (uint64_t)moved;
	} else if (form == 'r') {
		number += shift->requests;
	} else if (form == 'c' && number < UINT16_MAX) {
		number += shift->cpus;
	}
	pairs_number(&shift->value, number);
	return true;
}

static bool put_rows(struct capture_shift *shift, const char *words, const char *value)
{
	do {
		const char *form = words;

		for (bool first = true; *value && *value != ','; first = false) {
			if (!first)
				pairs_byte(&shift->value, ' ');
			if (!put_word(shift, *form, &value))
				return false;
			form += form[1] != 0;
		}
		if (*value)
			pairs_byte(&shift->value, ',');
	} while (scan_value_row(&value));
	return true;
}

/* The form of a key's values, NULL none. */
static const char *form_of(const char *key)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (forms[i].key[0] == key[0] && !strcmp(forms[i].key, key))
			return forms[i].words;
	return NULL;
}

const char *capture_shift_value(struct capture_shift *shift, const char *key, const char *value)
{
	const char *words = form_of(key);

	if (vector_reserve(&shift->word, strlen(value) + 1) < 0)
		return NULL;
	pairs_clear(&shift->value);
	pairs_begin(&shift->value, "value");
	if (shift->has_extent && !strcmp(key, "capture")) {
		pairs_number(&shift->value, shift->start < 0 ? 0 : (uint64_t)shift->start);
		pairs_byte(&shift->value, ' ');
		pairs_number(&shift->value, shift->end < 0 ? 0 : (uint64_t)shift->end);
		return text_of(&shift->value);
	}
	if (!words)
		return value;
	if (*words == 'N') {
		if (!shift->is_renamed(shift->context, value))
			return value;
		pairs_text(&shift->value, shift->prefix);
		pairs_text(&shift->value, value);
		return text_of(&shift->value);
	}
	return put_rows(shift, words, value) ? text_of(&shift->value) : value;
}

/* "wait KIND KEY=VALUE ..": a sleep of no length. */
static const char *shift_sleep(struct capture_shift *shift, const char *label)
{
	const char *at = label + strlen("wait ");
	size_t size = strlen(label) + 1;
	char *word = malloc(size);

	if (!word)
		return NULL;
	if (!scan_value_word(&at, word, size) || clew_wait_kind_from_name(word) < 0) {
		free(word);
		return label;
	}
	pairs_clear(&shift->label);
	pairs_begin(&shift->label, "mark");
	pairs_text(&shift->label, "wait ");
	pairs_word(&shift->label, word);
	while (scan_value_word(&at, word, size)) {
		char *value = strchr(word, '=');
		const char *shifted = NULL;

		if (value) {
			*value++ = '\0';
			shifted = capture_shift_value(shift, word, value);
			shift->label.failed |= !shifted;
		}
		pairs_byte(&shift->label, ' ');
		pairs_word(&shift->label, word);
		if (shifted) {
			pairs_byte(&shift->label, '=');
			pairs_word(&shift->label, shifted);
		}
	}
	free(word);
	return text_of(&shift->label);
}

const char *capture_shift_label(struct capture_shift *shift, const char *label, bool on_cpu)
{
	if (!strncmp(label, "wait ", strlen("wait ")))
		return shift_sleep(shift, label);
	if (!on_cpu || !shift->is_renamed(shift->context, label))
		return label;
	pairs_clear(&shift->label);
	pairs_begin(&shift->label, "mark");
	pairs_text(&shift->label, shift->prefix);
	pairs_text(&shift->label, label);
	return text_of(&shift->label);
}
