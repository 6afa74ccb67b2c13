/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes the configuration of clew daemon, and each input as a rule, too. A good file's rules mean
 * the same when they are read alone; a message comes with what is wrong, and its place in the text.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_config(const uint8_t *data, size_t size)
{
	struct clew_config config;
	struct clew_message message;
	struct clew_trigger alone;
	char path[40];
	size_t at;
	int r, file = memfd_create("config", MFD_CLOEXEC);

	if (file < 0 || write(file, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	message.text[0] = '\0';
	r = clew_config_read(path, &config, &message);
	close(file);
	if (r < 0) {
		if (r != -ENOMEM && !message.text[0])
			abort();
		return;
	}
	for (size_t i = 0; i < config.rule_count; i++)
		if (clew_trigger_parse(config.rules[i].text, &alone, &at, &message) < 0 ||
		    memcmp(&alone, &config.rules[i].trigger, sizeof(alone)) != 0)
			abort();
	clew_config_done(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct clew_message message = {};
	struct clew_trigger trigger;
	size_t at;

	if (text && clew_trigger_parse(text, &trigger, &at, &message) < 0 &&
	    (at > strlen(text) || !message.text[0]))
		abort();
	free(text);
	check_config(data, size);
	return 0;
}
