/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a program tells clew what it does, in words that its people know: this file
 * alone, with no library. For C and C++, GCC and clang, x86-64 and aarch64 Linux.
 *
 *	clew_announce_call(token, "kv", "get", "table=orders", "key=17");
 *	...
 *	clew_announce_done(token);
 *
 * The texts are the interface, the operation, and then words:
 *	TYPE=VALUE		a descriptor; TYPE alone means INTERFACE/TYPE, one of another
 *interface is written in full
 *	@NAME=VALUE		an attribute: it need not be there, but if it is it tells two alike
 *apart calls=INTERFACE		this call will call that interface, in whatever process async
 *it goes on after its thread has turned to other things, and may end in another thread
 *
 * What a call announces holds from the one to the other, for all that its thread does in
 * between; calls of a thread nest, but for those with "async". The token is the program's own:
 * any number that no other open call of the process has, as the address of a structure of it;
 * 0 ends the thread's innermost call.
 *
 * Unless somebody records, a call costs one load and one jump.
 *
 * The probes are clew:begin(token, text, size) and clew:end(token) in the format of SystemTap's
 * user-space probes, which other tracers know too. The text is that of struct clew_announce: the
 * words in their order, each ended by NUL.
 */
#ifndef CLEW_ANNOUNCE_H
#define CLEW_ANNOUNCE_H

#include <stdint.h>
#include <string.h>

#define CLEW_ANNOUNCE_SIZE 512 /* bytes of text; more is left out word by word */

#ifdef __cplusplus
extern "C" {
#endif

/* How many listen: whoever attaches to the probes counts it up. */
__attribute__((weak, used, visibility("hidden"),
	       section(".probes"))) unsigned short clew_announce_semaphore;

/*
 * A no-op and a note that tells where it is and where its arguments are, in operands of
 * the statement. A program that has probes of its own for a layer's description may use it.
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

/* Whether anybody listens. */
static inline int clew_announce_wanted(void)
{
	return __builtin_expect(*(volatile unsigned short *)&clew_announce_semaphore != 0, 0);
}

/* A call begins. `text`: as above; `size`: of all of it. */
__attribute__((noinline, unused)) static void clew_announce_begin(uint64_t token, const char *text,
								  uint32_t size)
{
	CLEW_ANNOUNCE_PROBE("clew", "begin", "8@%0 8@%1 4@%2", "r"(token), "r"(text), "r"(size));
}

__attribute__((noinline, unused)) static void clew_announce_end(uint64_t token)
{
	CLEW_ANNOUNCE_PROBE("clew", "end", "8@%0", "r"(token));
}

/* As clew_announce_begin, of single words: `words` ends with NULL. */
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
