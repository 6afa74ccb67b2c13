/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `clew incidents`, and what the daemon writes into an incident itself. */
#ifndef CLEW_ANSWERS_DAEMON_INCIDENTS_H
#define CLEW_ANSWERS_DAEMON_INCIDENTS_H

#include <stdint.h>
#include <stdio.h>

#include "daemon/incident.h"
#include "daemon/watch.h"

void clew_print_incidents(FILE *out, const struct clew_incident *incidents, size_t count);
void clew_json_incidents(FILE *out, const struct clew_incident *incidents, size_t count,
			 const char *directory);

/* The request of a disk that a rule fired for, above the explanation. */
void clew_print_fired_request(FILE *out, const struct clew_firing *firing);
/* Why there is the incident `id`. `wall`: ns since 1970. */
void clew_json_firing(FILE *out, const struct clew_firing *firing, const char *id, uint64_t wall);

#endif
