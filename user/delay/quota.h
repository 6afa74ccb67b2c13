/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A limit of CPU time or of bytes to and from disks for some processes, which is set and lifted
 * again and again. They are in a control group of their own meanwhile.
 *
 * Invariant: whatever becomes of this process, the processes are back in their group soon, without
 * the limit: a process of its own waits for that.
 *
 * Functions return 0 or -errno, with a message.
 */
#ifndef CLEW_DELAY_QUOTA_H
#define CLEW_DELAY_QUOTA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/message.h"

struct clew_quota;

/* Reads "cpu=50%", "cpu=0.5", "disk=50%" or "disk=10M". -EINVAL: it is none of these. */
int clew_quota_new(const char *text, struct clew_quota **ret_quota, struct clew_message *message);
/* Puts a process with all that it forked, as far as they are in its group, into a group of its own,
 * which has no limit yet. */
int clew_quota_take(struct clew_quota *quota, pid_t pid, struct clew_message *message);
/* Begins to look at what the group uses, */
void clew_quota_begin(struct clew_quota *quota);
/* and sees what it was since then; a limit in percent is of that. */
int clew_quota_measure(struct clew_quota *quota, struct clew_message *message);
/* Sets the limit, or lifts it. */
int clew_quota_set(struct clew_quota *quota, bool on);
/* CPU time, ns, or bytes that the group has used since it was made. */
uint64_t clew_quota_used(const struct clew_quota *quota);
/* The limit a second, in the same units. */
uint64_t clew_quota_limit(const struct clew_quota *quota);
bool clew_quota_is_cpu(const struct clew_quota *quota);
/* Puts all processes back. NULL: nothing. */
void clew_quota_free(struct clew_quota *quota);

#endif
