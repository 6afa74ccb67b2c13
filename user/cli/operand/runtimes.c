/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files *.runtime of layers/, which are a part of the program. */
#include "cli/operand/runtimes.h"

#include <stdio.h>
#include <string.h>

#include "cli/front/fail.h"
#include "runtime_text.h"

#define COUNT (sizeof(runtime_texts) / sizeof(runtime_texts[0]))

const char *clew_runtime_text(const char *name, size_t length)
{
	for (size_t i = 0; i < COUNT; i++)
		if (strlen(runtime_texts[i].name) == length &&
		    !memcmp(runtime_texts[i].name, name, length))
			return runtime_texts[i].text;
	return NULL;
}

const char *clew_runtime_text_at(size_t number, const char **ret_name)
{
	if (number >= COUNT)
		return NULL;
	*ret_name = runtime_texts[number].name;
	return runtime_texts[number].text;
}

int clew_fail_runtime(const char *name, size_t length)
{
	char known[1024] = "";

	for (size_t i = 0, at = 0; i < COUNT && at < sizeof(known); i++)
		at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", i ? ", " : "",
				       runtime_texts[i].name);
	return clew_fail(CLEW_EXIT_INPUT,
			 "--runtime: '%.*s' is no runtime that is known: give auto, a file whose "
			 "name ends with .runtime, or some of %s",
			 (int)length, name, known);
}
