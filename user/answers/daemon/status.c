/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The daemon, as it describes itself: what it keeps and what it costs. */
#include "answers/daemon/status.h"

#include <unistd.h>

#include "format/json.h"
#include "format/text.h"

static void print_rules(void *context, const struct account *account, const struct clew_rule *rules,
			const struct clew_rule_counts *counts, size_t count)
{
	FILE *out = context;

	(void)account;
	for (size_t i = 0; i < count; i++)
		fprintf(out,
			"trigger        %s: %s: fired %llu times, suppressed %llu, incidents %llu, "
			"failed %llu\n",
			rules[i].name, rules[i].text, (unsigned long long)counts[i].fired,
			(unsigned long long)counts[i].suppressed,
			(unsigned long long)counts[i].made, (unsigned long long)counts[i].failed);
}

static void json_rules(void *context, const struct account *account, const struct clew_rule *rules,
		       const struct clew_rule_counts *counts, size_t count)
{
	struct clew_json *json = context;

	(void)account;
	clew_json_array(json, "triggers");
	for (size_t i = 0; i < count; i++) {
		clew_json_object(json, NULL);
		clew_json_string(json, "name", rules[i].name);
		clew_json_string(json, "rule", rules[i].text);
		clew_json_unsigned(json, "fired", counts[i].fired);
		clew_json_unsigned(json, "suppressed", counts[i].suppressed);
		clew_json_unsigned(json, "made", counts[i].made);
		clew_json_unsigned(json, "failed", counts[i].failed);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

void clew_print_daemon_status(FILE *out, const struct clew_daemon_status *status)
{
	const struct clew_recorder_summary *recorded = status->recorded;
	uint64_t length = status->now - status->started;

	fprintf(out, "clew daemon, process %d, records since %s\n", (int)getpid(),
		CLEW_DURATION(length));
	fprintf(out, "configuration  %s\n", status->config->file ?: "none: all as by default");
	fprintf(out, "ring           %s: the last %s in %zu segments, %.1f MB\n",
		status->config->ring, CLEW_DURATION(status->now - status->held.since),
		status->held.count, (double)(status->held.bytes + status->bytes) / 1e6);
	fprintf(out, "recorded       %llu records, lost %llu, missed %llu\n",
		(unsigned long long)recorded->records, (unsigned long long)recorded->lost,
		(unsigned long long)recorded->missed);
	fprintf(out, "watched        all but %llu records; writers of %llu ranges forgotten\n",
		(unsigned long long)status->left_out, (unsigned long long)status->forgotten);
	fprintf(out, "cost           %.2f %% of a CPU, and about %.2f %% in its kernel programs\n",
		100.0 * (double)status->cpu_time / (double)(length + 1),
		100.0 * (double)recorded->cost.bpf_ns / (double)(length + 1));
	fprintf(out, "memory         %.1f MB\n", (double)status->memory / 1e6);
	if (status->history_memory)
		fprintf(out, "history        %s: %.2f %% of a CPU, and %.1f MB\n",
			status->config->history,
			100.0 * (double)status->history_cpu_time / (double)(length + 1),
			(double)status->history_memory / 1e6);
	else if (status->config->history)
		fprintf(out, "history        %s: nothing comes to it, as its process has ended\n",
			status->config->history);
	clew_watch_read(status->watch, print_rules, out);
}

static void json_history(struct clew_json *json, const struct clew_daemon_status *status)
{
	if (!status->config->history) {
		clew_json_null(json, "history");
		return;
	}
	clew_json_object(json, "history");
	clew_json_string(json, "directory", status->config->history);
	clew_json_bool(json, "kept", status->history_memory > 0);
	clew_json_unsigned(json, "user_ns", status->history_cpu_time);
	clew_json_unsigned(json, "memory_bytes", status->history_memory);
	clew_json_object_end(json);
}

void clew_json_daemon_status(FILE *out, const struct clew_daemon_status *status)
{
	const struct clew_recorder_summary *recorded = status->recorded;
	struct clew_json json = {.out = out};

	clew_json_answer(&json);
	clew_json_unsigned(&json, "pid", (uint64_t)getpid());
	clew_json_unsigned(&json, "running_ns", status->now - status->started);
	clew_json_string(&json, "configuration", status->config->file);
	clew_json_string(&json, "ring", status->config->ring);
	clew_json_unsigned(&json, "segments", status->held.count);
	clew_json_unsigned(&json, "window_ns", status->now - status->held.since);
	clew_json_unsigned(&json, "bytes", status->held.bytes + status->bytes);
	clew_json_unsigned(&json, "records", recorded->records);
	clew_json_unsigned(&json, "lost", recorded->lost);
	clew_json_unsigned(&json, "missed", recorded->missed);
	clew_json_unsigned(&json, "left_out", status->left_out);
	clew_json_unsigned(&json, "forgotten", status->forgotten);
	clew_json_object(&json, "cost");
	clew_json_unsigned(&json, "user_ns", status->cpu_time);
	clew_json_unsigned(&json, "bpf_ns", recorded->cost.bpf_ns);
	clew_json_object_end(&json);
	clew_json_unsigned(&json, "memory_bytes", status->memory);
	json_history(&json, status);
	clew_json_string(&json, "incidents", status->config->incidents);
	clew_watch_read(status->watch, json_rules, &json);
	clew_json_object_end(&json);
	clew_json_end(&json);
}
