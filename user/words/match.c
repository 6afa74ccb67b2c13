/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names that users type. */
#include "words/match.h"

#include <clew/kernel/call_numbers.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "words/describe.h"
#include "words/file.h"
#include "words/object.h"

/* fnmatch() with text before and after the pattern. */
static bool matches_between(const char *before, const char *pattern, const char *after,
			    const char *name)
{
	char whole[CLEW_NAME_SIZE];

	return snprintf(whole, sizeof(whole), "%s%s%s", before, pattern, after) <
		       (int)sizeof(whole) &&
	       !fnmatch(whole, name, 0);
}

bool clew_match_path(const char *pattern, const char *path)
{
	const char *above = pattern[0] == '/' ? "" : "*/";
	size_t length = strlen(pattern);

	return !fnmatch(pattern, path, 0) || matches_between(above, pattern, "", path) ||
	       matches_between(above, pattern, length && pattern[length - 1] == '/' ? "*" : "/*",
			       path);
}

bool clew_match_words(const char *pattern, const char *name)
{
	return !fnmatch(pattern, name, 0) || matches_between("* ", pattern, "", name) ||
	       matches_between("", pattern, " *", name) ||
	       matches_between("* ", pattern, " *", name);
}

/* Calls `match` for each pattern of a list until it says yes. */
static bool match_any(const char *list, bool (*match)(const char *pattern, const char *name),
		      const char *name)
{
	char pattern[CLEW_NAME_SIZE];

	for (size_t length; *list; list += length + (list[length] == ',')) {
		length = strcspn(list, ",");
		if (length >= sizeof(pattern))
			continue;
		memcpy(pattern, list, length);
		pattern[length] = '\0';
		if (length && match(pattern, name))
			return true;
	}
	return false;
}

bool clew_match_list(const char *list, const char *name)
{
	return match_any(list, clew_match_words, name);
}

static bool matches(const char *pattern, const char *name)
{
	return !fnmatch(pattern, name, 0);
}

bool clew_match_activity(const char *list, const struct clew_activity *activity)
{
	char name[2 * CLEW_TEXT_SIZE];

	snprintf(name, sizeof(name), "%s.%s", activity->interface, activity->operation);
	return match_any(list, matches, name) || match_any(list, matches, activity->operation) ||
	       match_any(list, matches, activity->interface);
}

bool clew_waits_for_lock(const struct clew_sleep *sleep)
{
	if (!clew_waits_for_object(sleep))
		return false;
	/* flock() and fcntl() sleep for a lock of a file only. */
	return sleep->holder_count || sleep->call == CLEW_NR_flock ||
	       sleep->call == CLEW_NR_fcntl || sleep->kind == CLEW_WAIT_LOCK ||
	       sleep->kind == CLEW_WAIT_FUTEX || sleep->object.kind == CLEW_OBJECT_LOCK ||
	       sleep->object.kind == CLEW_OBJECT_FUTEX || sleep->object.kind == CLEW_OBJECT_IPC;
}

const char *clew_wait_lock(const struct clew_trace *trace, const struct clew_sleep *sleep,
			   char *buffer, size_t size)
{
	struct object_description it;

	buffer[0] = '\0';
	if (clew_waits_for_lock(sleep) && object_describe(trace, &sleep->object, sleep, &it))
		snprintf(buffer, size, "%s", it.name);
	return buffer;
}

const char *clew_spin_lock(const struct clew_trace *trace, const struct clew_spin *spin,
			   char *buffer, size_t size)
{
	struct clew_object lock = clew_spin_object(spin);
	struct object_description it;

	buffer[0] = '\0';
	if (object_describe_then(trace, &lock, NULL, spin->end, &it))
		snprintf(buffer, size, "%s", it.name);
	return buffer;
}

static const char *described_path(const struct clew_trace *trace, const struct clew_sleep *sleep,
				  char *buffer, size_t size)
{
	struct object_description it;

	if (!object_describe(trace, &sleep->object, sleep, &it))
		return NULL;
	if (sleep->object.kind != CLEW_OBJECT_SOCKET)
		return it.path && it.path[0] ? it.path : NULL;
	if (!it.family || strcmp(it.family, "unix") != 0)
		return NULL;
	snprintf(buffer, size, "%s", it.local.text[0] ? it.local.text : it.peer.text);
	return buffer[0] ? buffer : NULL;
}

const char *clew_wait_path(const struct clew_trace *trace, const struct clew_sleep *sleep,
			   char *buffer, size_t size)
{
	if (!clew_waits_for_object(sleep))
		return NULL;
	switch (sleep->object.kind) {
	case CLEW_OBJECT_FILE:
		return clew_file_path(trace, sleep->object.device, sleep->object.number,
				      sleep->start);
	case CLEW_OBJECT_PATH:
		return clew_trace_text(trace, sleep->object.number);
	case CLEW_OBJECT_LOCK:
	case CLEW_OBJECT_REQUEST:
	case CLEW_OBJECT_DEVICE:
	case CLEW_OBJECT_TTY:
	case CLEW_OBJECT_SOCKET:
		return described_path(trace, sleep, buffer, size);
	default:
		return NULL;
	}
}
