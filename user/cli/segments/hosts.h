/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Captures of what other hosts have kept: `clew snapshot` on each of them, over ssh, all at once.
 * There is no port of clew's own. Functions return 0 or, after clew_fail(), an exit status.
 */
#ifndef CLEW_CLI_SEGMENTS_HOSTS_H
#define CLEW_CLI_SEGMENTS_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clew_hosts_question {
	const char *ssh;    /* a command line: the host and the command there are put behind it */
	const char *remote; /* the command line that is clew there */
	char *from, *to;    /* moments that every host understands; NULL: all that is kept */
	const char *folder; /* an empty one, for the captures */
	uint64_t patience;  /* ns: for a host that sends nothing */
};

struct clew_hosts;

/* Takes HOST or HOST:/DIRECTORY, the latter for a recording that is no daemon's. */
int clew_hosts_add(struct clew_hosts **hosts, const char *operand);

/*
 * Asks all hosts, and says which ones gave a capture, and why others did not. Returns an exit
 * status only if it could not ask.
 */
int clew_hosts_fetch(struct clew_hosts *hosts, const struct clew_hosts_question *question);

size_t clew_hosts_count(const struct clew_hosts *hosts);
/* The path of a host's capture; NULL: it gave none. */
const char *clew_hosts_capture(const struct clew_hosts *hosts, size_t number);

void clew_hosts_free(struct clew_hosts *hosts);

#endif
