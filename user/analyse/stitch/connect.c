/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Dependencies between traces of hosts by the bytes of TCP connections: what one end took, the
 * other end sent. The ends find each other by the sequence numbers of the first bytes, which both
 * have and which no router changes.
 *
 * Each message that was taken bounds the clocks. One that ended a wait becomes a dependency, from
 * when the sender's bytes left. There is none where the sender's message is not certain.
 */
#include "analyse/stitch/internal.h"
#include "base/map.h"
#include "convert/rows.h"
#include <clew/kernel/records.h>
#include <clew/tokens.h>
#include <stdio.h>

/* One end of a connection. */
struct side {
	uint64_t inode;
	uint32_t trace;
	uint32_t sent_first, received_first; /* both 0: not known */
	uint32_t other;			     /* the other end, CLEW_NONE none */
	uint32_t first, count;		     /* its messages */
	uint16_t family, local_port, peer_port;
	uint8_t local[ATTRIBUTE_ADDRESS_SIZE], remote[ATTRIBUTE_ADDRESS_SIZE];
	bool exact; /* the other end's addresses are these */
};

struct moved {
	uint32_t side, span, bytes;
	bool received;
	bool crossed;	    /* `at` may be when TCP acknowledged what came meanwhile */
	clew_time time, at; /* at 0: not known */
	uint64_t position;
};

struct connect {
	struct stitch *s;
	struct map side_of; /* trace and inode -> number */
	struct vector sides, moved;
	struct row row;
};

static struct side *side_at(const struct connect *c, uint32_t number)
{
	return (struct side *)c->sides.data + number;
}

/* ---- what the traces have ---- */

static int find_side(struct connect *c, uint32_t trace, uint64_t inode, uint32_t *ret_number)
{
	const uint64_t *known = map_get(&c->side_of, inode, trace);

	if (known) {
		*ret_number = (uint32_t)*known;
		return 0;
	}
	if (vector_reserve(&c->sides, c->sides.count + 1) < 0 ||
	    map_set(&c->side_of, inode, trace, c->sides.count) < 0)
		return -ENOMEM;
	*ret_number = (uint32_t)c->sides.count++;
	*side_at(c, *ret_number) =
		(struct side){.inode = inode, .trace = trace, .other = CLEW_NONE};
	return 0;
}

static int take_messages(struct connect *c, uint32_t trace, uint32_t span, const char *value)
{
	int r = row_start(&c->row, ATTRIBUTE_MESSAGES, "messages", value);

	while (r == 0 && (r = row_next(&c->row)) > 0) {
		const union attribute_field *fields = row_fields(&c->row);
		const uint64_t flags = fields[5].number;
		struct moved moved = {.span = span,
				      .received = flags & CLEW_MESSAGE_RECEIVED,
				      .crossed = flags & CLEW_MESSAGE_CROSSED,
				      .time = (clew_time)fields[0].number,
				      .at = (clew_time)fields[1].number,
				      .position = fields[3].number,
				      .bytes = (uint32_t)fields[4].number};

		r = find_side(c, trace, fields[2].number, &moved.side);
		if (r == 0)
			r = vector_reserve(&c->moved, c->moved.count + 1);
		if (r == 0)
			((struct moved *)c->moved.data)[c->moved.count++] = moved;
	}
	return r == -ENOMEM ? r : 0;
}

/* The addresses of a socket, if it is an end of a connection here. */
static int take_socket(struct connect *c, uint32_t trace, const char *key, const char *value)
{
	const char *name = key + strlen("socket.");
	const union attribute_field *fields;
	const uint64_t *known;
	struct side *side;
	uint64_t inode;
	int r;

	if (!scan_value_number(&name, &inode))
		return 0;
	known = map_get(&c->side_of, inode, trace);
	r = known ? row_start(&c->row, ATTRIBUTE_KNOWN_SOCKET, key, value) : 0;
	if (!known || r < 0)
		return r;
	r = row_next(&c->row);
	if (r <= 0 || c->row.count < 12)
		return r == -ENOMEM ? r : 0;
	fields = row_fields(&c->row);
	side = side_at(c, (uint32_t)*known);
	side->family = (uint16_t)fields[1].number;
	side->local_port = (uint16_t)fields[3].number;
	side->peer_port = (uint16_t)fields[4].number;
	memcpy(side->local, fields[5].address, sizeof(side->local));
	memcpy(side->remote, fields[6].address, sizeof(side->remote));
	side->sent_first = (uint32_t)fields[10].number;
	side->received_first = (uint32_t)fields[11].number;
	return 0;
}

