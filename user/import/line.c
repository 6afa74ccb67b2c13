/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One line of a trace in text. */
#include "import/line.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MOST UINT64_C(9000000000) /* so that ns fit */
#define TID_MOST     (1u << 22)

static bool is_digit(char letter)
{
	return letter >= '0' && letter <= '9';
}

/* Reads digits; false: there are none, or too many. */
static bool take_digits(const char **text, uint64_t most, uint64_t *ret_number)
{
	const char *at = *text;

	*ret_number = 0;
	for (; is_digit(*at); at++) {
		*ret_number = *ret_number * 10 + (uint64_t)(*at - '0');
		if (*ret_number > most)
			return false;
	}
	if (at == *text)
		return false;
	*text = at;
	return true;
}

static void skip_blanks(const char **text)
{
	*text += strspn(*text, " \t");
}

/* Reads "[003]". */
static bool take_cpu(const char **text, uint16_t *ret_cpu)
{
	const char *at = *text + 1;
	uint64_t number;

	if (**text != '[' || !take_digits(&at, LINE_CPUS - 1, &number) || *at != ']')
		return false;
	*ret_cpu = (uint16_t)number;
	*text = at + 1;
	return true;
}

/* Reads "6501.143052:", with three to nine decimals. */
static bool take_time(const char **text, uint64_t *ret_time)
{
	const char *at = *text;
	uint64_t seconds, part = 0;
	unsigned digits = 0;

	if (!take_digits(&at, SECONDS_MOST, &seconds) || *at++ != '.')
		return false;
	for (; is_digit(*at); at++, digits++)
		if (digits < 9)
			part = part * 10 + (uint64_t)(*at - '0');
	if (digits < 3 || *at++ != ':')
		return false;
	for (; digits < 9; digits++)
		part *= 10;
	*ret_time = seconds * 1000000000 + part;
	*text = at;
	return true;
}

/* Reads "d.h2.", which has no colon, if there is such a word. */
static void take_flags(const char **text, char flags[LINE_FLAGS])
{
	size_t length = strcspn(*text, " \t:");

	flags[0] = '\0';
	if (length < 4 || length >= LINE_FLAGS || (*text)[length] == ':' || !(*text)[length])
		return;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)(*text)[i]) && (*text)[i] != '.' && (*text)[i] != '#')
			return;
	memcpy(flags, *text, length);
	flags[length] = '\0';
	*text += length;
}

/* Reads the event's name, without its system. */
static bool take_event(const char **text, char event[LINE_EVENT])
{
	const char *at = *text, *begin, *end;
	uint64_t period;

	if (take_digits(&at, UINT64_MAX / 16, &period) && (*at == ' ' || *at == '\t'))
		*text = at;
	skip_blanks(text);
	begin = *text;
	end = begin + strcspn(begin, " \t(");
	if (end == begin)
		return false;
	*text = end;
	if (end[-1] == ':')
		end--;
	else if (strncmp(begin, "sys_", 4) != 0)
		return false;
	for (const char *at_colon = begin; at_colon < end; at_colon++)
		if (*at_colon == ':')
			begin = at_colon + 1;
	if (end == begin || (size_t)(end - begin) >= LINE_EVENT)
		return false;
	memcpy(event, begin, (size_t)(end - begin));
	event[end - begin] = '\0';
	skip_blanks(text);
	return true;
}

/* A name as the kernel keeps it: at most 15 bytes. */
static void copy_comm(char comm[CLEW_COMM_SIZE], const char *begin, const char *end)
{
	size_t length = end > begin ? (size_t)(end - begin) : 0;

	if (length >= CLEW_COMM_SIZE)
		length = CLEW_COMM_SIZE - 1;
	memcpy(comm, begin, length);
	memset(comm + length, 0, CLEW_COMM_SIZE - length);
}

