/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Metrics as text. The formats differ in the comments: OpenMetrics names a family of counters
 * without "_total", has units, and says where the text ends.
 */
#include "daemon/metrics.h"

#include <string.h>

#include "base/container.h"
#include "base/device.h"
#include "base/utf8.h"

struct output {
	FILE *file;
	enum clew_metrics_format format;
};

static void begin(const struct output *output, const char *name, const char *type, const char *unit,
		  const char *help)
{
	const bool open = output->format == CLEW_METRICS_OPEN;
	const char *suffix = !open && !strcmp(type, "counter") ? "_total" : "";

	fprintf(output->file, "# TYPE %s%s %s\n", name, suffix, type);
	if (unit && open)
		fprintf(output->file, "# UNIT %s %s\n", name, unit);
	fprintf(output->file, "# HELP %s%s %s\n", name, suffix, help);
}

/* A label's value: escaped, and without bytes that are no UTF-8. */
static void put_value(FILE *out, const char *text)
{
	uint32_t character;

	while (*text) {
		size_t length = clew_utf8_length(text, &character);

		if (!length)
			fputc('?', out);
		else if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fwrite(text, 1, length, out);
		text += length ?: 1;
	}
}

static void put_label(FILE *out, const char *before, const char *name, const char *value)
{
	fprintf(out, "%s%s=\"", before, name);
	put_value(out, value);
	fputc('"', out);
}

static void put_seconds(FILE *out, uint64_t ns)
{
	fprintf(out, "} %llu.%09llu\n", (unsigned long long)(ns / 1000000000),
		(unsigned long long)(ns % 1000000000));
}

/* A label whose name has a prefix, if there is a value. */
static void put_name(FILE *out, const char *prefix, const char *name, const char *value)
{
	char whole[64];

	if (!value)
		return;
	snprintf(whole, sizeof(whole), "%s%s", prefix, name);
	put_label(out, ",", whole, value);
}

/* Behind a group's path: the names that people know it by, as far as there are any. */
static void put_names(FILE *out, const struct account *account, const struct sums_group *group,
		      const char *prefix)
{
	const char *container = known_group_name(account->known, group->id, CLEW_GROUP_CONTAINER);
	char text[CLEW_CONTAINER_SIZE];

	if (!group->id)
		return;
	if (clew_container_of(group->name, text)) {
		put_name(out, prefix, "container", container ?: text);
		put_name(out, prefix, "pod",
			 known_group_name(account->known, group->id, CLEW_GROUP_POD));
		put_name(out, prefix, "namespace",
			 known_group_name(account->known, group->id, CLEW_GROUP_NAMESPACE));
	} else if (clew_unit_of(group->name, text)) {
		put_name(out, prefix, "unit", text);
	}
}

static void put_group(FILE *out, const char *metric, const struct account *account,
		      const struct sums_group *group)
{
	fprintf(out, "%s{", metric);
	put_label(out, "", "cgroup", group->name);
	put_names(out, account, group, "");
}

static void write_waits(const struct output *output, const struct account *account)
{
	const struct sums *sums = &account->sums;
	FILE *out = output->file;

	begin(output, "clew_wait_seconds", "counter", "seconds",
	      "Time that threads waited, or were ready and had no CPU, by control group and kind.");
	for (size_t i = 0; i < sums->group_count; i++)
		for (unsigned kind = 0; kind <= CLEW_SEGMENT_RUNQUEUE; kind++) {
			if (!sums->groups[i].count[kind])
				continue;
			put_group(out, "clew_wait_seconds_total", account, &sums->groups[i]);
			put_label(out, ",", "kind", clew_wait_kind_name(kind));
			put_seconds(out, sums->groups[i].ns[kind]);
		}
	begin(output, "clew_quota_seconds", "counter", "seconds",
	      "Time that a CPU quota kept threads off the CPU, by control group.");
	for (size_t i = 0; i < sums->group_count; i++) {
		if (!sums->groups[i].quota_ns)
			continue;
		put_group(out, "clew_quota_seconds_total", account, &sums->groups[i]);
		put_seconds(out, sums->groups[i].quota_ns);
	}
	begin(output, "clew_waits", "counter", NULL, "How many such waits have ended.");
	for (size_t i = 0; i < sums->group_count; i++)
		for (unsigned kind = 0; kind <= CLEW_SEGMENT_RUNQUEUE; kind++) {
			if (!sums->groups[i].count[kind])
				continue;
			put_group(out, "clew_waits_total", account, &sums->groups[i]);
			put_label(out, ",", "kind", clew_wait_kind_name(kind));
			fprintf(out, "} %llu\n", (unsigned long long)sums->groups[i].count[kind]);
		}
}

