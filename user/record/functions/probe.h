/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attaching a program to instructions of a file, in all processes that map it. */
#ifndef CLEW_RECORD_FUNCTIONS_PROBE_H
#define CLEW_RECORD_FUNCTIONS_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_link;
struct bpf_program;

struct clew_probe_place {
	uint64_t offset;    /* in the file */
	uint64_t semaphore; /* of a counter that goes up while the probe is there, 0 none */
	uint64_t cookie;
};

/* The links that keep probes in place: one descriptor for all, or a link each. */
struct clew_probe_links {
	uint32_t event; /* number of a trace event, whose link is the only one; 0 none */
	int multi;	/* -1 none */
	struct bpf_link **links;
	size_t count;
	int *singles; /* descriptors of links */
	size_t single_count;
};

/* True if the kernel takes programs at instructions of user space. 0 or -errno. */
int clew_probe_possible(void);
/* True if the kernel takes many probes in one link (since 6.6). */
bool clew_probe_multi(void);
/* A program that does nothing, for such links or else for single probes: its descriptor or -errno.
 */
int clew_probe_load_empty(bool multi);
/* Puts such a program at instructions of this program's own file, in this process alone; `returns`:
 * at the returns of the functions that begin there. A descriptor or -errno. */
int clew_probe_link_own(int program, const uint64_t *offsets, size_t count, bool returns);
/* Before the load, if the kernel takes many in one link: a program is for one way or the other. */
void clew_probe_prepare_multi(struct bpf_program *program);
/* 0 or -errno; then *ret holds nothing. `descriptor`: of the file. */
int clew_probe_attach(struct bpf_program *program, bool multi, int descriptor,
		      const struct clew_probe_place *places, size_t count,
		      struct clew_probe_links *ret);
/* The same in one link, and maybe at the returns of the functions that begin there. */
int clew_probe_attach_multi(const struct bpf_program *program, int descriptor, bool returns,
			    const struct clew_probe_place *places, size_t count,
			    struct clew_probe_links *ret);
/* The number in a file of sysfs; -1: there is none. "config:0" is 0. */
int clew_probe_read_number(const char *path);
/* True if the kernel takes many probes of its own functions in one link; or single ones. */
bool clew_probe_kernel_multi(void);
bool clew_probe_kernel_singly(void);
/* Before the load, if the kernel takes only single ones. */
void clew_probe_prepare_singly(struct bpf_program *program);
/* A program that does nothing, for one way or the other: its descriptor or -errno. */
int clew_probe_load_empty_kernel(bool multi);
/* The same with functions of the kernel: offsets are their addresses. */
int clew_probe_attach_kernel(const struct bpf_program *program, bool returns,
			     const struct clew_probe_place *places, size_t count,
			     struct clew_probe_links *ret);
/* The same with a program by its descriptor, at one function. A descriptor or -errno. */
int clew_probe_link_kernel(int program, bool multi, uint64_t address, bool returns);
void clew_probe_detach(struct clew_probe_links *links, size_t count);

#endif
