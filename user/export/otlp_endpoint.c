/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The connection of a request, by OpenTelemetry's conventions for attributes. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "export/otlp.h"
#include "words/describe.h"

/* A connection, seen from one of its ends. */
struct seen {
	const char *address_key, *port_key;
	const uint8_t *address;
	uint16_t port;
	const char *path;
};

enum otlp_kind otlp_kind_of(const struct clew_operation *operation)
{
	return !operation->connection.kind ? OTLP_INTERNAL
	       : operation->served	   ? OTLP_SERVER
					   : OTLP_CLIENT;
}

void otlp_name_request(const struct clew_trace *trace, const struct clew_operation *operation,
		       char *buffer, size_t size)
{
	struct object_description it;
	const char *server = "";

	if (object_describe(trace, operation->by ? &operation->by->object : &operation->connection,
			    operation->by, &it))
		server = operation->served ? it.local.text : it.peer.text;
	snprintf(buffer, size, "request%s%s",
		 !server[0]	     ? ""
		 : operation->served ? " at "
				     : " to ",
		 server);
}

static int add_unix(struct otlp *otlp, struct otlp_list *list, const struct seen *seen)
{
	char path[CLEW_UNIX_PATH_SIZE + 1];

	snprintf(path, sizeof(path), "%.*s", CLEW_UNIX_PATH_SIZE, seen->path);
	return path[0] ? otlp_add_text(otlp, list, seen->address_key, path) : 0;
}

/* An end of which nothing is known has port 0. */
static int add_inet(struct otlp *otlp, struct otlp_list *list, int family, const struct seen *seen)
{
	char address[INET6_ADDRSTRLEN];
	int r;

	if (!seen->port || !inet_ntop(family, seen->address, address, sizeof(address)))
		return 0;
	r = otlp_add_text(otlp, list, seen->address_key, address);
	return r < 0 ? r : otlp_add_number(otlp, list, seen->port_key, seen->port);
}

static int add_ends(struct otlp *otlp, struct otlp_list *list,
		    const struct clew_socket_record *socket, bool served)
{
	const struct seen own = {"", "", socket->local, socket->local_port, socket->local_path},
			  peer = {"", "", socket->remote, socket->peer_port, socket->peer_path};
	struct seen ends[] = {served ? own : peer, served ? peer : own};
	int r = 0;

	ends[0].address_key = "server.address";
	ends[0].port_key = "server.port";
	ends[1].address_key = "client.address";
	ends[1].port_key = "client.port";
	for (unsigned i = 0; i < 2 && r >= 0; i++)
		r = socket->family == AF_UNIX ? add_unix(otlp, list, &ends[i])
					      : add_inet(otlp, list, socket->family, &ends[i]);
	return r;
}

int otlp_add_endpoint(struct otlp *otlp, struct otlp_list *list,
		      const struct clew_operation *operation)
{
	const struct clew_object *object = &operation->connection;
	const struct clew_socket_record *socket =
		object->kind == CLEW_OBJECT_SOCKET
			? clew_trace_socket(otlp->export->trace, object->number)
			: NULL;
	bool local, inet;
	int r;

	if (object->kind == CLEW_OBJECT_PIPE)
		return otlp_add_text(otlp, list, "network.transport", "pipe");
	local = socket && socket->family == AF_UNIX;
	inet = socket && (socket->family == AF_INET || socket->family == AF_INET6);
	if (!local && !inet)
		return 0;
	r = otlp_add_text(otlp, list, "network.transport",
			  local				? "unix"
			  : socket->type == SOCK_STREAM ? "tcp"
							: "udp");
	if (r >= 0 && inet)
		r = otlp_add_text(otlp, list, "network.type",
				  socket->family == AF_INET ? "ipv4" : "ipv6");
	return r < 0 ? r : add_ends(otlp, list, socket, operation->served);
}
