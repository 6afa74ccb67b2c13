/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Captures of what other hosts have kept. Each host has a child, whose standard output is the file;
 * a file has its name once it is whole.
 */
#include "cli/segments/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/command_line.h"
#include "base/vector.h"
#include "cli/front/fail.h"
#include "format/text.h"
#include "store/capture.h"

#define LETTERS	     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define OF_HOST	     LETTERS "._-@:[]%"
#define OF_DIRECTORY LETTERS "._-@:/+,="
#define LOOK_AGAIN   100 /* ms: at how much has come */
#define PART	     ".part"

struct host {
	char *name;
	const char *directory; /* in `name`, behind its end; NULL: the daemon's ring */
	char *path;
	pid_t pid;	/* 0: it has ended */
	int ended;	/* a descriptor of the process */
	int said;	/* what it writes to standard error */
	uint64_t bytes; /* that have come */
	uint64_t heard; /* ns: when some did */
	bool late;	/* it was given up */
	bool given;
};

struct clew_hosts {
	struct vector list; /* struct host */
	sigset_t mask;	    /* the signals that were blocked before */
};

static struct host *host_at(const struct clew_hosts *hosts, size_t number)
{
	return (struct host *)hosts->list.data + number;
}

size_t clew_hosts_count(const struct clew_hosts *hosts)
{
	return hosts->list.count;
}

const char *clew_hosts_capture(const struct clew_hosts *hosts, size_t number)
{
	const struct host *host = host_at(hosts, number);

	return host->given ? host->path : NULL;
}

void clew_hosts_free(struct clew_hosts *hosts)
{
	for (size_t i = 0; hosts && i < hosts->list.count; i++) {
		free(host_at(hosts, i)->name);
		free(host_at(hosts, i)->path);
	}
	if (hosts)
		vector_done(&hosts->list);
	free(hosts);
}

/* ---- names ---- */

/* A name must not be something else to a shell there, or an option of ssh. */
static int check(const struct host *host, const char *operand)
{
	if (!host->name[0] || host->name[0] == '-' ||
	    host->name[strspn(host->name, OF_HOST)] != '\0')
		return clew_fail(CLEW_EXIT_INPUT,
				 "'%s' names no host: write HOST, USER@HOST or HOST:/DIRECTORY",
				 operand);
	if (host->directory && host->directory[strspn(host->directory, OF_DIRECTORY)] != '\0')
		return clew_fail(
			CLEW_EXIT_INPUT,
			"'%s': a directory with such characters cannot be named to another "
			"host: give it another name",
			operand);
	return 0;
}

int clew_hosts_add(struct clew_hosts **hosts, const char *operand)
{
	struct host host = {.ended = -1, .said = -1};
	char *colon;

	if (!*hosts)
		*hosts = calloc(1, sizeof(**hosts));
	if (*hosts)
		(*hosts)->list.item = sizeof(struct host);
	host.name = strdup(operand);
	if (!*hosts || !host.name ||
	    vector_reserve(&(*hosts)->list, (*hosts)->list.count + 1) < 0) {
		free(host.name);
		return clew_fail_memory();
	}
	colon = strstr(host.name, ":/");
	if (colon) {
		*colon = '\0';
		host.directory = colon + 1;
	}
	for (size_t i = 0; i < (*hosts)->list.count; i++)
		if (!strcmp(host_at(*hosts, i)->name, host.name)) {
			int status = clew_fail(CLEW_EXIT_INPUT,
					       "'%s' is named twice: leave one out", host.name);

			free(host.name);
			return status;
		}
	*host_at(*hosts, (*hosts)->list.count++) = host;
	return check(host_at(*hosts, (*hosts)->list.count - 1), operand);
}

/* ---- a host ---- */

/* The words of the command: the host's name, and clew there with its options. */
static int make_words(const struct host *host, const struct clew_hosts_question *question,
		      char ***ret_words)
{
	const char *const more[] = {"snapshot",
				    host->directory,
				    question->from ? "--from" : NULL,
				    question->from,
				    question->to ? "--to" : NULL,
				    question->to,
				    "-o",
				    "-"};
	size_t count = 0;
	int r = command_line_add(ret_words, &count, question->ssh);

	if (r == 0)
		r = command_line_add_word(ret_words, &count, host->name);
	if (r == 0)
		r = command_line_add(ret_words, &count, question->remote);
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]) && r == 0; i++)
		if (more[i])
			r = command_line_add_word(ret_words, &count, more[i]);
	return r;
}

