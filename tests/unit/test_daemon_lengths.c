/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lengths that the daemon counts: each is in the right bucket, and has the right incident. */
#include "daemon/answers.h"
#include "daemon/lengths.h"
#include "daemon/ongoing.h"
#include "daemon/peers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

static void test_bounds(void **state)
{
	char *end;

	(void)state;
	for (unsigned i = 0; i < BUCKETS_BOUNDS; i++) {
		const struct bucket_bound *bound = &buckets_bounds[i];

		assert_true(!i || bound->ns > bound[-1].ns);
		assert_int_equal((uint64_t)(strtod(bound->seconds, &end) * 1e9 + 0.5), bound->ns);
		assert_int_equal(*end, '\0');
		/* A length that is the bound lies below it. */
		assert_int_equal(buckets_of(bound->ns), i);
		assert_int_equal(buckets_of(bound->ns + 1), i + 1);
	}
	assert_int_equal(buckets_bounds[0].ns, 10000);
	assert_int_equal(buckets_bounds[BUCKETS_BOUNDS - 1].ns, 10000000000);
	assert_int_equal(buckets_of(0), 0);
	assert_int_equal(buckets_of(UINT64_MAX), BUCKETS_BOUNDS);
}

static void test_counts(void **state)
{
	static struct lengths lengths;
	uint64_t known[LENGTHS_KINDS] = {}, count = 0, below = 0;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		const unsigned kind = (unsigned)rand() % LENGTHS_KINDS;
		const uint64_t ns = 1ull << rand() % 40;

		known[kind] += ns;
		below += ns <= 25000;
		lengths_add(&lengths, kind, ns);
	}
	for (unsigned kind = 0; kind < LENGTHS_KINDS; kind++) {
		const struct buckets *buckets = &lengths.kinds[kind];
		uint64_t all = 0;

		for (unsigned i = 0; i < BUCKETS; i++)
			all += buckets->counts[i];
		assert_int_equal(all, buckets->count);
		assert_int_equal(buckets->ns, known[kind]);
		count += all;
		below -= buckets->counts[0] + buckets->counts[1];
	}
	assert_int_equal(count, 10000);
	assert_int_equal(below, 0);
}

static void test_incidents(void **state)
{
	static struct lengths lengths;
	struct clew_slow slow = {.start = 5000, .end = 45000, .at = 55000, .kind = CLEW_WAIT_LOCK};
	const struct length_example *of = lengths.examples[CLEW_WAIT_LOCK];

	(void)state;
	lengths_explain(&lengths, &slow, "first", 1000000);
	assert_string_equal(of[2].incident, "first");
	assert_int_equal(of[2].ns, 40000);
	/* The rule was met later than the wait ended. */
	assert_int_equal(of[2].wall, 990000);
	lengths_explain(&lengths, &slow, "second", 2000000);
	assert_string_equal(of[2].incident, "second");
	/* The length of an open wait is not known, and an operation is no wait. */
	slow.open = true;
	lengths_explain(&lengths, &slow, "third", 2000000);
	slow.open = false;
	slow.kind = CLEW_SLOW_OPERATION;
	lengths_explain(&lengths, &slow, "third", 2000000);
	assert_string_equal(of[2].incident, "second");
	for (unsigned i = 0; i < BUCKETS; i++)
		assert_true(i == 2 || !of[i].incident[0]);
}

static void test_ongoing(void **state)
{
	const uint64_t begin = 5 * ONGOING_PERIOD;
	struct ongoing ongoing = {};
	const struct ongoing_kind *of = &ongoing.kinds[CLEW_WAIT_PIPE];

	(void)state;
	assert_true(ongoing_begin(&ongoing, begin));
	ongoing_add(&ongoing, CLEW_WAIT_PIPE, begin - 30);
	ongoing_add(&ongoing, CLEW_WAIT_PIPE, begin - 70);
	ongoing_add(&ongoing, CLEW_WAIT_PIPE, begin - 50);
	/* A record of this moment may come late. */
	ongoing_add(&ongoing, CLEW_WAIT_LOCK, begin + 1);
	assert_true(of->seen && of->count == 3 && of->longest == 70);
	assert_int_equal(ongoing.kinds[CLEW_WAIT_LOCK].longest, 0);
	assert_false(ongoing_begin(&ongoing, begin + ONGOING_PERIOD - 1));
	assert_int_equal(of->count, 3);
	/* A kind stays that was seen. */
	assert_true(ongoing_begin(&ongoing, begin + ONGOING_PERIOD));
	assert_true(of->seen && !of->count && !of->longest);
	assert_false(ongoing.kinds[CLEW_WAIT_READ].seen);
}

static uint64_t all_answered(const struct answers *answers)
{
	uint64_t all = 0;

	for (size_t i = 0; i < answers->count; i++)
		all += answers->of[i].buckets.ns;
	return all;
}

