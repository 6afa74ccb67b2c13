/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A time, a size, or both, as "10s", "256M" and "10s,256M" say it. */
#ifndef CLEW_BASE_AMOUNT_H
#define CLEW_BASE_AMOUNT_H

#include <stdint.h>

struct clew_amount {
	uint64_t ns, bytes; /* 0: none */
};

/* 0, or -EINVAL: it is neither a time nor a size. */
int amount_parse(const char *text, struct clew_amount *ret_amount);

#endif
