/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How programs read the kernel's structures. From 6.2 on an address may be looked at as a
 * structure, and each read is a load, where a helper's is a call that takes 20 to 50 ns; both give
 * 0 for what cannot be read.
 *
 * Invariants: READ is not for structures of modules, whose types the kernel does not take here:
 * BPF_CORE_READ is for those. A pointer that READ has read is no number to the verifier: it cannot
 * be masked, shifted, or given to a global function. READ_NUMBER reads it as one.
 */
#ifndef CLEW_BPF_READ_H
#define CLEW_BPF_READ_H

#include "kernel.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <linux/types.h>
#include <stdbool.h>

/* Fixed at load: whether the kernel has bpf_rdonly_cast. */
const volatile bool can_cast;
extern void *bpf_rdonly_cast(const void *address, __u32 type) __ksym __weak;

#define CAST(type, address)                                                                        \
	((type *)bpf_rdonly_cast((const void *)(address), bpf_core_type_id_kernel(type)))
#define ARROW1(source, a)		    (source)->a
#define ARROW2(source, a, b)		    (source)->a->b
#define ARROW3(source, a, b, c)		    (source)->a->b->c
#define ARROW4(source, a, b, c, d)	    (source)->a->b->c->d
#define ARROW5(source, a, b, c, d, e)	    (source)->a->b->c->d->e
#define ARROW_OF(a, b, c, d, e, arrow, ...) arrow
#define ARROW(source, ...)                                                                         \
	ARROW_OF(__VA_ARGS__, ARROW5, ARROW4, ARROW3, ARROW2, ARROW1)(source, __VA_ARGS__)
#define READ(source, ...)                                                                          \
	({                                                                                         \
		typeof(source) source_read = (source);                                             \
		can_cast ? ARROW(CAST(typeof(*source_read), source_read), __VA_ARGS__)             \
			 : BPF_CORE_READ(source_read, __VA_ARGS__);                                \
	})

/*
 * The same of what the verifier trusts, as a program's own arguments: there a load needs no helper
 * in any kernel. To load a pointer from it as such costs no more when it runs, but each time that
 * it is verified newer kernels search the names of all their types for what is known of that field:
 * 1 ms.
 */
#define READ_TRUSTED(source, ...)                                                                  \
	({                                                                                         \
		typeof(source) source_read = (source);                                             \
		can_cast ? ARROW(CAST(typeof(*source_read), source_read), __VA_ARGS__)             \
			 : ARROW(source_read, __VA_ARGS__);                                        \
	})

/* The verifier lets nobody calculate with what it knows to be a pointer. */
static __always_inline __u64 number_of(const void *pointer)
{
	__u64 number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), &pointer);
	return number;
}

/* The same without a call, through a place of a map that no other program writes to meanwhile. */
static __always_inline __u64 number_through(__u64 *slot, const void *pointer)
{
	*(volatile __u64 *)slot = (__u64)pointer;
	return *(volatile __u64 *)slot;
}

/* What lies at an address; 0 if it cannot be read. The structure looked at begins with a number. */
static __always_inline __u64 read_number(__u64 address)
{
	__u64 number = 0;

	if (can_cast)
		return CAST(struct rb_node, address)->__rb_parent_color;
	bpf_probe_read_kernel(&number, sizeof(number), (const void *)address);
	return number;
}

/* A pointer that one field of a structure is, as a number. */
#define READ_NUMBER(source, field)                                                                 \
	({                                                                                         \
		_Static_assert(sizeof((source)->field) == sizeof(__u64),                           \
			       "not as large as a number");                                        \
		read_number((__u64)(source) + bpf_core_field_offset(typeof(*(source)), field));    \
	})

#endif
