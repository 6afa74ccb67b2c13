/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The configuration of the daemon. */
#include "daemon/config.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "daemon/http.h"
#include "record/recorder.h"
#include "record/segments.h"

#define BLANKS " \t"

/* A line that is being read. */
struct line {
	const char *file;
	unsigned number;
	const char *text;
	const char *value; /* in the text */
	struct clew_message *message;
};

static int fail(const struct line *line, const char *at, const char *said)
{
	return clew_say(line->message, -EINVAL, "%.200s:%u:%zu: %.250s", line->file, line->number,
			(size_t)(at - line->text) + 1, said);
}

/* ---- values ---- */

static int set_path(const struct line *line, char **path)
{
	if (line->value[0] != '/')
		return fail(line, line->value,
			    "a path that depends on where clew was started: "
			    "begin it with /");
	free(*path);
	*path = strdup(line->value);
	return *path ? 0 : clew_say(line->message, -ENOMEM, "no memory: free some");
}

static int set_bool(const struct line *line, bool *value)
{
	*value = !strcmp(line->value, "yes");
	if (!*value && strcmp(line->value, "no") != 0)
		return fail(line, line->value, "neither yes nor no: write one of them");
	return 0;
}

static int set_amount(const struct line *line, struct clew_amount *value)
{
	if (amount_parse(line->value, value) < 0)
		return fail(line, line->value, "no time and no size: write 10s, 256M, or 10s,256M");
	return 0;
}

static int set_ring(const struct line *line, struct clew_config *config)
{
	return set_path(line, &config->ring);
}

static int set_rotate(const struct line *line, struct clew_config *config)
{
	int r = set_amount(line, &config->rotate);

	if (r == 0 && clew_segments_too_short(&config->rotate))
		r = fail(line, line->value, "too little for a segment: at least 200ms and 1M");
	return r;
}

static int set_keep(const struct line *line, struct clew_config *config)
{
	return set_amount(line, &config->keep);
}

static int set_stacks(const struct line *line, struct clew_config *config)
{
	return set_bool(line, &config->stacks);
}

static int set_memory(const struct line *line, struct clew_config *config)
{
	int r = set_amount(line, &config->memory);

	if (r == 0 && (config->memory.ns || config->memory.bytes < CLEW_MEMORY_LEAST))
		r = fail(line, line->value, "no size of at least 1M: write 128M");
	return r;
}

static int set_page_cache(const struct line *line, struct clew_config *config)
{
	return set_bool(line, &config->page_cache);
}

static int add_outside(const struct line *line, struct clew_config *config)
{
	if (config->outside_count == CLEW_OUTSIDE_MOST || strlen(line->value) >= IF_NAMESIZE)
		return fail(line, line->value,
			    "no name of a device, or one device too many: write a line for each");
	config->outside[config->outside_count] = strdup(line->value);
	if (!config->outside[config->outside_count])
		return clew_say(line->message, -ENOMEM, "no memory: free some");
	config->outside_count++;
	return 0;
}

static int set_messages(const struct line *line, struct clew_config *config)
{
	return set_bool(line, &config->messages);
}

static int set_runtimes(const struct line *line, struct clew_config *config)
{
	free(config->runtimes);
	config->runtimes = strdup(line->value);
	return config->runtimes ? 0 : clew_say(line->message, -ENOMEM, "no memory: free some");
}

static int set_incidents(const struct line *line, struct clew_config *config)
{
	return set_path(line, &config->incidents);
}

static int set_history(const struct line *line, struct clew_config *config)
{
	return set_path(line, &config->history);
}

static int set_metrics_file(const struct line *line, struct clew_config *config)
{
	return set_path(line, &config->metrics_file);
}

static int set_metrics_address(const struct line *line, struct clew_config *config)
{
	if (clew_http_check(line->value) < 0)
		return fail(line, line->value,
			    "no address of this machine's own: write 127.0.0.1:9464");
	free(config->metrics_address);
	config->metrics_address = strdup(line->value);
	return config->metrics_address ? 0
				       : clew_say(line->message, -ENOMEM, "no memory: free some");
}

