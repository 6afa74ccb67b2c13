/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sizes of rings, and how many programs are verified at once. */
#ifndef CLEW_RECORD_ROOM_H
#define CLEW_RECORD_ROOM_H

#include <stddef.h>

/* The size of each CPU's two rings together for the wanted one, 0: as usual. */
size_t clew_ring_size(size_t wanted, unsigned cpus);
/* As many threads as wanted, or as many as the memory is enough for, each of which has the kernel
 * verify a program beside the others. */
size_t clew_room_for_helpers(size_t wanted);

#endif
