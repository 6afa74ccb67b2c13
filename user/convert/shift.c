/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attributes of a capture's trace under another clock. A value that does not
 * have the form of its key stays as it is.
 */
#include "convert/shift.h"
#include "builder/findings.h"
#include <clew/kernel/records.h>
#include <clew/tokens.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void capture_shift_begin(struct capture_shift *shift)
{
	pairs_init(&shift->value);
	pairs_init(&shift->label);
	pairs_init(&shift->key);
	row_init(&shift->row);
}

void capture_shift_done(struct capture_shift *shift)
{
	pairs_done(&shift->value);
	pairs_done(&shift->label);
	pairs_done(&shift->key);
	row_done(&shift->row);
}

static const char *text_of(const struct pairs *pairs)
{
	return pairs->failed ? NULL : pairs_value(pairs);
}

static uint64_t shift_moment(const struct capture_shift *shift, uint64_t at)
{
	__int128 moved = (__int128)at + shift->offset +
			 clew_shift_gained(shift->rate, shift->zero, (clew_time)at);

	return moved < 0 ? 0 : moved > INT64_MAX ? INT64_MAX : (uint64_t)moved;
}

/* ---- devices ---- */

#define MAJOR_FREE  512 /* Linux gives out none from there on */
#define BLOCK_SHIFT 14	/* minors of major 0 in a block */

void capture_shift_next(struct capture_shift_devices *devices, bool first)
{
	devices->first = first;
	if (first) {
		devices->major = MAJOR_FREE;
		devices->block = 1;
	}
	memset(devices->becomes, 0, sizeof(devices->becomes));
}

/* The number that a major, or a block of minors, gets. `next`: the next one that is free, of
 * `most`.
 */
static uint32_t becomes(struct capture_shift_devices *devices, uint32_t place, uint32_t number,
			uint32_t *next, uint32_t most)
{
	if (devices->first) {
		*next = number >= *next ? number + 1 : *next;
		return number;
	}
	if (!devices->becomes[place]) {
		if (*next >= most)
			return number;
		devices->becomes[place] = (uint16_t)(*next)++;
	}
	return devices->becomes[place];
}

static uint32_t shift_device(struct capture_shift *shift, uint32_t device)
{
	struct capture_shift_devices *devices = shift->devices;
	const uint32_t major = CLEW_DEVICE_MAJOR(device), block = device >> BLOCK_SHIFT;

	if (!devices || !device)
		return device;
	if (major)
		return becomes(devices, major, major, &devices->major, CAPTURE_SHIFT_MAJORS) << 20 |
		       CLEW_DEVICE_MINOR(device);
	return becomes(devices, CAPTURE_SHIFT_MAJORS + block, block, &devices->block,
		       CAPTURE_SHIFT_BLOCKS)
		       << BLOCK_SHIFT |
	       (device & ((1U << BLOCK_SHIFT) - 1));
}

/* The inode number of a file, which is that of a device if the file is a disk. */
static uint64_t shift_inode(struct capture_shift *shift, uint32_t device, uint64_t inode)
{
	return device && clew_is_disk_inode(device, inode) ? shift_device(shift, (uint32_t)inode)
							   : inode;
}

static bool is_disk_text(uint64_t number)
{
	return (number & ~(uint64_t)UINT32_MAX) == CLEW_TEXT_DISK;
}

bool capture_names_disk(const char *key)
{
	const char *at = key + strlen("text.");
	uint64_t number;

	return !strncmp(key, "text.", strlen("text.")) && scan_value_number(&at, &number) &&
	       is_disk_text(number);
}

const char *capture_shift_key(struct capture_shift *shift, const char *key)
{
	const char *at = key + strlen("file.");
	char text[64];
	uint32_t device;
	uint64_t inode;

	pairs_clear(&shift->key);
	if (!shift->devices)
		return key;
	if (capture_names_disk(key)) {
		at = key + strlen("text.");
		scan_value_number(&at, &inode);
		snprintf(text, sizeof(text), "text.%" PRIu64,
			 (uint64_t)CLEW_TEXT_DISK | shift_device(shift, (uint32_t)inode));
	} else if (!strncmp(key, "file.", strlen("file.")) && scan_value_device(&at, &device) &&
		   *at++ == '.' && scan_value_number(&at, &inode)) {
		inode = shift_inode(shift, device, inode);
		device = shift_device(shift, device);
		snprintf(text, sizeof(text), "file.%u:%u.%" PRIu64, CLEW_DEVICE_MAJOR(device),
			 CLEW_DEVICE_MINOR(device), inode);
	} else {
		return key;
	}
	pairs_begin(&shift->key, "key");
	pairs_text(&shift->key, text);
	pairs_text(&shift->key, at);
	return text_of(&shift->key);
}

