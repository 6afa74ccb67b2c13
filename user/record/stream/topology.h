/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The node, socket and core of each CPU. */
#ifndef CLEW_RECORD_STREAM_TOPOLOGY_H
#define CLEW_RECORD_STREAM_TOPOLOGY_H

/*
 * Writes a line for each CPU: "cpu node socket core"; -1 is unknown. The caller
 * frees the text. 0 or -ENOMEM.
 */
int clew_topology_read(unsigned cpus, char **ret_text);

#endif
