/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An incident on its way: what it is about, and where it goes. */
#ifndef CLEW_CLI_DAEMON_DAEMON_INCIDENT_H
#define CLEW_CLI_DAEMON_DAEMON_INCIDENT_H

#include "daemon/watch.h"

struct daemon_request {
	struct clew_firing firing;
	char ring[1024], incidents[1024];
	char peers[CLEW_PEERS_TEXT]; /* a command line, "": none */
	uint64_t quota;		     /* bytes */
	unsigned quota_count;
	char id[CLEW_INCIDENT_ID]; /* by daemon_incident_name() */
	uint64_t wall;		   /* ns since 1970: when the rule was met */
};

/* When the capture begins at the latest, if that is kept: ns, CLOCK_MONOTONIC. */
uint64_t daemon_incident_from(const struct daemon_request *request);

/* Gives the incident its id and its time. Returns an exit status. */
int daemon_incident_name(struct daemon_request *request);

/* Makes the incident's directory, which has its name once it is whole. Returns an exit status. */
int daemon_incident_make(struct daemon_request *request);

#endif