static int set_quota(const struct line *line, struct clew_config *config)
{
	int r = set_amount(line, &config->quota);

	if (r == 0 && (!config->quota.bytes || config->quota.ns))
		r = fail(line, line->value, "no size: write 512M");
	return r;
}

static int set_quota_count(const struct line *line, struct clew_config *config)
{
	char *end;
	unsigned long count = strtoul(line->value, &end, 10);

	if (*end || !count || count > 100000)
		return fail(line, line->value, "no number from 1 to 100000: write one");
	config->quota_count = (unsigned)count;
	return 0;
}

static int set_peers(const struct line *line, struct clew_config *config)
{
	static const char *const names[] = {"{from}", "{to}", "{incident}", NULL};

	if (strlen(line->value) >= CLEW_PEERS_TEXT)
		return fail(line, line->value, "longer than 1023: put it into a script");
	for (const char *at = strchr(line->value, '{'); at; at = strchr(at + 1, '{')) {
		const char *const *name = names;

		while (*name && strncmp(at, *name, strlen(*name)))
			name++;
		if (!*name)
			return fail(line, at,
				    "no such value: there are {from}, {to} and {incident}");
	}
	return set_path(line, &config->peers);
}

/* The name of a rule, up to its colon. */
static int take_rule_name(const struct line *line, const struct clew_config *config,
			  struct clew_rule *rule)
{
	size_t length = strspn(line->value, "abcdefghijklmnopqrstuvwxyz0123456789-");

	if (line->value[length] != ':')
		return fail(line, line->value + length,
			    "the name does not end here: write lower-case letters, digits and "
			    "hyphens, and a colon behind");
	if (!length || length >= sizeof(rule->name))
		return fail(line, line->value,
			    "the name is empty or longer than 31: write another");
	memcpy(rule->name, line->value, length);
	for (size_t i = 0; i < config->rule_count; i++)
		if (!strcmp(config->rules[i].name, rule->name))
			return fail(line, line->value, "the name is there already: write another");
	return 0;
}

static int add_trigger(const struct line *line, struct clew_config *config)
{
	struct clew_rule rule = {}, *rules;
	struct clew_message said;
	const char *text;
	size_t at;
	int r = take_rule_name(line, config, &rule);

	if (r < 0)
		return r;
	text = line->value + strlen(rule.name) + 1;
	text += strspn(text, BLANKS);
	if (strlen(text) >= sizeof(rule.text) || config->rule_count == CLEW_RULES_MOST)
		return fail(line, text, "too long, or more than 64: use a shorter rule, or fewer");
	if (clew_trigger_parse(text, &rule.trigger, &at, &said) < 0)
		return fail(line, text + at, said.text);
	strcpy(rule.text, text);
	rules = realloc(config->rules, (config->rule_count + 1) * sizeof(*rules));
	if (!rules)
		return clew_say(line->message, -ENOMEM, "no memory: free some");
	config->rules = rules;
	rules[config->rule_count++] = rule;
	return 0;
}

/* ---- lines ---- */

