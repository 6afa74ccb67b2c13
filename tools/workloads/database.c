/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A small database of processes that announce what they do: clients ask a server for
 * keys, which it has in a file, a page each, itself or through a store behind it. Two
 * clients have equal calls open when the server begins one, so that only what they
 * announced can tell which it is for. Prints what is true of it as one JSON object.
 *
 * Usage: database --variant NAME --file FILE
 *
 *	equal		both clients announce the same
 *	announced	the first one also that it calls the server's interface
 *	attribute	both an id of theirs, and the server that of the one it serves
 *	bridge		one client; what serves it announces nothing, the store behind that does
 *	middle		the same, and the server announces its call too; who waits for the store
 *sleeps when it reads
 *	polled		one client, and the server looks at shared memory now and then, as the
 *client does: nobody wakes anybody
 *	polled-bridge	as bridge, and what serves the client waits for the store in this way
 *	window		one client, whose call is over before the server's begins
 *	lazy		one client puts values, which nobody but the kernel writes to the disk
 *	nested		calls in calls of one thread, one of them left without an end
 *	layer		one thread, and probes of the program's own instead: a layer's description
 *tells what they mean
 *
 * With --await it begins when somebody listens to its probes.
 */
#include "../../include/clew/announce.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE	  4096
#define KEYS	  64
#define FIRST_KEY 17
#define ROUNDS	  4

#define POLL 2000000 /* ns between two looks at shared memory */
#define WORK 8000000 /* ns that what is asked for so takes */

struct request {
	int key;
	int client; /* pid */
};

/* Shared by all processes. */
struct shared {
	_Atomic int begun; /* clients in this round whose call is open */
	_Atomic int over;  /* rounds that are */
	/* Requests in memory: so many there were, and so many are done. */
	_Atomic int asked, answered;
	struct request request;
	_Atomic int server; /* pid */
};

static struct shared *shared;
static const char *variant;

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "database: %s: %s\n", what, strerror(errno));
	exit(1);
}

static bool is(const char *name)
{
	return !strcmp(variant, name);
}

static void nap(long ns)
{
	struct timespec time = {.tv_nsec = ns};

	nanosleep(&time, NULL);
}

static void await_slowly(_Atomic int *word, int value, long pause)
{
	while (atomic_load(word) < value)
		nap(pause);
}

