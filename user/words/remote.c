/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Words for a wait for another host's answer. */
#include "words/remote.h"

#include "format/text.h"
#include "words/describe.h"

/* A part is not mentioned if it is less than one such part of the answering. */
#define LEAST_PART 10

static uint64_t between(uint64_t from, uint64_t to)
{
	return from && to > from ? to - from : 0;
}

struct clew_remote_parts clew_remote_parts(const struct clew_exchange *exchange)
{
	struct clew_remote_parts parts = {.round_trip = (uint64_t)exchange->round_trip * 1000,
					  .open = !exchange->first};
	uint64_t sent = exchange->sent ?: exchange->from;
	uint64_t all = between(sent, parts.open ? exchange->to : exchange->first);

	parts.sending = between(exchange->from, sent);
	parts.answering = parts.open ? all : all > parts.round_trip ? all - parts.round_trip : 0;
	if (parts.open)
		return parts;
	parts.receiving = between(exchange->first, exchange->last);
	parts.taking = between(exchange->last, exchange->to);
	return parts;
}

/* Says which other parts took notable time. */
static void print_others(FILE *out, const struct clew_exchange *exchange,
			 const struct clew_remote_parts *parts)
{
	uint64_t least = parts->answering / LEAST_PART;

	if (parts->receiving > least)
		fprintf(out, ", and %s more until the last byte", CLEW_DURATION(parts->receiving));
	if (exchange->full)
		fputs("; it had no room for all of the question", out);
	if (parts->sending > least)
		fprintf(out, "; the question had left after %s", CLEW_DURATION(parts->sending));
	if (exchange->resent)
		fprintf(out, "; this end sent %u segment%s again", exchange->resent,
			exchange->resent == 1 ? "" : "s");
}

const char *clew_remote_name(const struct clew_trace *trace, const struct clew_sleep *sleep,
			     char *room, size_t size)
{
	struct object_description it;

	if (!clew_trace_remote(trace, sleep, NULL) ||
	    !object_describe(trace, &sleep->object, sleep, &it))
		return NULL;
	snprintf(room, size, "%s", it.peer.text);
	return room;
}

/* The name that a question to a server of names asks for, NULL none. */
static const char *name_asked(const struct clew_trace *trace, const struct clew_exchange *exchange)
{
	const char *name = exchange->query ? clew_trace_text(trace, exchange->query) : NULL;

	return name && name[0] ? name : NULL;
}

static void print_answering(FILE *out, const struct clew_remote_parts *parts, const char *asked)
{
	if (parts->open)
		fputs(" has not answered", out);
	else
		fprintf(out, " took %s to answer", CLEW_DURATION(parts->answering));
	if (asked) {
		fputs(" the query for ", out);
		clew_print_safe(out, asked);
	}
	if (parts->open)
		fprintf(out, " for %s", CLEW_DURATION(parts->answering));
	if (parts->round_trip)
		fprintf(out, " (round trip %s)", CLEW_DURATION(parts->round_trip));
}

bool clew_print_remote(FILE *out, const char *before, const struct clew_trace *trace,
		       const struct clew_sleep *sleep)
{
	struct clew_exchange exchange;
	struct clew_remote_parts parts;
	char room[CLEW_REMOTE_NAME];
	const char *name = clew_remote_name(trace, sleep, room, sizeof(room));

	if (!name || !clew_trace_remote(trace, sleep, &exchange))
		return false;
	parts = clew_remote_parts(&exchange);
	fputs(before, out);
	clew_print_safe(out, name[0] ? name : "the other host");
	print_answering(out, &parts, name_asked(trace, &exchange));
	fputs(": not this machine", out);
	print_others(out, &exchange, &parts);
	return true;
}

void clew_json_remote(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_sleep *sleep)
{
	struct clew_exchange exchange;
	struct clew_remote_parts parts;
	char room[CLEW_REMOTE_NAME];
	const char *name = clew_remote_name(trace, sleep, room, sizeof(room));

	if (!name || !clew_trace_remote(trace, sleep, &exchange))
		return;
	parts = clew_remote_parts(&exchange);
	clew_json_object(json, "remote");
	clew_json_string(json, "host", name[0] ? name : NULL);
	clew_json_string(json, "query", name_asked(trace, &exchange));
	clew_json_unsigned(json, "sending_ns", parts.sending);
	clew_json_unsigned(json, "answering_ns", parts.answering);
	clew_json_unsigned(json, "round_trip_ns", parts.round_trip);
	clew_json_unsigned(json, "receiving_ns", parts.receiving);
	clew_json_unsigned(json, "taking_ns", parts.taking);
	clew_json_unsigned(json, "resent", exchange.resent);
	clew_json_bool(json, "no_room", exchange.full);
	clew_json_bool(json, "open", parts.open);
	clew_json_object_end(json);
}
