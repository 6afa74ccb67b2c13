/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The directory of incidents. Each is a directory TIME-NAME-N in it: when (UTC), the rule's name,
 * and a number that is one more than the greatest that was there. It holds capture.clew,
 * why.txt, why.json and trigger.json, and what other hosts were asked for.
 */
#ifndef CLEW_DAEMON_INCIDENT_H
#define CLEW_DAEMON_INCIDENT_H

#include "daemon/watch.h"

struct clew_incident {
	char *id;   /* the directory's name */
	char *rule; /* its name */
	uint64_t number;
	uint64_t bytes;
	char time[32];	/* as ISO 8601 writes it */
	char *headline; /* "" unknown */
};

/* All, the oldest first. A directory that is not there has none. 0 or -errno. */
int clew_incidents_list(const char *directory, struct clew_incident **ret_incidents,
			size_t *ret_count);
void clew_incidents_free(struct clew_incident *incidents, size_t count);

/* The id for a new one that happened at that time, ns since 1970. 0 or -errno. */
int clew_incident_name(const char *directory, const char *rule, uint64_t time, char **ret_id);

/*
 * Removes the oldest until no more than `count` with `bytes` in all are there, and what a process
 * that was killed left. 0 or -errno.
 */
int clew_incidents_trim(const char *directory, uint64_t bytes, unsigned count);

#endif
