/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A history that is written and read again: what is kept by its name and what is "other", sums that
 * are those of all operations, blocks that are damaged, and days that go.
 */
#include "compare/history.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "draw.h"

#define CLASSES 60
#define CAUSES	20
#define START	1790000000000000000ull /* ns since 1970 */

static char directory[] = "/tmp/clew-history-XXXXXX";

static uint32_t name_it(struct compare *compare, struct compare_names *names, const char *what,
			unsigned number)
{
	char text[32];
	struct compare_name name = {.text = text,
				    .party = "somebody",
				    .spent = CLEW_SPENT_LOCK,
				    .kind = CLEW_OPERATION_SERVED,
				    .unnamed = UINT32_MAX};

	snprintf(text, sizeof(text), "%s\t%u", what, number);
	return compare_name_add(compare, names, COMPARE_BEFORE, &name);
}

/* Adds an operation of a class with these causes: the class and the cause with the highest numbers
 * have most time. Returns its length. */
static uint64_t add_operation(struct compare *compare, unsigned class)
{
	struct compare_operation *operation;
	struct compare_share *share;

	assert_int_equal(vector_reserve(&compare->operations, compare->operations.count + 1), 0);
	assert_int_equal(vector_reserve(&compare->shares, compare->shares.count + CAUSES), 0);
	operation =
		(struct compare_operation *)compare->operations.data + compare->operations.count++;
	*operation = (struct compare_operation){
		.class = name_it(compare, &compare->classes, "class", class),
		.count = 1,
		.first_share = compare->shares.count,
		.share_count = CAUSES};
	for (unsigned i = 0; i < CAUSES; i++) {
		share = (struct compare_share *)compare->shares.data + compare->shares.count++;
		*share = (struct compare_share){
			.ns = 1000 * (class + 1) * (i + 1) + draw(1000),
			.times = 1 + draw(3),
			.cause = name_it(compare, &compare->causes, "cause", i),
			.operations = 1};
		operation->ns += share->ns;
	}
	return operation->ns;
}

static uint64_t write_period(uint64_t at, unsigned classes)
{
	struct history history;
	uint64_t ns = 0;

	history_begin(&history);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned class = 0; class < classes; class ++)
			ns += add_operation(&history.compare, class);
		assert_int_equal(history_add(&history), 0);
		assert_int_equal(history.compare.operations.count, 0);
	}
	history.compare.loads[COMPARE_BEFORE] =
		(struct compare_load){.ns = HISTORY_PERIOD, .operations = 3 * classes, .cpus = 2};
	assert_int_equal(history_write(&history, directory, at, at + HISTORY_PERIOD), 0);
	history_done(&history);
	return ns;
}

static struct history_found read_all(struct compare *compare, uint64_t from, uint64_t to)
{
	static const struct compare_options options;
	struct history_found found;

	compare_begin(compare, &options);
	assert_int_equal(history_read(directory, from, to, compare, COMPARE_AFTER, &found), 0);
	return found;
}

/* The sum of a name of a class, and of its causes. */
static uint64_t sum_of(const struct compare *compare, const char *class, const char *cause)
{
	const struct compare_operation *operations = compare->operations.data;
	const struct compare_share *shares = compare->shares.data;
	uint64_t ns = 0;

	for (size_t i = 0; i < compare->operations.count; i++) {
		const struct compare_operation *it = &operations[i];

		if (class &&
		    strcmp(compare_name_at(&compare->classes, it->class)->text, class) != 0)
			continue;
		for (uint32_t k = 0; k < it->share_count; k++) {
			const struct compare_share *share = &shares[it->first_share + k];

			if (!cause ||
			    !strcmp(compare_name_at(&compare->causes, share->cause)->text, cause))
				ns += share->ns;
		}
	}
	return ns;
}

