/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The directory of incidents. */
#include "daemon/incident.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TIME_LENGTH 16 /* 20261125T025511Z */
#define DEPTH	    2  /* of directories in an incident's: captures of other hosts are in one */
#define TEMPORARY   7  /* bytes of what mkdtemp(3) puts behind a name, and a dot */

/* Takes a directory's name apart. False: it is no incident's. */
static bool take_name(const char *name, struct clew_incident *incident)
{
	const char *rule = name + TIME_LENGTH + 1, *number = strrchr(name, '-');
	char *end;
	size_t length = strlen(name);

	if (length < TIME_LENGTH + 4 || name[8] != 'T' || name[TIME_LENGTH - 1] != 'Z' ||
	    name[TIME_LENGTH] != '-' || number <= rule || !isdigit((unsigned char)number[1]))
		return false;
	incident->number = strtoull(number + 1, &end, 10);
	if (*end)
		return false;
	incident->id = strdup(name);
	incident->rule = strndup(rule, (size_t)(number - rule));
	snprintf(incident->time, sizeof(incident->time), "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", name,
		 name + 4, name + 6, name + 9, name + 11, name + 13);
	return true;
}

/* The first line of why.txt. */
static char *read_headline(int directory)
{
	int file = openat(directory, "why.txt", O_RDONLY | O_CLOEXEC);
	char text[400] = "";
	ssize_t size = file < 0 ? 0 : read(file, text, sizeof(text) - 1);

	if (file >= 0)
		close(file);
	if (size < 0)
		size = 0;
	text[size] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return strdup(text);
}

/* The size of the files in a directory and in its directories. */
static uint64_t bytes_in(int parent, const char *name, unsigned depth)
{
	int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *files = directory < 0 ? NULL : fdopendir(directory);
	struct dirent *entry;
	struct stat status;
	uint64_t bytes = 0;

	if (!files) {
		if (directory >= 0)
			close(directory);
		return 0;
	}
	while ((entry = readdir(files))) {
		if (fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
			continue;
		if (S_ISREG(status.st_mode))
			bytes += (uint64_t)status.st_blocks * 512;
		else if (depth < DEPTH && S_ISDIR(status.st_mode) && entry->d_name[0] != '.')
			bytes += bytes_in(directory, entry->d_name, depth + 1);
	}
	closedir(files);
	return bytes;
}

static void read_incident(int incidents, struct clew_incident *incident)
{
	int directory = openat(incidents, incident->id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (directory < 0)
		return;
	incident->bytes = bytes_in(incidents, incident->id, 0);
	incident->headline = read_headline(directory);
	close(directory);
}

static int by_number(const void *left, const void *right)
{
	const struct clew_incident *a = left, *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

static int add(struct clew_incident **incidents, size_t *count, int directory, const char *name)
{
	struct clew_incident incident = {}, *grown;

	if (!take_name(name, &incident))
		return 0;
	read_incident(directory, &incident);
	grown = realloc(*incidents, (*count + 1) * sizeof(*grown));
	if (grown)
		*incidents = grown;
	if (!incident.headline)
		incident.headline = strdup("");
	if (!grown || !incident.id || !incident.rule || !incident.headline) {
		free(incident.id);
		free(incident.rule);
		free(incident.headline);
		return -ENOMEM;
	}
	grown[(*count)++] = incident;
	return 0;
}

int clew_incidents_list(const char *directory, struct clew_incident **ret_incidents,
			size_t *ret_count)
{
	DIR *names = opendir(directory);
	struct clew_incident *incidents = NULL;
	struct dirent *entry;
	size_t count = 0;
	int r = 0;

	*ret_incidents = NULL;
	*ret_count = 0;
	if (!names)
		return errno == ENOENT ? 0 : -errno;
	while (r == 0 && (entry = readdir(names)))
		r = add(&incidents, &count, dirfd(names), entry->d_name);
	closedir(names);
	if (r < 0) {
		clew_incidents_free(incidents, count);
		return r;
	}
	if (count)
		qsort(incidents, count, sizeof(*incidents), by_number);
	*ret_incidents = incidents;
	*ret_count = count;
	return 0;
}

void clew_incidents_free(struct clew_incident *incidents, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(incidents[i].id);
		free(incidents[i].rule);
		free(incidents[i].headline);
	}
	free(incidents);
}

int clew_incident_name(const char *directory, const char *rule, uint64_t time, char **ret_id)
{
	struct clew_incident *incidents;
	time_t seconds = (time_t)(time / 1000000000);
	unsigned long long number = 1;
	struct tm utc;
	char text[24];
	size_t count;
	int r = clew_incidents_list(directory, &incidents, &count);

	if (r < 0)
		return r;
	if (count)
		number = incidents[count - 1].number + 1;
	clew_incidents_free(incidents, count);
	gmtime_r(&seconds, &utc);
	strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &utc);
	return asprintf(ret_id, "%s-%s-%04llu", text, rule, number) < 0 ? -ENOMEM : 0;
}

/* Removes a directory and what is in it. */
static void remove_directory(int parent, const char *name, unsigned depth)
{
	int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *files = directory < 0 ? NULL : fdopendir(directory);
	struct dirent *entry;

	while (files && (entry = readdir(files)))
		if (unlinkat(directory, entry->d_name, 0) < 0 && errno == EISDIR && depth < DEPTH &&
		    entry->d_name[0] != '.')
			remove_directory(directory, entry->d_name, depth + 1);
	if (files)
		closedir(files);
	unlinkat(parent, name, AT_REMOVEDIR);
}

/* True if a name is an incident's with what mkdtemp(3) puts behind it. */
static bool is_unfinished(const char *name)
{
	struct clew_incident incident = {};
	size_t length = strlen(name);
	char whole[256];
	bool is;

	if (length <= TEMPORARY || length >= sizeof(whole) || name[length - TEMPORARY] != '.')
		return false;
	snprintf(whole, sizeof(whole), "%.*s", (int)(length - TEMPORARY), name);
	is = take_name(whole, &incident);
	free(incident.id);
	free(incident.rule);
	return is;
}

int clew_incidents_trim(const char *directory, uint64_t bytes, unsigned most)
{
	struct clew_incident *incidents;
	DIR *names = opendir(directory);
	struct dirent *entry;
	uint64_t sum = 0;
	size_t count;
	int r;

	if (!names)
		return errno == ENOENT ? 0 : -errno;
	while ((entry = readdir(names)))
		if (is_unfinished(entry->d_name))
			remove_directory(dirfd(names), entry->d_name, 0);
	r = clew_incidents_list(directory, &incidents, &count);
	for (size_t i = 0; i < count; i++)
		sum += incidents[i].bytes;
	for (size_t i = 0; i < count && (count - i > most || sum > bytes); i++) {
		remove_directory(dirfd(names), incidents[i].id, 0);
		sum -= incidents[i].bytes;
	}
	clew_incidents_free(incidents, count);
	closedir(names);
	return r;
}
