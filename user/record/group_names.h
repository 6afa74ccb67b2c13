/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of the containers and pods whose control groups a recording meets. */
#ifndef CLEW_RECORD_GROUP_NAMES_H
#define CLEW_RECORD_GROUP_NAMES_H

struct clew_group_names;
struct clew_recorder;

/* Before the drain starts. *ret may be set on failure, too. 0 or -errno. */
int clew_group_names_open(struct clew_recorder *recorder, struct clew_group_names **ret);
/* After the drain has stopped: puts what is still to be put. NULL: nothing. */
void clew_group_names_stop(struct clew_group_names *names);
void clew_group_names_close(struct clew_group_names *names);

#endif
