/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names and numbers of system calls, from libseccomp; names younger than it from a table. The
 * numbers are those of include/clew/kernel/call_numbers.h.
 */
#include "arch/calls.h"

#include <clew/kernel/records.h>
#include <clew/tokens.h>
#include <pthread.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
#define FIRST_YOUNG  450
#define FIRST_SHARED 424 /* from here on all architectures have the same numbers */
#define YOUNG_COUNT  (sizeof(young_names) / sizeof(young_names[0]))

#define CALL_COUNT 1024

static char *names[CALL_COUNT];

static void find_names(void)
{
	for (int call = 0; call < CALL_COUNT; call++) {
		names[call] = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, call);
		if (!names[call] && call >= FIRST_YOUNG && (size_t)call < FIRST_YOUNG + YOUNG_COUNT)
			names[call] = strdup(young_names[call - FIRST_YOUNG]);
		if (!names[call] && asprintf(&names[call], "syscall_%d", call) < 0)
			names[call] = NULL;
	}
}

const char *clew_call_name(unsigned call)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (call == CLEW_NO_CALL)
		return NULL;
	pthread_once(&once, find_names);
	return call < CALL_COUNT && names[call] ? names[call] : "unknown";
}

unsigned clew_call_from_name(const char *name)
{
	for (unsigned call = 0; call < CALL_COUNT; call++)
		if (!strcmp(clew_call_name(call), name))
			return call;
	return CLEW_NO_CALL;
}

int clew_call_number(const char *name)
{
	return seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, name);
}

#ifdef __aarch64__
#define COMPAT SCMP_ARCH_ARM
#else
#define COMPAT SCMP_ARCH_X86
#endif

char *clew_compat_call_name(int number)
{
	return seccomp_syscall_resolve_num_arch(COMPAT, number);
}

int clew_call_translate(int number)
{
	char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_AARCH64, number);
	int translated = name ? clew_call_number(name) : number >= FIRST_SHARED ? number : -1;

	free(name);
	return translated;
}