static void await(_Atomic int *word, int value)
{
	await_slowly(word, value, 200000);
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* A client that has sent a request sleeps in nothing but the receiving of its reply. */
static void await_asleep(int pid)
{
	char path[32], text[256], state = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	while (state != 'S') {
		FILE *file = fopen(path, "re");
		size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
		const char *name_end;

		if (file)
			fclose(file);
		text[size] = 0;
		name_end = strrchr(text, ')');
		if (!name_end)
			die(path);
		state = name_end[2];
		if (state != 'S')
			nap(200000);
	}
}

static int file_of(const char *path, int flags)
{
	int file = open(path, O_RDWR | O_CLOEXEC | flags, 0600);

	if (file < 0)
		die(path);
	return file;
}

static void fill(const char *path)
{
	char page[PAGE];
	int file = file_of(path, O_CREAT | O_TRUNC);

	for (int key = 0; key < KEYS; key++) {
		memset(page, 'a' + key % 26, sizeof(page));
		if (write(file, page, sizeof(page)) != sizeof(page))
			die(path);
	}
	if (fsync(file))
		die(path);
	close(file);
}

/* Reads a key's page from the disk. */
static void get(const char *path, int key)
{
	void *page = NULL;
	int file = file_of(path, O_DIRECT);

	if (posix_memalign(&page, PAGE, PAGE) || pread(file, page, PAGE, (off_t)key * PAGE) != PAGE)
		die("pread");
	free(page);
	close(file);
}

static void put(const char *path, int key)
{
	char page[PAGE];
	int file = file_of(path, 0);

	memset(page, 'A' + key % 26, sizeof(page));
	if (pwrite(file, page, PAGE, (off_t)key * PAGE) != PAGE)
		die("pwrite");
	close(file);
}

static void receive(int from, void *what, size_t size)
{
	if (recv(from, what, size, MSG_WAITALL) != (ssize_t)size)
		_exit(0);
}

static void pass(int to, const void *what, size_t size)
{
	if (send(to, what, size, MSG_NOSIGNAL) != (ssize_t)size)
		_exit(0);
}

/* A descriptor that is none: requests are in memory. */
#define IN_MEMORY (-2)

static void take_request(int from, struct request *request)
{
	static int taken;

	if (from != IN_MEMORY) {
		receive(from, request, sizeof(*request));
		return;
	}
	await_slowly(&shared->asked, ++taken, POLL);
	*request = shared->request;
}

static void reply_to(int from)
{
	if (from == IN_MEMORY)
		atomic_fetch_add(&shared->answered, 1);
	else
		pass(from, "", 1);
}

static void send_request(int to, const struct request *request)
{
	if (to != IN_MEMORY) {
		pass(to, request, sizeof(*request));
		return;
	}
	shared->request = *request;
	atomic_fetch_add(&shared->asked, 1);
}

static void await_reply(int from)
{
	char reply;

	if (from == IN_MEMORY)
		await_slowly(&shared->answered, atomic_load(&shared->asked), POLL);
	else
		receive(from, &reply, 1);
}

/* Serves `from`; gives what is asked on to `store` where there is one. */
static void serve(const char *name, const char *path, int from, int store)
{
	struct request request;
	bool behind = !strcmp(name, "db-store");
	bool silent = !behind && (is("bridge") || is("polled-bridge"));
	char key[32], client[32];

	prctl(PR_SET_NAME, name);
	if (!behind)
		shared->server = getpid();
	for (;;) {
		take_request(from, &request);
		if (is("window"))
			nap(5000000);
		snprintf(key, sizeof(key), behind ? "kv/key=%d" : "key=%d", request.key);
		snprintf(client, sizeof(client), "@client=%d", request.client);
		if (behind)
			clew_announce_call(1, "store", "read", "kv/table=orders", key);
		else if (is("attribute"))
			clew_announce_call(1, "kv", "get", "table=orders", key, client);
		else if (!silent)
			clew_announce_call(1, "kv", is("lazy") ? "put" : "get", "table=orders", key,
					   store != -1 ? "calls=store" : "");
		for (uint64_t begin = now(); from == IN_MEMORY && now() - begin < WORK;)
			;
		if (store != -1) {
			send_request(store, &request);
			await_reply(store);
		} else if (is("lazy")) {
			put(path, request.key);
		} else {
			if (behind && is("middle")) {
				await_asleep(request.client);
				await_asleep(shared->server);
			}
			get(path, request.key);
		}
		if (!silent)
			clew_announce_done(1);
		reply_to(from);
	}
}

/* One client's calls; only the first one asks. */
static void ask(int number, int clients, int server)
{
	struct request request = {.client = getpid()};
	char key[32], id[32];

	prctl(PR_SET_NAME, number ? "db-second" : "db-first");
	snprintf(id, sizeof(id), "@client=%d", getpid());
	for (int round = 0; round < ROUNDS; round++) {
		await(&shared->over, round);
		request.key = FIRST_KEY + 2 * round;
		snprintf(key, sizeof(key), "kv/key=%d", request.key);
		clew_announce_call(7, number ? "report" : "app", "load", "kv/table=orders", key,
				   is("attribute") ? id : "",
				   (is("announced") && !number) || is("middle") || is("polled")
					   ? "calls=kv"
					   : "");
		atomic_fetch_add(&shared->begun, 1);
		await(&shared->begun, clients * (round + 1));
		if (number) {
			await(&shared->over, round + 1);
			clew_announce_done(7);
			continue;
		}
		send_request(server, &request);
		if (is("window"))
			clew_announce_done(7);
		await_reply(server);
		if (!is("window"))
			clew_announce_done(7);
		atomic_store(&shared->over, round + 1);
	}
	_exit(0);
}

/* get in load, and a call that has no end of its own. */
static void nest(const char *path)
{
	prctl(PR_SET_NAME, "db-nested");
	for (int round = 0; round < ROUNDS; round++) {
		char key[32];

		snprintf(key, sizeof(key), "key=%d", FIRST_KEY + 2 * round);
		clew_announce_call(7, "app", "load", "step=1");
		clew_announce_call(1, "kv", "get", "table=orders", key);
		clew_announce_call(2, "kv", "lost", "part=1");
		get(path, FIRST_KEY + 2 * round);
		clew_announce_done(1);
		nap(1000000);
		clew_announce_call(0, "kv", "check", key);
		nap(100000);
		clew_announce_done(0);
		clew_announce_done(7);
	}
	_exit(0);
}

/* The probes of a library, as its description in the test names them. */
__attribute__((noinline)) static void open_database(const char *path)
{
	CLEW_ANNOUNCE_PROBE("minidb", "open__start", "8@%0", "r"(path));
	nap(100000);
	CLEW_ANNOUNCE_PROBE("minidb", "open__done", "8@%0", "r"((uint64_t)0x1000));
}

__attribute__((noinline)) static void prepare(const char *key, uint64_t *statement)
{
	CLEW_ANNOUNCE_PROBE("minidb", "prepare__start", "8@%0 8@%1", "r"((uint64_t)0x1000),
			    "r"(key));
	nap(100000);
	*statement = 0x2000;
	CLEW_ANNOUNCE_PROBE("minidb", "prepare__done", "8@%0", "r"(statement));
}

__attribute__((noinline)) static void step(uint64_t statement, const char *path, int key)
{
	CLEW_ANNOUNCE_PROBE("minidb", "step__start", "8@%0", "r"(statement));
	get(path, key);
	CLEW_ANNOUNCE_PROBE("minidb", "step__done", "-4@%0", "r"(-1));
}

__attribute__((noinline)) static void finalize(uint64_t statement)
{
	CLEW_ANNOUNCE_PROBE("minidb", "finalize", "8@%0", "r"(statement));
}

static void use_layer(const char *path)
{
	prctl(PR_SET_NAME, "db-layer");
	open_database(path);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t statement;
		char key[32];

		snprintf(key, sizeof(key), "%d", FIRST_KEY + 2 * round);
		prepare(key, &statement);
		step(statement, path, FIRST_KEY + 2 * round);
		finalize(statement);
		step(statement, path, 1);
	}
	_exit(0);
}

