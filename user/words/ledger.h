/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The losses and the cost of a recording, in words and in JSON. docs/answers.md lists the
 * fields.
 */
#ifndef CLEW_WORDS_LEDGER_H
#define CLEW_WORDS_LEDGER_H

#include "trace/trace.h"
#include <stdio.h>

#include "format/json.h"

/* The ledger's rows added up, and losses that only gaps tell. */
struct clew_ledger_sum {
	struct clew_ledger_row total;
	bool balanced;	  /* each row is, and there is one */
	uint64_t missing; /* records that were stored and that the file lacks */
	bool uncounted;	  /* `missing` is a lower bound */
	bool lost_known;  /* else the recording was cut off before its first ledger */
};

void clew_ledger_add_up(const struct clew_capture_info *info, struct clew_ledger_sum *ret_sum);

/* True if every record of the row is accounted for. */
bool clew_ledger_row_balanced(const struct clew_ledger_row *row);

/* The fields "ledger" and "cost" of the open object; "gaps" counts losses between from and to, ns.
 */
void clew_json_ledger(struct clew_json *json, const struct clew_trace *trace, uint64_t from,
		      uint64_t to);

/*
 * The line about damage to the file `name`, which comes before an answer; nothing if
 * there is none. `derived`: the file is a trace that was made from the capture.
 */
void clew_print_damage(FILE *out, const char *name, bool derived,
		       const struct clew_capture_info *info);

/*
 * A line about waits of which a switch is missing although nothing was lost; nothing if
 * there are none. `before`: how it begins, up to "This". `missed`: switches that clew missed,
 * which may be the same.
 */
void clew_print_hidden(FILE *out, const char *before, uint64_t hidden, uint64_t missed);

/* The mark of a blind sleep: why something of it is missing. */
static inline const char *clew_blind_mark(const struct clew_sleep *sleep)
{
	return sleep->hidden ? "[hidden from the recording]" : "[records lost here]";
}

/* The lines about the ledger. They name the first loss between from and to, ns. */
void clew_print_ledger(FILE *out, const struct clew_trace *trace, uint64_t from, uint64_t to);

/* The fields "lost" and "missed" of the open object; null: not known. */
void clew_json_lost(struct clew_json *json, const struct clew_ledger_sum *sum);

/* "cost" of the object that is open; its times are null if the capture was cut off before them. */
void clew_json_cost(struct clew_json *json, const struct clew_capture_info *info);

/* The line about clew's own cost. NULL: nothing is known, nothing is printed. */
void clew_print_cost(FILE *out, const struct clew_capture_info *info);

#endif