/* The incident that explains a wait in this bucket. The older format has no place for it. */
static void write_example(const struct output *output, const struct length_example *example)
{
	if (output->format != CLEW_METRICS_OPEN || !example || !example->incident[0])
		return;
	put_label(output->file, " # {", "incident", example->incident);
	fprintf(output->file, "} %.9f %llu.%09llu", (double)example->ns / 1e9,
		(unsigned long long)(example->wall / 1000000000),
		(unsigned long long)(example->wall % 1000000000));
}

/* `labels`: as they are written, without braces. `examples`: one a bucket, or NULL. */
static void write_buckets(const struct output *output, const char *name, const char *labels,
			  const struct buckets *buckets, const struct length_example *examples)
{
	FILE *out = output->file;
	uint64_t count = 0;

	for (unsigned i = 0; i < BUCKETS; i++) {
		count += buckets->counts[i];
		fprintf(out, "%s_bucket{%s,le=\"%s\"} %llu", name, labels,
			i < BUCKETS_BOUNDS ? buckets_bounds[i].seconds : "+Inf",
			(unsigned long long)count);
		write_example(output, examples ? &examples[i] : NULL);
		fputc('\n', out);
	}
	fprintf(out, "%s_count{%s} %llu\n", name, labels, (unsigned long long)count);
	fprintf(out, "%s_sum{%s", name, labels);
	put_seconds(out, buckets->ns);
}

static void write_lengths(const struct output *output, const struct lengths *lengths)
{
	char labels[64];

	begin(output, "clew_wait_length_seconds", "histogram", "seconds",
	      "How long waits were that have ended, by kind.");
	for (unsigned kind = 0; kind < LENGTHS_KINDS; kind++) {
		if (!lengths->kinds[kind].count)
			continue;
		snprintf(labels, sizeof(labels), "kind=\"%s\"", clew_wait_kind_name(kind));
		write_buckets(output, "clew_wait_length_seconds", labels, &lengths->kinds[kind],
			      lengths->examples[kind]);
	}
}

static void write_answers(const struct output *output, const struct answers *answers)
{
	char labels[160];

	begin(output, "clew_request_seconds", "histogram", "seconds",
	      "How long block requests took from queued to completed.");
	for (size_t i = 0; i < answers->count; i++) {
		const struct answers_of *of = &answers->of[i];

		snprintf(labels, sizeof(labels), "dev=\"%s\",op=\"%s\",reason=\"%s\"",
			 of->operation ? DEVICE_TEXT(of->device) : "other",
			 of->operation ?: "other", of->reason ?: "other");
		write_buckets(output, "clew_request_seconds", labels, &of->buckets, NULL);
	}
}

static void write_peers(const struct output *output, const struct peers *peers)
{
	char labels[PEERS_NAME + 16];

	begin(output, "clew_peer_answer_seconds", "histogram", "seconds",
	      "How long servers on other hosts took to answer, without the round trip.");
	for (size_t i = 0; i < peers->count; i++) {
		snprintf(labels, sizeof(labels), "peer=\"%s\"",
			 peers->of[i].name[0] ? peers->of[i].name : "other");
		write_buckets(output, "clew_peer_answer_seconds", labels, &peers->of[i].buckets,
			      NULL);
	}
	begin(output, "clew_peer_resent", "counter", NULL,
	      "Segments that were sent again to them.");
	for (size_t i = 0; i < peers->count; i++) {
		put_label(output->file, "clew_peer_resent_total{", "peer",
			  peers->of[i].name[0] ? peers->of[i].name : "other");
		fprintf(output->file, "} %llu\n", (unsigned long long)peers->of[i].resent);
	}
}

static void write_ongoing(const struct output *output, const struct ongoing *ongoing)
{
	FILE *out = output->file;

	begin(output, "clew_open_waits", "gauge", NULL, "How many waits go on, by kind.");
	for (unsigned kind = 0; kind < ONGOING_KINDS; kind++) {
		if (!ongoing->kinds[kind].seen)
			continue;
		put_label(out, "clew_open_waits{", "kind", clew_wait_kind_name(kind));
		fprintf(out, "} %llu\n", (unsigned long long)ongoing->kinds[kind].count);
	}
	begin(output, "clew_longest_wait_seconds", "gauge", "seconds",
	      "How long the oldest of them has gone on, as far as it was recorded.");
	for (unsigned kind = 0; kind < ONGOING_KINDS; kind++) {
		if (!ongoing->kinds[kind].seen)
			continue;
		put_label(out, "clew_longest_wait_seconds{", "kind", clew_wait_kind_name(kind));
		put_seconds(out, ongoing->kinds[kind].longest);
	}
}

