/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions of libcurl that clew uses. The library is loaded when it is first needed: it brings
 * thirty others along, which no other command has a use for.
 */
#ifndef CLEW_EXPORT_CURL_H
#define CLEW_EXPORT_CURL_H

#include <curl/curl.h>

/* The macros that check arguments do not know members of a structure. */
struct curl_library {
	CURL *(*easy_init)(void);
	CURLcode (*set)(CURL *handle, CURLoption option, ...);
	CURLcode (*perform)(CURL *handle);
	CURLcode (*get)(CURL *handle, CURLINFO info, ...);
	void (*cleanup)(CURL *handle);
	const char *(*error)(CURLcode code);
	struct curl_slist *(*append)(struct curl_slist *list, const char *text);
	void (*free_all)(struct curl_slist *list);
};

/* NULL: it is not installed. */
const struct curl_library *curl_library(void);

#endif
