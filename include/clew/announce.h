/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Announcing what a program does, in words that its people know. This file is
 * all that is needed: there is no library. For C and C++, GCC and clang, x86-64
 * and aarch64 Linux.
 *
 *	clew_announce_call(token, "kv", "get", "table=orders", "key=17");
 *	...
 *	clew_announce_done(token);
 *
 * The first two texts are the interface and the operation. Then come words:
 *
 *	TYPE=VALUE		a descriptor; TYPE alone means INTERFACE/TYPE, the type of
 *				another interface is written in full
 *	@NAME=VALUE		an attribute; it may be missing, but two calls that both
 *				have it with different values are not for each other
 *	@traceparent=VALUE	the span of the program's own trace that the call is in, as the
 *				W3C's Trace Context has it; it is not compared
 *	calls=INTERFACE		this call will call that interface, in whatever process
 *	async			the call goes on while its thread does other things, and
 *				may end in another thread
 *
 * An announced call covers all that its thread does until it ends. Calls of a
 * thread nest, except for those with "async". The token is any number that no
 * other open call of the process has, such as the address of a structure; 0 ends
 * the thread's innermost call.
 *
 * While no tracer listens, a call costs one load and one jump.
 *
 * The probes are clew:begin(token, text, size) and clew:end(token) in the format
 * of SystemTap's user-space probes, which other tracers read too. The text is
 * the words in their order, each ended by NUL.
 */
#ifndef CLEW_ANNOUNCE_H
#define CLEW_ANNOUNCE_H

#include <stdint.h>
#include <string.h>

#define CLEW_ANNOUNCE_SIZE 512 /* bytes of text; words that do not fit are left out */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The number of listeners. A tracer increments it while it is attached to the
 * probes.
 */
__attribute__((weak, used, visibility("hidden"),
	       section(".probes"))) unsigned short clew_announce_semaphore;

/*
 * A no-op and a note that describes where it is, and in which operands its
 * arguments are. A program may use it for probes of its own, to be named in the
 * description of a layer (docs/layers.md).
 */
#define CLEW_ANNOUNCE_PROBE(provider, name, arguments, ...)                                        \
	__asm__ __volatile__(                                                                      \
		"990: nop\n"                                                                       \
		".pushsection .note.stapsdt,\"?\",\"note\"\n"                                      \
		".balign 4\n"                                                                      \
		".4byte 992f-991f, 994f-993f, 3\n"                                                 \
		"991: .asciz \"stapsdt\"\n"                                                        \
		"992: .balign 4\n"                                                                 \
		"993: .8byte 990b\n"                                                               \
		".8byte _.stapsdt.base\n"                                                          \
		".8byte clew_announce_semaphore\n"                                                 \
		".asciz \"" provider "\"\n"                                                        \
		".asciz \"" name "\"\n"                                                            \
		".asciz \"" arguments "\"\n"                                                       \
		"994: .balign 4\n"                                                                 \
		".popsection\n"                                                                    \
		".ifndef _.stapsdt.base\n"                                                         \
		".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"            \
		".weak _.stapsdt.base\n"                                                           \
		".hidden _.stapsdt.base\n"                                                         \
		"_.stapsdt.base: .space 1\n"                                                       \
		".size _.stapsdt.base, 1\n"                                                        \
		".popsection\n"                                                                    \
		".endif\n"                                                                         \
		:                                                                                  \
		: __VA_ARGS__                                                                      \
		: "memory")

/* True if a tracer listens. */
static inline int clew_announce_wanted(void)
{
	return __builtin_expect(*(volatile unsigned short *)&clew_announce_semaphore != 0, 0);
}

/*
 * A call begins. `token`: see above; `text`: the words, each ended by NUL;
 * `size`: bytes of all of them.
 */
__attribute__((noinline, unused)) static void clew_announce_begin(uint64_t token, const char *text,
								  uint32_t size)
{
	CLEW_ANNOUNCE_PROBE("clew", "begin", "8@%0 8@%1 4@%2", "r"(token), "r"(text), "r"(size));
}

__attribute__((noinline, unused)) static void clew_announce_end(uint64_t token)
{
	CLEW_ANNOUNCE_PROBE("clew", "end", "8@%0", "r"(token));
}

/* The same with single words: an array that ends with NULL. */
__attribute__((noinline, unused)) static void clew_announce_words(uint64_t token,
								  const char *const *words)
{
	char text[CLEW_ANNOUNCE_SIZE - 1];
	uint32_t size = 0;

	for (; *words; words++) {
		size_t length = strlen(*words) + 1;

		if (length > sizeof(text) - size)
			continue;
		memcpy(text + size, *words, length);
		size += (uint32_t)length;
	}
	clew_announce_begin(token, text, size);
}

#define clew_announce_call(token, ...)                                                             \
	do {                                                                                       \
		if (clew_announce_wanted()) {                                                      \
			const char *const clew_words_[] = {__VA_ARGS__, (const char *)0};          \
			clew_announce_words(token, clew_words_);                                   \
		}                                                                                  \
	} while (0)

#define clew_announce_done(token)                                                                  \
	do {                                                                                       \
		if (clew_announce_wanted())                                                        \
			clew_announce_end(token);                                                  \
	} while (0)

#ifdef __cplusplus
}
#endif

#endif
