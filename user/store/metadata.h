/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Metadata: everything in a capture file that is not records. Keys with values, readings
 * of the clocks, the ledger, the schema.
 */
#ifndef CLEW_STORE_METADATA_H
#define CLEW_STORE_METADATA_H

#include "store/capture.h"
#include "store/scan.h"

struct store_pair {
	char *key;
	char *value;
};

struct store_metadata {
	struct store_schema *schema; /* NULL: the file has none that is whole */
	struct clew_ledger_row *ledger;
	size_t ledger_count;
	uint64_t ledger_version; /* of the ledger, 0: there is none */
	struct clew_cost cost;
	struct clew_clock *clocks;
	size_t clock_count;
	struct clew_keyframe *keyframes;
	size_t keyframe_count;
	struct store_pair *pairs;
	size_t pair_count;
};

/*
 * Reads a file's metadata, and counts chunks of it that are damaged in file->damaged.
 * 0 or -errno; -EINVAL with a message: a newer clew has written the file.
 */
int store_metadata_read(struct store_metadata *metadata, struct store_file *file, char *message,
			size_t message_size);
void store_metadata_done(struct store_metadata *metadata);

/* A key's value, or NULL. */
const char *store_metadata_value(const struct store_metadata *metadata, const char *key);
/* A key's value if that is a decimal number. */
uint64_t store_metadata_number(const struct store_metadata *metadata, const char *key,
			       uint64_t otherwise);

#endif
