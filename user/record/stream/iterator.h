/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads what an iterator of the kernel side writes. */
#ifndef CLEW_RECORD_STREAM_ITERATOR_H
#define CLEW_RECORD_STREAM_ITERATOR_H

#include <stddef.h>

struct bpf_program;

/* All that an iterator writes, which the caller frees. 0 or -errno. */
int clew_iterate_read(const struct bpf_program *program, char **ret_data, size_t *ret_size);

#endif
