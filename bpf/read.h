/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the kernel's structures. From 6.2 on an address can be cast
 * to a structure, and each read is a load. Before that each read is a helper
 * call of 20 to 50 ns. Both give 0 for what cannot be read.
 *
 * Invariants: READ is not for structures of modules, whose types the cast does
 * not accept; use BPF_CORE_READ for those. To the verifier a pointer read by
 * READ is no number: it cannot be masked, shifted, or passed to a global
 * function. READ_NUMBER reads it as a number.
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
 * READ for pointers that the verifier trusts, such as a program's arguments,
 * where a load needs no helper in any kernel. The cast is used nevertheless
 * where it exists: when newer kernels verify the load of a pointer from a
 * trusted structure, they search the names of all their types, which takes 1 ms
 * each time.
 */
#define READ_TRUSTED(source, ...)                                                                  \
	({                                                                                         \
		typeof(source) source_read = (source);                                             \
		can_cast ? ARROW(CAST(typeof(*source_read), source_read), __VA_ARGS__)             \
			 : ARROW(source_read, __VA_ARGS__);                                        \
	})

/* A pointer as a number: the verifier allows no arithmetic on pointers. */
static __always_inline __u64 number_of(const void *pointer)
{
	__u64 number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), &pointer);
	return number;
}

/* The same without a call, through a field of a map that no other program
 * writes to meanwhile. */
static __always_inline __u64 number_through(__u64 *slot, const void *pointer)
{
	*(volatile __u64 *)slot = (__u64)pointer;
	return *(volatile __u64 *)slot;
}

/* The number at an address, 0 if it cannot be read. The cast needs a structure
 * that begins with a number. */
static __always_inline __u64 read_number(__u64 address)
{
	__u64 number = 0;

	if (can_cast)
		return CAST(struct rb_node, address)->__rb_parent_color;
	bpf_probe_read_kernel(&number, sizeof(number), (const void *)address);
	return number;
}

/* A field that is a pointer, as a number. */
#define READ_NUMBER(source, field)                                                                 \
	({                                                                                         \
		_Static_assert(sizeof((source)->field) == sizeof(__u64),                           \
			       "not as large as a number");                                        \
		read_number((__u64)(source) + bpf_core_field_offset(typeof(*(source)), field));    \
	})

/*
 * A user's text with its NUL. Returns its size, or -errno. The kernel's own function says 0 of an
 * empty one in many versions.
 */
static __always_inline long read_text(char *text, __u32 size, __u64 address)
{
	long got = bpf_probe_read_user_str(text, size, (void *)address);

	if (got)
		return got;
	text[0] = '\0';
	return 1;
}

/*
 * A task's kernel stack: its size, or -errno. While returns of its calls are probed, by whomever,
 * the kernel warns in its log of one that asks for the stack of a task that is not asleep.
 */
static __always_inline long read_stack(struct task_struct *task, void *stack, __u32 size)
{
	struct task_struct___hooked *hooked = (void *)task;
	void *first = NULL;

	if (bpf_core_field_exists(hooked->rethooks))
		bpf_core_read(&first, sizeof(first), &hooked->rethooks);
	return first ? -1 : bpf_get_task_stack(task, stack, size, 0);
}

#endif
