/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests which waits are in an exchange. Task 1 is a client, 2 its server, 3 a task that the server
 * waits for, 4 another client; each is a process of its own.
 */
#include "explain/operations.h"
#include "synthetic.h"
#include <arpa/inet.h>
#include <sys/socket.h>

/* Sockets of the client, of its server, and of the server for the other client. */
enum { CLIENT = 71, SERVER, OTHER };

/* The differences from this: the client asks at 2000, the server waits for task 3 until 4000, and
 * answers at 5000. */
struct variant {
	const char *name;
	bool tcp;	     /* else Unix sockets */
	bool no_sides;	     /* nothing tells who connected to whom */
	bool unasked;	     /* the server sends without having been asked */
	bool counted;	     /* .. as far as wakes show; the socket says when the question left */
	bool no_answer;	     /* another task ends the client's wait */
	bool by_other;	     /* the server's wait is ended by the other client's question */
	bool client, server; /* which waits are to be in an exchange */
};

static void put_socket(struct synthetic *s, const struct variant *variant, uint64_t inode)
{
	struct clew_socket_record record = {
		.header = {.time = START - 5, .kind = CLEW_KIND_SOCKET},
		.inode = inode,
		.family = variant->tcp ? AF_INET : AF_UNIX,
		.type = SOCK_STREAM,
	};
	bool client = inode == CLIENT;

	if (variant->tcp) {
		record.local_port = client ? 5432 : 40000;
		record.peer_port = client ? 40000 : 5432;
		if (!variant->no_sides)
			record.header.flags = client ? CLEW_SOCKET_CONNECTED : CLEW_SOCKET_ACCEPTED;
	} else if (!variant->no_sides) {
		strcpy(client ? record.peer_path : record.local_path, "/run/server");
	}
	synthetic_put(s, &record, sizeof(record));
}

static struct clew_wait polls(uint64_t socket)
{
	return wait_on(SYS_poll, CLEW_OBJECT_SOCKET, socket);
}

static struct clew_trace *make(struct synthetic *s, const struct variant *variant)
{
	struct clew_wait client = polls(CLIENT);

	for (uint32_t task = 1; task <= 4; task++)
		identify(s, (struct identity){.task = task});
	for (uint64_t inode = CLIENT; inode <= OTHER; inode++)
		put_socket(s, variant, inode);
	for (uint32_t task = 1; task <= 4; task++)
		SWITCH(s, .at = 1000 + task, .cpu = task, .prev = IDLE, .next = task);
	sleeps(s, 1500, 2, 2, polls(SERVER));
	comes(s, 2010, 2, 2, (struct woken){.at = 2000, .by = variant->unasked ? 4 : 1});
	client.asked = variant->counted ? 2050 : 0;
	sleeps(s, 2100, 1, 1, client);
	if (variant->by_other) {
		sleeps(s, 3000, 2, 2, polls(OTHER));
		comes(s, 4010, 2, 2, (struct woken){.at = 4000, .by = 4});
	} else {
		sleeps(s, 3000, 2, 2, wait_on(SYS_poll, CLEW_OBJECT_EVENTFD, 9));
		comes(s, 4010, 2, 2, (struct woken){.at = 4000, .by = 3});
	}
	comes(s, 5010, 1, 1, (struct woken){.at = 5000, .by = variant->no_answer ? 3 : 2});
	sleeps(s, 6000, 2, 2, polls(SERVER));
	comes(s, 7010, 2, 2, (struct woken){.at = 7000, .by = 1});
	return synthetic_trace(s, 8000, 0);
}

static void which_are_in_one(void **state)
{
	const struct variant variants[] = {
		{.name = "unix", .client = true, .server = true},
		{.name = "tcp", .tcp = true, .client = true, .server = true},
		{.name = "who asks first", .no_sides = true, .client = true, .server = true},
		{.name = "unasked", .unasked = true},
		{.name = "unasked by tcp", .tcp = true, .unasked = true},
		{.name = "asked while busy",
		 .tcp = true,
		 .unasked = true,
		 .counted = true,
		 .client = true,
		 .server = true},
		{.name = "no answer", .no_answer = true},
		{.name = "ready for another", .by_other = true, .client = true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		const struct variant *variant = &variants[i];
		struct synthetic s = {0};
		struct clew_trace *t = make(&s, variant);
		const struct clew_sleep *client = sleep_of(t, 1, 0), *asked = sleep_of(t, 2, 0),
					*server = sleep_of(t, 2, 1), *next = sleep_of(t, 2, 2);

		if (clew_trace_in_exchange(t, client) != variant->client ||
		    clew_trace_in_exchange(t, server) != variant->server)
			fail_msg("%s", variant->name);
		assert_int_equal(wait_is_idle(t, client), !variant->client);
		assert_int_equal(wait_is_idle(t, server), !variant->server);
		/* To wait for a question is to be idle. */
		assert_true(wait_is_idle(t, asked));
		assert_true(wait_is_idle(t, next));
		clew_trace_free(t);
		synthetic_done(&s);
	}
}

/* Threads of one process have each other look up from their polls: nobody asks anything. */
static void a_bell_is_no_question(void **state)
{
	const struct clew_wait poll = wait_on(SYS_poll, CLEW_OBJECT_PIPE, 9);
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	identify(&s, (struct identity){.task = 1});
	identify(&s, (struct identity){.task = 2, .process = 1});
	for (uint32_t task = 1; task <= 2; task++)
		SWITCH(&s, .at = 1000 + task, .cpu = task, .prev = IDLE, .next = task);
	for (uint64_t at = 2000; at < 6000; at += 2000) {
		sleeps(&s, at, 1, 1, poll);
		comes(&s, at + 510, 1, 1, (struct woken){.at = at + 500, .by = 2});
		sleeps(&s, at + 1000, 2, 2, poll);
		comes(&s, at + 1510, 2, 2, (struct woken){.at = at + 1500, .by = 1});
	}
	t = synthetic_trace(&s, 8000, 0);
	for (uint32_t task = 1; task <= 2; task++)
		for (unsigned n = 0; n < 2; n++) {
			assert_false(clew_trace_in_exchange(t, sleep_of(t, task, n)));
			assert_false(clew_trace_was_asked(t, sleep_of(t, task, n)));
		}
	clew_trace_free(t);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_are_in_one),
		cmocka_unit_test(a_bell_is_no_question),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
