/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of containers and pods, from files as each runtime writes them, below a root of the test's
 * own; strings of JSON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "containers/json_strings.h"
#include "containers/names.h"

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "ffff456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID   "7d8c6f2e-1f3a-4c1b-9d52-0a1b2c3d4e5f"
#define SLICE                                                                                      \
	"/kubepods.slice/kubepods-burstable.slice/"                                                \
	"kubepods-burstable-pod7d8c6f2e_1f3a_4c1b_9d52_0a1b2c3d4e5f.slice"
#define TASK  "/run/containerd/io.containerd.runtime.v2.task/k8s.io/"
#define STORE "/var/lib/containers/storage/overlay-containers/"

static char folder[] = "/tmp/clew-runtime-XXXXXX";
static struct clew_containers runtime;

/* A file below the root, with the folders that it is in. */
static void write_below(const char *path, const char *text)
{
	char whole[512];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/root%s", folder, path);
	for (char *at = whole + strlen(folder) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(whole, 0755);
		*at = '/';
	}
	file = fopen(whole, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void remove_below(const char *path)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s/root%s", folder, path);
	assert_int_equal(unlink(whole), 0);
}

static void remove_folder(const char *path)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s/root%s", folder, path);
	assert_int_equal(rmdir(whole), 0);
}

static void expect(const char *path, const char *container, const char *pod, const char *in)
{
	struct clew_container_names names;
	bool any = *container || *pod || *in;

	assert_int_equal(clew_containers_names(&runtime, path, &names), any ? 0 : -ENOENT);
	assert_string_equal(names.of[CLEW_GROUP_CONTAINER], container);
	assert_string_equal(names.of[CLEW_GROUP_POD], pod);
	assert_string_equal(names.of[CLEW_GROUP_NAMESPACE], in);
}

/* As pkg/cri/annotations of containerd has the keys. */
static void test_containerd(void **state)
{
	(void)state;
	write_below(TASK ID "/config.json",
		    "{\"ociVersion\":\"1.1.0\",\"process\":{\"args\":[\"/app\"]},\"annotations\":{"
		    "\"io.kubernetes.cri.container-name\":\"app\","
		    "\"io.kubernetes.cri.container-type\":\"container\","
		    "\"io.kubernetes.cri.sandbox-name\":\"web-1\","
		    "\"io.kubernetes.cri.sandbox-namespace\":\"shop\","
		    "\"io.kubernetes.cri.sandbox-uid\":\"" UID "\"},\"linux\":{}}");
	expect(SLICE "/cri-containerd-" ID ".scope", "app", "web-1", "shop");
	expect("/kubepods/burstable/pod" UID "/" ID, "app", "web-1", "shop");
	/* The sandbox has no name of its own. */
	write_below(TASK OTHER "/config.json",
		    "{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\","
		    "\"io.kubernetes.cri.sandbox-name\":\"web-1\","
		    "\"io.kubernetes.cri.sandbox-namespace\":\"shop\"}}");
	expect(SLICE "/cri-containerd-" OTHER ".scope", "", "web-1", "shop");
	remove_below(TASK ID "/config.json");
	remove_below(TASK OTHER "/config.json");
	expect(SLICE "/cri-containerd-" ID ".scope", "", "", "");
}

/* CRI-O copies the kubelet's labels; the name of the store is one that nobody knows. */
static void test_crio(void **state)
{
	(void)state;
	write_below(STORE "containers.json",
		    "[{\"id\":\"" ID "\",\"names\":[\"k8s_app_web-1_shop_" UID "_0\"]}]");
	write_below(STORE ID "/userdata/config.json",
		    "{\"annotations\":{\"io.kubernetes.cri-o.Name\":\"k8s_app_web-1_shop_" UID
		    "_0\",\"io.kubernetes.container.name\":\"app\",\"io.kubernetes.pod.name\":"
		    "\"web-1\",\"io.kubernetes.pod.namespace\":\"shop\"}}");
	expect(SLICE "/crio-" ID ".scope", "app", "web-1", "shop");
	write_below(STORE ID "/userdata/config.json",
		    "{\"annotations\":{\"io.kubernetes.cri-o.KubeName\":\"web-1\","
		    "\"io.kubernetes.cri-o.Namespace\":\"shop\"}}");
	expect(SLICE "/crio-" ID ".scope", "", "web-1", "shop");
	remove_below(STORE ID "/userdata/config.json");
	remove_below(STORE "containers.json");
}

