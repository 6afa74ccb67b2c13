/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Questions and answers, as what is sent and received at one end of a connection shows them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "trace/talk.h"

#define MOST 8
#define US   1000ull

/* An end, and the questions whose answers are over. */
struct heard {
	struct talk_end end;
	struct talk over[MOST];
	size_t count;
};

/* `at`: when the bytes left or came, in us; the call is over 2 us later. */
static void take(struct heard *heard, uint8_t flags, uint64_t at, uint32_t task)
{
	const struct clew_message_record message = {
		.header = {.time = (at + 2) * US, .flags = flags | CLEW_MESSAGE_TIMED},
		.at = at * US,
		.task = task,
		.bytes = 10,
	};

	if (talk_take(&heard->end, &message, message.at, false, &heard->over[heard->count]))
		heard->count++;
	assert_true(heard->count < MOST);
}

static void sent(struct heard *heard, uint64_t at)
{
	take(heard, 0, at, 1);
}

static void received(struct heard *heard, uint64_t at)
{
	take(heard, CLEW_MESSAGE_RECEIVED, at, 1);
}

static void assert_over(const struct heard *heard, size_t number, uint64_t from, uint64_t to)
{
	assert_true(number < heard->count);
	assert_int_equal(heard->over[number].asked, from * US);
	assert_int_equal(heard->over[number].over, to * US);
}

/* A client has the answer when its call is over. */
static void test_client(void **state)
{
	struct heard heard = {.end.side = SIDE_CLIENT};

	(void)state;
	received(&heard, 50); /* a greeting */
	sent(&heard, 100);
	received(&heard, 300);
	sent(&heard, 310);
	sent(&heard, 311); /* the same question goes on */
	received(&heard, 400);
	received(&heard, 450); /* and so does the answer */
	assert_int_equal(heard.count, 1);
	sent(&heard, 500);
	assert_int_equal(heard.count, 2);
	assert_over(&heard, 0, 100, 302);
	assert_over(&heard, 1, 310, 452);
	assert_int_equal(heard.end.talk.asked, 500 * US);
	assert_int_equal(heard.end.talk.answered, 0);
	assert_false(heard.end.pipelined);
}

/* A server's answer is over as it has left. */
static void test_server(void **state)
{
	struct heard heard = {.end.side = SIDE_SERVER};

	(void)state;
	sent(&heard, 50);
	received(&heard, 100);
	sent(&heard, 300);
	received(&heard, 400);
	sent(&heard, 410);
	received(&heard, 500);
	assert_int_equal(heard.count, 2);
	assert_over(&heard, 0, 100, 300);
	assert_over(&heard, 1, 400, 410);
	assert_false(heard.end.pipelined);
}

/* An answer is over once it pauses for longer than it took to begin. */
static void test_stream(void **state)
{
	struct heard heard = {.end.side = SIDE_CLIENT};

	(void)state;
	sent(&heard, 100);
	received(&heard, 200);
	received(&heard, 300);
	for (uint64_t at = 500; at < 5000; at += 200)
		received(&heard, at);
	assert_int_equal(heard.count, 1);
	assert_over(&heard, 0, 100, 302);
	assert_int_equal(heard.end.talk.asked, 0);
}

/* One thread sends and another one receives, and the call of the first one is over later. */
static void test_two_threads(void **state)
{
	struct heard client = {.end.side = SIDE_CLIENT}, server = {.end.side = SIDE_SERVER};

	(void)state;
	sent(&client, 100);
	received(&client, 200);
	received(&client, 310);
	sent(&client, 250); /* before what came at 310 */
	sent(&client, 400);
	assert_int_equal(client.count, 2);
	assert_over(&client, 0, 100, 202);
	assert_over(&client, 1, 250, 312);

	received(&server, 100);
	received(&server, 300);
	sent(&server, 200); /* before what came at 300 */
	sent(&server, 400);
	received(&server, 500);
	assert_int_equal(server.count, 2);
	assert_over(&server, 0, 100, 200);
	assert_over(&server, 1, 300, 400);
	assert_false(client.end.pipelined || server.end.pipelined);
}

/* Questions that leave while answers lie there, again and again, are open at once. */
static void test_pipeline(void **state)
{
	struct heard client = {.end.side = SIDE_CLIENT}, server = {.end.side = SIDE_SERVER};

	(void)state;
	for (uint64_t at = 100; at < 600; at += 100) {
		take(&client, CLEW_MESSAGE_CROSSED, at, 1);
		received(&client, at + 50);
		received(&server, at);
		take(&server, CLEW_MESSAGE_CROSSED, at + 50, 1);
	}
	assert_true(client.end.pipelined);
	assert_true(server.end.pipelined);
	/* The third crossing shows it. */
	assert_int_equal(client.count, 1);
	assert_over(&client, 0, 100, 152);
	assert_int_equal(client.end.talk.asked, 200 * US);
	assert_int_equal(client.end.talk.parts, 4);
	assert_int_equal(server.count, 2);
	assert_int_equal(server.end.talk.asked, 300 * US);
}

/* A handshake's last answer may cross the first question. */
static void test_handshake(void **state)
{
	struct heard client = {.end.side = SIDE_CLIENT};

	(void)state;
	sent(&client, 100);
	received(&client, 200);
	take(&client, CLEW_MESSAGE_CROSSED, 210, 1);
	received(&client, 220);
	received(&client, 230);
	sent(&client, 300);
	received(&client, 400);
	sent(&client, 500);
	assert_false(client.end.pipelined);
	assert_int_equal(client.count, 3);
	assert_over(&client, 1, 210, 232);
	assert_over(&client, 2, 300, 402);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client),	 cmocka_unit_test(test_server),
		cmocka_unit_test(test_stream),	 cmocka_unit_test(test_two_threads),
		cmocka_unit_test(test_pipeline), cmocka_unit_test(test_handshake),
	};

	return cmocka_run_group_tests_name("talk", tests, NULL, NULL);
}
