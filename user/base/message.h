/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The message of an error, for the function that meets it to write and for the program to print. */
#ifndef CLEW_BASE_MESSAGE_H
#define CLEW_BASE_MESSAGE_H

/* One line that says what went wrong: "what is wrong: what to do". */
struct clew_message {
	char text[512];
};

/* Formats the message. Returns `error`, a -errno. */
int clew_say(struct clew_message *message, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
