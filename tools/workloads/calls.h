/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls that not every machine has. The C library makes another one in the place of each;
 * what a workload says of a call is said of that one.
 */
#ifndef CLEW_WORKLOADS_CALLS_H
#define CLEW_WORKLOADS_CALLS_H

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#ifndef SYS_poll
#define SYS_poll       SYS_ppoll
#define SYS_select     SYS_pselect6
#define SYS_epoll_wait SYS_epoll_pwait
#define SYS_pause      SYS_ppoll
#define SYS_vfork      SYS_clone
#define SYS_unlink     SYS_unlinkat
#define SYS_rename     SYS_renameat
#define PAUSE_KIND     "poll" /* of a wait in pause() */

static const char *const wl_other_calls[][2] = {
	{"poll", "ppoll"},	 {"select", "pselect6"}, {"epoll_wait", "epoll_pwait"},
	{"pause", "ppoll"},	 {"unlink", "unlinkat"}, {"rename", "renameat"},
	{"mkdir", "mkdirat"},	 {"open", "openat"},	 {"vfork", "clone"},
	{"access", "faccessat"},
};
#else
#define PAUSE_KIND "signal"

static const char *const wl_other_calls[][2] = {{"", ""}};
#endif

/* The call that the machine makes for one of these `length` letters. */
static inline const char *wl_own_call(const char *name, size_t *length)
{
	for (size_t i = 0; i < sizeof(wl_other_calls) / sizeof(wl_other_calls[0]); i++) {
		const char *other = wl_other_calls[i][0];

		if (*length && strlen(other) == *length && !strncmp(other, name, *length)) {
			*length = strlen(wl_other_calls[i][1]);
			return wl_other_calls[i][1];
		}
	}
	return name;
}

#endif