/* ---- values ---- */

static void put_row(struct capture_shift *shift)
{
	const char *form = attribute_table[shift->row.key].form;
	uint32_t device = 0; /* in the field before */

	pairs_row_begin(&shift->value, shift->row.key, "");
	for (size_t i = 0; i < shift->row.count; i++) {
		union attribute_field field = row_fields(&shift->row)[i];
		bool comma, renamed = false;
		uint32_t before = device;

		device = 0;
		switch (attribute_next_field(&form, &comma)) {
		case 't':
			field.number = field.number ? shift_moment(shift, field.number) : 0;
			break;
		case 'm':
			device = (uint32_t)field.number;
			field.number = shift_device(shift, device);
			break;
		case '#':
			field.number = shift_inode(shift, before, field.number);
			break;
		case 'c':
			field.number += field.number < UINT16_MAX ? shift->cpus : 0;
			break;
		case 'r':
			field.number += shift->requests;
			break;
		case 'f':
			field.number += shift->functions;
			break;
		case 'e':
			field.number += shift->ends;
			break;
		case 'n':
			renamed = shift->is_renamed(shift->context, field.word);
			break;
		default:
			break;
		}
		if (renamed) {
			pairs_row_field(&shift->value,
					(union attribute_field){.word = shift->prefix});
			pairs_word(&shift->value, field.word);
		} else {
			pairs_row_field(&shift->value, field);
		}
	}
}

/* 0; -EINVAL: the value has another form; -ENOMEM. */
static int put_rows(struct capture_shift *shift, enum attribute_key key, const char *value)
{
	int r = row_start(&shift->row, key, attribute_table[key].key, value);

	if (r < 0)
		return r;
	while ((r = row_next(&shift->row)) > 0)
		put_row(shift);
	return r == 0 && *shift->row.at ? -EINVAL : r;
}

/* The name of a disk and of its host. */
static const char *with_host(struct capture_shift *shift, enum attribute_key key, const char *name)
{
	pairs_add(&shift->value, key, name);
	pairs_text(&shift->value, " on ");
	pairs_text(&shift->value, shift->host);
	return text_of(&shift->value);
}

/* The number of a file on the device that is at hand. */
static const char *shift_id(struct capture_shift *shift, const char *value)
{
	const char *at = value;
	uint64_t number;

	if (!scan_value_number(&at, &number) || *at)
		return value;
	pairs_add_number(&shift->value, ATTRIBUTE_ID, shift_inode(shift, shift->on, number));
	return text_of(&shift->value);
}

/* True for a moment that is not known, and that no clock changes. */
static bool is_sometime(enum attribute_key key, const char *value)
{
	return key == ATTRIBUTE_ASKED && !strcmp(value, "1");
}

const char *capture_shift_value(struct capture_shift *shift, const char *key, const char *value)
{
	enum attribute_key number = attribute_find(key);
	const char *form = number == ATTRIBUTE_COUNT ? "" : attribute_table[number].form;
	int r;

	if (number == ATTRIBUTE_CAPTURE && shift->has_extent) {
		pairs_clear(&shift->value);
		PAIRS_ROW(&shift->value, ATTRIBUTE_CAPTURE,
			  {shift->start < 0 ? 0 : (uint64_t)shift->start},
			  {shift->end < 0 ? 0 : (uint64_t)shift->end});
		return text_of(&shift->value);
	}
	pairs_clear(&shift->value);
	if (shift->host && (number == ATTRIBUTE_DISK || capture_names_disk(key)))
		return with_host(shift, number, value);
	if (number == ATTRIBUTE_ID && shift->on)
		return shift_id(shift, value);
	if (!strpbrk(form, "tcrfenmN") || is_sometime(number, value))
		return value;
	if (*form == 'N') {
		if (!shift->is_renamed(shift->context, value))
			return value;
		pairs_add(&shift->value, number, shift->prefix);
		pairs_text(&shift->value, value);
		return text_of(&shift->value);
	}
	r = put_rows(shift, number, value);
	return r == -ENOMEM ? NULL : r < 0 ? value : text_of(&shift->value);
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
