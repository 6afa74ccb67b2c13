/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The report as JSON. docs/answers.md lists the fields. */
#include <stdlib.h>

#include "answers/report/report.h"

#include "answers/classes.h"
#include "answers/report/report_places.h"
#include "answers/sums.h"
#include "words/file.h"
#include "words/functions.h"
#include "words/object.h"
#include "words/task.h"

static void json_headline(struct clew_json *json, const struct report *report)
{
	char *text = report_headline(report);

	clew_json_string(json, "headline", text);
	free(text);
}

static void json_programs(struct clew_json *json, const struct report *report)
{
	clew_json_array(json, "programs");
	for (size_t i = 0; i < report->summary.count; i++) {
		const struct clew_program *program = &report->summary.programs[i];

		if (!program->total && !program->had_cpu && !program->had_lock)
			continue;
		clew_json_object(json, NULL);
		clew_json_string(json, "name", program->name);
		clew_json_bool(json, "kernel", program->kernel);
		clew_json_unsigned(json, "tasks", program->tasks);
		clew_json_unsigned(json, "total_ns", program->total);
		clew_json_object(json, "spent_ns");
		for (int spent = 0; spent < CLEW_SPENT_COUNT; spent++)
			clew_json_unsigned(json, clew_spent_word((enum clew_spent)spent),
					   program->spent[spent]);
		clew_json_object_end(json);
		clew_json_unsigned(json, "had_cpu_ns", program->had_cpu);
		clew_json_unsigned(json, "had_lock_ns", program->had_lock);
		report_json_samples(json, report, (uint32_t)i);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_disks(struct clew_json *json, const struct report *report)
{
	clew_json_array(json, "disks");
	for (size_t i = 0; i < report->disk_count; i++) {
		const struct report_disk *disk = &report->disks[i];

		clew_json_object(json, NULL);
		clew_json_string(json, "name", CLEW_DISK(report->trace, disk->device));
		clew_json_unsigned(json, "requests", disk->requests);
		clew_json_unsigned(json, "bytes", disk->bytes);
		clew_json_unsigned(json, "busy_ns", disk->busy_ns);
		clew_json_string(json, "mostly_by",
				 disk->program == UINT32_MAX
					 ? NULL
					 : report->summary.programs[disk->program].name);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_operations(struct clew_json *json, const struct report *report)
{
	clew_json_array(json, "operations");
	for (size_t i = 0; i < report->operation_count; i++) {
		const struct report_operation *operation = &report->operations[i];
		const struct clew_operation *what = &operation->operation;

		clew_json_object(json, NULL);
		clew_json_task_fields(json, report->trace, what->task, what->to);
		clew_json_unsigned(json, "from", what->from);
		clew_json_unsigned(json, "to", what->to);
		clew_json_object(json, "class");
		clew_json_class(json, report->trace, &report->classes, operation->class);
		clew_json_object_end(json);
		clew_json_array(json, "causes");
		for (size_t k = 0; k < operation->cause_count; k++) {
			clew_json_object(json, NULL);
			clew_json_string(json, "text", operation->causes[k].text);
			clew_json_unsigned(json, "ns", operation->causes[k].ns);
			clew_json_object_end(json);
		}
		clew_json_array_end(json);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_unsigned(json, "operation_count", report->operation_total);
	if (clew_trace_works_until(report->trace) < report->to)
		clew_json_unsigned(json, "operations_until", clew_trace_works_until(report->trace));
}

static void json_classes(struct clew_json *json, const struct report *report)
{
	clew_json_array(json, "classes");
	for (size_t i = 0; i < report->classes.class_count; i++) {
		clew_json_object(json, NULL);
		clew_json_class(json, report->trace, &report->classes, i);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_objects(struct clew_json *json, const struct report *report, const char *key,
			 const struct report_waits *waits)
{
	clew_json_array(json, key);
	for (size_t i = 0; i < waits->count; i++) {
		const struct clew_sleep *sleep = report_longest(waits, i);

		clew_json_object(json, NULL);
		clew_json_object_of(json, "object", report->trace, &sleep->object, sleep);
		clew_json_sum(json, &waits->sums[i]);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_functions(struct clew_json *json, const struct report *report)
{
	if (!report->functions.count)
		return;
	clew_json_array(json, "functions");
	for (uint32_t i = 0; i < report->functions.count; i++)
		clew_json_function_time(json, report->trace, &report->functions.times[i]);
	clew_json_array_end(json);
}

void report_json(struct clew_json *json, const struct report *report)
{
	json_headline(json, report);
	clew_json_unsigned(json, "from", report->from);
	clew_json_unsigned(json, "to", report->to);
	json_programs(json, report);
	report_json_places(json, report);
	json_disks(json, report);
	json_operations(json, report);
	if (report->chosen.some && report->classes.class_count)
		json_classes(json, report);
	json_objects(json, report, "files", &report->files);
	json_objects(json, report, "locks", &report->locks);
	json_functions(json, report);
	if (report->helps.tried)
		report_json_helps(json, report);
}
