/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The strings of a JSON text, one after the other, each with the place where it stands. The text is
 * others': whatever it holds, nothing is read behind its end.
 */
#ifndef CLEW_CONTAINERS_JSON_STRINGS_H
#define CLEW_CONTAINERS_JSON_STRINGS_H

#include <stdbool.h>
#include <stddef.h>

#define JSON_DEPTH     32  /* deeper texts are refused */
#define JSON_KEY_SIZE  128 /* of a key with its NUL; longer ones are cut */
#define JSON_TEXT_SIZE 512 /* of a value with its NUL; longer ones are cut */

/* The objects and arrays that a value is in, from the outermost one. */
struct json_place {
	size_t depth;
	struct {
		char key[JSON_KEY_SIZE]; /* of an object's member; "" in an array */
		size_t index;		 /* of an array's element; 0 in an object */
	} in[JSON_DEPTH];
};

/* Takes a string. False: no more is wanted. */
typedef bool json_take(void *context, const struct json_place *place, const char *value);

/* 0, also if `take` ended it; -EINVAL: the text is no JSON. */
int json_strings(const char *text, size_t size, json_take *take, void *context);

#endif
