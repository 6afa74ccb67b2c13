/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Has the kernel verify several programs at once. libbpf has it verify one after the other.
 *
 * The order: clew_together_find, then begin, the object's load, and end. One object at a time:
 * libbpf's handlers take no context.
 */
#ifndef CLEW_RECORD_TOGETHER_H
#define CLEW_RECORD_TOGETHER_H

struct bpf_object;
struct clew_interrupt;

/* Has libbpf ask this file for the programs of tracepoints that it opens from now on. 0 or -errno.
 */
int clew_together_register(void);
/* Finds the tracepoints of an object's programs. Needed before each load. */
void clew_together_find(struct bpf_object *object);
/* From here on threads help with what the kernel verifies, if there is more than one CPU. */
void clew_together_begin(struct bpf_object *object, struct clew_interrupt *interrupt);
/* `loaded`: what the load returned. 0: all is loaded, or libbpf says what is not. -errno: the
 * kernel refuses a program, and nobody knows which one. */
int clew_together_end(int loaded);

#endif
