/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Incidents of the daemon: their list, and the rule and the request of one. */
#include "answers/daemon/incidents.h"

#include "answers/slow.h"
#include "format/json.h"
#include "format/text.h"

void clew_json_incidents(FILE *out, const struct clew_incident *incidents, size_t count,
			 const char *directory)
{
	struct clew_json json = {.out = out};

	clew_json_answer(&json);
	clew_json_string(&json, "directory", directory);
	clew_json_array(&json, "incidents");
	for (size_t i = 0; i < count; i++) {
		clew_json_object(&json, NULL);
		clew_json_string(&json, "id", incidents[i].id);
		clew_json_unsigned(&json, "number", incidents[i].number);
		clew_json_string(&json, "time", incidents[i].time);
		clew_json_string(&json, "name", incidents[i].rule);
		clew_json_string(&json, "headline", incidents[i].headline);
		clew_json_unsigned(&json, "bytes", incidents[i].bytes);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_object_end(&json);
	clew_json_end(&json);
}

void clew_print_incidents(FILE *out, const struct clew_incident *incidents, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "%6llu  %s  %s\n        ", (unsigned long long)incidents[i].number,
			incidents[i].time, incidents[i].rule);
		clew_print_safe(out, incidents[i].headline[0] ? incidents[i].headline
							      : "no explanation");
		fputc('\n', out);
	}
	if (!count)
		fputs("no rule has fired\n", out);
}

void clew_print_fired_request(FILE *out, const struct clew_firing *firing)
{
	const struct clew_slow *slow = &firing->slow;

	clew_print_slow_request(out, &slow->request, firing->disk);
	fprintf(out, slow->open ? " goes on after %s" : " took %s",
		CLEW_DURATION(slow->end - slow->start));
	if (firing->tid) {
		fputs(", for ", out);
		clew_print_safe(out, firing->comm);
		fprintf(out, "-%u\n\nWhat that thread did meanwhile:\n\n", firing->tid);
	} else {
		fputs(", for an unknown thread\n\n"
		      "clew: nobody is known whose request it was: ask clew requests\n",
		      out);
	}
}

void clew_json_firing(FILE *out, const struct clew_firing *firing, const char *id, uint64_t wall)
{
	struct clew_json json = {.out = out};

	clew_json_answer(&json);
	clew_json_string(&json, "id", id);
	clew_json_string(&json, "name", firing->rule);
	clew_json_string(&json, "rule", firing->text);
	clew_json_unsigned(&json, "wall", wall);
	clew_json_unsigned(&json, "pid", firing->pid);
	clew_json_unsigned(&json, "tid", firing->tid);
	clew_json_string(&json, "comm", firing->comm);
	clew_json_string(&json, "cgroup", firing->cgroup[0] ? firing->cgroup : NULL);
	clew_slow_json(&json, &firing->slow);
	clew_json_unsigned(&json, "suppressed", firing->suppressed);
	clew_json_object_end(&json);
	clew_json_end(&json);
}
