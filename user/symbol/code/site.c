/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why a probe may not be at an instruction, in a word. */
#include "symbol/code/site.h"

const char *clew_site_word(enum clew_site_kind kind)
{
	static const char *const words[] = {
		[CLEW_SITE_SAFE] = "safe",	 [CLEW_SITE_NOP5] = "nop5",
		[CLEW_SITE_VEX] = "vex",	 [CLEW_SITE_PREFIX] = "prefix",
		[CLEW_SITE_SYSCALL] = "syscall", [CLEW_SITE_INT3] = "int3",
		[CLEW_SITE_UNKNOWN] = "unknown",
	};

	return words[kind];
}
