/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads periods of a history into a side of a comparison. Each class of a period is one sum, and a
 * period is a block of time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "compare/history.h"
#include "compare/history_file.h"

#define MOST_TEXT (64u << 20) /* bytes of a block's text */

/* The periods that are wanted, on their way into a side. */
struct reading {
	struct compare *compare;
	enum compare_side_name side;
	uint64_t from, to;
	struct history_found found;
	uint64_t period; /* where the one that is being read begins */
	bool wanted;	 /* that one is */
	bool skipped;	 /* the class that is being read is not wanted */
};

/* ---- lines ---- */

/* The next number of a line; *text goes behind it. */
static uint64_t number(char **text)
{
	return strtoull(*text, text, 10);
}

/* The next field of a line behind a tab; "" if there is none. */
static char *field(char **text)
{
	char *begin = strchr(*text, '\t'), *end;

	if (!begin)
		return *text + strlen(*text);
	begin++;
	end = begin + strcspn(begin, "\t");
	*text = end;
	return begin;
}

static void take_period(struct reading *reading, char *text)
{
	uint64_t to;

	reading->period = number(&text);
	to = number(&text);
	reading->wanted = reading->period >= reading->from && reading->period < reading->to;
	if (!reading->wanted)
		return;
	reading->found.periods++;
	if (!reading->found.first || reading->period < reading->found.first)
		reading->found.first = reading->period;
	if (to > reading->found.last)
		reading->found.last = to;
}

/* Sums are added, and numbers of threads and CPUs are those of one part: the most of all. */
static void take_load(struct reading *reading, char *text)
{
	struct compare_load *load = &reading->compare->loads[reading->side], more;

	for (size_t i = 0; i < sizeof(more) / sizeof(uint64_t); i++)
		((uint64_t *)&more)[i] = number(&text);
	for (size_t i = 0; i < sizeof(more) / sizeof(uint64_t); i++)
		((uint64_t *)load)[i] += ((uint64_t *)&more)[i];
	load->cpus = load->cpus - more.cpus > more.cpus ? load->cpus - more.cpus : more.cpus;
	reading->compare->captures[reading->side] += (uint32_t)number(&text);
}

/* 0 or -ENOMEM. */
static int leave_out(struct reading *reading, uint32_t class, uint64_t count, bool blind)
{
	struct vector *all = &reading->compare->left_out;

	if (!count)
		return 0;
	if (vector_reserve(all, all->count + 1) < 0)
		return -ENOMEM;
	((struct compare_left_out *)all->data)[all->count++] = (struct compare_left_out){
		.class = class, .count = count, .side = (uint8_t)reading->side, .blind = blind};
	return 0;
}

static int take_class(struct reading *reading, char *text)
{
	struct compare *compare = reading->compare;
	struct compare_name name = {.kind = (uint8_t)number(&text)};
	struct compare_operation sum = {.from = reading->period,
					.first_share = compare->shares.count,
					.block = (uint32_t)(reading->period / 1000000000),
					.side = (uint8_t)reading->side};
	uint64_t blind, cut;
	char *party;
	int r;

	sum.count = number(&text);
	sum.ns = number(&text);
	blind = number(&text);
	cut = *text == ' ' ? number(&text) : 0;
	party = field(&text);
	name.text = field(&text);
	if (*name.text)
		party[strcspn(party, "\t")] = '\0';
	name.party = party;
	reading->skipped =
		!compare_is_wanted(compare, name.text) || name.kind >= CLEW_OPERATION_KINDS;
	if (reading->skipped)
		return 0;
	sum.within = name.kind == CLEW_OPERATION_REQUEST || name.kind == CLEW_OPERATION_CONNECT;
	sum.class = compare_name_add(compare, &compare->classes, reading->side, &name);
	r = sum.class == UINT32_MAX ? -ENOMEM : leave_out(reading, sum.class, blind, true);
	if (r == 0)
		r = leave_out(reading, sum.class, cut, false);
	/* All of the period were left out. */
	reading->skipped = !sum.count;
	if (r < 0 || !sum.count)
		return r;
	if (vector_reserve(&compare->operations, compare->operations.count + 1) < 0)
		return -ENOMEM;
	((struct compare_operation *)compare->operations.data)[compare->operations.count++] = sum;
	return 0;
}

static struct compare_operation *last_sum(const struct reading *reading)
{
	return (struct compare_operation *)reading->compare->operations.data +
	       reading->compare->operations.count - 1;
}

