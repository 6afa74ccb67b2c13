// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Names of system calls, from libseccomp; those younger than it from a table.
 */
#include <seccomp.h>

#include "object.h"

/* Numbers that all architectures share, from 450 on. */
static const char *const young_names[] = {
	"set_mempolicy_home_node",
	"cachestat",
	"fchmodat2",
	"map_shadow_stack",
	"futex_wake",
	"futex_wait",
	"futex_requeue",
	"statmount",
	"listmount",
	"lsm_get_self_attr",
	"lsm_set_self_attr",
	"lsm_list_modules",
	"mseal",
	"setxattrat",
	"getxattrat",
	"listxattrat",
	"removexattrat",
	"open_tree_attr",
	"file_getattr",
	"file_setattr",
};
#define FIRST_YOUNG 450
#define YOUNG_COUNT (sizeof(young_names) / sizeof(young_names[0]))

const char *clew_call_name(uint16_t call)
{
	static char *names[1024];
	static char unnamed[1024][16];

	if (call == CLEW_NO_CALL)
		return NULL;
	if (call >= 1024)
		return "unknown";
	if (!names[call])
		names[call] = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call);
	if (!names[call] && call >= FIRST_YOUNG && call < FIRST_YOUNG + YOUNG_COUNT)
		return young_names[call - FIRST_YOUNG];
	if (!names[call]) {
		snprintf(unnamed[call], sizeof(unnamed[call]), "syscall_%u", call);
		names[call] = unnamed[call];
	}
	return names[call];
}