static int take_trace(struct connect *c, uint32_t trace)
{
	const struct clew_model *model = c->s->traces[trace];
	int r = 0;

	for (uint32_t i = 0; i < model->span_count && r == 0; i++) {
		const char *value =
			clew_model_attribute(model, model->spans[i].attributes, "messages");

		r = value ? take_messages(c, trace, i, value) : 0;
	}
	for (uint32_t i = 0; i < model->attribute_count && r == 0; i++) {
		const char *key = clew_model_string(model, model->attributes[i].key);

		if (!strncmp(key, "socket.", strlen("socket.")))
			r = take_socket(c, trace, key,
					clew_model_string(model, model->attributes[i].value));
	}
	return r;
}

static int by_place(const void *one, const void *other)
{
	const struct moved *a = one, *b = other;

	if (a->side != b->side)
		return a->side < b->side ? -1 : 1;
	if (a->received != b->received)
		return a->received ? 1 : -1;
	if (a->position != b->position)
		return a->position < b->position ? -1 : 1;
	return (a->time > b->time) - (a->time < b->time);
}

/* ---- which ends belong together ---- */

static bool is_other(const struct side *a, const struct side *b)
{
	return a->trace != b->trace && (a->sent_first || a->received_first) &&
	       a->sent_first == b->received_first && a->received_first == b->sent_first;
}

static bool has_its_addresses(const struct side *a, const struct side *b)
{
	return a->family == b->family && a->local_port == b->peer_port &&
	       a->peer_port == b->local_port && !memcmp(a->local, b->remote, sizeof(a->local)) &&
	       !memcmp(a->remote, b->local, sizeof(a->remote));
}

static int by_numbers(const void *one, const void *other)
{
	const struct side *const *a = one, *const *b = other;
	/* Both ends have the same sum. */
	uint32_t left = (*a)->sent_first + (*a)->received_first,
		 right = (*b)->sent_first + (*b)->received_first;

	return (left > right) - (left < right);
}

/* The one end that can be the other one of a side: with its addresses, or else through NAT. NULL:
 * there is none, or there are several. */
static struct side *only_other(struct side *const *all, size_t count, const struct side *side,
			       bool *ret_exact)
{
	struct side *found[2] = {NULL, NULL};
	size_t counts[2] = {0, 0};

	for (size_t i = 0; i < count; i++) {
		bool exact = has_its_addresses(side, all[i]);

		if (!is_other(side, all[i]))
			continue;
		found[exact] = all[i];
		counts[exact]++;
	}
	*ret_exact = counts[1] > 0;
	return counts[*ret_exact] == 1 ? found[*ret_exact] : NULL;
}

/* True if two sides are one end, in captures of one host. */
static bool is_same(const struct side *a, const struct side *b)
{
	return a->trace != b->trace && a->inode == b->inode && a->sent_first == b->sent_first &&
	       a->received_first == b->received_first && a->local_port == b->local_port;
}

static uint64_t count_repeated(struct side *const *all, size_t count)
{
	uint64_t repeated = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			repeated += is_same(all[i], all[j]);
	return repeated;
}

static int match_sides(struct connect *c)
{
	struct side **all = malloc((c->sides.count + 1) * sizeof(struct side *));
	size_t count = c->sides.count;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		all[i] = side_at(c, (uint32_t)i);
	if (count)
		qsort(all, count, sizeof(struct side *), by_numbers);
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && !by_numbers(&all[first], &all[end]); end++)
			;
		c->s->result->connected.repeated += count_repeated(all + first, end - first);
		for (size_t i = first; i < end; i++) {
			bool exact, back;
			struct side *other = only_other(all + first, end - first, all[i], &exact);

			if (!other || only_other(all + first, end - first, other, &back) != all[i])
				continue;
			all[i]->other = (uint32_t)(other - side_at(c, 0));
			all[i]->exact = exact;
		}
	}
	free(all);
	return 0;
}

/* ---- which bytes belong together ---- */

