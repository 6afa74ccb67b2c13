/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The daemon's socket. */
#include "daemon/control.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define CLIENTS	 16
#define PATIENCE 5000000000ull /* ns */

struct client {
	int socket; /* -1: none */
	uint64_t since;
};

struct clew_control {
	int listening;
	struct client clients[CLIENTS];
	char path[108];
};

static int open_socket(const char *path, int flags, struct sockaddr_un *ret_address)
{
	int descriptor;

	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(ret_address->sun_path))
		return -ENAMETOOLONG;
	strcpy(ret_address->sun_path, path);
	descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
	return descriptor < 0 ? -errno : descriptor;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address;
	int descriptor = open_socket(path, SOCK_NONBLOCK, &address), r = 0;
	mode_t mask;

	if (descriptor < 0)
		return descriptor;
	unlink(path);
	mask = umask(0177);
	if (bind(descriptor, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(descriptor, CLIENTS) < 0)
		r = -errno;
	umask(mask);
	if (r < 0)
		close(descriptor);
	return r < 0 ? r : descriptor;
}

int clew_control_new(const char *path, struct clew_control **ret_control,
		     struct clew_message *message)
{
	struct clew_control *control = calloc(1, sizeof(*control));
	int r = control ? listen_at(path) : -ENOMEM;

	if (r < 0) {
		free(control);
		return clew_say(message, r, "%s: %s: make it writable", path, strerror(-r));
	}
	control->listening = r;
	strcpy(control->path, path);
	for (unsigned i = 0; i < CLIENTS; i++)
		control->clients[i].socket = -1;
	*ret_control = control;
	return 0;
}

static void drop(struct client *client)
{
	close(client->socket);
	client->socket = -1;
}

static void serve(struct client *client, char *(*answer)(void *context, const char *request),
		  void *context)
{
	char request[256], *text;
	ssize_t size = recv(client->socket, request, sizeof(request) - 1, MSG_DONTWAIT);

	if (size < 0 && errno == EAGAIN && clock_read(CLOCK_MONOTONIC) - client->since < PATIENCE)
		return;
	if (size > 0) {
		request[size] = '\0';
		text = answer(context, request);
		if (text)
			send(client->socket, text, strnlen(text, CLEW_CONTROL_MOST),
			     MSG_DONTWAIT | MSG_NOSIGNAL);
		free(text);
	}
	drop(client);
}

void clew_control_serve(struct clew_control *control,
			char *(*answer)(void *context, const char *request), void *context)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *client = &control->clients[i];

		if (client->socket < 0) {
			client->socket = accept4(control->listening, NULL, NULL, SOCK_CLOEXEC);
			client->since = clock_read(CLOCK_MONOTONIC);
		}
		if (client->socket >= 0)
			serve(client, answer, context);
	}
}

void clew_control_free(struct clew_control *control)
{
	if (!control)
		return;
	for (unsigned i = 0; i < CLIENTS; i++)
		if (control->clients[i].socket >= 0)
			drop(&control->clients[i]);
	close(control->listening);
	unlink(control->path);
	free(control);
}

int clew_control_ask(const char *path, const char *request, char **ret_answer)
{
	const struct timeval patience = {.tv_sec = 10};
	struct sockaddr_un address;
	int descriptor = open_socket(path, 0, &address), r = 0;
	char *text = calloc(1, CLEW_CONTROL_MOST + 1);

	if (descriptor < 0 || !text) {
		free(text);
		return descriptor < 0 ? descriptor : -ENOMEM;
	}
	setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(descriptor, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    send(descriptor, request, strlen(request), MSG_NOSIGNAL) < 0)
		r = -errno;
	if (r == 0) {
		ssize_t size = recv(descriptor, text, CLEW_CONTROL_MOST, 0);

		r = size < 0 ? -errno : size == 0 ? -ECONNRESET : 0;
	}
	close(descriptor);
	if (r < 0)
		free(text);
	else
		*ret_answer = text;
	return r;
}
