/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The descriptors that a process begins with. */
#ifndef CLEW_BASE_DESCRIPTORS_H
#define CLEW_BASE_DESCRIPTORS_H

/*
 * Closes all descriptors of a forked process but the standard ones and `kept`: close-on-exec does
 * nothing for a process that does not exec, which would keep its parent's locks and sockets.
 */
void descriptors_keep(int kept);

#endif
