/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends bodies to a receiver of OTLP over HTTP. */
#include "export/post.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "export/curl.h"
#include "export/gzip.h"
#include "export/post_answer.h"

#define PAUSE_FIRST  UINT64_C(500000000) /* ns */
#define PAUSE_MOST   UINT64_C(15000000000)
#define SECOND	     UINT64_C(1000000000)
#define ANSWER_MOST  65536 /* bytes */
#define TIMEOUT	     10L   /* s, as other exporters of OTLP have it */
#define DEFAULT_PATH "/v1/traces"
#define AGENT	     "clew"

struct waiting {
	struct waiting *next;
	uint8_t *body;
	size_t size;
	size_t items;
};

struct clew_post {
	const struct curl_library *curl;
	CURL *handle;
	struct curl_slist *headers;
	char *url;
	struct waiting *first, **end;
	size_t bytes, queue;
	uint64_t patience;
	uint64_t since; /* when something was taken last, or the first body came; 0 none came yet */
	uint64_t pause; /* the next one; 0: the first */
	uint32_t random;
	bool json;
	struct clew_posted posted;
	uint8_t answer[ANSWER_MOST];
	size_t answer_size;
};

/* ---- making it ---- */

static bool add_header(struct clew_post *post, const char *header)
{
	struct curl_slist *list = post->curl->append(post->headers, header);

	if (list)
		post->headers = list;
	return list != NULL;
}

/* Decodes percent signs in place; false: there is a control character. */
static bool decode(char *text)
{
	char *to = text;
	unsigned byte;

	for (; *text; text++, to++) {
		*to = *text;
		if (*text == '%' && sscanf(text + 1, "%2x", &byte) == 1 && text[1] && text[2]) {
			*to = (char)byte;
			text += 2;
		}
		if ((unsigned char)*to < 0x20 || *to == 0x7f)
			return false;
	}
	*to = '\0';
	return true;
}

/* "NAME=VALUE,..", as OTEL_EXPORTER_OTLP_HEADERS has it. */
static int add_headers(struct clew_post *post, const char *list, struct clew_message *message)
{
	char *copy = list ? strdup(list) : NULL, *rest = copy, *word, *header;
	int r = list && !copy ? -ENOMEM : 0;

	while (r >= 0 && (word = strsep(&rest, ","))) {
		char *value = strchr(word, '=');

		word += strspn(word, " ");
		if (!*word)
			continue;
		if (!value || value == word || !decode(word)) {
			/* It may be a secret, so that it is not repeated. */
			r = clew_say(
				message, -EINVAL,
				"a header is not NAME=VALUE: correct OTEL_EXPORTER_OTLP_HEADERS");
			break;
		}
		value = strchr(word, '=');
		*value++ = '\0';
		if (asprintf(&header, "%s: %s", word, value) < 0)
			r = -ENOMEM;
		else if (!add_header(post, header))
			r = -ENOMEM;
		if (r >= 0)
			free(header);
	}
	free(copy);
	return r;
}

/*
 * A password that was not encoded may have any character, such as a slash: what is before the last
 * "@" is no port then, and no machine.
 */
static const char *behind_user(const char *host)
{
	size_t length = strcspn(host, "/?#");
	const char *colon = memchr(host, ':', length), *at = memrchr(host, '@', length),
		   *last = strrchr(host, '@');

	if (!at && last && colon &&
	    strspn(colon + 1, "0123456789") != length - (size_t)(colon + 1 - host))
		at = last;
	return at ? at + 1 : host;
}

char *clew_post_shown(const char *url)
{
	const char *scheme = strstr(url, "://"), *host;
	char *shown;

	host = behind_user(scheme ? scheme + 3 : url);
	return asprintf(&shown, "%.*s%.*s", scheme ? (int)(scheme + 3 - url) : 0, url,
			(int)strcspn(host, "?#"), host) < 0
		       ? NULL
		       : shown;
}

static int say_no_url(struct clew_message *message, const char *url, const char *what)
{
	char *shown = clew_post_shown(url);
	int r = clew_say(message, shown ? -EINVAL : -ENOMEM, "'%.200s' %s: write http://HOST:4318",
			 shown ?: "", what);

	free(shown);
	return r;
}

