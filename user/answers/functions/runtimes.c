/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The points of runtimes in text and JSON. */
#include "answers/functions/runtimes.h"

#include <inttypes.h>
#include <string.h>

#include "format/text.h"

static const char *const classes[] = {[CLEW_PROBE_EMULATED] = "emulated",
				      [CLEW_PROBE_NOP5] = "nop5",
				      [CLEW_PROBE_STEPPED] = "stepped"};

static const struct runtime_site *site_at(const struct clew_runtime_shown *shown, size_t i)
{
	return (const struct runtime_site *)shown->found.sites.data + i;
}

/* "enter pthread_create"; `size` bytes at `words`. */
static const char *place_of(const struct clew_runtime_point *point, char *words, size_t size)
{
	static const char *const kinds[] = {
		[CLEW_PLACE_ENTER] = "enter",
		[CLEW_PLACE_LEAVE] = "leave",
		[CLEW_PLACE_BEFORE] = "before a call in",
		[CLEW_PLACE_AFTER] = "after a call in",
		[CLEW_PLACE_BEFORE_CALLS] = "before a call of",
		[CLEW_PLACE_AFTER_CALLS] = "after a call of",
		[CLEW_PLACE_USDT] = "usdt",
		[CLEW_PLACE_FORK] = "tp",
		[CLEW_PLACE_EXIT] = "tp",
	};

	snprintf(words, size, "%s %s%s", kinds[point->kind], point->hidden ? "@" : "",
		 point->symbol ?: "");
	return words;
}

/* Verbs of the events at a point, with commas between. */
static const char *verbs_of(const struct clew_runtime *runtime, uint16_t point, char *words,
			    size_t size)
{
	size_t at = 0;

	*words = '\0';
	for (size_t i = 0; i < runtime->event_count && at < size; i++) {
		const struct clew_runtime_event *event = &runtime->events[i];

		if (event->point == point)
			at += (size_t)snprintf(words + at, size - at, "%s%s", at ? "," : "",
					       clew_event_verb_word(event->verb));
	}
	return *words ? words : "(values of the call)";
}

void clew_print_runtime(FILE *out, const struct clew_runtime_shown *shown,
			const struct clew_probe_cost *cost)
{
	char place[512], verbs[256];

	fprintf(out, "%s in ", shown->runtime->name);
	clew_print_safe(out, shown->path);
	if (shown->found.why[0]) {
		fputs(": not recorded: ", out);
		clew_print_safe(out, shown->found.why);
		fputc('\n', out);
		return;
	}
	fprintf(out, ": %zu points\n", shown->found.points);
	for (size_t i = 0; i < shown->found.sites.count; i++) {
		const struct runtime_site *site = site_at(shown, i);
		const struct clew_runtime_point *point = &shown->runtime->points[site->point];

		fprintf(out, "%9s  %-8s  0x%-8" PRIx64 "  %-22s  ",
			CLEW_DURATION(clew_probe_cost_of(cost, site->class)), classes[site->class],
			site->offset, verbs_of(shown->runtime, site->point, verbs, sizeof(verbs)));
		clew_print_safe(out, place_of(point, place, sizeof(place)));
		fputc('\n', out);
	}
}

void clew_json_runtime(struct clew_json *json, const struct clew_runtime_shown *shown,
		       const struct clew_probe_cost *cost)
{
	char place[512], verbs[256];

	clew_json_object(json, NULL);
	clew_json_string(json, "runtime", shown->runtime->name);
	clew_json_string(json, "path", shown->path);
	clew_json_string(json, "refused", shown->found.why[0] ? shown->found.why : NULL);
	clew_json_array(json, "points");
	for (size_t i = 0; i < shown->found.sites.count && !shown->found.why[0]; i++) {
		const struct runtime_site *site = site_at(shown, i);

		clew_json_object(json, NULL);
		clew_json_string(json, "verbs",
				 verbs_of(shown->runtime, site->point, verbs, sizeof(verbs)));
		clew_json_string(
			json, "place",
			place_of(&shown->runtime->points[site->point], place, sizeof(place)));
		clew_json_unsigned(json, "offset", site->offset);
		clew_json_string(json, "class", classes[site->class]);
		clew_json_unsigned(json, "cost_ns", clew_probe_cost_of(cost, site->class));
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_object_end(json);
}