static pid_t start(void (*run)(void *), void *what)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		run(what);
		_exit(0);
	}
	return pid;
}

struct part {
	const char *name; /* of a server, NULL of a client */
	const char *path;
	int number;
	int clients;
	int above;
	int below;
};

static void run_part(void *what)
{
	const struct part *part = what;

	if (part->name)
		serve(part->name, part->path, part->above, part->below);
	else if (part->clients)
		ask(part->number, part->clients, part->below);
	else if (is("layer"))
		use_layer(part->path);
	else
		nest(part->path);
}

int main(int argc, char **argv)
{
	const char *path = NULL;
	int clients, above[2], below[2] = {-1, -1};
	pid_t first, second = 0, server = 0, store = 0;
	bool two_layers;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--await")) {
			/* Both probes, for half a minute. */
			for (int turn = 0; turn < 30000 &&
					   *(volatile unsigned short *)&clew_announce_semaphore < 2;
			     turn++)
				nap(1000000);
			i--;
			continue;
		}
		if (!strcmp(argv[i], "--variant"))
			variant = argv[i + 1];
		else if (!strcmp(argv[i], "--file"))
			path = argv[i + 1];
	}
	if (!variant || !path) {
		fputs("usage: database --variant NAME --file FILE\n", stderr);
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("mmap");
	fill(path);
	two_layers = is("bridge") || is("middle") || is("polled-bridge");
	clients = is("equal") || is("announced") || is("attribute") ? 2 : 1;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, above) ||
	    (two_layers && socketpair(AF_UNIX, SOCK_STREAM, 0, below)))
		die("socketpair");
	if (is("polled"))
		above[0] = above[1] = IN_MEMORY;
	if (is("polled-bridge"))
		below[0] = below[1] = IN_MEMORY;
	if (is("nested") || is("layer")) {
		first = start(run_part, &(struct part){.path = path});
	} else {
		if (two_layers)
			store = start(run_part, &(struct part){.name = "db-store",
							       .path = path,
							       .above = below[1],
							       .below = -1});
		server = start(run_part, &(struct part){.name = "db-server",
							.path = path,
							.above = above[1],
							.below = below[0]});
		first = start(run_part, &(struct part){.clients = clients, .below = above[0]});
		if (clients > 1)
			second = start(
				run_part,
				&(struct part){.clients = clients, .number = 1, .below = above[0]});
	}
	waitpid(first, NULL, 0);
	if (second)
		waitpid(second, NULL, 0);
	if (is("lazy"))
		sync();
	for (int i = 0; i < 2; i++) {
		pid_t pid = i ? store : server;

		if (!pid)
			continue;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	printf("{\"variant\":\"%s\",\"file\":\"%s\",\"first\":%d,\"second\":%d,\"server\":%d,"
	       "\"store\":%d,\"keys\":[",
	       variant, path, first, second, server, store);
	for (int round = 0; round < ROUNDS; round++)
		printf("%s%d", round ? "," : "", FIRST_KEY + 2 * round);
	puts("]}");
	return 0;
}