/* A URL that names a machine alone gets the usual path. */
static int set_url(struct clew_post *post, const char *url, struct clew_message *message)
{
	const char *host = strstr(url, "://"), *path;

	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return say_no_url(message, url, "is no URL of HTTP");
	host += 3;
	path = host + strcspn(host, "/?#");
	if (path == host)
		return say_no_url(message, url, "names no machine");
	if (asprintf(&post->url, "%.*s%s",
		     (int)(*path && strcmp(path, "/") ? strlen(url) : (size_t)(path - url)), url,
		     *path && strcmp(path, "/") ? "" : DEFAULT_PATH) < 0) {
		post->url = NULL;
		return -ENOMEM;
	}
	return 0;
}

static size_t take_answer(char *bytes, size_t item, size_t count, void *context)
{
	struct clew_post *post = context;
	size_t size = item * count, room = sizeof(post->answer) - post->answer_size;

	memcpy(post->answer + post->answer_size, bytes, size < room ? size : room);
	post->answer_size += size < room ? size : room;
	return size;
}

static bool set_options(struct clew_post *post)
{
	const struct curl_library *curl = post->curl;
	CURL *handle = post->handle;

	return curl->set(handle, CURLOPT_URL, post->url) == CURLE_OK &&
	       curl->set(handle, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
	       curl->set(handle, CURLOPT_HTTPHEADER, post->headers) == CURLE_OK &&
	       curl->set(handle, CURLOPT_USERAGENT, AGENT) == CURLE_OK &&
	       curl->set(handle, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl->set(handle, CURLOPT_TIMEOUT, TIMEOUT) == CURLE_OK &&
	       curl->set(handle, CURLOPT_POST, 1L) == CURLE_OK &&
	       curl->set(handle, CURLOPT_WRITEFUNCTION, take_answer) == CURLE_OK &&
	       curl->set(handle, CURLOPT_WRITEDATA, post) == CURLE_OK;
}

int clew_post_new(const struct clew_post_options *options, struct clew_post **ret_post,
		  struct clew_message *message)
{
	struct clew_post *post;
	char type[100];
	int r;

	if (!curl_library())
		return clew_say(message, -ENOSYS, "libcurl.so.4 is not there: install libcurl4");
	post = calloc(1, sizeof(*post));
	if (!post)
		return -ENOMEM;
	*post = (struct clew_post){.curl = curl_library(),
				   .queue = options->queue,
				   .patience = options->patience,
				   .random = (uint32_t)clock_read(CLOCK_MONOTONIC) | 1,
				   .json = strstr(options->type, "json") != NULL};
	post->end = &post->first;
	snprintf(type, sizeof(type), "Content-Type: %s", options->type);
	r = set_url(post, options->url, message);
	if (r >= 0) {
		post->handle = post->curl->easy_init();
		/* Bodies are small enough to be sent without asking first. */
		if (!post->handle || !add_header(post, type) ||
		    !add_header(post, "Content-Encoding: gzip") || !add_header(post, "Expect:"))
			r = -ENOMEM;
	}
	if (r >= 0)
		r = add_headers(post, options->headers, message);
	if (r >= 0 && !set_options(post))
		r = -ENOMEM;
	if (r < 0)
		clew_post_free(post);
	else
		*ret_post = post;
	return r;
}

void clew_post_free(struct clew_post *post)
{
	if (!post)
		return;
	while (post->first) {
		struct waiting *waiting = post->first;

		post->first = waiting->next;
		free(waiting->body);
		free(waiting);
	}
	if (post->handle)
		post->curl->cleanup(post->handle);
	post->curl->free_all(post->headers);
	free(post->url);
	free(post);
}

/* ---- sending ---- */

enum outcome { TAKEN, AGAIN, REFUSED };

static void leave_queue(struct clew_post *post)
{
	struct waiting *waiting = post->first;

	post->first = waiting->next;
	if (!post->first)
		post->end = &post->first;
	post->bytes -= waiting->size;
	free(waiting->body);
	free(waiting);
}

/* *ret_pause: ns that the receiver asks for, 0 none. */
static enum outcome send_first(struct clew_post *post, uint64_t *ret_pause)
{
	const struct curl_library *curl = post->curl;
	struct clew_posted *posted = &post->posted;
	curl_off_t after = 0;
	CURLcode code;
	long status = 0;

	post->answer_size = 0;
	curl->set(post->handle, CURLOPT_POSTFIELDS, post->first->body);
	curl->set(post->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)post->first->size);
	code = curl->perform(post->handle);
	curl->get(post->handle, CURLINFO_RESPONSE_CODE, &status);
	curl->get(post->handle, CURLINFO_RETRY_AFTER, &after);
	*ret_pause = after > 0 ? (uint64_t)after * SECOND : 0;
	/* A broken connection; all that cannot change by itself is not tried again. */
	if (code != CURLE_OK) {
		snprintf(posted->reason, sizeof(posted->reason), "%s", curl->error(code));
		return code == CURLE_COULDNT_CONNECT || code == CURLE_OPERATION_TIMEDOUT ||
				       code == CURLE_GOT_NOTHING || code == CURLE_SEND_ERROR ||
				       code == CURLE_RECV_ERROR || code == CURLE_PARTIAL_FILE ||
				       code == CURLE_COULDNT_RESOLVE_HOST
			       ? AGAIN
			       : REFUSED;
	}
	if (status >= 200 && status < 300) {
		posted->refused += answer_refused(post->answer, post->answer_size, post->json,
						  posted->reason, sizeof(posted->reason));
		return TAKEN;
	}
	snprintf(posted->reason, sizeof(posted->reason), "it answered %ld", status);
	return status == 429 || status == 502 || status == 503 || status == 504 ? AGAIN : REFUSED;
}

/* The next pause, which is a quarter shorter or longer at random: others pause, too. */
static uint64_t next_pause(struct clew_post *post)
{
	uint64_t pause = post->pause ?: PAUSE_FIRST;

	post->random = post->random * 1664525 + 1013904223;
	post->pause = pause * 2 < PAUSE_MOST ? pause * 2 : PAUSE_MOST;
	return pause * 3 / 4 + pause / 2 * (post->random >> 16) / 65536;
}

static void sleep_for(uint64_t ns)
{
	struct timespec time = {.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};

	while (nanosleep(&time, &time) < 0 && errno == EINTR)
		;
}

/* Sends the first body, or drops it. */
static void settle_first(struct clew_post *post)
{
	size_t items = post->first->items;
	enum outcome outcome;
	uint64_t asked, pause;

	for (;;) {
		outcome = send_first(post, &asked);
		if (outcome != AGAIN)
			break;
		pause = next_pause(post);
		if (asked)
			pause = asked;
		/* Once it is used up, the bodies that follow are tried once each. */
		if (clock_read(CLOCK_MONOTONIC) + pause > post->since + post->patience)
			break;
		sleep_for(pause);
	}
	if (outcome == TAKEN) {
		post->posted.taken += items;
		post->since = clock_read(CLOCK_MONOTONIC);
		post->pause = 0;
	} else {
		post->posted.dropped += items;
	}
	leave_queue(post);
}

int clew_post_add(struct clew_post *post, const void *body, size_t size, size_t items)
{
	struct waiting *waiting = calloc(1, sizeof(*waiting));
	int r = waiting ? export_gzip(body, size, &waiting->body, &waiting->size) : -ENOMEM;

	if (r < 0) {
		free(waiting);
		return r;
	}
	if (!post->since)
		post->since = clock_read(CLOCK_MONOTONIC);
	while (post->first && post->bytes + waiting->size > post->queue)
		settle_first(post);
	waiting->items = items;
	*post->end = waiting;
	post->end = &waiting->next;
	post->bytes += waiting->size;
	return 0;
}

void clew_post_finish(struct clew_post *post, struct clew_posted *ret_posted)
{
	while (post->first)
		settle_first(post);
	*ret_posted = post->posted;
}
