/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the container that a control group belongs to, by its path. */
#include "base/container.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "ffff456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void assert_container(const char *path, const char *expected)
{
	char name[CLEW_CONTAINER_SIZE];

	if (clew_container_of(path, name) != (expected != NULL))
		fail_msg("%s: %s", path, expected ? "no container" : name);
	if (expected)
		assert_string_equal(name, expected);
}

static void test_paths(void **state)
{
	(void)state;
	assert_container("/", NULL);
	assert_container("", NULL);
	assert_container("/system.slice/ssh.service", NULL);
	assert_container("/docker/" ID, ID);
	assert_container("/system.slice/docker-" ID ".scope", ID);
	assert_container("/system.slice/docker-" ID ".scope/init", ID);
	assert_container("/machine.slice/libpod-" ID ".scope/container", ID);
	assert_container("/kubepods.slice/kubepods-burstable.slice/kubepods-pod1.slice/"
			 "cri-containerd-" ID ".scope",
			 ID);
	assert_container("/kubepods/besteffort/pod12ab/crio-" ID, ID);
	assert_container("/docker/" ID "/docker/" OTHER, OTHER);
	assert_container("/docker/" ID "0", NULL);
	assert_container("/docker/0" ID, NULL);
	assert_container("/docker/0123456789abcdef", NULL);
	assert_container("/lxc/web", "web");
	assert_container("/lxc", NULL);
	assert_container("/lxc/", NULL);
	assert_container("/lxc.payload.web/system.slice", "web");
	assert_container("/lxc.payload.", NULL);
	assert_container("/lxc.monitor.web", NULL);
	assert_container("/machine.slice/machine-build\\x2dbox.scope/payload", "build-box");
	assert_container("/machine.slice/machine-.scope", NULL);
	assert_container("/machine.slice/machine-web.service", NULL);
}

static void test_number(void **state)
{
	char name[CLEW_CONTAINER_SIZE];

	(void)state;
	assert_true(clew_container_in("/lxc/web/docker/" ID, 0, name));
	assert_string_equal(name, "web");
	assert_true(clew_container_in("/lxc/web/docker/" ID, 1, name));
	assert_string_equal(name, ID);
	assert_false(clew_container_in("/lxc/web/docker/" ID, 2, name));
}

/* A name of any length fits. */
static void test_long(void **state)
{
	char path[1024] = "/lxc/", name[CLEW_CONTAINER_SIZE];

	(void)state;
	memset(path + 5, 'n', 1000);
	path[1005] = 0;
	assert_true(clew_container_of(path, name));
	assert_int_equal(strlen(name), CLEW_CONTAINER_SIZE - 1);
}

static void test_wanted(void **state)
{
	(void)state;
	assert_true(clew_container_is(ID, ID));
	assert_true(clew_container_is(ID, "0123456789ab"));
	assert_true(clew_container_is(ID, "01234*"));
	assert_false(clew_container_is(ID, "123456789abc"));
	assert_false(clew_container_is(ID, ""));
	assert_false(clew_container_is(ID, ID "0"));
	assert_true(clew_container_is("web", "web"));
	assert_true(clew_container_is("web-1", "web-*"));
	assert_false(clew_container_is("web-1", "web"));
	/* A name is one, whatever a glob would make of it. */
	assert_true(clew_container_is("web\\x2d[1]", "web\\x2d[1]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_number),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_wanted),
	};

	return cmocka_run_group_tests_name("container", tests, NULL, NULL);
}