static void test_docker(void **state)
{
	(void)state;
	write_below("/var/lib/docker/containers/" ID "/config.v2.json",
		    "{\"State\":{\"Running\":true,\"Pid\":7},\"ID\":\"" ID
		    "\",\"Config\":{\"Hostname\":\"012345678901\",\"Labels\":{\"a\":\"b\"}},"
		    "\"Image\":\"sha256:1\",\"Name\":\"/shop_db_1\",\"MountPoints\":{}}");
	expect("/docker/" ID, "shop_db_1", "", "");
	expect("/system.slice/docker-" ID ".scope", "shop_db_1", "", "");
	write_below("/var/lib/docker/containers/" ID "/config.v2.json",
		    "{\"Config\":{\"Labels\":{\"io.kubernetes.container.name\":\"app\","
		    "\"io.kubernetes.pod.name\":\"web-1\",\"io.kubernetes.pod.namespace\":\"shop\"}"
		    "},\"Name\":\"/k8s_app_web-1_shop_" UID "_0\"}");
	expect("/kubepods/pod" UID "/" ID, "app", "web-1", "shop");
	remove_below("/var/lib/docker/containers/" ID "/config.v2.json");
}

/* podman's own configuration has annotations, but no name. */
static void test_podman(void **state)
{
	(void)state;
	write_below(STORE ID "/userdata/config.json",
		    "{\"annotations\":{\"io.container.manager\":\"libpod\"}}");
	write_below(STORE "containers.json",
		    "[{\"id\":\"" OTHER "\",\"names\":[\"other\"],\"image\":\"1\"},"
		    "{\"id\":\"" ID "\",\"names\":[\"web\",\"alias\"],\"image\":\"2\"}]");
	expect("/machine.slice/libpod-" ID ".scope/container", "web", "", "");
	expect("/libpod_parent/libpod-" OTHER, "other", "", "");
	remove_below(STORE ID "/userdata/config.json");
	remove_below(STORE "containers.json");
}

/* The kubelet names log files by pod and container. A pod's folder is there before its containers'
 * files. */
static void test_kubelet(void **state)
{
	(void)state;
	write_below("/var/log/pods/shop_web-1_" UID "/app/0.log", "");
	expect(SLICE "/cri-containerd-" ID ".scope", "", "web-1", "shop");
	expect(SLICE, "", "web-1", "shop");
	write_below("/var/log/containers/web-1_shop_app-" ID ".log", "");
	write_below("/var/log/containers/web-2_shop_app-" OTHER ".log", "");
	expect(SLICE "/cri-containerd-" ID ".scope", "app", "web-1", "shop");
	expect("/docker/" OTHER, "app", "web-2", "shop");
	remove_below("/var/log/pods/shop_web-1_" UID "/app/0.log");
	remove_folder("/var/log/pods/shop_web-1_" UID "/app");
	remove_folder("/var/log/pods/shop_web-1_" UID);
	remove_below("/var/log/containers/web-1_shop_app-" ID ".log");
	remove_below("/var/log/containers/web-2_shop_app-" OTHER ".log");
}

/* LXC and systemd-nspawn have names in the path, a service is none, and an id is all there is. */
static void test_no_names(void **state)
{
	(void)state;
	expect("/lxc/web", "", "", "");
	expect("/system.slice/nginx.service", "", "", "");
	expect("/docker/" ID, "", "", "");
	expect("/", "", "", "");
}

