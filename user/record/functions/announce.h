/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The announcements of programs: their files are looked through for the probes
 * of clew/announce.h and of layers' descriptions, and the kernel side is attached to
 * them. A file is probed once, for all processes that map it or will.
 */
#ifndef CLEW_RECORD_FUNCTIONS_ANNOUNCE_H
#define CLEW_RECORD_FUNCTIONS_ANNOUNCE_H

#include <stddef.h>

#include "record/stream/recording.h"

struct clew_announcer;
struct clew_bpf;

/* Before the load. */
void clew_announce_prepare(struct clew_bpf *bpf);
/*
 * After the load: probes the files that are mapped now and the program that is about
 * to be run (NULL none), and follows new mappings from here on, in a thread. A kernel
 * without user-space probes gives nothing, and that is no error; *ret is NULL then.
 */
int clew_announce_open(struct clew_recorder *recorder, const char *program,
		       struct clew_announcer **ret, struct clew_message *message);
/* Returns what left_alone.h says of the probes that were not attached to, the caller's. */
char *clew_announce_close(struct clew_announcer *announcer);

/* Sites attached to so far. */
size_t clew_announce_sites(const struct clew_announcer *announcer);

#endif
