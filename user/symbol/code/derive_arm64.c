/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions without names and places in functions are found by x86's decoder only: not here. */
#include <errno.h>

#include "symbol/code/derive.h"

static const char why[] = "places in code of arm64 are not found";

bool clew_derive_is_function(struct clew_functions *functions, uint64_t address)
{
	(void)functions, (void)address;
	return false;
}

int clew_derive_step(struct clew_functions *functions, enum clew_derive_step step, unsigned number,
		     uint64_t *address)
{
	(void)functions, (void)step, (void)number, (void)address;
	return -ENOENT;
}

int clew_derive_entry(struct clew_functions *functions, uint64_t address, unsigned registers,
		      struct clew_derive_spot *ret, const char **ret_why)
{
	(void)functions, (void)address, (void)registers, (void)ret;
	*ret_why = why;
	return -ENOTSUP;
}

int clew_derive_exits(struct clew_functions *functions, uint64_t address,
		      struct clew_derive_spot **ret, size_t *ret_count, const char **ret_why)
{
	(void)functions, (void)address, (void)ret, (void)ret_count;
	*ret_why = why;
	return -ENOTSUP;
}

int clew_derive_thunk(struct clew_functions *functions, unsigned number, uint64_t *ret_address)
{
	(void)functions, (void)number, (void)ret_address;
	return -ENOENT;
}

int clew_derive_callers(struct clew_functions *functions, uint64_t address, bool behind,
			unsigned registers, struct clew_derive_spot **ret, size_t *ret_count,
			const char **ret_why)
{
	(void)functions, (void)address, (void)behind, (void)registers;
	*ret = NULL;
	*ret_count = 0;
	*ret_why = why;
	return -ENOTSUP;
}

int clew_derive_call(struct clew_functions *functions, uint64_t address, unsigned number,
		     bool direct, bool behind, unsigned registers, struct clew_derive_spot *ret,
		     const char **ret_why)
{
	(void)functions, (void)address, (void)number, (void)direct, (void)behind, (void)registers,
		(void)ret;
	*ret_why = why;
	return -ENOTSUP;
}
