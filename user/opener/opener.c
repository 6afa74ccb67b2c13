/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The side that asks. There are two helper processes, one that finds files and one that reads them,
 * as a large file must not hold up the search for one whose process is about to end.
 *
 * A helper that is late is killed. If it waits for a server that has its request, not even that
 * ends it: it is left behind, and until it returns nothing of the same file system is asked for.
 * A file that was late counts once.
 *
 * Invariant: no thread waits for a helper but in poll(), and not for longer than the time that is
 * left. The locks are held for so long.
 */
#include "opener/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ending.h"
#include "base/vector.h"
#include "opener/internal.h"

#define SECOND	  1000000000ull
#define STEP_MS	  20		/* between two looks at whether the end has come */
#define LEFT_MOST 64		/* helpers that are left behind; more files are not opened */
#define LEAST	  (SECOND / 10) /* that even the last file gets */
#define AGAIN	  (10 * SECOND) /* for so long what was late is not asked again */
#define SHORTER	  3		/* times that the time halves while helpers are left behind */

struct lane {
	pthread_mutex_t lock;
	pid_t pid;   /* 0: none runs */
	pid_t owner; /* the process that it was started by: a fork of that has its own */
	int socket;
	uint64_t cpu_time; /* ns, of this helper */
};

/* A file system, or a process, for which a helper waits or has waited for too long. */
struct left {
	pid_t helper; /* 0: it has returned, or its end came */
	uint64_t place;
	uint64_t until; /* ns: it is not asked again before */
};

/* A file that was late. */
struct late {
	uint64_t place, inode;
};

static struct {
	const char *argument; /* NULL: there is no helper */
	struct lane finder, reader;
	pthread_mutex_t lock; /* for all that follows */
	struct vector left;   /* struct left */
	struct vector late;   /* struct late */
	uint64_t cpu_time;    /* ns, of helpers that are gone */
} opener = {
	.finder.lock = PTHREAD_MUTEX_INITIALIZER,
	.reader.lock = PTHREAD_MUTEX_INITIALIZER,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.left.item = sizeof(struct left),
	.late.item = sizeof(struct late),
};

/* The file that a request is about: its file system, as far as that is known before it is opened,
 * else its process; and its file. */
struct subject {
	uint64_t place, inode;
};

#define PLACE_PROCESS (1ull << 63) /* the place is a process */

void clew_opener_enable(const char *argument)
{
	opener.argument = argument;
}

/* ---- helper processes ---- */

/* Its socket becomes descriptor OPENER_SOCKET, what it might print goes nowhere, and all other
 * descriptors are closed. */
