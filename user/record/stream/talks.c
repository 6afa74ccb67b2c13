/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The questions that are open at connections. */
#include "record/stream/talks.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/vector.h"
#include "store/capture.h"
#include "trace/idle.h"

/* ns: a connection may have ended, with its question open or not. */
#define FORGET_OPEN   600000000000ull
#define FORGET_CLOSED 60000000000ull

enum { SENT, RECEIVED, DIRECTIONS };

struct talk {
	uint64_t socket;
	uint64_t since;		   /* ns, when it was first noted */
	uint64_t last[DIRECTIONS]; /* ns, of the last message, 0 none */
	/* The first message since the last one in the other direction. */
	struct clew_message_record first[DIRECTIONS];
	uint8_t side; /* enum socket_side; unknown: not yet */
};

struct clew_talks {
	struct map places;  /* socket -> place in the list */
	struct vector list; /* struct talk, without holes */
};

void clew_talks_free(struct clew_talks *talks)
{
	if (!talks)
		return;
	map_done(&talks->places);
	vector_done(&talks->list);
	free(talks);
}

/* The thread that drains the rings must not ask for memory: there is room from the start. */
struct clew_talks *clew_talks_new(void)
{
	struct clew_talks *talks = calloc(1, sizeof(*talks));

	if (!talks)
		return NULL;
	talks->list.item = sizeof(struct talk);
	if (vector_reserve(&talks->list, CLEW_TALKS_ROOM) == 0 &&
	    map_reserve(&talks->places, CLEW_TALKS_ROOM) == 0)
		return talks;
	clew_talks_free(talks);
	return NULL;
}

static struct talk *talk_at(const struct clew_talks *talks, size_t index)
{
	return (struct talk *)talks->list.data + index;
}

static struct talk *find(const struct clew_talks *talks, uint64_t socket)
{
	const uint64_t *known = map_get(&talks->places, socket, 0);

	return known ? talk_at(talks, *known) : NULL;
}

/* The last one moves to the place that becomes free. */
static void drop(struct clew_talks *talks, size_t index)
{
	struct talk *talk = talk_at(talks, index), *last = talk_at(talks, --talks->list.count);
	uint64_t *moved = map_get(&talks->places, last->socket, 0);

	if (moved)
		*moved = index;
	map_remove(&talks->places, talk->socket, 0);
	*talk = *last;
}

/* NULL: there is no room. */
static struct talk *take_place(struct clew_talks *talks, uint64_t socket, uint64_t now)
{
	struct talk *known = find(talks, socket);

	if (known)
		return known;
	if (talks->list.count >= CLEW_TALKS_ROOM ||
	    map_set(&talks->places, socket, 0, talks->list.count) < 0)
		return NULL;
	known = talk_at(talks, talks->list.count++);
	*known = (struct talk){.socket = socket, .since = now, .side = SIDE_UNKNOWN};
	return known;
}

static void note_message(struct clew_talks *talks, const struct clew_message_record *message)
{
	const unsigned way = message->header.flags & CLEW_MESSAGE_RECEIVED ? RECEIVED : SENT;
	const uint64_t time = message->header.time;
	struct talk *talk = take_place(talks, message->socket, time);
	struct clew_message_record *first;

	if (!talk)
		return;
	/* A socket that shows no side belongs to who asks if its first message was sent. */
	if (talk->side == SIDE_UNKNOWN)
		talk->side = way == SENT ? SIDE_CLIENT : SIDE_SERVER;
	first = &talk->first[way];
	if (time > talk->last[!way] &&
	    (first->header.time <= talk->last[!way] || time < first->header.time))
		*first = *message;
	if (time > talk->last[way])
		talk->last[way] = time;
}

void clew_talks_note(struct clew_talks *talks, const struct clew_header *record)
{
	if (record->kind == CLEW_KIND_MESSAGE) {
		note_message(talks, (const struct clew_message_record *)record);
	} else if (record->kind == CLEW_KIND_SOCKET) {
		const struct clew_socket_record *socket = (const void *)record;
		enum socket_side side = socket_side_of(socket);
		struct talk *talk = side == SIDE_UNKNOWN
					    ? NULL
					    : take_place(talks, socket->inode, record->time);

		if (talk)
			talk->side = (uint8_t)side;
	}
}

/* The first message of the question that is open at a connection of one of the tables; NULL: none
 * is. */
static const struct clew_message_record *open_at(struct clew_talks *const *tables, size_t count,
						 const struct talk *talk)
{
	const unsigned asks = talk->side == SIDE_SERVER ? RECEIVED : SENT;
	const struct clew_message_record *question = NULL;
	uint64_t answered = 0;

	for (size_t i = 0; i < count; i++) {
		const struct talk *other = find(tables[i], talk->socket);

		if (other && other->last[!asks] > answered)
			answered = other->last[!asks];
	}
	for (size_t i = 0; i < count; i++) {
		const struct talk *other = find(tables[i], talk->socket);
		const struct clew_message_record *first = other ? &other->first[asks] : NULL;

		if (first && first->header.time > answered &&
		    (!question || first->header.time < question->header.time))
			question = first;
	}
	return question;
}

/* The same message as one of `now`. */
static struct clew_message_record stated(const struct clew_message_record *message, uint64_t now)
{
	struct clew_message_record again = *message;

	if (!(again.header.flags & CLEW_MESSAGE_TIMED))
		again.at = again.header.time;
	again.header = (struct clew_header){
		.time = now,
		.cpu = CLEW_STREAM_USER,
		.kind = CLEW_KIND_MESSAGE,
		.flags = (message->header.flags & ~CLEW_MESSAGE_PLACED) | CLEW_MESSAGE_TIMED};
	return again;
}

/* True if nothing need be known of a connection any more. */
static bool is_past(const struct clew_talks *talks, const struct talk *talk,
		    const struct clew_message_record *question, uint64_t now)
{
	uint64_t last = talk->since;

	for (unsigned way = 0; way < DIRECTIONS; way++)
		last = talk->last[way] > last ? talk->last[way] : last;
	if (question)
		return question->header.time + FORGET_OPEN <= now;
	return last + FORGET_CLOSED <= now || talks->list.count > CLEW_TALKS_ROOM / 2;
}

/* True if a table before number `i` has the connection, too. */
static bool has_earlier(struct clew_talks *const *tables, size_t i, uint64_t socket)
{
	while (i-- > 0)
		if (find(tables[i], socket))
			return true;
	return false;
}

size_t clew_talks_open(struct clew_talks *const *tables, size_t count, uint64_t now,
		       struct clew_message_record *ret_messages, size_t room)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = tables[i]->list.count; k-- > 0;) {
			const struct talk *talk = talk_at(tables[i], k);
			const struct clew_message_record *question = open_at(tables, count, talk);

			if (question && question->header.time <= now &&
			    question->header.time + FORGET_OPEN > now && found < room &&
			    !has_earlier(tables, i, talk->socket))
				ret_messages[found++] = stated(question, now);
		}
	for (size_t i = 0; i < count; i++)
		for (size_t k = tables[i]->list.count; k-- > 0;) {
			const struct talk *talk = talk_at(tables[i], k);

			if (is_past(tables[i], talk, open_at(tables, count, talk), now))
				drop(tables[i], k);
		}
	return found;
}
