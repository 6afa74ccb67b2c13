/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finding and reading files of others: by this process itself, then by a helper, which is this
 * program again. A helper that stands still is late, and replaced.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ending.h"
#include "opener/opener.h"
#include "symbol/elf/names.h"
#include "symbol/unwind/unwind.h"

#define HELPER "helper"
#define TEXT   "no program, but a file"

static char folder[] = "/tmp/clew-opener-XXXXXX";

static char *path_of(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, PATH_MAX, "%s/%s", folder, name);
	return path;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* Maps a file and describes the mapping as /proc and the kernel do. */
static struct clew_open_mapping map_file(const char *path, void **ret_memory)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	assert_true(file >= 0 && fstat(file, &status) == 0);
	*ret_memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
	assert_true(*ret_memory != MAP_FAILED);
	close(file);
	return (struct clew_open_mapping){.pid = getpid(),
					  .start = (uintptr_t)*ret_memory,
					  .end = (uintptr_t)*ret_memory + 4096,
					  .inode = status.st_ino,
					  .major = major(status.st_dev),
					  .minor = minor(status.st_dev),
					  .path = path};
}

static void expect_text(const struct clew_opened *opened)
{
	char text[sizeof(TEXT)] = "";
	int copy;

	assert_int_equal(clew_open_read(opened, CLEW_OPEN_WHOLE, &copy), 0);
	assert_int_equal(read(copy, text, sizeof(text)), strlen(TEXT));
	assert_string_equal(text, TEXT);
	assert_int_equal(write(copy, text, 1), -1);
	close(copy);
}

static void check_mapped(void)
{
	const char *path = path_of("mapped");
	struct clew_open_mapping mapping;
	struct clew_opened opened;
	char found[PATH_MAX];
	void *memory;

	write_file(path, TEXT);
	mapping = map_file(path, &memory);
	assert_int_equal(clew_open_mapped(&mapping, &opened, NULL), 0);
	assert_int_equal(opened.inode, mapping.inode);
	assert_int_equal(opened.size, strlen(TEXT));
	assert_true(opened.probeable);
	expect_text(&opened);
	clew_opened_close(&opened);
	/* Without its path it is found by the mapping, also when another file has the path. */
	assert_int_equal(unlink(path), 0);
	write_file(path, "another one");
	mapping.path = "";
	if (geteuid() == 0) {
		assert_int_equal(clew_open_mapped(&mapping, &opened, found), 0);
		assert_non_null(strstr(found, "/mapped (deleted)"));
		expect_text(&opened);
		clew_opened_close(&opened);
	}
	/* When the mapping is gone, the path leads to the other one. */
	mapping.path = path;
	munmap(memory, 4096);
	assert_int_equal(clew_open_mapped(&mapping, &opened, NULL), -ESTALE);
}

static void check_gone(void)
{
	const char *path = path_of("gone");
	struct clew_open_mapping mapping;
	struct clew_opened opened;
	void *memory;

	write_file(path, TEXT);
	mapping = map_file(path, &memory);
	munmap(memory, 4096);
	assert_int_equal(clew_open_mapped(&mapping, &opened, NULL), 0);
	expect_text(&opened);
	clew_opened_close(&opened);
	mapping.minor++;
	assert_int_equal(clew_open_mapped(&mapping, &opened, NULL), -ESTALE);
	mapping.minor--;
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(clew_open_mapped(&mapping, &opened, NULL), -EBADMSG);
	unlink(path);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(clew_open_mapped(&mapping, &opened, NULL), -EBADMSG);
	unlink(path);
	assert_int_equal(clew_open_mapped(&mapping, &opened, NULL), -ENOENT);
}

static void check_named(void)
{
	struct clew_opened opened;
	char whole[PATH_MAX];

	write_file(path_of("named"), TEXT);
	assert_int_equal(symlink("named", path_of("link")), 0);
	assert_int_equal(clew_open_named(path_of("link"), &opened, whole), 0);
	assert_string_equal(whole, path_of("named"));
	expect_text(&opened);
	clew_opened_close(&opened);
	unlink(path_of("link"));
	assert_int_equal(clew_open_named("/dev/null", &opened, NULL), -EBADMSG);
	assert_int_equal(clew_open_named(folder, &opened, NULL), -EISDIR);
	assert_int_equal(clew_open_named(path_of("absent"), &opened, NULL), -ENOENT);
}

