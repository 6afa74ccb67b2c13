/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Looks for the names of a container in the files of each runtime in turn, and then in the names of
 * log files, which the kubelet makes of them.
 *
 * containerd and CRI-O write the names as annotations of the OCI configuration (in CRI-O's case as
 * the kubelet's labels, for a sandbox as its own); Docker has its own configuration with a name and
 * labels; podman has the name in the list of its store alone.
 */
#include "containers/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/container.h"
#include "containers/json_strings.h"
#include "opener/opener.h"

#define FILE_MOST (16u << 20) /* bytes: the list of a store with thousands of containers */

/* A folder that has, or whose folder of the container's id has, a file about a container. */
struct place {
	const char *mark; /* what stands before the id in a group's path, NULL: anything */
	const char *before, *behind; /* the id */
	json_take *take;
};

/* A container that is looked for. */
struct search {
	const char *id;
	size_t element; /* of the list: the one that has the id, SIZE_MAX none */
	struct clew_container_names *names;
};

static void set_name(struct search *search, enum clew_group_name which, const char *value)
{
	snprintf(search->names->of[which], CLEW_TEXT_SIZE, "%s", value);
}

/* Keys of labels and annotations. */
static const struct {
	const char *key;
	enum clew_group_name which;
} keys[] = {
	{"io.kubernetes.cri.container-name", CLEW_GROUP_CONTAINER},
	{"io.kubernetes.cri.sandbox-name", CLEW_GROUP_POD},
	{"io.kubernetes.cri.sandbox-namespace", CLEW_GROUP_NAMESPACE},
	{"io.kubernetes.container.name", CLEW_GROUP_CONTAINER},
	{"io.kubernetes.pod.name", CLEW_GROUP_POD},
	{"io.kubernetes.pod.namespace", CLEW_GROUP_NAMESPACE},
	{"io.kubernetes.cri-o.KubeName", CLEW_GROUP_POD},
	{"io.kubernetes.cri-o.Namespace", CLEW_GROUP_NAMESPACE},
	{"nerdctl/name", CLEW_GROUP_CONTAINER},
};

static void take_label(struct search *search, const char *key, const char *value)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(key, keys[i].key))
			set_name(search, keys[i].which, value);
}

/* config.json of the OCI runtime specification: annotations. */
static bool take_oci(void *context, const struct json_place *place, const char *value)
{
	if (place->depth == 2 && !strcmp(place->in[0].key, "annotations"))
		take_label(context, place->in[1].key, value);
	return true;
}

/* config.v2.json of Docker: Name, with a slash before it, and Config.Labels. */
static bool take_docker(void *context, const struct json_place *place, const char *value)
{
	struct search *search = context;

	if (place->depth == 1 && !strcmp(place->in[0].key, "Name") &&
	    !search->names->of[CLEW_GROUP_CONTAINER][0])
		set_name(search, CLEW_GROUP_CONTAINER, value + (*value == '/'));
	else if (place->depth == 3 && !strcmp(place->in[0].key, "Config") &&
		 !strcmp(place->in[1].key, "Labels"))
		take_label(search, place->in[2].key, value);
	return true;
}

/* containers.json of a store: a list of objects with an id and then names. */
static bool take_store(void *context, const struct json_place *place, const char *value)
{
	struct search *search = context;

	if (place->depth == 2 && !strcmp(place->in[1].key, "id") && !strcmp(value, search->id))
		search->element = place->in[0].index;
	if (place->depth != 3 || strcmp(place->in[1].key, "names") != 0 ||
	    search->element != place->in[0].index)
		return true;
	set_name(search, CLEW_GROUP_CONTAINER, value);
	return false;
}

#define TASKS	"/io.containerd.runtime.v2.task/"
#define STORE	"containers/storage/overlay-containers/"
#define USER_OF "/userdata/config.json"

