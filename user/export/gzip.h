/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packs bytes as gzip does. */
#ifndef CLEW_EXPORT_GZIP_H
#define CLEW_EXPORT_GZIP_H

#include <stddef.h>
#include <stdint.h>

/* The result is the caller's to free. 0 or -ENOMEM. */
int export_gzip(const void *bytes, size_t size, uint8_t **ret_packed, size_t *ret_size);

#endif
