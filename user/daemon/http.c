/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Metrics by HTTP. */
#include "daemon/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define CLIENTS	 8
#define PATIENCE 1000000000ull /* ns */
#define REQUEST	 2048	       /* bytes of it that are read */

struct client {
	int socket; /* -1: none */
	uint64_t since;
	char request[REQUEST];
	size_t got;
	char *answer; /* NULL: the request is not there yet */
	size_t size, sent;
};

struct clew_http {
	int listening;
	struct client clients[CLIENTS];
};

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int parse(const char *text, union address *ret, socklen_t *ret_size)
{
	const char *port = strrchr(text, ':');
	char *end;
	unsigned long number = port ? strtoul(port + 1, &end, 10) : 0;

	if (!number || number > 65535 || *end)
		return -EINVAL;
	if (!strncmp(text, "127.0.0.1:", 10) && port == text + 9) {
		ret->v4 = (struct sockaddr_in){.sin_family = AF_INET,
					       .sin_port = htons((uint16_t)number),
					       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		*ret_size = sizeof(ret->v4);
		return 0;
	}
	if (strncmp(text, "[::1]:", 6) != 0 || port != text + 5)
		return -EINVAL;
	ret->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
					.sin6_port = htons((uint16_t)number),
					.sin6_addr = IN6ADDR_LOOPBACK_INIT};
	*ret_size = sizeof(ret->v6);
	return 0;
}

int clew_http_check(const char *address)
{
	union address parsed;
	socklen_t size;

	return parse(address, &parsed, &size);
}

static int listen_at(const char *text)
{
	const int one = 1;
	union address address;
	socklen_t size;
	int r = parse(text, &address, &size), descriptor;

	if (r < 0)
		return r;
	descriptor = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (descriptor < 0)
		return -errno;
	setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(descriptor, &address.any, size) < 0 || listen(descriptor, CLIENTS) < 0) {
		r = -errno;
		close(descriptor);
		return r;
	}
	return descriptor;
}

int clew_http_new(const char *address, struct clew_http **ret_http, struct clew_message *message)
{
	struct clew_http *http = calloc(1, sizeof(*http));
	int r = http ? listen_at(address) : -ENOMEM;

	if (r < 0) {
		free(http);
		return clew_say(message, r, "metrics-address %s: %s: give another one", address,
				strerror(-r));
	}
	http->listening = r;
	for (unsigned i = 0; i < CLIENTS; i++)
		http->clients[i].socket = -1;
	*ret_http = http;
	return 0;
}

static void drop(struct client *client)
{
	close(client->socket);
	free(client->answer);
	*client = (struct client){.socket = -1};
}

static const char *const content_types[] = {
	[CLEW_METRICS_TEXT] = "text/plain; version=0.0.4",
	[CLEW_METRICS_OPEN] = "application/openmetrics-text; version=1.0.0",
};

/* Makes the answer to a whole request. */
static void make_answer(struct client *client, clew_http_write write, void *context)
{
	enum clew_metrics_format format =
		strcasestr(client->request, "application/openmetrics-text") ? CLEW_METRICS_OPEN
									    : CLEW_METRICS_TEXT;
	bool good = !strncmp(client->request, "GET /metrics ", 13) ||
		    !strncmp(client->request, "GET /metrics?", 13);
	FILE *out = open_memstream(&client->answer, &client->size);

	if (!out)
		return;
	if (good)
		fprintf(out,
			"HTTP/1.0 200 OK\r\nContent-Type: %s; charset=utf-8\r\n"
			"Connection: close\r\n\r\n",
			content_types[format]);
	else
		fputs("HTTP/1.0 404 Not Found\r\nConnection: close\r\n\r\n", out);
	if (good)
		write(context, out, format);
	if (fclose(out) != 0) {
		free(client->answer);
		client->answer = NULL;
	}
}

static void serve(struct client *client, clew_http_write write, void *context)
{
	bool late = clock_read(CLOCK_MONOTONIC) - client->since > PATIENCE;
	ssize_t size;

	if (!client->answer) {
		size = recv(client->socket, client->request + client->got,
			    REQUEST - 1 - client->got, MSG_DONTWAIT);
		client->got += size > 0 ? (size_t)size : 0;
		if (strstr(client->request, "\r\n\r\n"))
			make_answer(client, write, context);
		else if (late || size == 0 || (size < 0 && errno != EAGAIN))
			return drop(client);
	}
	if (!client->answer)
		return;
	size = send(client->socket, client->answer + client->sent, client->size - client->sent,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
	client->sent += size > 0 ? (size_t)size : 0;
	if (late || client->sent == client->size || (size < 0 && errno != EAGAIN))
		drop(client);
}

void clew_http_serve(struct clew_http *http, clew_http_write write, void *context)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *client = &http->clients[i];

		if (client->socket < 0) {
			client->socket = accept4(http->listening, NULL, NULL, SOCK_CLOEXEC);
			client->since = clock_read(CLOCK_MONOTONIC);
		}
		if (client->socket >= 0)
			serve(client, write, context);
	}
}

void clew_http_free(struct clew_http *http)
{
	if (!http)
		return;
	for (unsigned i = 0; i < CLIENTS; i++)
		if (http->clients[i].socket >= 0)
			drop(&http->clients[i]);
	close(http->listening);
	free(http);
}
