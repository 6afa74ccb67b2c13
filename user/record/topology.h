/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where each CPU is. */
#ifndef CLEW_RECORD_TOPOLOGY_H
#define CLEW_RECORD_TOPOLOGY_H

/* A line a CPU: "cpu node socket core", -1 unknown. The text is the caller's to free. 0 or -ENOMEM.
 */
int clew_topology_read(unsigned cpus, char **ret_text);

#endif