static int take_lengths(struct reading *reading, char *text)
{
	uint32_t class = last_sum(reading)->class;

	for (char *end; *text; text = end) {
		uint64_t bucket = strtoull(text, &end, 10), count;

		if (end == text || *end != ':' || bucket >= COMPARE_LENGTHS)
			return 0;
		text = end + 1;
		count = strtoull(text, &end, 10);
		if (compare_length_add(reading->compare, reading->side, class, (unsigned)bucket,
				       count) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int take_cause(struct reading *reading, char *text)
{
	struct compare *compare = reading->compare;
	struct compare_share share = {.ns = number(&text)};
	struct compare_name name = {.unnamed = UINT32_MAX};
	char *party;

	share.times = number(&text);
	share.operations = (uint32_t)number(&text);
	name.spent = (uint8_t)number(&text);
	name.wait_kind = (uint8_t)number(&text);
	name.edge_type = (int8_t)strtol(text, &text, 10);
	party = field(&text);
	name.text = field(&text);
	if (*name.text)
		party[strcspn(party, "\t")] = '\0';
	name.party = party;
	if (name.spent >= CLEW_SPENT_COUNT)
		return 0;
	share.cause = compare_name_add(compare, &compare->causes, reading->side, &name);
	if (share.cause == UINT32_MAX ||
	    vector_reserve(&compare->shares, compare->shares.count + 1) < 0)
		return -ENOMEM;
	((struct compare_share *)compare->shares.data)[compare->shares.count++] = share;
	last_sum(reading)->share_count++;
	return 0;
}

static int take_line(struct reading *reading, char *line)
{
	char *space = strchr(line, ' ');
	char *text = space ? space + 1 : line + strlen(line);
	size_t length = space ? (size_t)(space - line) : strlen(line);

	if (!strncmp(line, "period", length))
		take_period(reading, text);
	else if (!reading->wanted)
		return 0;
	else if (!strncmp(line, "load", length))
		take_load(reading, text);
	else if (!strncmp(line, "class", length))
		return take_class(reading, text);
	else if (reading->skipped)
		return 0;
	else if (!strncmp(line, "lengths", length))
		return take_lengths(reading, text);
	else if (!strncmp(line, "cause", length))
		return take_cause(reading, text);
	return 0;
}

static int take_text(struct reading *reading, char *text)
{
	int r = 0;

	reading->wanted = false;
	reading->skipped = true;
	for (char *end; (end = strchr(text, '\n')) && r == 0; text = end + 1) {
		*end = '\0';
		r = take_line(reading, text);
	}
	return r;
}

/* ---- blocks ---- */

/* The block at a place of a file: its bytes, or 0 if it is damaged. */
static int take_block(struct reading *reading, const char *data, size_t size, size_t *ret_bytes)
{
	struct history_block head;
	uLongf length;
	char *text;
	int r;

	*ret_bytes = 0;
	if (size < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	if (head.magic != HISTORY_MAGIC || head.packed > size - sizeof(head) ||
	    head.text > MOST_TEXT ||
	    history_checksum(data, sizeof(head) + head.packed) != head.checksum)
		return 0;
	text = malloc((size_t)head.text + 1);
	if (!text)
		return -ENOMEM;
	length = head.text;
	r = uncompress((Bytef *)text, &length, (const Bytef *)data + sizeof(head), head.packed);
	if (r == Z_OK) {
		text[length] = '\0';
		*ret_bytes = sizeof(head) + head.packed;
		r = take_text(reading, text);
	} else {
		r = r == Z_MEM_ERROR ? -ENOMEM : 0;
	}
	free(text);
	return r;
}

static int take_data(struct reading *reading, const char *data, size_t size)
{
	bool damaged = false;
	size_t bytes;

	for (size_t at = 0; at < size; at += bytes ?: 1) {
		int r = take_block(reading, data + at, size - at, &bytes);

		if (r < 0)
			return r;
		/* From a damaged one on each byte may be the begin of the next one. */
		reading->found.damaged += !bytes && !damaged;
		damaged = !bytes;
	}
	return 0;
}

static int take_file(struct reading *reading, const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC), r;
	struct stat stat;
	char *data;
	ssize_t size;

	if (file < 0)
		return -errno;
	r = fstat(file, &stat) < 0 ? -errno : 0;
	data = r == 0 ? malloc((size_t)stat.st_size + 1) : NULL;
	if (r == 0 && !data)
		r = -ENOMEM;
	size = r == 0 ? read(file, data, (size_t)stat.st_size) : 0;
	if (size < 0)
		r = -errno;
	close(file);
	if (r == 0)
		r = take_data(reading, data, (size_t)size);
	free(data);
	return r;
}

int history_read(const char *directory, uint64_t from, uint64_t to, struct compare *compare,
		 enum compare_side_name side, struct history_found *ret_found)
{
	struct reading reading = {.compare = compare, .side = side, .from = from, .to = to};
	char first[HISTORY_NAME], last[HISTORY_NAME], path[4096];
	struct dirent **entries;
	int count = scandir(directory, &entries, NULL, alphasort), r = count < 0 ? -errno : 0;

	history_name(from, first);
	history_name(to, last);
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;

		snprintf(path, sizeof(path), "%s/%s", directory, name);
		if (r == 0 && history_is_name(name) && strcmp(name, first) >= 0 &&
		    strcmp(name, last) <= 0)
			r = take_file(&reading, path);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	*ret_found = reading.found;
	return r;
}
