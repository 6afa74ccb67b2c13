/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options and words that lists share. See view.h. */
#include "cli/operand/view.h"

#include <stdlib.h>
#include <string.h>

#include "cli/front/fail.h"

static const char *const sort_names[] = {
	[CLEW_SORT_LENGTH] = "length",
	[CLEW_SORT_START] = "start",
};

static const char *const by_names[CLEW_BY_COUNT] = {
	[CLEW_BY_OBJECT] = "object", [CLEW_BY_KIND] = "kind",	  [CLEW_BY_TASK] = "task",
	[CLEW_BY_CALL] = "call",     [CLEW_BY_HOLDER] = "holder",
};

/* The index of a word; -1: it is not in the list. */
static int find_word(const char *word, const char *const *names, int count)
{
	for (int i = 0; i < count; i++)
		if (names[i] && !strcmp(names[i], word))
			return i;
	return -1;
}

int clew_take_sort(const struct clew_option *option, const char *argument, void *value)
{
	int found = find_word(argument, sort_names, sizeof(sort_names) / sizeof(sort_names[0]));

	if (found < 0)
		return clew_fail(CLEW_EXIT_INPUT, "--%s: there is no '%s': use length or start",
				 option->name, argument);
	*(enum clew_sort *)value = (enum clew_sort)found;
	return 0;
}

int clew_take_by(const struct clew_option *option, const char *argument, void *value)
{
	int found = find_word(argument, by_names, CLEW_BY_COUNT);

	if (found < 0)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: there is no '%s': use object, kind, task, call or holder",
				 option->name, argument);
	*(enum clew_by *)value = (enum clew_by)found;
	return 0;
}

const char *clew_by_name(enum clew_by by)
{
	return by_names[by];
}

void clew_print_count(const struct clew_view *view, size_t count, size_t of, const char *things)
{
	printf("%zu", count);
	if (!clew_window_given(&view->window))
		printf(" of %zu", of);
	printf(" %s", things);
}

void clew_print_left_out(const struct clew_view *view, const char *idle)
{
	if (!view->idle_left_out && !view->self_left_out)
		return;
	fputs("left out: ", stdout);
	if (view->idle_left_out)
		printf("%zu %s (--idle shows them)", view->idle_left_out, idle);
	if (view->self_left_out)
		printf("%s%zu of clew itself (--self)", view->idle_left_out ? ", " : "",
		       view->self_left_out);
	putchar('\n');
}

void clew_json_left_out(struct clew_json *json, const struct clew_view *view)
{
	clew_json_object(json, "left_out");
	clew_json_unsigned(json, "idle", view->idle_left_out);
	clew_json_unsigned(json, "self", view->self_left_out);
	clew_json_object_end(json);
}

static int make_sums(struct clew_sums *sums, struct clew_sum **ret_groups, size_t *ret_count)
{
	if (clew_sums_make(sums, ret_groups, ret_count) < 0)
		return clew_fail_memory();
	return 0;
}

void clew_print_groups(const struct clew_sum *groups, size_t count, const struct clew_view *view,
		       const struct clew_sums_names *names)
{
	clew_print_sums_heading(stdout, clew_by_name(view->by));
	for (size_t i = 0; i < count; i++) {
		clew_print_sum(stdout, &groups[i]);
		names->name(names->context, stdout, groups[i].longest);
		clew_print_sum_vain(stdout, &groups[i]);
		putchar('\n');
	}
}

int clew_print_sums(struct clew_sums *sums, const struct clew_view *view,
		    const struct clew_sums_names *names)
{
	struct clew_sum *groups;
	size_t count;
	int status = make_sums(sums, &groups, &count);

	if (status)
		return status;
	clew_print_groups(groups, count, view, names);
	free(groups);
	return 0;
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

void clew_json_groups(struct clew_json *json, const struct clew_sum *groups, size_t count,
		      const struct clew_view *view, const struct clew_sums_names *names)
{
	clew_json_string(json, "by", clew_by_name(view->by));
	clew_json_array(json, "sums");
	for (size_t i = 0; i < count; i++) {
		clew_json_object(json, NULL);
		json_name(json, names, groups[i].longest);
		if (names->fields)
			names->fields(names->context, json, groups[i].longest);
		clew_json_sum(json, &groups[i]);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

int clew_json_sums(struct clew_json *json, struct clew_sums *sums, const struct clew_view *view,
		   const struct clew_sums_names *names)
{
	struct clew_sum *groups;
	size_t count;
	int status = make_sums(sums, &groups, &count);

	if (status)
		return status;
	clew_json_groups(json, groups, count, view, names);
	free(groups);
	return 0;
}
