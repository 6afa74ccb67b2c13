/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An incident on its way: what it is about, and where it goes. */
#ifndef CLEW_CLI_DAEMON_INCIDENT_H
#define CLEW_CLI_DAEMON_INCIDENT_H

#include "daemon/watch.h"

struct daemon_request {
	struct clew_firing firing;
	char ring[1024], incidents[1024];
	uint64_t quota; /* bytes */
	unsigned quota_count;
};

/* Makes the incident's directory, which has its name once it is whole. Returns an exit status. */
int daemon_incident_make(const struct daemon_request *request);

#endif
