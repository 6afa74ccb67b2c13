/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sites of functions and of probes that programs carry: a number each, by which the kernel side
 * and the capture know them.
 */
#ifndef CLEW_RECORD_FUNCTIONS_TRACED_SITE_H
#define CLEW_RECORD_FUNCTIONS_TRACED_SITE_H

#include "record/functions/probe.h"
#include "record/functions/traced_file.h"

/* A site's function. */
struct traced_owner {
	const struct clew_function_symbol *symbol;
	const char *path;
	const uint8_t *build_id;
	size_t build_id_size;
	uint32_t number;
	uint8_t way; /* enum clew_site_way */
	/* The values that are recorded with it, and the way in which they are read; NULL: nothing.
	 */
	const struct clew_wanted *wanted;
	const struct clew_function_values *values;
};

static inline struct clew_function_site *traced_site_at(const struct traced *traced, size_t number)
{
	return (struct clew_function_site *)traced->sites.data + number;
}

/* A site of its own, which only this process knows yet. 0 or -errno; -ENOSPC: there is no number
 * for it any more. */
int traced_site_new(struct traced *traced, const struct clew_function_site *site,
		    uint32_t *ret_number);
/* Puts the SITE record of a site as it is. 0 or -errno. */
int traced_site_put(const struct traced *traced, const struct traced_owner *owner, uint32_t number,
		    uint64_t offset, unsigned class, unsigned below);
/* Gives the kernel a site as it is; what is read there. 0 or -errno. */
int traced_site_fill(const struct traced *traced, uint32_t number);
int traced_site_values(struct traced *traced, uint32_t number,
		       const struct clew_function_values *values);
/* The kernel side is loaded, and the capture is open: writes the sites that are known, and all
 * later ones at once. 0 or -errno. */
int traced_sites_begin(struct traced *traced);
/* Whoever is at a site pays for its probe. Sites that cut stacks, and functions that share an
 * instruction, stay. */
void traced_site_share(struct traced *traced, const struct traced_owner *owner,
		       const struct clew_function_site *site, unsigned class, uint32_t number);
/* Adds a probe to those that are to be attached. 0 or -ENOMEM. */
int traced_site_place(struct vector *places, const struct clew_probe_place *place);

#endif
