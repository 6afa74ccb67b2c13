/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Environment variables that the user listed. The kernel side records them at
 * each exec. For processes that run already they are read here, with the values
 * of their exec. Variables that are not listed never reach the file, as they
 * may hold secrets.
 */
#include "record/environment.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ending.h"
#include "clew.skel.h"
#include "opener/opener.h"
#include "record/stream/recorder_state.h"
#include "record/stream/user_stream.h"

#define USERS_MOST 1024

int clew_environment_prepare(struct clew_bpf *bpf, const char *names, struct clew_message *message)
{
	uint32_t count = 0;

	for (const char *at = names; at && *at; at += strcspn(at, ","), at += *at == ',') {
		size_t length = strcspn(at, ",");
		unsigned char *name = (unsigned char *)bpf->rodata->environment_names[count];
		unsigned char *mask = (unsigned char *)bpf->rodata->environment_masks[count];

		if (count == CLEW_ENVIRONMENT_NAMES)
			return clew_say(message, -EINVAL,
					"more than %d environment variables: leave some out",
					CLEW_ENVIRONMENT_NAMES);
		if (length == 0 || length >= CLEW_ENVIRONMENT_NAME - 1 || memchr(at, '=', length))
			return clew_say(
				message, -EINVAL,
				"'%.*s' is no name of an environment variable: write NAME,NAME",
				(int)length, at);
		memcpy(name, at, length);
		name[length] = '=';
		memset(mask, 0xff, length + 1);
		bpf->rodata->environment_lengths[count++] = (uint32_t)length + 1;
	}
	bpf->rodata->environment_count = count;
	return 0;
}

int clew_environment_read(struct clew_recorder *recorder, uint32_t pid, uint32_t serial,
			  uint64_t time)
{
	const uint32_t count = recorder->bpf->rodata->environment_count;
	char *variable = NULL;
	size_t room = 0;
	int copy, error = 0;
	FILE *file;

	if (!count || ending_since() || clew_open_process((pid_t)pid, CLEW_OPEN_ENVIRON, &copy) < 0)
		return 0;
	file = fdopen(copy, "r");
	if (!file) {
		close(copy);
		return 0;
	}
	while (!error && getdelim(&variable, &room, '\0', file) > 0)
		for (uint32_t i = 0; i < count && !error; i++) {
			uint32_t length = recorder->bpf->rodata->environment_lengths[i];

			if (!strncmp(variable,
				     (const char *)recorder->bpf->rodata->environment_names[i],
				     length))
				error = clew_put_text(recorder,
						      CLEW_TEXT_ENVIRONMENT | (uint64_t)i << 32 |
							      serial,
						      variable + length, time);
		}
	free(variable);
	fclose(file);
	return error;
}

/*
 * Only the local list is read, as a directory service may take long to answer.
 */
int clew_environment_users(struct clew_recorder *recorder, uint64_t time)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd *user;
	int error = 0;

	for (unsigned i = 0; file && !error && i < USERS_MOST && (user = fgetpwent(file)); i++)
		error = clew_put_text(recorder, CLEW_TEXT_USER | (uint32_t)user->pw_uid,
				      user->pw_name, time);
	if (file)
		fclose(file);
	return error;
}
