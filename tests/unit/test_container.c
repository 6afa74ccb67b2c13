/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the container, pod and unit that a control group belongs to, by its path. */
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

static void assert_pod(const char *path, const char *expected)
{
	char uid[CLEW_POD_UID_SIZE];

	if (clew_pod_uid_in(path, uid) != (expected != NULL))
		fail_msg("%s: %s", path, expected ? "no pod" : uid);
	if (expected)
		assert_string_equal(uid, expected);
}

static void test_pods(void **state)
{
	static const char uid[] = "7d8c6f2e-1f3a-4c1b-9d52-0a1b2c3d4e5f";

	(void)state;
	assert_pod("/kubepods/burstable/pod7d8c6f2e-1f3a-4c1b-9d52-0a1b2c3d4e5f/" ID, uid);
	assert_pod("/kubepods.slice/kubepods-pod7d8c6f2e_1f3a_4c1b_9d52_0a1b2c3d4e5f.slice", uid);
	assert_pod("/docker/" ID "/kubelet/kubepods/pod7d8c6f2e-1f3a-4c1b-9d52-0a1b2c3d4e5f", uid);
	/* A static pod's number is a hash. */
	assert_pod("/kubepods.slice/kubepods-burstable.slice/"
		   "kubepods-burstable-pod0123456789abcdef0123456789abcdef.slice/crio-" ID,
		   "0123456789abcdef0123456789abcdef");
	assert_pod("/kubepods/burstable", NULL);
	assert_pod("/kubepods/podman", NULL);
	assert_pod("/pod7d8c6f2e-1f3a-4c1b-9d52-0a1b2c3d4e5f", NULL);
	assert_pod("/kubepods/pod0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0",
		   NULL);
}

static void assert_unit(const char *path, const char *expected)
{
	char unit[CLEW_CONTAINER_SIZE];

	if (clew_unit_of(path, unit) != (expected != NULL))
		fail_msg("%s: %s", path, expected ? "no unit" : unit);
	if (expected)
		assert_string_equal(unit, expected);
}

static void test_units(void **state)
{
	(void)state;
	assert_unit("/system.slice/nginx.service", "nginx.service");
	assert_unit("/system.slice/nginx.service/payload", "nginx.service");
	assert_unit("/user.slice/user-1000.slice/user@1000.service/app.slice/tmux.service",
		    "tmux.service");
	assert_unit("/user.slice/session-3.scope", "session-3.scope");
	assert_unit("/system.slice", NULL);
	assert_unit("/", NULL);
	assert_unit("/.service", NULL);
	assert_unit("/system.slice/docker-" ID ".scope", NULL);
	assert_unit("/machine.slice/machine-web.scope", NULL);
	assert_true(clew_unit_is("nginx.service", "nginx"));
	assert_true(clew_unit_is("nginx.service", "ngin*"));
	assert_true(clew_unit_is("session-3.scope", "session-3.scope"));
	assert_false(clew_unit_is("session-3.scope", "session-3"));
	assert_false(clew_unit_is("nginx.service", "ngin"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths), cmocka_unit_test(test_pods),
		cmocka_unit_test(test_units), cmocka_unit_test(test_number),
		cmocka_unit_test(test_long),  cmocka_unit_test(test_wanted),
	};

	return cmocka_run_group_tests_name("container", tests, NULL, NULL);
}