static void write_blame(const struct output *output, const struct account *account)
{
	const struct sums *sums = &account->sums;
	FILE *out = output->file;

	begin(output, "clew_blame_seconds", "counter", "seconds",
	      "Time that the antagonist's threads had a lock, CPU or disk that the victim's waited "
	      "for, or that its limit took.");
	for (size_t i = 0; i < sums->pair_count; i++) {
		const struct sums_pair *pair = &sums->pairs[i];

		put_label(out, "clew_blame_seconds_total{", "victim",
			  sums->groups[pair->victim].name);
		put_label(out, ",", "antagonist", sums->groups[pair->antagonist].name);
		put_names(out, account, &sums->groups[pair->victim], "victim_");
		put_names(out, account, &sums->groups[pair->antagonist], "antagonist_");
		put_label(out, ",", "kind", sums_pair_kind_name(pair->kind));
		put_seconds(out, pair->ns);
	}
}

static void write_triggers(const struct output *output, const struct clew_rule *rules,
			   const struct clew_rule_counts *counts, size_t count)
{
	FILE *out = output->file;

	begin(output, "clew_triggers", "counter", NULL,
	      "What became of the waits that a rule is about.");
	for (size_t i = 0; i < count; i++) {
		const struct {
			const char *name;
			uint64_t value;
		} results[] = {
			{"fired", counts[i].fired},
			{"suppressed", counts[i].suppressed},
			{"made", counts[i].made},
			{"failed", counts[i].failed},
		};

		for (size_t k = 0; k < sizeof(results) / sizeof(results[0]); k++) {
			put_label(out, "clew_triggers_total{", "name", rules[i].name);
			put_label(out, ",", "result", results[k].name);
			fprintf(out, "} %llu\n", (unsigned long long)results[k].value);
		}
	}
}

static void write_watched(void *context, const struct account *account,
			  const struct clew_rule *rules, const struct clew_rule_counts *counts,
			  size_t count)
{
	write_waits(context, account);
	write_lengths(context, &account->lengths);
	write_ongoing(context, &account->ongoing);
	write_answers(context, &account->answers);
	write_peers(context, &account->peers);
	write_blame(context, account);
	write_triggers(context, rules, counts, count);
}

static void write_count(const struct output *output, const char *name, uint64_t value,
			const char *help)
{
	begin(output, name, "counter", NULL, help);
	fprintf(output->file, "%s_total %llu\n", name, (unsigned long long)value);
}

void clew_metrics_write(FILE *out, const struct clew_metrics *metrics,
			enum clew_metrics_format format)
{
	struct output output = {.file = out, .format = format};

	clew_watch_read(metrics->watch, write_watched, &output);
	write_count(&output, "clew_records", metrics->records,
		    "Records in segments that have ended.");
	write_count(&output, "clew_lost_records", metrics->lost,
		    "Records that are in no segment, as a ring was full.");
	write_count(&output, "clew_missed_runs", metrics->missed,
		    "Runs of programs that the kernel left out.");
	write_count(&output, "clew_left_out_records", metrics->left_out,
		    "Records that are in a segment, but in none of these sums.");
	write_count(&output, "clew_forgotten_writers", metrics->forgotten,
		    "Ranges of files whose writers and readers were forgotten for want of room.");
	begin(&output, "clew_cost_cpu_seconds", "counter", "seconds", "CPU time of clew itself.");
	put_label(out, "clew_cost_cpu_seconds_total{", "part", "user");
	put_seconds(out, metrics->user_ns);
	put_label(out, "clew_cost_cpu_seconds_total{", "part", "bpf");
	put_seconds(out, metrics->bpf_ns);
	put_label(out, "clew_cost_cpu_seconds_total{", "part", "history");
	put_seconds(out, metrics->history_ns);
	begin(&output, "clew_memory_bytes", "gauge", "bytes", "Memory of clew without its ring.");
	fprintf(out, "clew_memory_bytes %llu\n", (unsigned long long)metrics->memory);
	begin(&output, "clew_window_seconds", "gauge", "seconds", "How far one can look back.");
	fprintf(out, "clew_window_seconds %.3f\n", (double)metrics->window / 1e9);
	if (format == CLEW_METRICS_OPEN)
		fputs("# EOF\n", out);
}
