/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `clew info` as JSON. */
#include <string.h>

#include "answers/functions/left_alone.h"
#include "answers/info/internal.h"
#include "format/json.h"
#include "words/ledger.h"
#include "words/missed.h"

/* The user stream has no CPU. */
#define NO_CPU (-1)

static int cpu_of(uint32_t stream)
{
	return stream == CLEW_STREAM_USER ? NO_CPU : (int)stream;
}

static void json_counts(struct clew_json *json, const struct clew_ledger_row *row)
{
	clew_json_unsigned(json, "seen", row->seen);
	clew_json_unsigned(json, "filtered", row->filtered);
	clew_json_unsigned(json, "reserved", row->reserved);
	clew_json_unsigned(json, "read", row->read);
	clew_json_unsigned(json, "stored", row->stored);
}

/* Lost while recording, or in the file since. */
static void json_lost(struct clew_json *json, const struct clew_gap *gap)
{
	bool in_file = gap->header.flags & CLEW_GAP_IN_FILE || gap->count == CLEW_GAP_UNCOUNTED;

	clew_json_unsigned(json, "lost", in_file ? 0 : gap->count);
	if (gap->count == CLEW_GAP_UNCOUNTED)
		clew_json_null(json, "missing");
	else
		clew_json_unsigned(json, "missing", in_file ? gap->count : 0);
}

static void json_ledger(struct clew_json *json, const struct clew_capture_info *info)
{
	struct clew_ledger_sum sum;

	if (info->imported) {
		clew_json_null(json, "ledger");
		return;
	}
	clew_ledger_add_up(info, &sum);
	clew_json_object(json, "ledger");
	json_counts(json, &sum.total);
	clew_json_lost(json, &sum);
	clew_json_unsigned(json, "missing", sum.missing);
	clew_json_bool(json, "balanced", sum.balanced);
	clew_json_array(json, "by");
	for (size_t i = 0; i < info->ledger_count; i++) {
		clew_json_object(json, NULL);
		clew_json_signed(json, "cpu", cpu_of(info->ledger[i].cpu));
		clew_json_string(json, "kind", info_record_kind(info->ledger[i].kind));
		json_counts(json, &info->ledger[i]);
		clew_json_unsigned(json, "lost", info->ledger[i].lost);
		clew_json_unsigned(json, "missed", info->ledger[i].missed);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_array(json, "gaps");
	for (size_t i = 0; i < info->gap_count; i++) {
		clew_json_object(json, NULL);
		clew_json_signed(json, "cpu", cpu_of(info->gaps[i].header.cpu));
		clew_json_unsigned(json, "from", info->gaps[i].from);
		clew_json_unsigned(json, "to", info->gaps[i].header.time);
		json_lost(json, &info->gaps[i]);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_object_end(json);
}

/* Lines "FEATURE: REASON" say what the kernel refused; NULL: nothing. */
static void json_without(struct clew_json *json, const char *lines)
{
	clew_json_array(json, "without");
	for (size_t length; lines && *lines; lines += length + (lines[length] == '\n')) {
		char line[512], *reason;

		length = strcspn(lines, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)length, lines);
		reason = strstr(line, ": ");
		if (!reason)
			continue;
		*reason = '\0';
		clew_json_object(json, NULL);
		clew_json_string(json, "feature", line);
		clew_json_string(json, "reason", reason + 2);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

void clew_json_info(const struct clew_info_source *source, const struct clew_capture_info *info)
{
	struct clew_json json = {.out = stdout};

	clew_json_answer(&json);
	clew_json_string(&json, "kernel", info_meta(source, "kernel") ?: "");
	clew_json_string(&json, "host", info_meta(source, "host") ?: "");
	clew_json_string(&json, "machine", info_meta(source, "machine"));
	clew_json_string(&json, "command", info_meta(source, "command"));
	clew_json_unsigned(&json, "cpus", info->cpus);
	clew_json_unsigned(&json, "start", info->start);
	clew_json_unsigned(&json, "end", info->end);
	clew_json_unsigned(&json, "duration_ns", info_duration(info));
	clew_json_unsigned(&json, "bytes", info->bytes);
	clew_json_object(&json, "events");
	for (unsigned kind = 1; kind < CLEW_KIND_COUNT; kind++)
		if (info->counts[kind])
			clew_json_unsigned(&json, info_record_kind(kind), info->counts[kind]);
	clew_json_object_end(&json);
	clew_json_object(&json, "columns");
	for (unsigned kind = 1; kind < CLEW_KIND_COUNT; kind++)
		if (info->column_bytes[kind])
			clew_json_unsigned(&json, info_record_kind(kind), info->column_bytes[kind]);
	clew_json_object_end(&json);
	clew_json_number(&json, "column_bytes_per_switch", info_column_bytes(info));
	clew_json_number(&json, "file_bytes_per_switch", info_file_bytes(info));
	json_ledger(&json, info);
	clew_json_unsigned(&json, "hidden", source->hidden);
	clew_json_cost(&json, info);
	clew_json_bool(&json, "complete", info->complete);
	clew_json_unsigned(&json, "damaged_chunks", info->damaged_chunks);
	clew_json_unsigned(&json, "raw_records", info->quick_records);
	clew_json_array(&json, "clocks");
	for (size_t i = 0; i < info->clock_count; i++) {
		clew_json_object(&json, NULL);
		clew_json_unsigned(&json, "monotonic", info->clocks[i].monotonic);
		clew_json_unsigned(&json, "boot", info->clocks[i].boot);
		clew_json_unsigned(&json, "wall", info->clocks[i].wall);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	json_without(&json, info_meta(source, "without"));
	clew_json_left_alone(&json, "left_alone", info_meta(source, "left_alone"));
	clew_json_unsigned(&json, "late_files", info_late_files(source));
	clew_json_object_end(&json);
	clew_json_end(&json);
}
