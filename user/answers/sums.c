/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Times added up by a key, as a table and as JSON. */
#include "answers/sums.h"

#include <stdlib.h>

#include "format/text.h"

void clew_print_sum_vain(FILE *out, const struct clew_sum *sum)
{
	if (sum->vain)
		fprintf(out, ", %zu of them for nothing (%s)", sum->vain,
			CLEW_DURATION(sum->vain_ns));
}

void clew_json_sum(struct clew_json *json, const struct clew_sum *sum)
{
	clew_json_unsigned(json, "count", sum->count);
	clew_json_unsigned(json, "total_ns", sum->total);
	clew_json_unsigned(json, "p50_ns", sum->p50);
	clew_json_unsigned(json, "p99_ns", sum->p99);
	clew_json_unsigned(json, "max_ns", sum->max);
	if (sum->vain) {
		clew_json_unsigned(json, "for_nothing", sum->vain);
		clew_json_unsigned(json, "for_nothing_ns", sum->vain_ns);
	}
}

static void print_group(FILE *out, const struct clew_sum *group,
			const struct clew_sums_names *names)
{
	fprintf(out, "%9s %8zu %9s %9s %9s  ", CLEW_DURATION(group->total), group->count,
		CLEW_DURATION(group->p50), CLEW_DURATION(group->p99), CLEW_DURATION(group->max));
	names->name(names->context, out, group->longest);
	clew_print_sum_vain(out, group);
	putc('\n', out);
}

void clew_print_groups(FILE *out, const struct clew_sum *groups, size_t count, enum clew_sum_by by,
		       const struct clew_sums_names *names)
{
	fprintf(out, "%9s %8s %9s %9s %9s  %s\n", "in all", "count", "p50", "p99", "max",
		clew_sum_by_name(by));
	for (size_t i = 0; i < count; i++)
		print_group(out, &groups[i], names);
}

static void json_name(struct clew_json *json, const struct clew_sums_names *names, uint32_t item)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out) {
		names->name(names->context, out, item);
		fclose(out);
	}
	clew_json_string(json, "name", text);
	free(text);
}

static void json_group(struct clew_json *json, const struct clew_sum *group,
		       const struct clew_sums_names *names)
{
	clew_json_object(json, NULL);
	json_name(json, names, group->longest);
	if (names->fields)
		names->fields(names->context, json, group->longest);
	clew_json_sum(json, group);
	clew_json_object_end(json);
}

void clew_json_groups(struct clew_json *json, const struct clew_sum *groups, size_t count,
		      enum clew_sum_by by, const struct clew_sums_names *names)
{
	clew_json_string(json, "by", clew_sum_by_name(by));
	clew_json_array(json, "sums");
	for (size_t i = 0; i < count; i++)
		json_group(json, &groups[i], names);
	clew_json_array_end(json);
}

int clew_say_sums(FILE *out, struct clew_json *json, struct clew_sums *sums, enum clew_sum_by by,
		  const struct clew_sums_names *names)
{
	struct clew_sum *groups;
	size_t count;
	int r = clew_sums_make(sums, &groups, &count);

	if (r < 0)
		return r;
	if (json)
		clew_json_groups(json, groups, count, by, names);
	else
		clew_print_groups(out, groups, count, by, names);
	free(groups);
	return 0;
}

void clew_print_count(FILE *out, bool part, size_t count, size_t of, const char *things)
{
	fprintf(out, "%zu", count);
	if (!part)
		fprintf(out, " of %zu", of);
	fprintf(out, " %s", things);
}

/* "3 idle waits, 1.2 s in all (--idle shows them)" */
static void print_some_left(FILE *out, const struct clew_left_out *left_out, size_t count,
			    const char *things, uint64_t ns, const char *way)
{
	fprintf(out, "%zu %s", count, things);
	if (left_out->timed)
		fprintf(out, ", %s in all", CLEW_DURATION(ns));
	fprintf(out, " (%s)", way);
}

void clew_print_left_out(FILE *out, const struct clew_left_out *left_out, const char *idle)
{
	if (!left_out->idle && !left_out->self)
		return;
	fputs("left out: ", out);
	if (left_out->idle)
		print_some_left(out, left_out, left_out->idle, idle, left_out->idle_ns,
				"--idle shows them");
	if (left_out->idle && left_out->self)
		fputs(", ", out);
	if (left_out->self)
		print_some_left(out, left_out, left_out->self, "of clew itself", left_out->self_ns,
				"--self");
	putc('\n', out);
}

void clew_json_left_out(struct clew_json *json, const struct clew_left_out *left_out)
{
	clew_json_object(json, "left_out");
	clew_json_unsigned(json, "idle", left_out->idle);
	clew_json_unsigned(json, "self", left_out->self);
	if (left_out->timed) {
		clew_json_unsigned(json, "idle_ns", left_out->idle_ns);
		clew_json_unsigned(json, "self_ns", left_out->self_ns);
	}
	clew_json_object_end(json);
}
