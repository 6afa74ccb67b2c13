/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Servers of debugging information (debuginfod), those that DEBUGINFOD_URLS names. libdebuginfod
 * asks them, and keeps what they sent in its cache. The library is loaded when it is first needed:
 * it brings libcurl along. The file that was sent is not checked here.
 */
#ifndef CLEW_SYMBOL_ELF_DEBUG_SERVER_H
#define CLEW_SYMBOL_ELF_DEBUG_SERVER_H

#include <stddef.h>
#include <stdint.h>

struct debug_servers;

/* 0 or -errno: -ELIBACC the library is not installed, -EDESTADDRREQ no server is named. */
int debug_servers_new(struct debug_servers **ret_servers);

/*
 * The file with the debugging information for a build-id of `size` bytes: a descriptor, which the
 * caller closes, or -errno: -ENOENT no server has it; else they could not be asked. A server may
 * take long (DEBUGINFOD_TIMEOUT); once one did not answer, none is asked any more.
 */
int debug_servers_find(struct debug_servers *servers, const uint8_t *id, size_t size);

/* NULL is ignored. */
void debug_servers_free(struct debug_servers *servers);

#endif
