/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds functions that the kernel would refuse for a field that it lacks. libbpf makes what reads
 * such a field an invalid instruction; the kernel refuses it if it can be reached, and removes it
 * if a question to which the answer is no stands before it.
 *
 * Conservative: where what decides is not known here, as a constant that is set at load, the field
 * counts as guarded.
 */
#ifndef CLEW_RECORD_FIELDS_REACH_H
#define CLEW_RECORD_FIELDS_REACH_H

#include <stdbool.h>

#include "record/fields/resolve.h"

struct reach {
	const struct fields *fields;
	/* By function: what it is refused for. Valid where its state says so. */
	const struct bpf_core_relo **reasons;
	unsigned char *states;
	int error; /* -ENOMEM */
};

/* 0 or -ENOMEM. */
int reach_open(struct reach *ret_reach, const struct fields *fields);
void reach_close(struct reach *reach);

/* The missing field that a function is refused for for certain; NULL: none is known. */
const struct bpf_core_relo *reach_refused(struct reach *reach, int function);

#endif
