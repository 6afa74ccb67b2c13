/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The configuration of clew daemon: a file with a setting a line, its name and then its value. A #
 * begins a comment. docs/daemon.md lists the settings.
 */
#ifndef CLEW_DAEMON_CONFIG_H
#define CLEW_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/amount.h"
#include "base/message.h"
#include "live/trigger.h"
#include <clew/kernel/maps/network.h>

#define CLEW_RULE_NAME	  32
#define CLEW_MEMORY_LEAST (1u << 20) /* bytes */
#define CLEW_RULE_TEXT	  256
#define CLEW_RULES_MOST	  64
#define CLEW_PEERS_TEXT	  1024
#define CLEW_INCIDENTS	  "/var/lib/clew/incidents"
#define CLEW_CONFIG_FILE  "/etc/clew/clew.conf"

/* The limits above which something is slow. A name has lower-case letters, digits and hyphens. */
struct clew_rule {
	char name[CLEW_RULE_NAME];
	char text[CLEW_RULE_TEXT]; /* as it was written */
	struct clew_trigger trigger;
};

struct clew_config {
	char *file; /* NULL: there is none, all is as by default */
	char *ring; /* a directory */
	struct clew_amount rotate, keep;
	bool stacks;
	bool messages;
	char *runtimes;		   /* names, as for clew record --runtime; NULL: none */
	struct clew_amount memory; /* for names and files of stacks: bytes */
	bool page_cache;
	const char *outside[CLEW_OUTSIDE_MOST]; /* devices that lead to other hosts */
	size_t outside_count;
	struct clew_rule *rules;
	size_t rule_count;
	char *incidents;	  /* a directory */
	struct clew_amount quota; /* of it: bytes */
	unsigned quota_count;
	char *peers;	       /* a command line for each incident, without a shell; NULL: none */
	char *history;	       /* a directory; NULL: none is kept */
	char *metrics_file;    /* NULL: none */
	char *metrics_address; /* NULL: none */
};

/* All as by default. 0 or -ENOMEM. */
int clew_config_init(struct clew_config *config);
/*
 * Reads the file. -EINVAL: something in it is wrong, -ENOMEM, or why it cannot be read; with a
 * message that names the file, and the line and column. On an error there is nothing to be freed.
 */
int clew_config_read(const char *file, struct clew_config *ret_config,
		     struct clew_message *message);
void clew_config_done(struct clew_config *config);

/* The first setting in which the two differ that a running daemon cannot change; NULL: none. */
const char *clew_config_fixed(const struct clew_config *before, const struct clew_config *after);

#endif
