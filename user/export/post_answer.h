/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads what a receiver of OTLP answers to a body that it took. */
#ifndef CLEW_EXPORT_POST_ANSWER_H
#define CLEW_EXPORT_POST_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The number of spans that were refused nevertheless, by an ExportTraceServiceResponse; 0 if
 * the answer is none. `reason` gets the receiver's own words then, on one line.
 */
uint64_t answer_refused(const uint8_t *answer, size_t size, bool json, char *reason,
			size_t reason_size);

#endif
