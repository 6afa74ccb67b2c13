/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Probes that a program or library carries in its file: SystemTap's user-space probes
 * (.note.stapsdt). */
#ifndef CLEW_SYMBOL_CODE_PROBES_H
#define CLEW_SYMBOL_CODE_PROBES_H

#include <stddef.h>
#include <stdint.h>

#include <clew/kernel/maps.h>

struct probe_symbols;

struct clew_probe {
	uint64_t address;   /* of its instruction, as the file was linked */
	uint64_t offset;    /* of its instruction in the file */
	uint64_t semaphore; /* of its counter of listeners, 0: it has none */
	const char *provider;
	const char *name;
	const char *arguments;	       /* where they are, as the note says */
	struct probe_symbols *symbols; /* that these name, during the call; NULL: not known */
};

/*
 * Calls `found` for each probe of the ELF file that `descriptor` is open on; texts live
 * during the call, and a negative return ends it. 0, also of a file without probes or
 * of another format, or -errno.
 */
int clew_probes_read(int descriptor, int (*found)(void *context, const struct clew_probe *probe),
		     void *context);

/* Where the first `count` arguments are, one place each; of one in a form that is not known, and of
 * one that the probe does not have, a place of kind NONE. */
void clew_probe_arguments(const struct clew_probe *probe, struct clew_operand *ret_places,
			  size_t count);

#endif