static int spawn(int socket, pid_t *ret_pid)
{
	char *const arguments[] = {(char *)(uintptr_t) "clew", (char *)(uintptr_t)opener.argument,
				   NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all;
	int r;

	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
	posix_spawnattr_setsigmask(&attributes, &all);
	r = posix_spawn_file_actions_adddup2(&actions, socket, OPENER_SOCKET);
	for (int i = OPENER_SOCKET + 1; !r && i <= STDERR_FILENO; i++)
		r = posix_spawn_file_actions_addopen(&actions, i, "/dev/null", O_RDWR, 0);
	if (!r)
		r = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
	if (!r)
		r = posix_spawn(ret_pid, "/proc/self/exe", &actions, &attributes, arguments,
				environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

static int start(struct lane *lane)
{
	int pair[2], r;

	if (lane->pid && lane->owner == getpid())
		return 0;
	if (lane->pid)
		close(lane->socket);
	lane->pid = 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	r = spawn(pair[1], &lane->pid);
	close(pair[1]);
	if (r < 0) {
		lane->pid = 0;
		close(pair[0]);
		return r;
	}
	lane->owner = getpid();
	lane->socket = pair[0];
	lane->cpu_time = 0;
	return 0;
}

/* It is killed; if it waits for a server, it stays. Returns its number. */
static pid_t stop(struct lane *lane)
{
	pid_t pid = lane->pid;

	if (!pid)
		return 0;
	close(lane->socket);
	if (lane->owner == getpid())
		kill(pid, SIGKILL);
	pthread_mutex_lock(&opener.lock);
	opener.cpu_time += lane->cpu_time;
	pthread_mutex_unlock(&opener.lock);
	lane->pid = 0;
	lane->cpu_time = 0;
	return pid;
}

/* Forgets what may be asked again. Returns how many helpers have not returned. The caller has the
 * lock. */
static size_t collect(void)
{
	struct left *all = opener.left.data;
	uint64_t now = clock_read(CLOCK_MONOTONIC);
	size_t count = 0, waiting = 0;

	for (size_t i = 0; i < opener.left.count; i++) {
		if (all[i].helper && waitpid(all[i].helper, NULL, WNOHANG))
			all[i].helper = 0;
		waiting += all[i].helper != 0;
		if (all[i].helper || now < all[i].until)
			all[count++] = all[i];
	}
	opener.left.count = count;
	return waiting;
}

static void leave_behind(struct lane *lane, const struct subject *subject)
{
	struct left left = {.helper = stop(lane),
			    .place = subject->place,
			    .until = clock_read(CLOCK_MONOTONIC) + AGAIN};
	struct late *late = opener.late.data;
	bool known = false;

	pthread_mutex_lock(&opener.lock);
	if (vector_reserve(&opener.left, opener.left.count + 1) >= 0)
		((struct left *)opener.left.data)[opener.left.count++] = left;
	for (size_t i = 0; i < opener.late.count; i++)
		known |= late[i].place == subject->place && late[i].inode == subject->inode;
	if (!known && vector_reserve(&opener.late, opener.late.count + 1) >= 0)
		((struct late *)opener.late.data)[opener.late.count++] =
			(struct late){subject->place, subject->inode};
	pthread_mutex_unlock(&opener.lock);
}

/* False: a helper waits there already, or too many wait at all. *ret_time: ns that one may take. */
static bool may_ask(const struct subject *subject, uint64_t *ret_time)
{
	const struct left *all;
	size_t waiting = 0;
	bool may;

	pthread_mutex_lock(&opener.lock);
	if (opener.left.count)
		waiting = collect();
	all = opener.left.data;
	may = waiting < LEFT_MOST;
	for (size_t i = 0; i < opener.left.count; i++)
		may &= all[i].place != subject->place;
	*ret_time = CLEW_OPEN_SECONDS * SECOND >>
		    (opener.left.count < SHORTER ? opener.left.count : SHORTER);
	pthread_mutex_unlock(&opener.lock);
	return may;
}

/* ---- one request ---- */

/* ns until when one may wait that began at `begun`. */
static uint64_t deadline(uint64_t begun, uint64_t time)
{
	uint64_t ending = ending_since(), until = begun + time;

	if (ending && ending + SECOND < until)
		until = ending + SECOND;
	return until > begun + LEAST ? until : begun + LEAST;
}

static int send_request(const struct lane *lane, const struct opener_request *request,
			int descriptor)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec part = {.iov_base = (void *)(uintptr_t)request,
			     .iov_len = offsetof(struct opener_request, text) +
					strlen(request->text) + 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (descriptor >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
						  .cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(descriptor));
	}
	return sendmsg(lane->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int receive_reply(struct lane *lane, struct opener_reply *reply, int *ret_descriptor)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {.iov_base = reply, .iov_len = sizeof(*reply)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t size;

	*ret_descriptor = -1;
	do
		size = recvmsg(lane->socket, &message, MSG_CMSG_CLOEXEC);
	while (size < 0 && errno == EINTR);
	if (size <= (ssize_t)offsetof(struct opener_reply, path))
		return -EIO;
	reply->path[sizeof(reply->path) - 1] = '\0';
	if (message.msg_controllen >= CMSG_LEN(sizeof(int)) &&
	    control.header.cmsg_type == SCM_RIGHTS)
		memcpy(ret_descriptor, CMSG_DATA(&control.header), sizeof(*ret_descriptor));
	else if (message.msg_flags & MSG_CTRUNC)
		return -EMFILE;
	lane->cpu_time = reply->cpu_time;
	return 0;
}

/* -ETIMEDOUT: it is late. */
static int await_reply(struct lane *lane, uint64_t time, struct opener_reply *reply,
		       int *ret_descriptor)
{
	uint64_t begun = clock_read(CLOCK_MONOTONIC);
	struct pollfd ready = {.fd = lane->socket, .events = POLLIN};
	int r;

	for (;;) {
		r = poll(&ready, 1, STEP_MS);
		if (r < 0 && errno != EINTR)
			return -errno;
		if (r <= 0) {
			if (clock_read(CLOCK_MONOTONIC) >= deadline(begun, time))
				return -ETIMEDOUT;
			continue;
		}
		r = receive_reply(lane, reply, ret_descriptor);
		if (r < 0 || reply->result != -EINPROGRESS)
			return r;
		/* Each piece of a large file has its time, unless the end has come. */
		if (!ending_since())
			begun = clock_read(CLOCK_MONOTONIC);
	}
}

static int ask_helper(struct lane *lane, const struct opener_request *request, int descriptor,
		      const struct subject *subject, struct opener_reply *ret_reply,
		      int *ret_descriptor)
{
	uint64_t time;
	int r;

	pthread_mutex_lock(&lane->lock);
	r = may_ask(subject, &time) ? start(lane) : -ETIMEDOUT;
	if (r >= 0) {
		r = send_request(lane, request, descriptor);
		if (r >= 0)
			r = await_reply(lane, time, ret_reply, ret_descriptor);
		if (r == -ETIMEDOUT) {
			leave_behind(lane, subject);
		} else if (r < 0 && r != -EMFILE) {
			/* It has died. */
			pid_t pid = stop(lane);

			waitpid(pid, NULL, 0);
		}
	}
	pthread_mutex_unlock(&lane->lock);
	return r;
}

/* *ret_descriptor: the caller's, -1 none. */
static int ask(struct lane *lane, const struct opener_request *request, int descriptor,
	       const struct subject *subject, struct opener_reply *ret_reply, int *ret_descriptor)
{
	int r;

	*ret_descriptor = -1;
	if (opener.argument) {
		r = ask_helper(lane, request, descriptor, subject, ret_reply, ret_descriptor);
		if (r < 0)
			return r;
	} else {
		opener_serve(request, descriptor, NULL, ret_reply, ret_descriptor);
	}
	if (ret_reply->result >= 0 && *ret_descriptor < 0)
		return -EMFILE;
	return ret_reply->result;
}

/* ---- for others ---- */

static int find(const struct opener_request *request, int proc, const struct subject *subject,
		struct clew_opened *ret_opened, char *ret_path)
{
	struct opener_reply reply;
	int descriptor, r;

	*ret_opened = (struct clew_opened){.path = -1};
	r = ask(&opener.finder, request, proc, subject, &reply, &descriptor);
	if (r < 0)
		return r;
	*ret_opened = reply.opened;
	ret_opened->path = descriptor;
	if (ret_path)
		strcpy(ret_path, reply.path);
	return 0;
}

static int set_text(struct opener_request *request, const char *text)
{
	size_t size = strlen(text) + 1;

	if (size > sizeof(request->text))
		return -ENAMETOOLONG;
	memcpy(request->text, text, size);
	return 0;
}

int clew_open_mapped(const struct clew_open_mapping *mapping, struct clew_opened *ret_opened,
		     char *ret_path)
{
	struct opener_request request = {.kind = OPENER_MAPPED,
					 .pid = mapping->pid,
					 .major = mapping->major,
					 .minor = mapping->minor,
					 .start = mapping->start,
					 .end = mapping->end,
					 .inode = mapping->inode,
					 .generation = mapping->generation};
	const struct subject subject = {.place = (uint64_t)mapping->major << 32 | mapping->minor,
					.inode = mapping->inode};
	int r = set_text(&request, mapping->path);

	*ret_opened = (struct clew_opened){.path = -1};
	return r < 0 ? r : find(&request, -1, &subject, ret_opened, ret_path);
}

/* A number for a path, which is all that is known of its file. */
static uint64_t number_of(const char *path)
{
	uint64_t number = 14695981039346656037ull;

	for (; *path; path++)
		number = (number ^ (unsigned char)*path) * 1099511628211ull;
	return number | PLACE_PROCESS;
}

int clew_open_named(const char *path, struct clew_opened *ret_opened, char *ret_path)
{
	struct opener_request request = {.kind = OPENER_NAMED};
	const struct subject subject = {.place = number_of(path)};
	char folder[PATH_MAX] = "";

	*ret_opened = (struct clew_opened){.path = -1};
	/* The folder may have changed since the helper began. */
	if (*path != '/' && !getcwd(folder, sizeof(folder)))
		return -errno;
	if (strlen(folder) + 1 + strlen(path) >= sizeof(request.text))
		return -ENAMETOOLONG;
	if (*folder)
		strcat(strcpy(request.text, folder), "/");
	strcat(request.text, path);
	return find(&request, -1, &subject, ret_opened, ret_path);
}

int clew_open_below(int proc, pid_t pid, const char *path, struct clew_opened *ret_opened)
{
	struct opener_request request = {.kind = OPENER_BELOW, .pid = pid};
	const struct subject subject = {.place = (uint64_t)pid | PLACE_PROCESS};
	int r = set_text(&request, path);

	*ret_opened = (struct clew_opened){.path = -1};
	return r < 0 ? r : find(&request, proc, &subject, ret_opened, NULL);
}

void clew_opened_close(struct clew_opened *opened)
{
	if (opened->path >= 0)
		close(opened->path);
	opened->path = -1;
}

int clew_opened_copy(const struct clew_opened *opened, struct clew_opened *ret_copy)
{
	*ret_copy = *opened;
	ret_copy->path = fcntl(opened->path, F_DUPFD_CLOEXEC, 0);
	return ret_copy->path < 0 ? -errno : 0;
}

int clew_open_read(const struct clew_opened *opened, unsigned parts, int *ret_file)
{
	const struct opener_request request = {
		.kind = OPENER_READ, .parts = parts, .size = opened->size};
	const struct subject subject = {.place = (uint64_t)major(opened->device) << 32 |
						 minor(opened->device),
					.inode = opened->inode};
	struct opener_reply reply;

	return ask(&opener.reader, &request, opened->path, &subject, &reply, ret_file);
}

int clew_open_process(pid_t pid, enum clew_open_process which, int *ret_file)
{
	const struct opener_request request = {.kind = OPENER_PROCESS, .parts = which, .pid = pid};
	const struct subject subject = {.place = (uint64_t)pid | PLACE_PROCESS};
	struct opener_reply reply;

	return ask(&opener.finder, &request, -1, &subject, &reply, ret_file);
}

int clew_open_glob(const char *pattern, int *ret_file)
{
	struct opener_request request = {.kind = OPENER_GLOB};
	const struct subject subject = {.place = number_of(pattern)};
	struct opener_reply reply;
	int r = set_text(&request, pattern);

	*ret_file = -1;
	return r < 0 ? r : ask(&opener.reader, &request, -1, &subject, &reply, ret_file);
}

const char *clew_open_error(int error)
{
	switch (error) {
	case -ETIMEDOUT:
		return "it did not open within 2 s: whoever serves its file system does not answer";
	case -EBADMSG:
		return "it is no regular file";
	case -ESTALE:
		return "another file is in its place";
	default:
		return strerror(-error);
	}
}

size_t clew_opener_late(void)
{
	size_t late;

	pthread_mutex_lock(&opener.lock);
	late = opener.late.count;
	pthread_mutex_unlock(&opener.lock);
	return late;
}

static uint64_t lane_cpu_time(struct lane *lane)
{
	return __atomic_load_n(&lane->cpu_time, __ATOMIC_RELAXED);
}

uint64_t clew_opener_cpu_time(void)
{
	uint64_t time;

	pthread_mutex_lock(&opener.lock);
	time = opener.cpu_time;
	pthread_mutex_unlock(&opener.lock);
	return time + lane_cpu_time(&opener.finder) + lane_cpu_time(&opener.reader);
}

static void close_lane(struct lane *lane)
{
	pid_t pid;

	pthread_mutex_lock(&lane->lock);
	pid = stop(lane);
	/* It waits for a request and nothing else. */
	if (pid)
		waitpid(pid, NULL, 0);
	pthread_mutex_unlock(&lane->lock);
}

void clew_opener_close(void)
{
	close_lane(&opener.finder);
	close_lane(&opener.reader);
	pthread_mutex_lock(&opener.lock);
	collect();
	vector_done(&opener.late);
	pthread_mutex_unlock(&opener.lock);
}
