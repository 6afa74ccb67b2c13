/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Containers, pods and units in the paths of control groups. */
#include "base/container.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static const char hexadecimal[] = "0123456789abcdef";

/* An id anywhere in a component: "docker-ID.scope", "ID", "libpod-ID". */
static bool take_id(const char *component, size_t length, char *name)
{
	for (size_t at = 0; at < length;) {
		size_t digits = 0;

		while (at + digits < length && component[at + digits] &&
		       strchr(hexadecimal, component[at + digits]))
			digits++;
		if (digits == CLEW_CONTAINER_ID) {
			memcpy(name, component + at, digits);
			name[digits] = '\0';
			return true;
		}
		at += digits + 1;
	}
	return false;
}

/* A name, which ends before `end` if the component ends with that. systemd writes other characters
 * than letters and digits as \xNN. */
static bool take_name(const char *text, size_t length, const char *end, char *name)
{
	size_t tail = strlen(end), used = 0;

	if (length >= tail && !memcmp(text + length - tail, end, tail))
		length -= tail;
	for (size_t at = 0; at < length && used + 1 < CLEW_CONTAINER_SIZE; at++) {
		unsigned byte;

		if (length - at >= 4 && text[at] == '\\' && text[at + 1] == 'x' &&
		    isxdigit((unsigned char)text[at + 2]) &&
		    isxdigit((unsigned char)text[at + 3]) &&
		    sscanf(text + at + 2, "%2x", &byte) == 1) {
			name[used++] = (char)byte;
			at += 3;
		} else {
			name[used++] = text[at];
		}
	}
	name[used] = '\0';
	return used > 0;
}

static bool begins(const char *component, size_t length, const char *with)
{
	return length > strlen(with) && !memcmp(component, with, strlen(with));
}

static bool is(const char *component, size_t length, const char *word)
{
	return length == strlen(word) && !memcmp(component, word, length);
}

static bool take_component(const char *component, size_t length, bool below_lxc, char *name)
{
	static const char machine[] = "machine-", payload[] = "lxc.payload.";

	if (take_id(component, length, name))
		return true;
	if (begins(component, length, payload))
		return take_name(component + strlen(payload), length - strlen(payload), "", name);
	if (begins(component, length, machine) && length > strlen(".scope") &&
	    !memcmp(component + length - strlen(".scope"), ".scope", strlen(".scope")))
		return take_name(component + strlen(machine), length - strlen(machine), ".scope",
				 name);
	return below_lxc && take_name(component, length, "", name);
}

bool clew_container_in(const char *path, unsigned number, char name[static CLEW_CONTAINER_SIZE])
{
	bool below_lxc = false;

	for (; *path; path += strcspn(path, "/")) {
		size_t length;

		path += strspn(path, "/");
		length = strcspn(path, "/");
		if (length && take_component(path, length, below_lxc, name) && number-- == 0)
			return true;
		below_lxc = is(path, length, "lxc");
	}
	return false;
}

bool clew_container_of(const char *path, char name[static CLEW_CONTAINER_SIZE])
{
	char inner[CLEW_CONTAINER_SIZE];
	unsigned number = 0;

	while (clew_container_in(path, number, inner)) {
		memcpy(name, inner, sizeof(inner));
		number++;
	}
	return number > 0;
}

bool clew_container_is_id(const char *name)
{
	return strlen(name) == CLEW_CONTAINER_ID && strspn(name, hexadecimal) == CLEW_CONTAINER_ID;
}

bool clew_container_is(const char *name, const char *wanted)
{
	return !strcmp(name, wanted) || fnmatch(wanted, name, 0) == 0 ||
	       (clew_container_is_id(name) && wanted[0] && !strncmp(name, wanted, strlen(wanted)));
}

/* The part of a component behind "pod", without ".slice". Underscores are the hyphens of the
 * number, as systemd reads hyphens as levels; a static pod's number has none. */
static bool take_pod(const char *component, size_t length, char *uid)
{
	static const char slice[] = ".slice", pod[] = "pod";
	const char *at = memmem(component, length, "-pod", strlen("-pod"));
	size_t used = 0;

	if (length > strlen(slice) &&
	    !memcmp(component + length - strlen(slice), slice, strlen(slice)))
		length -= strlen(slice);
	at = at ? at + 1 : component;
	if (strncmp(at, pod, strlen(pod)) != 0)
		return false;
	for (at += strlen(pod); at < component + length; at++) {
		if (used + 1 == CLEW_POD_UID_SIZE || !strchr("0123456789abcdef-_", *at))
			return false;
		uid[used++] = *at == '_' ? '-' : *at;
	}
	uid[used] = '\0';
	return used >= 32;
}

bool clew_pod_uid_in(const char *path, char uid[static CLEW_POD_UID_SIZE])
{
	bool below = false;

	for (; *path; path += strcspn(path, "/")) {
		size_t length;

		path += strspn(path, "/");
		length = strcspn(path, "/");
		if (below && take_pod(path, length, uid))
			return true;
		below |= length >= strlen("kubepods") &&
			 !memcmp(path, "kubepods", strlen("kubepods"));
	}
	return false;
}

bool clew_unit_of(const char *path, char unit[static CLEW_CONTAINER_SIZE])
{
	static const char *const ends[] = {".service", ".scope"};
	bool found = false;

	for (; *path; path += strcspn(path, "/")) {
		size_t length;

		path += strspn(path, "/");
		length = strcspn(path, "/");
		for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
			size_t end = strlen(ends[i]);

			if (length <= end || memcmp(path + length - end, ends[i], end) != 0)
				continue;
			found = length < CLEW_CONTAINER_SIZE &&
				!take_component(path, length, false, unit);
			if (found)
				snprintf(unit, CLEW_CONTAINER_SIZE, "%.*s", (int)length, path);
		}
	}
	return found;
}

bool clew_unit_is(const char *unit, const char *wanted)
{
	static const char service[] = ".service";
	char name[CLEW_CONTAINER_SIZE];
	size_t length = strlen(unit);

	if (fnmatch(wanted, unit, 0) == 0)
		return true;
	if (length <= strlen(service) || strcmp(unit + length - strlen(service), service) != 0)
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(length - strlen(service)), unit);
	return fnmatch(wanted, name, 0) == 0;
}