static void run(const struct clew_hosts *hosts, const struct host *host, int output, char **words)
{
	int none = open("/dev/null", O_RDONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &hosts->mask, NULL);
	dup2(none, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(host->said, STDERR_FILENO);
	execvp(words[0], words);
	dprintf(STDERR_FILENO, "%s: %s\n", words[0], strerror(errno));
	_exit(127);
}

static int start(const struct clew_hosts *hosts, struct host *host,
		 const struct clew_hosts_question *question)
{
	char **words = NULL, *at;
	int output;

	if (asprintf(&host->path, "%s/%s.clew" PART, question->folder, host->name) < 0) {
		host->path = NULL;
		return clew_fail_memory();
	}
	for (at = host->path + strlen(question->folder); *(at += strcspn(at, ":[]%"));)
		*at = '_';
	output = open(host->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	host->said = memfd_create("clew-said", MFD_CLOEXEC);
	if (output < 0 || host->said < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: %s: name a place that can be written",
				 host->path, strerror(errno));
	if (make_words(host, question, &words) == 0) {
		host->pid = fork();
		if (!host->pid)
			run(hosts, host, output, words);
	} else {
		host->pid = -1;
	}
	command_line_free(words);
	close(output);
	if (host->pid > 0)
		host->ended = (int)syscall(SYS_pidfd_open, host->pid, 0);
	host->heard = clock_read(CLOCK_MONOTONIC);
	if (host->pid > 0 && host->ended >= 0)
		return 0;
	return clew_fail(CLEW_EXIT_SYSTEM, "no process for %s: %s: raise the limit of processes",
			 host->name, strerror(errno));
}

/* The last line that it wrote to standard error, which says why it failed. */
static void last_line(const struct host *host, char *line, size_t size)
{
	off_t end = lseek(host->said, 0, SEEK_END);
	char text[600], *begin;
	ssize_t got;

	got = pread(host->said, text, sizeof(text) - 1,
		    end > (off_t)sizeof(text) - 1 ? end - (off_t)sizeof(text) + 1 : 0);
	if (got < 0)
		got = 0;
	while (got > 0 && strchr("\r\n ", text[got - 1]))
		got--;
	text[got] = '\0';
	begin = strrchr(text, '\n');
	begin = begin ? begin + 1 : text;
	if (!strncmp(begin, "clew: ", 6))
		begin += 6;
	snprintf(line, size, "%s", begin);
}

/* Judges what a host has given, once its process has ended. */
static void take(struct host *host, const struct clew_hosts_question *question)
{
	size_t length = strlen(host->path) - strlen(PART);
	char *path = strndup(host->path, length), line[600];
	int status = -1;

	waitpid(host->pid, &status, 0);
	host->pid = 0;
	last_line(host, line, sizeof(line));
	if (host->late)
		clew_fail(0, "%s: nothing came for %s: it is left out", host->name,
			  CLEW_DURATION(question->patience));
	else if (status != 0)
		clew_fail(0, "%s: %s: it is left out", host->name, line[0] ? line : "it failed");
	else if (clew_capture_probe(host->path) <= 0)
		clew_fail(0, "%s: what came is no capture: it is left out", host->name);
	else if (!path || rename(host->path, path) < 0)
		clew_fail(0, "%s: %s: it is left out", host->name, strerror(errno));
	else
		host->given = true;
	if (!host->given) {
		unlink(host->path);
		free(path);
		return;
	}
	free(host->path);
	host->path = path;
	fprintf(stderr, "clew: %s: %s\n", host->path, CLEW_BYTES(host->bytes));
}

/* Ends a process that has sent nothing for too long. */
static void look(struct host *host, uint64_t patience)
{
	uint64_t now = clock_read(CLOCK_MONOTONIC);
	struct stat there;

	if (stat(host->path, &there) == 0 && (uint64_t)there.st_size != host->bytes) {
		host->bytes = (uint64_t)there.st_size;
		host->heard = now;
	} else if (now - host->heard > patience) {
		host->late = true;
		kill(host->pid, SIGKILL);
	}
}

/* ---- all ---- */

/* Waits for one to end, or for a signal: returns its number then. */
static int await(struct clew_hosts *hosts, struct pollfd *waited,
		 const struct clew_hosts_question *question)
{
	size_t count = hosts->list.count, open = 0;
	struct signalfd_siginfo signal;

	for (size_t i = 0; i < count; i++)
		open += host_at(hosts, i)->pid > 0;
	while (open && poll(waited, count + 1, LOOK_AGAIN) >= 0) {
		for (size_t i = 0; i < count; i++) {
			struct host *host = host_at(hosts, i);

			if (host->pid <= 0)
				continue;
			look(host, question->patience);
			if (!(waited[i].revents & POLLIN))
				continue;
			take(host, question);
			waited[i].fd = -1;
			open--;
		}
		if (waited[count].revents & POLLIN &&
		    read(waited[count].fd, &signal, sizeof(signal)) == sizeof(signal))
			return (int)signal.ssi_signo;
	}
	return 0;
}

static void end_all(struct clew_hosts *hosts)
{
	for (size_t i = 0; i < hosts->list.count; i++) {
		struct host *host = host_at(hosts, i);

		if (host->pid > 0) {
			kill(host->pid, SIGTERM);
			waitpid(host->pid, NULL, 0);
			host->pid = 0;
		}
		if (host->path && !host->given)
			unlink(host->path);
		if (host->ended >= 0)
			close(host->ended);
		if (host->said >= 0)
			close(host->said);
	}
}

int clew_hosts_fetch(struct clew_hosts *hosts, const struct clew_hosts_question *question)
{
	struct pollfd *waited = calloc(hosts->list.count + 1, sizeof(*waited));
	int status = waited ? 0 : clew_fail_memory(), number = 0;
	sigset_t ending;

	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGHUP);
	sigprocmask(SIG_BLOCK, &ending, &hosts->mask);
	for (size_t i = 0; i < hosts->list.count && !status; i++) {
		status = start(hosts, host_at(hosts, i), question);
		waited[i] = (struct pollfd){.fd = host_at(hosts, i)->ended, .events = POLLIN};
	}
	if (!status) {
		int signals = signalfd(-1, &ending, SFD_CLOEXEC);

		waited[hosts->list.count] = (struct pollfd){.fd = signals, .events = POLLIN};
		number = await(hosts, waited, question);
		close(signals);
	}
	end_all(hosts);
	sigprocmask(SIG_SETMASK, &hosts->mask, NULL);
	if (number)
		raise(number);
	free(waited);
	return status;
}
