/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds up the operations of a period, and writes what is kept of them. */
#include "compare/history.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "compare/history_file.h"
#include "compare/load.h"

struct history_cause {
	uint32_t cause;
	uint64_t ns, times, operations;
};

struct history_class {
	uint32_t class;
	uint64_t count, ns, blind, cut;
	uint64_t lengths[COMPARE_LENGTHS];
	struct map places;    /* number of a cause -> index of `causes` */
	struct vector causes; /* struct history_cause */
};

static const struct compare_options by_cause = {.by = COMPARE_BY_CAUSE};

void history_begin(struct history *history)
{
	*history = (struct history){.classes.item = sizeof(struct history_class)};
	compare_begin(&history->compare, &by_cause);
}

static void class_done(struct history_class *class)
{
	map_done(&class->places);
	vector_done(&class->causes);
}

void history_done(struct history *history)
{
	struct history_class *classes = history->classes.data;

	for (size_t i = 0; i < history->classes.count; i++)
		class_done(&classes[i]);
	vector_done(&history->classes);
	map_done(&history->places);
	compare_done(&history->compare);
}

/* ---- adding ---- */

static struct history_class *class_of(struct history *history, uint32_t class)
{
	const uint64_t *known = map_get(&history->places, class, 0);
	struct vector *all = &history->classes;

	if (known)
		return (struct history_class *)all->data + *known;
	if (vector_reserve(all, all->count + 1) < 0 ||
	    map_set(&history->places, class, 0, all->count) < 0)
		return NULL;
	((struct history_class *)all->data)[all->count] =
		(struct history_class){.class = class, .causes.item = sizeof(struct history_cause)};
	return (struct history_class *)all->data + all->count++;
}

static int add_cause(struct history_class *class, uint32_t cause, const struct history_cause *more)
{
	const uint64_t *known = map_get(&class->places, cause, 0);
	struct vector *all = &class->causes;
	size_t place = known ? *known : all->count;
	struct history_cause *it;

	if (!known) {
		if (vector_reserve(all, all->count + 1) < 0 ||
		    map_set(&class->places, cause, 0, place) < 0)
			return -ENOMEM;
		((struct history_cause *)all->data)[all->count++] =
			(struct history_cause){.cause = cause};
	}
	it = (struct history_cause *)all->data + place;
	it->ns += more->ns;
	it->times += more->times;
	it->operations += more->operations;
	return 0;
}

static int add_operation(struct history *history, const struct compare_operation *operation)
{
	struct history_class *class = class_of(history, operation->class);
	const struct compare_share *shares = history->compare.shares.data;
	int r = class ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	class->count++;
	class->ns += operation->ns;
	class->lengths[compare_length_bucket(operation->ns)]++;
	for (uint32_t i = 0; i < operation->share_count && r == 0; i++) {
		const struct compare_share *share = &shares[operation->first_share + i];

		r = add_cause(class, share->cause,
			      &(struct history_cause){.ns = share->ns,
						      .times = share->times,
						      .operations = share->operations});
	}
	return r;
}

/* The names stay, as the next part has most of them, too. */
static void forget_operations(struct compare *compare)
{
	compare->operations.count = compare->shares.count = compare->left_out.count =
		compare->images.count = 0;
}

int history_add(struct history *history)
{
	struct compare *compare = &history->compare;
	const struct compare_operation *operations = compare->operations.data;
	const struct compare_left_out *left_out = compare->left_out.data;
	int r = 0;

	for (size_t i = 0; i < compare->operations.count && r == 0; i++)
		r = add_operation(history, &operations[i]);
	for (size_t i = 0; i < compare->left_out.count && r == 0; i++) {
		struct history_class *class = class_of(history, left_out[i].class);

		if (class && left_out[i].blind)
			class->blind += left_out[i].count;
		else if (class)
			class->cut += left_out[i].count;
		r = class ? 0 : -ENOMEM;
	}
	forget_operations(compare);
	return r;
}

static size_t count_cut(const struct compare *compare)
{
	const struct compare_left_out *left_out = compare->left_out.data;
	size_t count = 0;

	for (size_t i = 0; i < compare->left_out.count; i++)
		count += !left_out[i].blind;
	return count;
}

int history_take(struct history *history, const struct clew_trace *trace,
		 const struct clew_chosen *chosen, uint64_t from, uint64_t to, size_t *ret_cut)
{
	struct compare *compare = &history->compare;
	const struct compare_load before = compare->loads[COMPARE_BEFORE];
	int r;

	compare->from = from;
	compare->to = to;
	r = compare_add(compare, COMPARE_BEFORE, trace, chosen);
	if (r == 0 && ret_cut)
		*ret_cut = count_cut(compare);
	if (r == 0 && (!ret_cut || !*ret_cut))
		return history_add(history);
	compare->loads[COMPARE_BEFORE] = before;
	compare->captures[COMPARE_BEFORE]--;
	forget_operations(compare);
	return r;
}

void history_count(struct history *history, const struct clew_capture_info *info)
{
	load_add_cost(&history->compare.loads[COMPARE_BEFORE], info);
}

/* ---- text ---- */

/* Prints a name without what separates fields. */
static void print_name(FILE *out, const char *name)
{
	fputc('\t', out);
	for (; *name; name++)
		fputc(*name == '\t' || *name == '\n' ? ' ' : *name, out);
}

static int most_cause_first(const void *left, const void *right)
{
	const struct history_cause *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->cause < b->cause ? -1 : a->cause > b->cause;
}

