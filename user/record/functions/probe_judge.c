/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Judges a probe by the bytes of its instruction, read from the file.
 *
 * Where the functions of a file begin is looked up only if a nop of 5 bytes asks for it.
 */
#include "record/functions/probe_judge.h"

#include <string.h>
#include <unistd.h>

#include "record/functions/probe_cost.h"
#include "symbol/code/entry.h"
#include "symbol/code/probes.h"
#include "symbol/code/site.h"

/* True if nothing below the stack pointer is in use where the probe is: a function begins there, or
 * right before it with endbr64. */
static bool is_at_entry(struct probe_judge *judge, const struct clew_probe *probe)
{
	static const uint8_t endbr64[CLEW_ENDBR_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t before[CLEW_ENDBR_BYTES];

	if (!judge->entries && !judge->no_entries)
		judge->no_entries = clew_entries_open(judge->descriptor, &judge->entries) < 0;
	if (!judge->entries)
		return false;
	if (clew_entries_has(judge->entries, probe->address))
		return true;
	return probe->offset >= sizeof(before) &&
	       pread(judge->descriptor, before, sizeof(before),
		     (off_t)(probe->offset - sizeof(before))) == sizeof(before) &&
	       !memcmp(before, endbr64, sizeof(before)) &&
	       clew_entries_has(judge->entries, probe->address - sizeof(before));
}

void probe_judge_begin(struct probe_judge *judge, int descriptor)
{
	judge->descriptor = descriptor;
}

const char *probe_judge_reason(struct probe_judge *judge, const struct clew_probe *probe)
{
	uint8_t code[CLEW_SITE_BYTES];
	ssize_t size = pread(judge->descriptor, code, sizeof(code), (off_t)probe->offset);
	enum clew_site_kind kind = clew_site_kind(code, size < 0 ? 0 : (size_t)size);

	if (kind == CLEW_SITE_SAFE)
		return NULL;
	if (kind == CLEW_SITE_NOP5) {
		if (judge->nop5 == NOP5_UNTRIED)
			judge->nop5 = clew_probe_calls_nop5() ? NOP5_CALLED : NOP5_STAYS;
		if (judge->nop5 == NOP5_STAYS || is_at_entry(judge, probe))
			return NULL;
	}
	return clew_site_word(kind);
}

void probe_judge_end(struct probe_judge *judge)
{
	clew_entries_close(judge->entries);
	judge->entries = NULL;
	judge->no_entries = false;
}
