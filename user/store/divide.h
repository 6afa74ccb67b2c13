/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Dividing a capture into windows that have about as many records. */
#ifndef CLEW_STORE_DIVIDE_H
#define CLEW_STORE_DIVIDE_H

#include "store/scan.h"

/*
 * Where windows of about `rows` records end, in order: each begins where the one before it ends,
 * the last one ends at UINT64_MAX. There is at least one. The array is the caller's to free.
 * 0 or -ENOMEM.
 */
int store_divide(const struct store_file *file, uint64_t rows, uint64_t **ret_ends,
		 size_t *ret_count);

#endif
