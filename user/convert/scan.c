/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reading values that are lists, and the words of an object's kind.
 */
#include "convert/internal.h"
#include <string.h>

static const char *const object_words[CLEW_OBJECT_KIND_COUNT] = {
	[CLEW_OBJECT_NONE] = "none",	     [CLEW_OBJECT_FILE] = "file",
	[CLEW_OBJECT_PIPE] = "pipe",	     [CLEW_OBJECT_SOCKET] = "socket",
	[CLEW_OBJECT_EVENTFD] = "eventfd",   [CLEW_OBJECT_TIMERFD] = "timerfd",
	[CLEW_OBJECT_SIGNALFD] = "signalfd", [CLEW_OBJECT_INOTIFY] = "inotify",
	[CLEW_OBJECT_EPOLL] = "epoll",	     [CLEW_OBJECT_PIDFD] = "pidfd",
	[CLEW_OBJECT_IO_URING] = "io_uring", [CLEW_OBJECT_TTY] = "tty",
	[CLEW_OBJECT_DEVICE] = "device",     [CLEW_OBJECT_ANONYMOUS] = "anonymous",
	[CLEW_OBJECT_FUTEX] = "futex",	     [CLEW_OBJECT_PATH] = "path",
	[CLEW_OBJECT_CHILD] = "child",	     [CLEW_OBJECT_FUNCTION] = "function",
	[CLEW_OBJECT_IPC] = "ipc",	     [CLEW_OBJECT_LOCK] = "lock",
	[CLEW_OBJECT_CGROUP] = "cgroup",     [CLEW_OBJECT_REQUEST] = "request",
	[CLEW_OBJECT_TIMER] = "timer",	     [CLEW_OBJECT_WORK] = "work",
	[CLEW_OBJECT_MEMORY] = "memory",
};

const char *capture_object_word(unsigned kind)
{
	return kind < CLEW_OBJECT_KIND_COUNT && object_words[kind] ? object_words[kind] : "none";
}

int capture_object_kind(const char *word, size_t length)
{
	for (int i = 0; i < CLEW_OBJECT_KIND_COUNT; i++)
		if (object_words[i] && strlen(object_words[i]) == length &&
		    !memcmp(object_words[i], word, length))
			return i;
	return -1;
}

bool scan_value_number(const char **at, uint64_t *ret_number)
{
	const char *text = *at;
	uint64_t number = 0;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
			return false;
	while (*text == ' ')
		text++;
	*at = text;
	*ret_number = number;
	return true;
}

bool scan_value_word(const char **at, char *word, size_t size)
{
	const char *text = *at;
	size_t length = 0;

	if (!*text || *text == ',')
		return false;
	for (; *text && *text != ' ' && *text != ','; text++) {
		if (*text == '\\' && text[1])
			text++;
		if (length + 1 < size)
			word[length++] = *text;
	}
	word[length] = 0;
	while (*text == ' ')
		text++;
	*at = text;
	return true;
}

bool scan_value_row(const char **at)
{
	if (**at != ',')
		return false;
	++*at;
	return true;
}

bool scan_value_device(const char **at, uint32_t *ret_device)
{
	uint64_t major, minor;

	if (!scan_value_number(at, &major) || **at != ':')
		return false;
	++*at;
	if (!scan_value_number(at, &minor))
		return false;
	*ret_device = (uint32_t)(major << 20 | (minor & 0xfffff));
	return true;
}
