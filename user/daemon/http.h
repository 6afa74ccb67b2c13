/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Answers GET /metrics by HTTP/1.0 on a loopback address, one request a connection: as OpenMetrics
 * if the client says that it accepts that, else as Prometheus text. A client that does not send or
 * read is dropped after a second.
 */
#ifndef CLEW_DAEMON_HTTP_H
#define CLEW_DAEMON_HTTP_H

#include <stdio.h>

#include "base/message.h"
#include "daemon/metrics.h"

struct clew_http;

/* Writes the metrics. */
typedef void (*clew_http_write)(void *context, FILE *out, enum clew_metrics_format format);

/* Takes 127.0.0.1:PORT or [::1]:PORT. 0, or -EINVAL: it is none. */
int clew_http_check(const char *address);

/* 0 or -errno with a message. */
int clew_http_new(const char *address, struct clew_http **ret_http, struct clew_message *message);

/* Serves what has come, without waiting. */
void clew_http_serve(struct clew_http *http, clew_http_write write, void *context);

/* NULL is ignored. */
void clew_http_free(struct clew_http *http);

#endif
