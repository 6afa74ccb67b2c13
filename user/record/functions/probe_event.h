/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Many probes in programs as one trace event of tracefs, for kernels that take no links with many:
 * one by one each takes 0.1 s to detach.
 */
#ifndef CLEW_RECORD_FUNCTIONS_PROBE_EVENT_H
#define CLEW_RECORD_FUNCTIONS_PROBE_EVENT_H

#include "base/message.h"
#include "record/functions/probe.h"

/* Removes events that a killed clew left. 0, or -ENOTSUP with a message. */
int clew_probe_events_prepare(struct clew_message *message);
/*
 * Attaches a program to all of `places`, or to the returns of the functions that begin there, in
 * all processes that map the file. `number`: of the event in this process, from 1; it is the cookie
 * of all of them. 0 or -errno; then *ret holds nothing.
 */
int clew_probe_event_attach(const struct bpf_program *program, uint32_t number, int descriptor,
			    bool returns, const struct clew_probe_place *places, size_t count,
			    struct clew_probe_links *ret);
/* After its link is gone. */
void clew_probe_event_remove(uint32_t number);

#endif
