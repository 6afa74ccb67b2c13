/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Has the start of a recording end soon once the end is wished for (base/ending.h). */
#ifndef CLEW_RECORD_INTERRUPT_H
#define CLEW_RECORD_INTERRUPT_H

struct clew_interrupt;

/* Watches over the calling thread: from the wish on it runs before others on a busy machine. NULL:
 * nothing can be watched; the others take that. */
struct clew_interrupt *clew_interrupt_new(void);
void clew_interrupt_free(struct clew_interrupt *interrupt);
/* Between these two the kernel breaks off what it verifies for that thread. */
void clew_interrupt_begin(struct clew_interrupt *interrupt);
void clew_interrupt_end(struct clew_interrupt *interrupt);
/* Between these two the calling thread helps that thread, and the kernel breaks off what it
 * verifies for both. */
void clew_interrupt_join(struct clew_interrupt *interrupt);
void clew_interrupt_leave(struct clew_interrupt *interrupt);

#endif
