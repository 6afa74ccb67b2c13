/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Filters: turns the options into what the kernel side compares tasks with. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "clew.skel.h"
#include "record/filter.h"
#include "record/group.h"
#include "record/stream/pid_namespace.h"

#define CGROUP1_MAGIC 0x27e0eb
#define CGROUP2_MAGIC 0x63677270

/*
 * Finds the mount point of the cgroup hierarchy that `path` is in, and the
 * hierarchy's controllers; "" for the unified hierarchy.
 */
static int find_mount(const char *path, char *ret_root, size_t root_size, char *ret_controllers,
		      size_t controllers_size)
{
	FILE *mounts = fopen("/proc/self/mounts", "re");
	char line[4096];
	size_t best = 0;

	if (!mounts)
		return -errno;
	while (fgets(line, sizeof(line), mounts)) {
		char *save = NULL, *device = strtok_r(line, " ", &save),
		     *where = strtok_r(NULL, " ", &save), *type = strtok_r(NULL, " ", &save),
		     *options = strtok_r(NULL, " ", &save);
		size_t length = where ? strlen(where) : 0;

		if (!device || !options || strncmp(type, "cgroup", 6) ||
		    strncmp(path, where, length) || (path[length] && path[length] != '/') ||
		    length <= best)
			continue;
		best = length;
		snprintf(ret_root, root_size, "%s", where);
		snprintf(ret_controllers, controllers_size, "%s",
			 strcmp(type, "cgroup2") ? options : "");
	}
	fclose(mounts);
	return best ? 0 : -ENOENT;
}

/*
 * Finds the index in css_set.subsys of the controller that a mount's options
 * name. The kernel's enum has it.
 */
static int subsystem_index(const char *options, uint32_t *ret_index)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, "cgroup_subsys_id", BTF_KIND_ENUM) : -1;
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, id) : NULL;
	int result = -ENOENT;

	for (unsigned int i = 0; type && i < btf_vlen(type); i++) {
		const struct btf_enum *value = &btf_enum(type)[i];
		const char *name = btf__name_by_offset(btf, value->name_off), *at;
		size_t length = strlen(name);

		/*
		 * A controller's enumerator is its name and "_cgrp_id"; the
		 * name of io is "blkio" in mounts.
		 */
		if (length <= 8 || strcmp(name + length - 8, "_cgrp_id"))
			continue;
		char controller[64];

		snprintf(controller, sizeof(controller), "%.*s", (int)(length - 8), name);
		if (!strcmp(controller, "io"))
			strcpy(controller, "blkio");
		length = strlen(controller);
		for (at = options; (at = strstr(at, controller)); at += length)
			if ((at == options || at[-1] == ',') &&
			    (!at[length] || at[length] == ',' || at[length] == '\n')) {
				*ret_index = value->val;
				result = 0;
			}
	}
	btf__free(btf);
	return result;
}

static int prepare_cgroup(struct clew_bpf *bpf, const struct clew_recorder_options *options,
			  struct clew_message *message)
{
	char given[4096], path[4096], root[4096], controllers[1024];
	uint32_t level = 0, subsystem = ~0u;
	struct statfs file_system;
	struct stat status;
	int error = clew_group_find(&options->group, given, sizeof(given), message);

	if (error)
		return error;
	if (!realpath(given, path) || stat(path, &status) || statfs(path, &file_system))
		return clew_say(message, -EINVAL,
				"no cgroup %s: give the path of its directory under /sys/fs/cgroup",
				given);
	if (!S_ISDIR(status.st_mode) ||
	    (file_system.f_type != CGROUP1_MAGIC && file_system.f_type != CGROUP2_MAGIC) ||
	    find_mount(path, root, sizeof(root), controllers, sizeof(controllers)))
		return clew_say(
			message, -EINVAL,
			"%s is not a cgroup: give the path of its directory under /sys/fs/cgroup",
			given);
	if (*controllers && subsystem_index(controllers, &subsystem))
		return clew_say(message, -EINVAL,
				"the hierarchy of %s has no controller: give a path of a hierarchy "
				"that has one",
				given);
	for (const char *at = path + strlen(root); *at; at++)
		level += *at == '/';
	bpf->rodata->filter_cgroup = true;
	bpf->rodata->filter_cgroup_id = status.st_ino;
	bpf->rodata->filter_cgroup_level = level;
	bpf->rodata->filter_cgroup_subsystem = subsystem;
	return 0;
}

/* True for a process's leader, and for a thread that has ended meanwhile. */
static bool is_leader(pid_t tid)
{
	char path[64], line[256];
	int pid = tid;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file) && sscanf(line, "Tgid: %d", &pid) != 1)
		;
	if (file)
		fclose(file);
	return pid == tid;
}

int clew_filter_prepare(struct clew_bpf *bpf, const struct clew_recorder_options *options,
			struct clew_message *message)
{
	char path[64];

	if (options->pid_count + options->tid_count && clew_pid_namespace() &&
	    !clew_pid_namespace_shown())
		return clew_say(
			message, -EINVAL,
			"in a PID namespace, but /proc is another one's: mount its own /proc, "
			"or start clew in the machine's (nsenter -t 1 -p)");
	for (size_t i = 0; i < options->pid_count + options->tid_count; i++) {
		bool thread = i >= options->pid_count;
		pid_t pid = thread ? options->tids[i - options->pid_count] : options->pids[i];

		snprintf(path, sizeof(path), "/proc/%d", pid);
		if (access(path, F_OK))
			return clew_say(message, -EINVAL, "no %s %d: give the %s of one that runs",
					thread ? "thread" : "process", pid, thread ? "tid" : "pid");
		if (!thread && !is_leader(pid))
			return clew_say(message, -EINVAL,
					"%d is a thread of a process: choose it by -t, or the "
					"process by its pid",
					pid);
	}
	bpf->rodata->filter_pids = options->pid_count || options->tid_count;
	bpf->rodata->messages_of = (uint32_t)options->messages_of;
	bpf->rodata->messages = options->messages;
	bpf->rodata->network = options->network;
	bpf->rodata->outside_count = (uint32_t)options->outside_count;
	for (size_t i = 0; i < options->outside_count && i < CLEW_OUTSIDE_MOST; i++)
		strncpy((char *)bpf->rodata->outside_names[i], options->outside[i],
			sizeof(bpf->rodata->outside_names[i]) - 1);
	if (options->comm) {
		if (strlen(options->comm) >= sizeof(bpf->rodata->filter_glob))
			return clew_say(
				message, -EINVAL,
				"the pattern '%s' is too long: a name has at most 15 characters",
				options->comm);
		bpf->rodata->filter_comm = true;
		strcpy((char *)bpf->rodata->filter_glob, options->comm);
	}
	return clew_group_is_wanted(&options->group) ? prepare_cgroup(bpf, options, message) : 0;
}

int clew_filter_fill(struct clew_bpf *bpf, const struct clew_recorder_options *options,
		     struct clew_message *message)
{
	int map = bpf_map__fd(bpf->maps.clew_filter);
	uint32_t one = 1;

	for (size_t i = 0; i < options->pid_count + options->tid_count; i++) {
		uint32_t key = i < options->pid_count
				       ? (uint32_t)options->pids[i] | 0x80000000u
				       : (uint32_t)options->tids[i - options->pid_count];

		if (bpf_map_update_elem(map, &key, &one, BPF_ANY))
			return clew_say(message, -EINVAL, "too many pids: give at most 4096");
	}
	return 0;
}
