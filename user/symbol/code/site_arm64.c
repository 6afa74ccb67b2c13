/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides by an instruction whether a probe may be at it. The kernel emulates those that depend on
 * their own address, and refuses or executes elsewhere all others: an instruction of the system,
 * or one between a load and a store that belong together, works only in its place.
 */
#include "symbol/code/site.h"

#include <string.h>

#define NOP	 0xd503201f
#define HINT	 0xd503201f
#define HINTMASK 0xfffff01f

static bool fits(uint32_t word, uint32_t mask, uint32_t value)
{
	return (word & mask) == value;
}

/* Branches, and loads of an address by the instruction's own. */
static bool is_emulated(uint32_t word)
{
	return fits(word, 0x7c000000, 0x14000000) || /* b, bl */
	       fits(word, 0xff000010, 0x54000000) || /* b.cond */
	       fits(word, 0x7c000000, 0x34000000) || /* cbz, cbnz, tbz, tbnz */
	       fits(word, 0xfffffc1f, 0xd61f0000) || /* br */
	       fits(word, 0xfffffc1f, 0xd63f0000) || /* blr */
	       fits(word, 0xfffffc1f, 0xd65f0000) || /* ret */
	       fits(word, 0x1f000000, 0x10000000) || /* adr, adrp */
	       fits(word, 0xbf000000, 0x18000000) || /* ldr of a literal */
	       fits(word, 0xff000000, 0x98000000);   /* ldrsw of a literal */
}

/* Hints that the kernel executes elsewhere: nop, bti, and those that sign and check addresses. */
static bool is_safe_hint(uint32_t word)
{
	unsigned number = word >> 5 & 0x7f;

	switch (number) {
	case 0:		/* nop */
	case 7:		/* xpaclri */
	case 8:		/* pacia1716 */
	case 10:	/* pacib1716 */
	case 12:	/* autia1716 */
	case 14:	/* autib1716 */
	case 24 ... 31: /* paciaz to autibsp */
	case 32:	/* bti */
	case 34:
	case 36:
	case 38:
		return true;
	default:
		return false;
	}
}

enum clew_site_kind clew_site_kind(const uint8_t *code, size_t size)
{
	uint32_t word;

	if (size < sizeof(word))
		return CLEW_SITE_UNKNOWN;
	memcpy(&word, code, sizeof(word));
	if (is_emulated(word))
		return CLEW_SITE_SAFE;
	if (fits(word, 0xffe0001f, 0xd4200000))
		return CLEW_SITE_INT3; /* brk */
	if (fits(word, 0xff000000, 0xd4000000))
		return CLEW_SITE_SYSCALL; /* svc and its like */
	if (fits(word, HINTMASK, HINT))
		return is_safe_hint(word) ? CLEW_SITE_SAFE : CLEW_SITE_UNKNOWN;
	if (fits(word, 0xfff00000, 0xd5300000) && !fits(word, 0xffffffe0, 0xd53b4220))
		return CLEW_SITE_SAFE;		  /* mrs, but not of what a step changes */
	if (fits(word, 0x1c000000, 0x14000000) || /* of the system, branches that check addresses */
	    fits(word, 0x3b000000, 0x18000000) || /* loads of literals */
	    fits(word, 0x3f000000, 0x08000000) || /* exclusive, and with an order */
	    fits(word, 0x1e000000, 0x00000000))	  /* reserved */
		return CLEW_SITE_UNKNOWN;
	return CLEW_SITE_SAFE;
}

bool clew_site_is_nop(const uint8_t *code, size_t size)
{
	uint32_t word;

	if (size < sizeof(word))
		return false;
	memcpy(&word, code, sizeof(word));
	return word == NOP;
}

bool clew_site_emulated(const uint8_t *code, size_t size, bool long_nops_stepped)
{
	uint32_t word;

	if (size < sizeof(word))
		return false;
	memcpy(&word, code, sizeof(word));
	return word == NOP ? !long_nops_stepped : is_emulated(word);
}