/* A text that is no JSON, or a path that is no file, gives no name and does no harm. */
static void test_broken(void **state)
{
	static const char *const texts[] = {"",
					    "{",
					    "{\"annotations\":",
					    "{\"annotations\":{\"io.kubernetes.pod.name\":\"x\"",
					    "{\"annotations\":{\"io.kubernetes.pod.name\":\"x",
					    "[[[[",
					    "\"",
					    "{\"annotations\":{\"io.kubernetes.pod.name\":7}}",
					    "nul",
					    "{]"};
	char fifo[256];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_below(TASK ID "/config.json", texts[i]);
		expect("/kubepods/pod" UID "/" ID, "", "", "");
	}
	remove_below(TASK ID "/config.json");
	snprintf(fifo, sizeof(fifo), "%s/root%s%s/config.json", folder, TASK, ID);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	expect("/kubepods/pod" UID "/" ID, "", "", "");
	unlink(fifo);
	/* A link that would lead out of the root stays in it. */
	assert_int_equal(symlink("/etc/passwd", fifo), 0);
	expect("/kubepods/pod" UID "/" ID, "", "", "");
	unlink(fifo);
}

/* A thousand pods are named within a second. */
static void test_thousand(void **state)
{
	uint64_t begun;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		char path[256], text[512];

		snprintf(path, sizeof(path), TASK "%064x/config.json", i);
		snprintf(text, sizeof(text),
			 "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"app\","
			 "\"io.kubernetes.cri.sandbox-name\":\"web-%u\","
			 "\"io.kubernetes.cri.sandbox-namespace\":\"shop\"}}",
			 i);
		write_below(path, text);
	}
	begun = clock_read(CLOCK_MONOTONIC);
	for (unsigned i = 0; i < 1000; i++) {
		char path[256], pod[32];

		snprintf(path, sizeof(path), SLICE "/cri-containerd-%064x.scope", i);
		snprintf(pod, sizeof(pod), "web-%u", i);
		expect(path, "app", pod, "shop");
	}
	printf("# 1,000 pods in %.0f ms\n", (double)(clock_read(CLOCK_MONOTONIC) - begun) / 1e6);
}

/* ---- strings of JSON ---- */

static bool list(void *context, const struct json_place *place, const char *value)
{
	FILE *out = context;

	for (size_t i = 0; i < place->depth; i++)
		if (place->in[i].key[0])
			fprintf(out, ".%s", place->in[i].key);
		else
			fprintf(out, ".%zu", place->in[i].index);
	fprintf(out, "=%s ", value);
	return strcmp(value, "stop") != 0;
}

static void expect_strings(const char *text, int result, const char *expected)
{
	char *listed = NULL;
	size_t size;
	FILE *out = open_memstream(&listed, &size);

	assert_int_equal(json_strings(text, strlen(text), list, out), result);
	fclose(out);
	assert_string_equal(listed, expected);
	free(listed);
}

static void test_strings(void **state)
{
	char deep[JSON_DEPTH + 8];

	(void)state;
	expect_strings(" {\"a\" : [1, \"x\", {\"b\":\"y\"}], \"c\":\"z\"} ", 0,
		       ".a.1=x .a.2.b=y .c=z ");
	expect_strings("[\"\\u00e4\\ud83d\\ude00\\n\\\"\\\\\\/\"]", 0,
		       ".0=\xc3\xa4\xf0\x9f\x98\x80\n\"\\/ ");
	expect_strings("[\"a\\u0000b\"]", 0, ".0=ab ");
	expect_strings("[\"stop\", \"go\"", 0, ".0=stop ");
	expect_strings("[true,false,null,-1.5e3,\"e\"]", 0, ".4=e ");
	expect_strings("{} x", -EINVAL, "");
	expect_strings("[\"\\ud83d\"]", -EINVAL, "");
	expect_strings("[\"\\x\"]", -EINVAL, "");
	expect_strings("[\"a\nb\"]", -EINVAL, "");
	expect_strings("{\"a\" \"b\"}", -EINVAL, "");
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	expect_strings(deep, -EINVAL, "");
}

static int set_up(void **state)
{
	static char root[64];

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(root, sizeof(root), "%s/root", folder);
	mkdir(root, 0755);
	strcpy(runtime.root, root);
	runtime.machine = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return runtime.machine < 0;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	close(runtime.machine);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings),	 cmocka_unit_test(test_containerd),
		cmocka_unit_test(test_crio),	 cmocka_unit_test(test_docker),
		cmocka_unit_test(test_podman),	 cmocka_unit_test(test_kubelet),
		cmocka_unit_test(test_no_names), cmocka_unit_test(test_broken),
		cmocka_unit_test(test_thousand),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