/* Kubernetes comes before others: it has names for what its runtime calls otherwise. */
static const struct place places[] = {
	{"cri-containerd-", "/run/containerd" TASKS "k8s.io/", "/config.json", take_oci},
	{"crio-", "/var/lib/" STORE, USER_OF, take_oci},
	{"docker-", "/var/lib/docker/containers/", "/config.v2.json", take_docker},
	{"libpod-", "/var/lib/" STORE "containers.json", NULL, take_store},
	{NULL, "/run/containerd" TASKS "k8s.io/", "/config.json", take_oci},
	{NULL, "/run/k3s/containerd" TASKS "k8s.io/", "/config.json", take_oci},
	{NULL, "/var/lib/docker/containers/", "/config.v2.json", take_docker},
	{NULL, "/run/containerd" TASKS "default/", "/config.json", take_oci},
	{NULL, "/run/" STORE, USER_OF, take_oci},
	{NULL, "/var/lib/" STORE, USER_OF, take_oci},
	{NULL, "/var/lib/" STORE "containers.json", NULL, take_store},
	{NULL, "/var/lib/containers/storage/vfs-containers/containers.json", NULL, take_store},
};

static int open_place(const struct clew_containers *runtime, const char *path,
		      struct clew_opened *ret_opened)
{
	return runtime->machine >= 0 ? clew_open_below(runtime->machine, 1, path, ret_opened)
				     : clew_open_named(path, ret_opened, NULL);
}

/* Reads a file and hands its strings on. 0 or -errno. */
static int read_file(const struct clew_containers *runtime, const char *path, json_take *take,
		     struct search *search)
{
	struct clew_opened opened;
	struct stat status;
	int copy, r = open_place(runtime, path, &opened);
	char *text;

	if (r < 0)
		return r;
	r = opened.size > FILE_MOST ? -EFBIG : clew_open_read(&opened, CLEW_OPEN_WHOLE, &copy);
	clew_opened_close(&opened);
	if (r < 0)
		return r;
	if (fstat(copy, &status) < 0 || !status.st_size) {
		close(copy);
		return -ENODATA;
	}
	text = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, copy, 0);
	close(copy);
	if (text == MAP_FAILED)
		return -errno;
	r = json_strings(text, (size_t)status.st_size, take, search);
	munmap(text, (size_t)status.st_size);
	return r;
}

static bool has_any(const struct clew_container_names *names)
{
	for (unsigned i = 0; i < CLEW_GROUP_NAMES; i++)
		if (names->of[i][0])
			return true;
	return false;
}

/* True if the component of a group's path that has the id has the mark before it. */
static bool has_mark(const char *path, const char *id, const char *mark)
{
	const char *at = strstr(path, id);

	return at && (size_t)(at - path) >= strlen(mark) &&
	       !memcmp(at - strlen(mark), mark, strlen(mark));
}

static void search_files(const struct clew_containers *runtime, const char *path,
			 struct search *search)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct place *place = &places[i];
		char name[256];
		int r;

		if (place->mark && !has_mark(path, search->id, place->mark))
			continue;
		snprintf(name, sizeof(name), "%s%s%s", place->before,
			 place->behind ? search->id : "", place->behind ?: "");
		r = read_file(runtime, name, place->take, search);
		if (r == 0 && has_any(search->names))
			return;
		/* A file that is broken off is not believed. */
		*search->names = (struct clew_container_names){};
	}
}

/* The last component of the first path that fits a pattern below the machine's root. */
static bool find_one(const struct clew_containers *runtime, const char *pattern, char *name,
		     size_t size)
{
	char whole[512], paths[4096], *last;
	int list;
	ssize_t length;

	snprintf(whole, sizeof(whole), "%s%s", runtime->root, pattern);
	if (clew_open_glob(whole, &list) < 0)
		return false;
	length = read(list, paths, sizeof(paths) - 1);
	close(list);
	if (length <= 0)
		return false;
	paths[length] = '\0';
	last = strrchr(paths, '/');
	if (!last || !last[1])
		return false;
	snprintf(name, size, "%s", last + 1);
	return true;
}

/* POD_NAMESPACE_CONTAINER-ID.log; no name of Kubernetes has an underscore. */
static void take_log_name(struct search *search, char *name)
{
	char *save = NULL, *pod = strtok_r(name, "_", &save), *in = strtok_r(NULL, "_", &save),
	     *container = strtok_r(NULL, "_", &save), *end;

	end = container ? strstr(container, search->id) : NULL;
	if (!end || end == container || end[-1] != '-')
		return;
	end[-1] = '\0';
	set_name(search, CLEW_GROUP_POD, pod);
	set_name(search, CLEW_GROUP_NAMESPACE, in);
	set_name(search, CLEW_GROUP_CONTAINER, container);
}