static void test_answers(void **state)
{
	static struct answers answers;
	struct clew_block_request request = {.completed = 5000, .bytes = 4096};
	uint64_t known = 0;

	(void)state;
	/* It is not known when this one was queued. */
	answers_add(&answers, &request);
	assert_int_equal(answers.count, 0);
	/* This one was counted when it was written. */
	request.queued = 1;
	request.again = true;
	answers_add(&answers, &request);
	assert_int_equal(answers.count, 0);
	request.again = false;
	for (unsigned i = 0; i < 10000; i++) {
		request.device = (uint32_t)rand() % 10;
		request.operation = (uint32_t)rand() % 2;
		request.reason = (uint8_t)(rand() % CLEW_REQUEST_REASON_COUNT);
		request.queued = 1 + (uint64_t)rand() % 5000;
		known += request.completed - request.queued;
		answers_add(&answers, &request);
		assert_int_equal(all_answered(&answers), known);
	}
	assert_int_equal(answers.count, ANSWERS_MOST + 1);
	assert_null(answers.of[ANSWERS_MOST].operation);
	for (unsigned i = 0; i < ANSWERS_MOST; i++)
		for (unsigned k = 0; k < i; k++)
			assert_false(answers.of[i].device == answers.of[k].device &&
				     !strcmp(answers.of[i].operation, answers.of[k].operation) &&
				     !strcmp(answers.of[i].reason, answers.of[k].reason));
}

static void take_socket(struct peers *peers, uint64_t inode, uint16_t port, uint8_t flags)
{
	struct clew_socket_record socket = {.header = {.kind = CLEW_KIND_SOCKET, .flags = flags},
					    .inode = inode,
					    .family = AF_INET,
					    .local_port = 40000,
					    .peer_port = port,
					    .remote = {10, 0, 0, 7}};

	assert_int_equal(peers_take_socket(peers, &socket), 0);
}

static void take_message(struct peers *peers, uint64_t inode, uint64_t at, uint8_t flags)
{
	struct clew_message_record message = {
		.header = {.kind = CLEW_KIND_MESSAGE,
			   .time = at + 5000,
			   .flags = flags | CLEW_MESSAGE_PLACED | CLEW_MESSAGE_TIMED},
		.at = at,
		.socket = inode,
		.bytes = 100,
		.round_trip = 50,
		.resent = (uint32_t)(at / 1000000),
	};

	peers_take_message(peers, &message);
}

/* A question, and an answer in two parts. */
static void exchange(struct peers *peers, uint64_t inode, uint64_t at, uint64_t took, uint8_t flags)
{
	take_message(peers, inode, at, flags);
	take_message(peers, inode, at + took, flags | CLEW_MESSAGE_RECEIVED);
	take_message(peers, inode, at + took + took / 2, flags | CLEW_MESSAGE_RECEIVED);
}

static void test_peers(void **state)
{
	static struct peers peers;

	(void)state;
	/* Within this machine, at a server's end, and of nobody's socket. */
	take_socket(&peers, 1, 80, CLEW_SOCKET_CONNECTED);
	take_socket(&peers, 2, 80, CLEW_SOCKET_ACCEPTED);
	exchange(&peers, 1, 1000, 100000, 0);
	exchange(&peers, 2, 1000, 100000, CLEW_MESSAGE_OUTSIDE);
	exchange(&peers, 3, 1000, 100000, CLEW_MESSAGE_OUTSIDE);
	assert_int_equal(peers.count, 0);
	/* The round trip of 50 us is not the server's; a socket that is stated again goes on. */
	take_socket(&peers, 4, 5432, CLEW_SOCKET_CONNECTED);
	exchange(&peers, 4, 1000, 150000, CLEW_MESSAGE_OUTSIDE);
	take_socket(&peers, 4, 5432, CLEW_SOCKET_CONNECTED);
	exchange(&peers, 4, 3000000, 20000, CLEW_MESSAGE_OUTSIDE);
	assert_int_equal(peers.count, 1);
	assert_string_equal(peers.of[0].name, "10.0.0.7:5432");
	assert_int_equal(peers.of[0].buckets.count, 2);
	assert_int_equal(peers.of[0].buckets.ns, 100000);
	assert_int_equal(peers.of[0].resent, 3);
	/* Its number is that of another socket now. */
	take_socket(&peers, 4, 5433, CLEW_SOCKET_CONNECTED);
	take_message(&peers, 4, 4000000, CLEW_MESSAGE_OUTSIDE | CLEW_MESSAGE_RECEIVED);
	assert_int_equal(peers.of[1].buckets.count, 0);
	for (unsigned i = 0; i < PEERS_SOCKETS_MOST + 10; i++) {
		take_socket(&peers, 100 + i, (uint16_t)(1 + i % 200), CLEW_SOCKET_CONNECTED);
		exchange(&peers, 100 + i, 1000, 150000, CLEW_MESSAGE_OUTSIDE);
		assert_true(peers.ends.count <= PEERS_SOCKETS_MOST);
	}
	assert_int_equal(peers.count, PEERS_MOST + 1);
	assert_string_equal(peers.of[PEERS_MOST].name, "");
	assert_true(peers.of[PEERS_MOST].buckets.count > PEERS_SOCKETS_MOST / 2);
	peers_done(&peers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),	  cmocka_unit_test(test_counts),
		cmocka_unit_test(test_incidents), cmocka_unit_test(test_ongoing),
		cmocka_unit_test(test_answers),	  cmocka_unit_test(test_peers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
