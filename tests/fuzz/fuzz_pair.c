/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes pairing by key: the input is a line of letters that choose options, one each
 * with the expression of origins and of destinations, and a trace, in notation. Whatever
 * it is: an error that says where, or a trace with as many new dependencies as were
 * counted, consistent where the one before was; no crash, no endless loop.
 */
#include <clew/notation.h>
#include <clew/pair.h>

#include "query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Within the spans and not of the edges, which may lead back in time. */
static bool is_consistent(const struct clew_model *model)
{
	struct clew_problem *problems;
	bool good = true;
	size_t count;

	must(clew_model_check(model, true, &problems, &count) == 0);
	for (size_t i = 0; i < count; i++)
		good = good && strcmp(problems[i].kind, "order") &&
		       strcmp(problems[i].kind, "overlap") &&
		       strcmp(problems[i].kind, "negative-length") &&
		       strcmp(problems[i].kind, "symmetry") &&
		       strcmp(problems[i].kind, "trigger") && strcmp(problems[i].kind, "owner");
	free(problems);
	return good;
}

static void check_paired(const struct clew_model *before, const struct clew_pair_rule *rule,
			 const struct clew_paired *paired)
{
	const struct clew_model *after = paired->model;
	uint64_t created = 0;

	must(after->span_count == before->span_count && after->mark_count == before->mark_count);
	must(!is_consistent(before) || is_consistent(after));
	for (uint32_t i = 0; i < after->type_count; i++) {
		const struct clew_pair_metrics *metrics = &paired->metrics[i];

		created += metrics->created;
		must(metrics->paired <= metrics->created && metrics->paired <= metrics->origins &&
		     metrics->paired <= metrics->destinations);
		must(metrics->unpaired_origins <= metrics->origins &&
		     metrics->unpaired_destinations <= metrics->destinations);
		must(metrics->created == metrics->paired || rule->options.keep_without_origin ||
		     rule->options.keep_without_destination);
	}
	must(after->dependency_count == before->dependency_count + created);
}

static void check_pairing(const struct clew_model *model, const char *letters, const char *origins,
			  const char *destinations)
{
	struct clew_pair_rule rule = {.origins = origins,
				      .destinations = destinations,
				      .type = "send",
				      .spans = strchr(letters, 's')};
	struct clew_pair_error error = {.message = ""};
	struct clew_paired paired = {};
	uint32_t first = 0;
	int r;

	rule.options.reuse = strchr(letters, 'r');
	rule.options.keep_without_origin = strchr(letters, 'o');
	rule.options.keep_without_destination = strchr(letters, 'd');
	rule.options.mode = strchr(letters, 'a')   ? CLEW_MODE_AND
			    : strchr(letters, 'y') ? CLEW_MODE_OR
						   : CLEW_MODE_SINGLE;
	rule.options.key_attribute = strchr(letters, 'k') ? "key" : NULL;
	if (strchr(letters, 'f')) {
		rule.from = &first;
		rule.from_count = 1;
	}
	r = clew_pair_labels(model, &rule, &paired, &error);
	must(r == 0 || r == -EINVAL || r == -EBADMSG || r == -E2BIG);
	if (r == -EINVAL) {
		must(*error.message);
		must(error.where != CLEW_PAIR_ERROR_ORIGINS || error.offset <= strlen(origins));
		must(error.where != CLEW_PAIR_ERROR_DESTINATIONS ||
		     error.offset <= strlen(destinations));
	}
	if (r == 0)
		check_paired(model, &rule, &paired);
	clew_paired_done(&paired);
}

/* A copy of the next line, without bytes behind it, so that a sanitizer sees whoever reads on. */
static char *take_line(const char **at, size_t *left)
{
	const char *end = memchr(*at, '\n', *left);
	size_t size = end ? (size_t)(end - *at) : *left, taken = end ? size + 1 : size;
	char *line = strndup(*at, size);

	must(line != NULL);
	*at += taken;
	*left -= taken;
	return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data;
	char *letters, *origins, *destinations, message[256];
	struct clew_model *model;

	if (!size)
		return 0;
	letters = take_line(&at, &size);
	origins = take_line(&at, &size);
	destinations = take_line(&at, &size);
	if (clew_notation_read(at, size, NULL, &model, message, sizeof(message)) == 0) {
		check_pairing(model, letters, origins, destinations);
		clew_model_free(model);
	}
	free(letters);
	free(origins);
	free(destinations);
	return 0;
}