static const struct setting {
	const char *name;
	int (*set)(const struct line *line, struct clew_config *config);
} settings[] = {
	{"ring", set_ring},
	{"rotate", set_rotate},
	{"keep", set_keep},
	{"stacks", set_stacks},
	{"memory", set_memory},
	{"page-cache", set_page_cache},
	{"outside", add_outside},
	{"messages", set_messages},
	{"runtime", set_runtimes},
	{"trigger", add_trigger},
	{"incidents", set_incidents},
	{"quota", set_quota},
	{"quota-count", set_quota_count},
	{"snapshot-peers", set_peers},
	{"history", set_history},
	{"metrics-file", set_metrics_file},
	{"metrics-address", set_metrics_address},
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static int fail_unknown(const struct line *line, const char *name)
{
	const char *nearest = settings[0].name;
	char said[160];

	for (size_t i = 1; i < SETTINGS; i++)
		if (word_distance(name, settings[i].name) < word_distance(name, nearest))
			nearest = settings[i].name;
	snprintf(said, sizeof(said), "there is no setting \"%.60s\": did you mean \"%s\"?", name,
		 nearest);
	return fail(line, line->text + strspn(line->text, BLANKS), said);
}

/* Sets what a line says; `text` is changed: its comment and the blanks at its end go. */
static int take_line(struct line *line, char *text, struct clew_config *config)
{
	char name[64];
	size_t begin = strspn(text, BLANKS), length;

	line->text = text;
	length = strcspn(text, "#\n");
	while (length && strchr(BLANKS, text[length - 1]))
		length--;
	text[length] = '\0';
	if (begin >= length)
		return 0;
	length = strcspn(text + begin, BLANKS);
	snprintf(name, sizeof(name), "%.*s", (int)length, text + begin);
	line->value = text + begin + length;
	line->value += strspn(line->value, BLANKS);
	for (size_t i = 0; i < SETTINGS; i++) {
		if (strcmp(name, settings[i].name) != 0)
			continue;
		if (!*line->value)
			return fail(line, line->value, "no value: write one behind the name");
		return settings[i].set(line, config);
	}
	return fail_unknown(line, name);
}

int clew_config_init(struct clew_config *config)
{
	*config = (struct clew_config){
		.ring = strdup("/run/clew/ring"),
		.rotate = {.ns = 5000000000},
		.keep = {.ns = 60000000000, .bytes = 256ull << 20},
		.memory = {.bytes = CLEW_NAMES_MOST},
		.page_cache = true,
		.incidents = strdup(CLEW_INCIDENTS),
		.quota = {.bytes = 1ull << 30},
		.quota_count = 200,
	};
	if (config->ring && config->incidents)
		return 0;
	clew_config_done(config);
	return -ENOMEM;
}

int clew_config_read(const char *file, struct clew_config *ret_config, struct clew_message *message)
{
	struct line line = {.file = file, .message = message};
	FILE *in = fopen(file, "re");
	char *text = NULL;
	size_t size = 0;
	int r;

	if (!in)
		return clew_say(message, -errno, "%s: %s: name the file by -c", file,
				strerror(errno));
	r = clew_config_init(ret_config);
	if (r == 0) {
		ret_config->file = strdup(file);
		r = ret_config->file ? 0 : -ENOMEM;
	}
	if (r < 0)
		clew_say(message, r, "no memory: free some");
	while (r == 0 && getline(&text, &size, in) >= 0) {
		line.number++;
		r = take_line(&line, text, ret_config);
	}
	if (r == 0 && ferror(in))
		r = clew_say(message, -errno, "%s: %s: name another file by -c", file,
			     strerror(errno));
	free(text);
	fclose(in);
	if (r < 0)
		clew_config_done(ret_config);
	return r;
}

void clew_config_done(struct clew_config *config)
{
	free(config->file);
	free(config->ring);
	free(config->incidents);
	free(config->rules);
	free(config->peers);
	for (size_t i = 0; i < config->outside_count; i++)
		free((char *)config->outside[i]);
	free(config->runtimes);
	free(config->history);
	free(config->metrics_file);
	free(config->metrics_address);
	*config = (struct clew_config){};
}

const char *clew_config_fixed(const struct clew_config *before, const struct clew_config *after)
{
	if (strcmp(before->ring, after->ring) != 0)
		return "ring";
	if (strcmp(before->metrics_address ?: "", after->metrics_address ?: "") != 0)
		return "metrics-address";
	if (strcmp(before->history ?: "", after->history ?: "") != 0)
		return "history";
	if (before->stacks != after->stacks)
		return "stacks";
	if (before->memory.bytes != after->memory.bytes)
		return "memory";
	if (before->outside_count != after->outside_count)
		return "outside";
	for (size_t i = 0; i < before->outside_count; i++)
		if (strcmp(before->outside[i], after->outside[i]) != 0)
			return "outside";
	if (before->messages != after->messages)
		return "messages";
	if (strcmp(before->runtimes ?: "", after->runtimes ?: "") != 0)
		return "runtime";
	return before->page_cache != after->page_cache ? "page-cache" : NULL;
}
