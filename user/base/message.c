/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The message of an error. */
#include "base/message.h"

#include <stdarg.h>
#include <stdio.h>

int clew_say(struct clew_message *message, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message->text, sizeof(message->text), format, arguments);
	va_end(arguments);
	return error;
}
