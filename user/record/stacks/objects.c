/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the files that a person means. A process's files are opened by its mappings, so
 * those in containers and deleted ones are found, too. Each file is there once.
 */
#include "record/stacks/objects.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/stacks/mappings.h"
#include "symbol/elf/library.h"

struct search {
	struct clew_objects *objects;
	const char *name; /* the last part of the path, or NULL */
	pid_t pid;	  /* or 0 */
	int error;
};

/* Takes the file. 0 or -errno; one that is there already is left out. */
static int add_object(struct clew_objects *objects, const char *path, struct clew_opened *file,
		      pid_t pid)
{
	struct clew_object *grown, object = {.file = *file, .descriptor = -1, .pid = pid};

	for (size_t i = 0; i < objects->count; i++)
		if (objects->list[i].file.device == file->device &&
		    objects->list[i].file.inode == file->inode) {
			clew_opened_close(file);
			return 0;
		}
	grown = realloc(objects->list, (objects->count + 1) * sizeof(*objects->list));
	if (grown) {
		objects->list = grown;
		object.path = strdup(path);
	}
	if (!object.path) {
		clew_opened_close(file);
		return -ENOMEM;
	}
	grown[objects->count++] = object;
	return 0;
}

static int add_path(struct clew_objects *objects, const char *path)
{
	char whole[PATH_MAX];
	struct clew_opened file;
	int r = clew_open_named(path, &file, whole);

	return r < 0 ? r : add_object(objects, *whole == '/' ? whole : path, &file, 0);
}

int clew_object_read(struct clew_object *object)
{
	return object->descriptor >= 0
		       ? 0
		       : clew_open_read(&object->file, CLEW_OPEN_WHOLE, &object->descriptor);
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* " (deleted)" is behind the path of a file that has none any more. */
static bool has_name(const char *path, const char *name)
{
	const char *last = last_name(path);
	size_t length = strlen(name);

	return !strncmp(last, name, length) &&
	       (last[length] == '\0' || !strcmp(last + length, " (deleted)"));
}

static bool take_mapping(void *context, const struct clew_mapping *mapping)
{
	struct search *search = context;
	struct clew_opened file;

	if (search->error || *mapping->at.path != '/' ||
	    (search->pid && mapping->at.pid != search->pid) ||
	    (search->name && !has_name(mapping->at.path, search->name)) ||
	    clew_mapping_file(mapping, &file) < 0)
		return false;
	search->error = add_object(search->objects, mapping->at.path, &file, mapping->at.pid);
	return false;
}

int clew_program_find(const char *name, char *ret_path, size_t size)
{
	const char *directories = getenv("PATH");

	for (size_t length; directories && *directories;
	     directories += length + (directories[length] == ':')) {
		length = strcspn(directories, ":");
		snprintf(ret_path, size, "%.*s/%s", (int)length, directories, name);
		if (!access(ret_path, X_OK))
			return 0;
	}
	return -ENOENT;
}

static int find_process(const char *name, struct clew_objects *ret, struct clew_message *message)
{
	struct search search = {.objects = ret};
	char *end;
	long number = strtol(name, &end, 10);

	if (number <= 0 || number > INT32_MAX || (kill((pid_t)number, 0) < 0 && errno == ESRCH))
		return clew_say(message, -ESRCH,
				"there is no process %s: it may have ended; give the path of its "
				"program",
				name);
	search.pid = ret->pid = (pid_t)number;
	clew_mappings_scan(take_mapping, &search);
	if (search.error)
		return clew_say(message, search.error, "the files of process %s: %s: try again",
				name, strerror(-search.error));
	return ret->count ? 0
			  : clew_say(message, -ESRCH,
				     "process %s maps no program that can be read: kernel threads "
				     "have none, and for others' processes clew needs to be root",
				     name);
}

static int find_name(const char *name, struct clew_objects *ret, struct clew_message *message)
{
	struct search search = {.objects = ret, .name = name};
	char path[PATH_MAX];

	clew_mappings_scan(take_mapping, &search);
	if (!ret->count && !search.error &&
	    (clew_library_find(name, path, sizeof(path)) >= 0 ||
	     clew_program_find(name, path, sizeof(path)) >= 0))
		search.error = add_path(ret, path);
	if (search.error)
		return clew_say(message, search.error, "%s: %s", name,
				clew_open_error(search.error));
	return ret->count ? 0
			  : clew_say(message, -ENOENT,
				     "no process maps a file %s, and there is no such library or "
				     "program: give its path",
				     name);
}

int clew_objects_find(const char *name, struct clew_objects *ret, struct clew_message *message)
{
	int r;

	*ret = (struct clew_objects){0};
	if (strchr(name, '/')) {
		r = add_path(ret, name);
		if (r == -EISDIR)
			clew_say(message, r,
				 "%s: is a directory: name a program or a library in it", name);
		else if (r == -EBADMSG)
			clew_say(message, r, "%s: is no regular file: name a program or a library",
				 name);
		else if (r == -ENOENT)
			clew_say(message, r,
				 "%s: there is no such file: if it was deleted, give the number of "
				 "a process that still runs it",
				 name);
		else if (r < 0)
			clew_say(message, r, "%s: %s", name, clew_open_error(r));
	} else if (*name && name[strspn(name, "0123456789")] == '\0') {
		r = find_process(name, ret, message);
	} else {
		r = find_name(name, ret, message);
	}
	if (r < 0)
		clew_objects_done(ret);
	return r;
}

void clew_objects_done(struct clew_objects *objects)
{
	for (size_t i = 0; i < objects->count; i++) {
		clew_opened_close(&objects->list[i].file);
		if (objects->list[i].descriptor >= 0)
			close(objects->list[i].descriptor);
		free(objects->list[i].path);
	}
	free(objects->list);
	*objects = (struct clew_objects){0};
}
