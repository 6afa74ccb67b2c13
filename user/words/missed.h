/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Words for what answers lack because of records that were missed, by kind of record. */
#ifndef CLEW_WORDS_MISSED_H
#define CLEW_WORDS_MISSED_H

#include <stdint.h>
#include <stdio.h>

#include <clew/kernel/records.h>

#include "format/json.h"

struct clew_capture_info;

/* Adds up missed records by kind; `ret_counts` has CLEW_KIND_COUNT places. */
void clew_missed_add_up(const struct clew_capture_info *info, uint64_t *ret_counts);

/* Words for what missed records of a kind would have told, as "who ended a wait". */
const char *clew_missed_words(unsigned kind);

/* Prints a line `before`, "who ended a wait (3), ..", the most first. */
void clew_print_missed(FILE *out, const char *before, const uint64_t *counts);

/* The field "missed_by" of the open object: counts by kind of record. */
void clew_json_missed(struct clew_json *json, const uint64_t *counts);

#endif