/* Parts of a program say the same as the whole of it. */
static void check_parts(void)
{
	struct clew_named one, other;
	struct clew_names *names, *all;
	struct clew_unwind_row *rows, *all_rows;
	size_t count, all_count, named = 0;
	struct clew_opened opened;
	int parts, frames, whole;

	assert_int_equal(clew_open_named("/proc/self/exe", &opened, NULL), 0);
	assert_int_equal(clew_open_read(&opened, CLEW_OPEN_WHOLE, &whole), 0);
	assert_int_equal(clew_open_read(&opened, CLEW_OPEN_FRAMES, &frames), 0);
	assert_int_equal(clew_open_read(&opened, CLEW_OPEN_FRAMES | CLEW_OPEN_SYMBOLS, &parts), 0);
	assert_int_equal(clew_names_open(parts, &names), 0);
	assert_int_equal(clew_names_open(whole, &all), 0);
	for (uint64_t offset = 0; offset < opened.size; offset += 64) {
		bool has = clew_names_find(all, offset, &other);

		assert_int_equal(clew_names_find(names, offset, &one), has);
		if (has)
			assert_string_equal(one.name, other.name);
		named += has;
	}
	assert_true(named > 100);
	assert_int_equal(clew_unwind_rows(frames, &rows, &count), 0);
	assert_int_equal(clew_unwind_rows(whole, &all_rows, &all_count), 0);
	assert_int_equal(count, all_count);
	assert_memory_equal(rows, all_rows, count * sizeof(*rows));
	free(rows);
	free(all_rows);
	clew_names_close(names);
	clew_names_close(all);
	close(parts);
	close(frames);
	close(whole);
	clew_opened_close(&opened);
}

static void check_process(void)
{
	char line[256] = "", own[256] = "";
	int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC), copy;

	assert_int_equal(clew_open_process(getpid(), CLEW_OPEN_COMMAND_LINE, &copy), 0);
	assert_true(read(file, own, sizeof(own) - 1) > 0 && read(copy, line, sizeof(line) - 1) > 0);
	assert_string_equal(line, own);
	close(file);
	close(copy);
	assert_int_equal(clew_open_glob(path_of("nam*"), &copy), 0);
	assert_true(read(copy, line, sizeof(line)) > 0);
	assert_string_equal(line, path_of("named"));
	close(copy);
}

static void check_all(void)
{
	check_mapped();
	check_gone();
	check_named();
	check_parts();
	check_process();
}

static void test_alone(void **state)
{
	(void)state;
	check_all();
}

static void test_helped(void **state)
{
	(void)state;
	clew_opener_enable(HELPER);
	check_all();
	assert_int_equal(clew_opener_late(), 0);
	assert_true(clew_opener_cpu_time() > 0);
}

static int count_open(pid_t pid)
{
	char path[64];
	int count = 0;
	DIR *descriptors;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	descriptors = opendir(path);
	assert_non_null(descriptors);
	for (struct dirent *entry; (entry = readdir(descriptors));)
		count += entry->d_name[0] != '.';
	closedir(descriptors);
	return count;
}

/* A helper that waits for a request has its socket and /dev/null twice, and nothing else. */
static pid_t find_helper(void)
{
	FILE *children;
	char path[64];
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	children = fopen(path, "re");
	assert_non_null(children);
	/* The last one: earlier ones may have been killed. */
	while (fscanf(children, "%d", &pid) == 1)
		;
	fclose(children);
	for (int i = 0; i < 1000 && count_open(pid) != 3; i++)
		usleep(1000);
	assert_int_equal(count_open(pid), 3);
	return pid;
}

static void test_late(void **state)
{
	uint64_t before = clock_read(CLOCK_MONOTONIC), took;
	struct clew_opened opened;
	pid_t helper;

	(void)state;
	clew_opener_close();
	assert_int_equal(clew_open_named(path_of("named"), &opened, NULL), 0);
	clew_opened_close(&opened);
	helper = find_helper();
	kill(helper, SIGSTOP);
	assert_int_equal(clew_open_named(path_of("named"), &opened, NULL), -ETIMEDOUT);
	took = clock_read(CLOCK_MONOTONIC) - before;
	assert_in_range(took, CLEW_OPEN_SECONDS * 1000000000ull,
			(CLEW_OPEN_SECONDS + 2) * 1000000000ull);
	assert_int_equal(clew_opener_late(), 1);
	/* It is not asked for again at once, and others are not held up. */
	before = clock_read(CLOCK_MONOTONIC);
	assert_int_equal(clew_open_named(path_of("named"), &opened, NULL), -ETIMEDOUT);
	assert_int_equal(clew_open_named("/proc/self/exe", &opened, NULL), 0);
	clew_opened_close(&opened);
	assert_int_equal(clew_opener_late(), 1);
	assert_true(clock_read(CLOCK_MONOTONIC) - before < CLEW_OPEN_SECONDS * 1000000000ull);
	/* At the end nothing has much time. */
	ending_set(true);
	kill(find_helper(), SIGSTOP);
	before = clock_read(CLOCK_MONOTONIC);
	assert_int_equal(clew_open_named("/bin/sh", &opened, NULL), -ETIMEDOUT);
	assert_true(clock_read(CLOCK_MONOTONIC) - before < CLEW_OPEN_SECONDS * 1000000000ull);
	clew_opener_close();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_helped),
		cmocka_unit_test(test_late),
	};
	char command[64];
	int failed;

	if (argc == 2 && !strcmp(argv[1], HELPER))
		return clew_opener_main();
	if (!mkdtemp(folder))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return failed || system(command) != 0;
}
