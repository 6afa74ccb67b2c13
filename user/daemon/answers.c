/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts how long disks took to answer requests. */
#include "daemon/answers.h"

/* The sums of a triple, or of all others. Each word is one string, wherever it comes from. */
static struct answers_of *find(struct answers *answers, uint32_t device, const char *operation,
			       const char *reason)
{
	struct answers_of *of = answers->of;

	for (size_t i = 0; i < answers->count; i++, of++)
		if (of->device == device && of->operation == operation && of->reason == reason)
			return of;
	if (answers->count < ANSWERS_MOST) {
		answers->count++;
		*of = (struct answers_of){
			.device = device, .operation = operation, .reason = reason};
		return of;
	}
	answers->count = ANSWERS_MOST + 1;
	return &answers->of[ANSWERS_MOST];
}

void answers_add(struct answers *answers, const struct clew_block_request *request)
{
	struct answers_of *of;

	if (!request->queued || request->completed < request->queued || request->again)
		return;
	of = find(answers, request->device,
		  clew_request_operation_name(request->operation, request->bytes),
		  clew_request_reason_name(request->reason));
	buckets_add(&of->buckets, request->completed - request->queued);
}