static void test_kept(void **unused)
{
	uint64_t ns = write_period(START, CLASSES);
	struct compare compare;
	struct history_found found = read_all(&compare, START, START + 1);

	(void)unused;
	assert_int_equal(found.periods, 1);
	assert_int_equal(found.first, START);
	assert_int_equal(found.last, START + HISTORY_PERIOD);
	assert_int_equal(compare.classes.list.count, HISTORY_MOST_CLASSES + 1);
	assert_int_equal(compare.causes.list.count, HISTORY_MOST_CAUSES + 1);
	/* A tab would separate fields. */
	assert_true(sum_of(&compare, "class 59", "cause 19") > 3 * 60 * 20 * 1000);
	assert_int_equal(sum_of(&compare, "class 59", "cause 3"), 0);
	assert_int_equal(sum_of(&compare, "class 9", NULL), 0);
	assert_true(sum_of(&compare, "class 10", "other") > 0);
	assert_true(sum_of(&compare, "other", "other") > 0);
	assert_int_equal(sum_of(&compare, NULL, NULL), ns);
	assert_int_equal(compare.loads[COMPARE_AFTER].operations, 3 * CLASSES);
	assert_int_equal(compare.loads[COMPARE_AFTER].cpus, 2);
	compare_done(&compare);
}

/* A percentile is at most 1.7 times what it is, and not less. */
static void test_lengths(void **unused)
{
	const struct compare_operation *operations;
	struct compare compare;

	(void)unused;
	read_all(&compare, START, START + 1);
	operations = compare.operations.data;
	for (size_t i = 0; i < compare.operations.count; i++) {
		double mean = (double)operations[i].ns / (double)operations[i].count,
		       found = (double)compare_length_of(&compare, COMPARE_AFTER,
							 operations[i].class, .5);

		if (!strcmp(compare_name_at(&compare.classes, operations[i].class)->text, "other"))
			continue;
		/* The three of a class are much the same. */
		assert_true(found > mean * .9 && found < mean * 1.9);
	}
	compare_done(&compare);
	assert_int_equal(compare_length_bucket(0), 0);
	assert_int_equal(compare_length_bucket(999), 0);
	assert_int_equal(compare_length_bucket(1000), 1);
	assert_int_equal(compare_length_bucket(UINT64_MAX), COMPARE_LENGTHS - 1);
}

static size_t count_files(void)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, NULL, alphasort);

	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	return (size_t)count - 2;
}

static void test_days(void **unused)
{
	const uint64_t day = 24 * HISTORY_HOUR;
	struct history_found found;
	struct compare compare;

	(void)unused;
	for (unsigned i = 1; i <= 12; i++)
		write_period(START + i * day, 2);
	assert_int_equal(count_files(), HISTORY_DAYS + 1);
	found = read_all(&compare, START, START + 13 * day);
	assert_int_equal(found.periods, HISTORY_DAYS + 1);
	assert_int_equal(found.first, START + (12 - HISTORY_DAYS) * day);
	compare_done(&compare);
}

/* Whatever becomes of a file, the blocks that are whole are read. */
static void test_damaged(void **unused)
{
	const uint64_t at = START + 12 * 24 * HISTORY_HOUR;
	struct history_found found;
	struct compare compare;
	char command[128];

	(void)unused;
	write_period(at + HISTORY_PERIOD, 2);
	write_period(at + 2 * HISTORY_PERIOD, 2);
	for (unsigned i = 0; i < 200; i++) {
		struct dirent **entries;
		int count = scandir(directory, &entries, NULL, alphasort);
		char path[512];
		struct stat stat_of;
		long place;
		FILE *file;
		int byte;

		snprintf(path, sizeof(path), "%s/%s", directory, entries[count - 1]->d_name);
		for (int k = 0; k < count; k++)
			free(entries[k]);
		free(entries);
		assert_int_equal(stat(path, &stat_of), 0);
		place = (long)draw((unsigned)stat_of.st_size);
		file = fopen(path, "r+");
		assert_int_equal(fseek(file, place, SEEK_SET), 0);
		byte = fgetc(file);
		fseek(file, place, SEEK_SET);
		fputc(byte ^ (1 + (int)draw(255)), file);
		fclose(file);
		found = read_all(&compare, at, at + 3 * HISTORY_PERIOD);
		assert_int_equal(found.periods, 2);
		assert_true(found.damaged >= 1);
		compare_done(&compare);
		file = fopen(path, "r+");
		fseek(file, place, SEEK_SET);
		fputc(byte, file);
		fclose(file);
	}
	snprintf(command, sizeof(command), "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_days),
		cmocka_unit_test(test_damaged),
	};

	random_state = 0x715;
	if (!mkdtemp(directory))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
