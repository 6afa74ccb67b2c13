/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the text and the JSON of `clew info`. */
#ifndef CLEW_ANSWERS_INFO_INTERNAL_H
#define CLEW_ANSWERS_INFO_INTERNAL_H

#include <stdlib.h>

#include "answers/info/info.h"
#include "store/capture.h"
#include "store/kinds.h"

static inline const char *info_record_kind(unsigned kind)
{
	return store_shape(kind)->name ?: "unknown";
}

static inline uint64_t info_duration(const struct clew_capture_info *info)
{
	return info->end > info->start ? info->end - info->start : 0;
}

/* Compressed bytes of the columns that every context switch fills: switch, wake and wait. */
static inline double info_column_bytes(const struct clew_capture_info *info)
{
	return (double)(info->column_bytes[CLEW_KIND_SWITCH] + info->column_bytes[CLEW_KIND_WAKE]) /
	       (double)info->counts[CLEW_KIND_SWITCH];
}

static inline double info_file_bytes(const struct clew_capture_info *info)
{
	return (double)info->bytes / (double)info->counts[CLEW_KIND_SWITCH];
}

static inline const char *info_meta(const struct clew_info_source *source, const char *key)
{
	return source->reader ? clew_reader_meta(source->reader, key)
			      : clew_trace_meta(source->trace, key);
}

static inline uint64_t info_late_files(const struct clew_info_source *source)
{
	return strtoull(info_meta(source, "late_files") ?: "0", NULL, 10);
}

#endif