/* Goes back over blanks, and over "(  123)" and what is in it. */
static const char *trim_process(const char *begin, const char *end, uint32_t *ret_pid)
{
	const char *open = end;
	uint64_t pid;

	*ret_pid = 0;
	while (end > begin && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (end == begin || end[-1] != ')')
		return end;
	for (open = end - 1; open > begin && *open != '('; open--)
		;
	if (*open != '(')
		return end;
	end = open++;
	skip_blanks(&open);
	if (take_digits(&open, TID_MOST, &pid))
		*ret_pid = (uint32_t)pid;
	while (end > begin && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return end;
}

/* Reads the task in front of the CPU. */
static bool read_task(const char *begin, const char *end, struct line *line)
{
	const char *digits, *at;
	uint64_t number;

	end = trim_process(begin, end, &line->pid);
	for (digits = end; digits > begin && is_digit(digits[-1]); digits--)
		;
	at = digits;
	if (digits == begin || !take_digits(&at, TID_MOST, &number) || at != end)
		return false;
	line->tid = (uint32_t)number;
	end = digits - 1;
	if (*end == '/') {
		for (digits = end; digits > begin && is_digit(digits[-1]); digits--)
			;
		at = digits;
		if (digits == begin || !take_digits(&at, TID_MOST, &number))
			return false;
		line->pid = (uint32_t)number;
		end = digits - 1;
	}
	if (*end != '-' && *end != ' ' && *end != '\t')
		return false;
	while (end > begin && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	skip_blanks(&begin);
	copy_comm(line->comm, begin, end);
	return true;
}

bool line_read(const char *text, struct line *ret_line)
{
	for (const char *at = text; (at = strchr(at, '[')); at++) {
		const char *rest = at;

		if (at == text || (at[-1] != ' ' && at[-1] != '\t') ||
		    !take_cpu(&rest, &ret_line->cpu))
			continue;
		skip_blanks(&rest);
		take_flags(&rest, ret_line->flags);
		skip_blanks(&rest);
		if (!take_time(&rest, &ret_line->time) || !read_task(text, at, ret_line))
			continue;
		skip_blanks(&rest);
		if (!take_event(&rest, ret_line->event))
			return false;
		ret_line->arguments = rest;
		return true;
	}
	return false;
}

/* The text behind a key at the begin of a word; NULL: there is none. */
static const char *behind(const char *arguments, const char *key)
{
	const char *at = arguments;
	size_t length = strlen(key);

	for (; (at = strstr(at, key)); at++)
		if (at == arguments || at[-1] == ' ' || at[-1] == ',' || at[-1] == '(')
			return at + length;
	return NULL;
}

bool line_number(const char *arguments, const char *key, uint64_t *ret_number)
{
	const char *at = behind(arguments, key);
	char *end;

	if (!at)
		return false;
	skip_blanks(&at);
	if (!isxdigit((unsigned char)*at))
		return false;
	*ret_number = strtoull(at, &end, strncmp(at, "0x", 2) ? 10 : 16);
	return end != at;
}

bool line_text(const char *arguments, const char *key, const char *end, char *buffer, size_t size)
{
	const char *begin = behind(arguments, key), *until, *next;
	size_t length;

	if (!begin)
		return false;
	if (!end) {
		until = begin + strcspn(begin, " ");
	} else {
		until = strstr(begin, end);
		if (!until)
			return false;
		while ((next = strstr(until + 1, end)))
			until = next;
	}
	length = (size_t)(until - begin);
	if (length >= size)
		length = size - 1;
	memcpy(buffer, begin, length);
	memset(buffer + length, 0, size - length);
	return true;
}

bool line_task(const char *text, char comm[CLEW_COMM_SIZE], uint32_t *ret_tid, const char **ret_end)
{
	const char *open = text;
	uint64_t number;

	/* A name may have a bracket itself: the one that counts is behind a number. */
	while ((open = strstr(open, " ["))) {
		const char *digits = open, *rest = open + 2;

		while (digits > text && is_digit(digits[-1]))
			digits--;
		if (digits > text && digits < open && digits[-1] == ':' &&
		    (take_digits(&rest, 1000, &number) || (*rest == '-' && is_digit(rest[1])))) {
			copy_comm(comm, text, digits - 1);
			rest = strchr(rest, ']');
			if (!rest || !take_digits(&digits, TID_MOST, &number))
				return false;
			*ret_tid = (uint32_t)number;
			*ret_end = rest + 1;
			skip_blanks(ret_end);
			return true;
		}
		open += 2;
	}
	return false;
}