static void print_cause(FILE *out, const struct history_cause *cause,
			const struct compare_name *name)
{
	fprintf(out, "cause %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %u %d", cause->ns, cause->times,
		cause->operations, name->spent, name->wait_kind, name->edge_type);
	print_name(out, name->party);
	print_name(out, name->text);
	fputc('\n', out);
}

static const struct compare_name other = {.text = "other",
					  .party = "",
					  .spent = CLEW_SPENT_OTHER,
					  .kind = CLEW_OPERATION_WORK,
					  .wait_kind = CLEW_WAIT_UNKNOWN,
					  .edge_type = -1};

static void print_class(FILE *out, const struct history *history, struct history_class *class)
{
	const struct compare_names *names = &history->compare.classes;
	const struct compare_name *name =
		class->class == CLEW_NO_NUMBER ? &other : compare_name_at(names, class->class);
	struct history_cause rest = {}, *causes = class->causes.data;

	fprintf(out, "class %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, name->kind,
		class->count, class->ns, class->blind, class->cut);
	print_name(out, name->party);
	print_name(out, name->text);
	fputs("\nlengths", out);
	for (unsigned i = 0; i < COMPARE_LENGTHS; i++)
		if (class->lengths[i])
			fprintf(out, " %u:%" PRIu64, i, class->lengths[i]);
	fputc('\n', out);
	if (class->causes.count)
		qsort(causes, class->causes.count, sizeof(*causes), most_cause_first);
	for (size_t i = 0; i < class->causes.count; i++) {
		if (i < HISTORY_MOST_CAUSES) {
			print_cause(out, &causes[i],
				    compare_name_at(&history->compare.causes, causes[i].cause));
			continue;
		}
		rest.ns += causes[i].ns;
		rest.times += causes[i].times;
		rest.operations = rest.operations > causes[i].operations ? rest.operations
									 : causes[i].operations;
	}
	if (rest.ns)
		print_cause(out, &rest, &other);
}

static int most_class_first(const void *left, const void *right)
{
	const struct history_class *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->class < b->class ? -1 : a->class > b->class;
}

/* The text of a period. The order of its classes changes. */
static void print_period(FILE *out, const struct history *history, uint64_t from, uint64_t to)
{
	const struct compare_load *load = &history->compare.loads[COMPARE_BEFORE];
	struct history_class *classes = history->classes.data;
	struct history_class rest = {.class = CLEW_NO_NUMBER};
	struct history_cause all = {};

	fprintf(out, "period %" PRIu64 " %" PRIu64 "\nload", from, to);
	for (size_t i = 0; i < sizeof(*load) / sizeof(uint64_t); i++)
		fprintf(out, " %" PRIu64, ((const uint64_t *)load)[i]);
	fprintf(out, " %u\n", history->compare.captures[COMPARE_BEFORE]);
	qsort(classes, history->classes.count, sizeof(*classes), most_class_first);
	for (size_t i = 0; i < history->classes.count; i++) {
		if (i < HISTORY_MOST_CLASSES) {
			print_class(out, history, &classes[i]);
			continue;
		}
		rest.count += classes[i].count;
		rest.ns += classes[i].ns;
		rest.blind += classes[i].blind;
		rest.cut += classes[i].cut;
		for (unsigned k = 0; k < COMPARE_LENGTHS; k++)
			rest.lengths[k] += classes[i].lengths[k];
	}
	if (!rest.count)
		return;
	print_class(out, history, &rest);
	all = (struct history_cause){.ns = rest.ns, .times = rest.count, .operations = rest.count};
	print_cause(out, &all, &other);
}

/* ---- the file ---- */

static int append(const char *path, const char *text, size_t size)
{
	uLongf packed = compressBound(size);
	char *block = malloc(sizeof(struct history_block) + packed);
	struct history_block head = {.magic = HISTORY_MAGIC, .text = (uint32_t)size};
	int file, r = 0;
	size_t length;

	if (!block || compress2((Bytef *)block + sizeof(head), &packed, (const Bytef *)text, size,
				Z_DEFAULT_COMPRESSION) != Z_OK) {
		free(block);
		return -ENOMEM;
	}
	head.packed = (uint32_t)packed;
	length = sizeof(head) + packed;
	memcpy(block, &head, sizeof(head));
	head.checksum = history_checksum(block, length);
	memcpy(block, &head, sizeof(head));
	file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (file < 0)
		r = -errno;
	else if (write(file, block, length) != (ssize_t)length)
		r = errno ? -errno : -ENOSPC;
	if (file >= 0)
		close(file);
	free(block);
	return r;
}

/* Removes the files of days before the last ones. */
static void trim(const char *directory, uint64_t now)
{
	char oldest[HISTORY_NAME], path[4096];
	DIR *stream = opendir(directory);
	struct dirent *entry;

	history_name(now - HISTORY_DAYS * 24 * HISTORY_HOUR, oldest);
	while (stream && (entry = readdir(stream))) {
		if (!history_is_name(entry->d_name) || strcmp(entry->d_name, oldest) >= 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		unlink(path);
	}
	if (stream)
		closedir(stream);
}

int history_write(const struct history *history, const char *directory, uint64_t from, uint64_t to)
{
	char name[HISTORY_NAME], path[4096], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int r;

	if (!out)
		return -ENOMEM;
	print_period(out, history, from, to);
	if (fclose(out) != 0) {
		free(text);
		return -ENOMEM;
	}
	history_name(from, name);
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	r = append(path, text, size);
	free(text);
	if (r == 0)
		trim(directory, to);
	return r;
}
