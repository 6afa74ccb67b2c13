/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The hosts of a stitched trace. */
#include "words/hosts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "format/text.h"

/* Takes the next one of "web 0,db 21400,disk -". False: there is none. */
static bool next_host(const char **hosts, char *name, size_t size, uint64_t *ret_error,
		      bool *ret_known)
{
	size_t length = strcspn(*hosts, " ,");
	char *end;

	if (!length)
		return false;
	snprintf(name, size, "%.*s", (int)length, *hosts);
	*hosts += length;
	*hosts += **hosts == ' ';
	*ret_error = strtoull(*hosts, &end, 10);
	*ret_known = end != *hosts;
	*hosts += strcspn(*hosts, ",");
	*hosts += **hosts == ',';
	return true;
}

void clew_json_hosts(struct clew_json *json, const struct clew_trace *trace)
{
	const char *hosts = clew_trace_meta(trace, "hosts");
	char name[HOST_NAME_MAX + 1];
	uint64_t error;
	bool known;

	if (!hosts)
		return;
	clew_json_array(json, "hosts");
	while (next_host(&hosts, name, sizeof(name), &error, &known)) {
		clew_json_object(json, NULL);
		clew_json_string(json, "host", name);
		if (known)
			clew_json_unsigned(json, "error_ns", error);
		else
			clew_json_null(json, "error_ns");
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

void clew_print_hosts(FILE *out, const struct clew_trace *trace)
{
	const char *hosts = clew_trace_meta(trace, "hosts"), *sign = " ";
	char first[HOST_NAME_MAX + 1], name[HOST_NAME_MAX + 1];
	uint64_t error;
	bool known;

	if (!hosts || !next_host(&hosts, first, sizeof(first), &error, &known))
		return;
	fprintf(out,
		"times are by the clock of %s; how far those of other hosts may be off:", first);
	while (next_host(&hosts, name, sizeof(name), &error, &known)) {
		fprintf(out, "%s%s %s", sign, name, known ? CLEW_DURATION(error) : "not known");
		sign = ", ";
	}
	putc('\n', out);
}

/* Finds how far a host's clock may be off against the first one's. */
static bool error_of(const struct clew_trace *trace, const char *host, uint64_t *ret_error)
{
	const char *hosts = clew_trace_meta(trace, "hosts");
	char name[HOST_NAME_MAX + 1];
	bool known;

	while (hosts && next_host(&hosts, name, sizeof(name), ret_error, &known))
		if (!strcmp(name, host))
			return known;
	return false;
}

bool clew_hosts_same(const struct clew_trace *trace, uint32_t one, uint32_t other)
{
	const struct clew_trace_task *a, *b;

	if (!clew_trace_meta(trace, "hosts"))
		return true;
	a = clew_trace_task(trace, one);
	b = clew_trace_task(trace, other);
	return a && b && a->host && b->host && !strcmp(a->host, b->host);
}

bool clew_hosts_error(const struct clew_trace *trace, uint32_t from, uint32_t to,
		      uint64_t *ret_error)
{
	const struct clew_trace_task *one = clew_trace_task(trace, from),
				     *other = clew_trace_task(trace, to);
	uint64_t own, others;

	if (!one || !other || !one->host || !other->host || !strcmp(one->host, other->host) ||
	    !error_of(trace, one->host, &own) || !error_of(trace, other->host, &others))
		return false;
	*ret_error = own + others;
	return true;
}