/* A time may be rounded by that much: TCP counts us, and clew steps. */
#define ROUNDED (1000 + CLEW_CLOCK_STEP)
/* A message that is smaller than that, and before which nothing waited, leaves in one packet. */
#define ONE_PACKET 500

static bool covers(const struct moved *sent, uint64_t position)
{
	return sent->position <= position && position - sent->position < sent->bytes;
}

/* The one message that has a byte; NULL: none is known, or several seem to. */
static const struct moved *sender_of(const struct moved *sent, uint32_t count, uint64_t position)
{
	uint32_t low = 0, high = count;

	/* Behind the last one that begins at the byte or before. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (sent[middle].position <= position)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || !covers(&sent[low - 1], position) ||
	    (low > 1 && covers(&sent[low - 2], position)))
		return NULL;
	return &sent[low - 1];
}

/* The last message all of whose bytes were taken by then, of those from `first` to `last`; NULL:
 * `first` is the last one, and not all of it was. Its rest may have left later. */
static const struct moved *taken_whole(const struct moved *first, const struct moved *last,
				       const struct moved *taken)
{
	if (last->position + last->bytes <= taken->position + taken->bytes)
		return last;
	return last > first ? last - 1 : NULL;
}

/* The bounds that what was taken sets on the clocks. */
static int note_bounds(struct connect *c, const struct moved *sent, const struct moved *first,
		       const struct moved *last, const struct moved *taken)
{
	const struct moved *whole = taken_whole(first, last, taken);
	struct stitch_end origin = {.trace = side_at(c, last->side)->trace};
	struct stitch_end destination = {.trace = side_at(c, taken->side)->trace,
					 .span = taken->span,
					 .at = taken->time + ROUNDED};
	bool alone = first == last && first->position == taken->position &&
		     first->bytes <= ONE_PACKET && (first == sent || first[-1].at);

	if (!whole || !whole->at || whole->crossed)
		return 0;
	origin.span = whole->span;
	origin.at = whole->at;
	if (alone && taken->at)
		destination.at = taken->at + ROUNDED;
	return stitch_note(c->s, CLEW_MODE_AND, &origin, 1, &destination, 1);
}

/* True if nothing but a wait for the CPU lies between an ES and the one before. */
static bool only_lost_cpu(const struct clew_model *model, uint32_t es)
{
	if (model->es[es - 1].end == model->es[es].start)
		return true;
	return model->es[es].in == CLEW_NONE && model->es[es].wait != CLEW_NONE &&
	       model->waits[model->es[es].wait].kind == CLEW_SEGMENT_RUNQUEUE;
}

/* True if the wait before an ES was for a socket. */
static bool was_for(const struct clew_model *model, uint32_t es, uint64_t inode)
{
	uint32_t attributes, wait = model->es[es].wait;
	const char *object, *id;
	uint64_t number;

	if (wait == CLEW_NONE)
		return false;
	attributes = model->waits[wait].attributes;
	object = clew_model_attribute(model, attributes, "object");
	id = clew_model_attribute(model, attributes, "id");
	return object && !strncmp(object, "socket", strlen("socket")) && id &&
	       scan_value_number(&id, &number) && number == inode;
}

/* True if the wait before an ES was in the call of the wait before that one: a fault in it, say, or
 * a lock. */
static bool only_in_call(const struct clew_model *model, uint32_t es)
{
	uint32_t wait = model->es[es].wait;
	const char *call =
		wait == CLEW_NONE
			? NULL
			: clew_model_attribute(model, model->waits[wait].attributes, "call_id");

	return call && !strcmp(call, "same");
}

/* The ES with which a thread went on after the wait that ended so that it could take a message;
 * CLEW_NONE: it did not wait for that socket just before, or the bytes had been there already. */
static uint32_t waited_for(const struct clew_model *model, const struct moved *taken,
			   uint64_t inode)
{
	struct clew_range range = model->spans[taken->span].elementary;
	uint32_t es = clew_model_es_at(model, taken->span, taken->time);

	if (es == CLEW_NONE)
		return CLEW_NONE;
	while (es > range.first && !was_for(model, es, inode) &&
	       (only_lost_cpu(model, es) || only_in_call(model, es)))
		es--;
	if (es == range.first || !was_for(model, es, inode) || model->es[es].in != CLEW_NONE ||
	    (taken->at && taken->at + ROUNDED < model->es[es - 1].end))
		return CLEW_NONE;
	return es;
}

static int add_dependency(struct connect *c, const struct moved *sent, const struct moved *taken,
			  uint32_t es)
{
	const struct side *from = side_at(c, sent->side), *to = side_at(c, taken->side);
	const struct clew_model *model = c->s->traces[to->trace];
	struct stitch_added added = {.statement = CLEW_NONE,
				     .first = (uint32_t)c->s->ends.count,
				     .origins = 1,
				     .destinations = 1,
				     .evidence = from->exact ? "exact" : "observed"};
	struct stitch_end *ends;
	char key[48];
	int r;

	snprintf(key, sizeof(key), "%u+%llu", from->sent_first,
		 (unsigned long long)taken->position);
	r = strings_add(&c->s->keys, key, &added.key);
	if (r < 0 || vector_reserve(&c->s->ends, c->s->ends.count + 2) < 0 ||
	    vector_reserve(&c->s->added, c->s->added.count + 1) < 0)
		return r < 0 ? r : -ENOMEM;
	ends = (struct stitch_end *)c->s->ends.data + c->s->ends.count;
	ends[0] = (struct stitch_end){
		.trace = from->trace, .span = sent->span, .at = sent->at ?: sent->time};
	ends[1] = (struct stitch_end){
		.trace = to->trace, .span = taken->span, .at = model->es[es].start};
	c->s->ends.count += 2;
	((struct stitch_added *)c->s->added.data)[c->s->added.count++] = added;
	c->s->result->connected.dependencies++;
	return 0;
}

/* Goes through what one end took, in order of its place, against what the other end sent. */
static int join(struct connect *c, const struct moved *sent, uint32_t sent_count,
		const struct moved *taken, uint32_t taken_count, uint64_t inode)
{
	struct clew_stitch_connected *connected = &c->s->result->connected;
	uint32_t before = CLEW_NONE;
	int r = 0;

	for (uint32_t i = 0; i < taken_count && r == 0; i++) {
		const struct clew_model *model = c->s->traces[side_at(c, taken[i].side)->trace];
		uint64_t end = taken[i].position + taken[i].bytes - 1;
		const struct moved *first = sender_of(sent, sent_count, taken[i].position),
				   *last = sender_of(sent, sent_count, end);
		uint32_t es = waited_for(model, &taken[i], inode);

		connected->messages++;
		connected->joined += first && last;
		if (last && first)
			r = note_bounds(c, sent, first, last, &taken[i]);
		if (r == 0 && first && es != CLEW_NONE && es != before)
			r = add_dependency(c, first, &taken[i], es);
		before = es != CLEW_NONE ? es : before;
	}
	return r;
}

static int join_all(struct connect *c)
{
	struct moved *all = c->moved.data;
	int r = 0;

	if (c->moved.count)
		qsort(all, c->moved.count, sizeof(*all), by_place);
	for (size_t i = 0; i < c->moved.count; i++) {
		struct side *side = side_at(c, all[i].side);

		side->first = side->count ? side->first : (uint32_t)i;
		side->count++;
	}
	for (uint32_t i = 0; i < c->sides.count && r == 0; i++) {
		const struct side *to = side_at(c, i), *from;
		uint32_t sent = 0, own = 0;

		if (to->other == CLEW_NONE)
			continue;
		from = side_at(c, to->other);
		c->s->result->connected.connections += to->trace < from->trace;
		while (sent < from->count && !all[from->first + sent].received)
			sent++;
		while (own < to->count && !all[to->first + own].received)
			own++;
		r = join(c, all + from->first, sent, all + to->first + own, to->count - own,
			 to->inode);
	}
	return r;
}

int stitch_connect(struct stitch *s)
{
	struct connect c = {
		.s = s,
		.sides.item = sizeof(struct side),
		.moved.item = sizeof(struct moved),
	};
	int r = 0;

	row_init(&c.row);
	for (uint32_t i = 0; i < s->count && r == 0; i++)
		r = take_trace(&c, i);
	if (r == 0)
		r = match_sides(&c);
	if (r == 0)
		r = join_all(&c);
	s->result->connected.ends = c.sides.count;
	row_done(&c.row);
	map_done(&c.side_of);
	vector_done(&c.sides);
	vector_done(&c.moved);
	return r;
}
