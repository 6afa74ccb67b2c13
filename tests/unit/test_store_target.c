/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a capture may go: nothing that somebody else has prepared is opened, and what has no
 * contents of its own, or was opened before, is taken as it is.
 */
#include "store/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char place[64]; /* a folder of this user's; "shared" in it is everybody's */

static const char *at(const char *name)
{
	static char paths[4][160];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", place, name);
	return path;
}

static void make_file(const char *name, mode_t mode)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(place, "/tmp/clew-target.XXXXXX");
	assert_non_null(mkdtemp(place));
	assert_int_equal(mkdir(at("shared"), 0700), 0);
	assert_int_equal(chmod(at("shared"), 01777), 0);
	make_file("own", 0600);
	return 0;
}

static int tear_down(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", place);
	return system(command);
}

/* The result of opening the path; *ret_made is true if the file was made. */
static int result(const char *path, bool *ret_made)
{
	int fd = -1, r = store_target_open(path, 0, &fd, ret_made);

	assert_int_equal(r == 0, fd >= 0);
	if (fd >= 0)
		close(fd);
	return r;
}

static void test_new(void **state)
{
	struct stat status;
	bool made;

	(void)state;
	assert_int_equal(result(at("new"), &made), 0);
	assert_true(made);
	assert_int_equal(stat(at("new"), &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(result(at("new"), &made), 0);
	assert_false(made);
	assert_int_equal(result(at("shared/new"), &made), 0);
	assert_int_equal(result(at("absent/new"), &made), -ENOENT);
	assert_int_equal(result(at("own/new"), &made), -ENOTDIR);
	assert_int_equal(result("", &made), -ENOENT);
	assert_int_equal(result(at(""), &made), -EISDIR);
	assert_int_equal(chdir(place), 0);
	assert_int_equal(result("new", &made), 0);
	assert_int_equal(result("./shared/../own", &made), 0);
	assert_false(made);
}

static void test_links(void **state)
{
	bool made;

	(void)state;
	assert_int_equal(symlink(at("own"), at("link")), 0);
	assert_int_equal(symlink("link", at("second")), 0);
	assert_int_equal(symlink("shared", at("folder")), 0);
	assert_int_equal(symlink("circle", at("circle")), 0);
	assert_int_equal(result(at("second"), &made), 0);
	assert_int_equal(result(at("folder/in-it"), &made), 0);
	assert_true(made);
	assert_int_equal(result(at("circle"), &made), -ELOOP);

	assert_int_equal(symlink("../own", at("shared/link")), 0);
	assert_int_equal(symlink(at("absent"), at("shared/dangling")), 0);
	assert_int_equal(symlink("..", at("shared/up")), 0);
	assert_int_equal(symlink("/dev/full", at("shared/device")), 0);
	assert_int_equal(link(at("own"), at("shared/hard")), 0);
	for (size_t i = 0; i < 6; i++) {
		static const char *const names[] = {"shared/link",   "shared/dangling",
						    "shared/up/own", "shared/up/other",
						    "shared/device", "shared/hard"};

		assert_int_equal(result(at(names[i]), &made), STORE_TARGET_LINK);
		assert_int_equal(store_target_check(at(names[i])), STORE_TARGET_LINK);
	}
	assert_int_equal(access(at("absent"), F_OK), -1);
	assert_int_equal(access(at("other"), F_OK), -1);
}

static void test_files(void **state)
{
	bool made;

	(void)state;
	make_file("shared/open", 0606);
	make_file("readable", 0644);
	assert_int_equal(result(at("shared/open"), &made), STORE_TARGET_OPEN);
	assert_int_equal(result(at("readable"), &made), 0);
	if (geteuid())
		skip();
	make_file("shared/others", 0600);
	assert_int_equal(chown(at("shared/others"), 65534, 65534), 0);
	assert_int_equal(result(at("shared/others"), &made), STORE_TARGET_OWNER);
}

/* A pipe, a device and what is open have no contents that could be lost. */
static void test_others(void **state)
{
	char path[40];
	int ends[2], reader, file;
	bool made;

	(void)state;
	assert_int_equal(mkfifo(at("pipe"), 0600), 0);
	assert_int_equal(symlink("../pipe", at("shared/pipe")), 0);
	assert_int_equal(result(at("pipe"), &made), -ENXIO);
	reader = open(at("pipe"), O_RDONLY | O_NONBLOCK);
	assert_int_equal(result(at("pipe"), &made), 0);
	assert_int_equal(result(at("shared/pipe"), &made), 0);
	close(reader);
	assert_int_equal(result("/dev/full", &made), 0);

	assert_int_equal(pipe(ends), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
	assert_int_equal(result(path, &made), 0);
	close(ends[0]);
	close(ends[1]);
	/* The shell of whom it may concern has opened it. */
	make_file("shared/given", 0666);
	file = open(at("shared/given"), O_WRONLY);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	assert_int_equal(result(path, &made), 0);
	close(file);
}

static void test_folders(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(mkdir(at("ring"), 0755), 0);
	assert_int_equal(store_target_folder(at("ring"), &fd), 0);
	close(fd);
	assert_int_equal(store_target_folder(at("ring/"), &fd), 0);
	close(fd);
	assert_int_equal(symlink("../ring", at("shared/ring")), 0);
	assert_int_equal(store_target_folder(at("shared/ring"), &fd), STORE_TARGET_LINK);
	assert_int_equal(store_target_folder(at("shared"), &fd), STORE_TARGET_OPEN);
	assert_int_equal(store_target_folder(at("own"), &fd), -ENOTDIR);
	assert_int_equal(store_target_folder(at("absent"), &fd), -ENOENT);
	if (geteuid())
		skip();
	assert_int_equal(chown(at("ring"), 65534, 65534), 0);
	assert_int_equal(store_target_folder(at("ring"), &fd), STORE_TARGET_OWNER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_new, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_links, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_others, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_folders, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