/* NAMESPACE_POD_UID */
static void take_log_folder(struct search *search, char *name)
{
	char *save = NULL, *in = strtok_r(name, "_", &save), *pod = strtok_r(NULL, "_", &save);

	if (!pod || !strtok_r(NULL, "_", &save))
		return;
	set_name(search, CLEW_GROUP_POD, pod);
	set_name(search, CLEW_GROUP_NAMESPACE, in);
}

static void search_logs(const struct clew_containers *runtime, const char *path,
			struct search *search)
{
	char uid[CLEW_POD_UID_SIZE], pattern[256], name[512];

	snprintf(pattern, sizeof(pattern), "/var/log/containers/[a-z0-9]*-%s.log", search->id);
	if (*search->id && find_one(runtime, pattern, name, sizeof(name)))
		take_log_name(search, name);
	if (search->names->of[CLEW_GROUP_POD][0] || !clew_pod_uid_in(path, uid))
		return;
	snprintf(pattern, sizeof(pattern), "/var/log/pods/[a-z0-9]*_%s", uid);
	if (find_one(runtime, pattern, name, sizeof(name)))
		take_log_folder(search, name);
}

/* True if a folder of /proc shows the root of its process, which is a directory. */
static bool shows_root(int machine)
{
	struct clew_opened opened = {.path = -1};
	int r = clew_open_below(machine, 1, "/", &opened);

	clew_opened_close(&opened);
	return r == -EISDIR;
}

static bool open_process(struct clew_containers *runtime, unsigned pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	runtime->machine = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (runtime->machine < 0)
		return false;
	if (shows_root(runtime->machine)) {
		snprintf(runtime->root, sizeof(runtime->root), "%s/root", path);
		return true;
	}
	clew_containers_close(runtime);
	return false;
}

/* True if process 1 started a process, and no control group of it is a container's. One that a
 * container's process left behind has its shim as parent. */
static bool is_machines(unsigned pid)
{
	char path[32], line[512], id[CLEW_CONTAINER_SIZE];
	unsigned parent = 0;
	bool outside;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file) && sscanf(line, "PPid: %u", &parent) != 1)
		;
	if (file)
		fclose(file);
	if (parent != 1)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	file = fopen(path, "re");
	outside = file != NULL;
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		outside &= !clew_container_of(line, id) && !clew_pod_uid_in(line, id);
	}
	if (file)
		fclose(file);
	return outside;
}

void clew_containers_open(struct clew_containers *ret_containers)
{
	const struct dirent *entry;
	DIR *processes;
	bool found;

	*ret_containers = (struct clew_containers){.machine = -1};
	if (open_process(ret_containers, 1))
		return;
	processes = opendir("/proc");
	found = !processes;
	while (!found && (entry = readdir(processes))) {
		unsigned pid = (unsigned)strtoul(entry->d_name, NULL, 10);

		found = pid > 1 && is_machines(pid) && open_process(ret_containers, pid);
	}
	if (processes)
		closedir(processes);
}

void clew_containers_close(struct clew_containers *runtime)
{
	if (runtime->machine >= 0)
		close(runtime->machine);
	runtime->machine = -1;
}

int clew_containers_names(struct clew_containers *runtime, const char *path,
			  struct clew_container_names *ret_names)
{
	char id[CLEW_CONTAINER_SIZE], uid[CLEW_POD_UID_SIZE];
	struct search search = {.id = id, .element = SIZE_MAX, .names = ret_names};

	*ret_names = (struct clew_container_names){};
	/* LXC and systemd-nspawn have names in the path itself. */
	if (!clew_container_of(path, id) || !clew_container_is_id(id))
		id[0] = '\0';
	if (!id[0] && !clew_pod_uid_in(path, uid))
		return -ENOENT;
	/* The process may have ended. */
	if (runtime->machine >= 0 && !shows_root(runtime->machine)) {
		clew_containers_close(runtime);
		clew_containers_open(runtime);
	}
	if (id[0])
		search_files(runtime, path, &search);
	if (!has_any(ret_names))
		search_logs(runtime, path, &search);
	return has_any(ret_names) ? 0 : -ENOENT;
}
