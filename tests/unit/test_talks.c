/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests which questions a recorder knows to be open, from the records of one and of several drains.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <sys/socket.h>

#include "record/stream/talks.h"
#include "store/capture.h"

#define MS	1000000ull
#define MINUTES (60000 * MS)

enum { CLIENT = 7, SERVER, PAIR, MOST = 4 };

static void message(struct clew_talks *talks, uint64_t socket, uint64_t at, uint8_t flags)
{
	const struct clew_message_record record = {
		.header = {.time = at, .cpu = 1, .kind = CLEW_KIND_MESSAGE, .flags = flags},
		.socket = socket,
		.at = flags & CLEW_MESSAGE_TIMED ? at - MS : 0,
		.task = 5,
		.bytes = 10};

	clew_talks_note(talks, &record.header);
}

static void name(struct clew_talks *talks, uint64_t socket, uint8_t flags)
{
	struct clew_socket_record record = {
		.header = {.time = 1, .kind = CLEW_KIND_SOCKET, .flags = flags},
		.inode = socket,
		.family = AF_INET};

	clew_talks_note(talks, &record.header);
}

static size_t open_of(struct clew_talks *talks, uint64_t now, struct clew_message_record *found)
{
	return clew_talks_open(&talks, 1, now, found, MOST);
}

static void a_question_is_open_until_its_answer(void **state)
{
	struct clew_talks *talks = clew_talks_new();
	struct clew_message_record found[MOST];

	(void)state;
	message(talks, CLIENT, 10 * MS, CLEW_MESSAGE_TIMED | CLEW_MESSAGE_PLACED);
	message(talks, CLIENT, 11 * MS, CLEW_MESSAGE_TIMED);
	assert_int_equal(open_of(talks, 20 * MS, found), 1);
	assert_int_equal(found[0].at, 9 * MS);
	assert_int_equal(found[0].header.time, 20 * MS);
	assert_int_equal(found[0].header.cpu, CLEW_STREAM_USER);
	assert_int_equal(found[0].header.flags, CLEW_MESSAGE_TIMED);
	assert_int_equal(found[0].task, 5);
	message(talks, CLIENT, 21 * MS, CLEW_MESSAGE_RECEIVED);
	assert_int_equal(open_of(talks, 30 * MS, found), 0);
	message(talks, CLIENT, 31 * MS, 0);
	/* It comes behind that moment, where readers find it. */
	assert_int_equal(open_of(talks, 31 * MS - 1, found), 0);
	assert_int_equal(open_of(talks, 40 * MS, found), 1);
	assert_int_equal(found[0].at, 31 * MS);
	clew_talks_free(talks);
}

static void the_side_says_which_way_asks(void **state)
{
	struct clew_talks *talks = clew_talks_new();
	struct clew_message_record found[MOST];

	(void)state;
	/* The recording began amid an answer. */
	name(talks, SERVER, CLEW_SOCKET_ACCEPTED);
	message(talks, SERVER, 10 * MS, 0);
	message(talks, PAIR, 10 * MS, CLEW_MESSAGE_RECEIVED);
	message(talks, PAIR, 11 * MS, 0);
	assert_int_equal(open_of(talks, 20 * MS, found), 0);
	message(talks, SERVER, 21 * MS, CLEW_MESSAGE_RECEIVED);
	assert_int_equal(open_of(talks, 30 * MS, found), 1);
	assert_int_equal(found[0].socket, SERVER);
	assert_int_equal(found[0].header.flags, CLEW_MESSAGE_RECEIVED | CLEW_MESSAGE_TIMED);
	clew_talks_free(talks);
}

/* Each drain sees a part, in whatever order. */
static void drains_are_put_together(void **state)
{
	struct clew_talks *talks[] = {clew_talks_new(), clew_talks_new()};
	struct clew_message_record found[MOST];

	(void)state;
	name(talks[0], CLIENT, CLEW_SOCKET_CONNECTED);
	name(talks[1], CLIENT, CLEW_SOCKET_CONNECTED);
	message(talks[0], CLIENT, 12 * MS, 0);
	message(talks[0], CLIENT, 10 * MS, 0);
	message(talks[1], CLIENT, 11 * MS, CLEW_MESSAGE_RECEIVED);
	assert_int_equal(clew_talks_open(talks, 2, 20 * MS, found, MOST), 0);
	message(talks[1], CLIENT, 21 * MS, 0);
	assert_int_equal(clew_talks_open(talks, 2, 30 * MS, found, MOST), 1);
	assert_int_equal(found[0].at, 21 * MS);
	message(talks[0], CLIENT, 32 * MS, CLEW_MESSAGE_RECEIVED);
	assert_int_equal(clew_talks_open(talks, 2, 40 * MS, found, MOST), 0);
	clew_talks_free(talks[0]);
	clew_talks_free(talks[1]);
}

static void what_is_past_is_forgotten(void **state)
{
	struct clew_talks *talks = clew_talks_new();
	struct clew_message_record found[MOST];

	(void)state;
	message(talks, CLIENT, 10 * MS, 0);
	assert_int_equal(open_of(talks, 9 * MINUTES, found), 1);
	assert_int_equal(open_of(talks, 11 * MINUTES, found), 0);
	assert_int_equal(open_of(talks, 9 * MINUTES, found), 0);
	/* More connections than there is room for. */
	for (uint64_t i = 0; i < 2 * CLEW_TALKS_ROOM; i++) {
		message(talks, 100 + i, 12 * MINUTES, 0);
		message(talks, 100 + i, 12 * MINUTES + MS, CLEW_MESSAGE_RECEIVED);
	}
	assert_int_equal(open_of(talks, 12 * MINUTES + 2 * MS, found), 0);
	message(talks, CLIENT, 12 * MINUTES + 3 * MS, 0);
	assert_int_equal(open_of(talks, 12 * MINUTES + 4 * MS, found), 1);
	clew_talks_free(talks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_is_open_until_its_answer),
		cmocka_unit_test(the_side_says_which_way_asks),
		cmocka_unit_test(drains_are_put_together),
		cmocka_unit_test(what_is_past_is_forgotten),
	};

	return cmocka_run_group_tests_name("talks", tests, NULL, NULL);
}
