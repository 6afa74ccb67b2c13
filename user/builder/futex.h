/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What futex.c needs of futex_table.c.
 */
#ifndef CLEW_BUILDER_FUTEX_H
#define CLEW_BUILDER_FUTEX_H

#include "builder/builder.h"

void futex_list_remove(struct wait_list *list, struct futex_wait *wait);
/* `place` NULL: first. */
void futex_list_insert(struct wait_list *list, struct futex_wait *place, struct futex_wait *wait);
/* Among those who wait, in order of start. */
void futex_add_active(struct futex *futex, struct futex_wait *wait);

/* NULL: nobody waits for it, or did shortly before. */
struct futex *futex_find(struct futex_table *table, uint32_t process, uint64_t address,
			 uint64_t now);
/* NULL: no memory. */
struct futex *futex_new(struct futex_table *table, uint32_t process, uint64_t address);
/* Somebody waits for it again. */
void futex_not_idle(struct futex_table *table, struct futex *futex);
/* Forgets a futex that nobody waits for, a shared one later. */
void futex_retire(struct futex_table *table, struct futex *futex, uint64_t now);
/* What one process has at this address is this futex, too. */
int futex_join(struct futex_table *table, struct futex *futex, uint32_t process, uint64_t address,
	       uint64_t now);

int futex_log_add(struct futex_table *table, struct futex *futex, const struct release *release);
/* The first release after a moment. */
struct release *futex_log_after(const struct futex *futex, uint64_t moment);

/* An empty log has no memory yet, and nothing may be added to no address, not even 0. */
static inline struct release *futex_log_begin(const struct futex *futex)
{
	return futex->log ? futex->log + futex->log_first : NULL;
}

static inline struct release *futex_log_end(const struct futex *futex)
{
	return futex->log ? futex_log_begin(futex) + futex->log_count : NULL;
}

#endif
