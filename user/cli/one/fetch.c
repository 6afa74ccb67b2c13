/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew fetch: what several hosts have kept of one time, as one trace. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <clew/stitch.h>

#include "base/clock.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/one/stitch.h"
#include "cli/segments/hosts.h"
#include "format/position.h"

#define SECOND 1000000000ull

struct fetch_values {
	const char *from;
	const char *to;
	const char *output;
	const char *with;
	const char *ssh;
	const char *remote;
	uint64_t patience;
};

const struct clew_option clew_fetch_options[] = {
	{'o', "output", "DIRECTORY", "put the captures and their stitched trace there (incident)",
	 clew_take_string, offsetof(struct fetch_values, output)},
	{0, "from", "TIME",
	 "begin there by each host's clock: 10:32:07, 2026-11-25T10:32:07Z, -30s (before now)",
	 clew_take_string, offsetof(struct fetch_values, from)},
	{0, "to", "TIME", "end there", clew_take_string, offsetof(struct fetch_values, to)},
	{0, "with", "FILE", "stitch this capture with them, as the first", clew_take_string,
	 offsetof(struct fetch_values, with)},
	{0, "ssh", "COMMAND", "how a host is reached (ssh -o BatchMode=yes -o ConnectTimeout=10)",
	 clew_take_string, offsetof(struct fetch_values, ssh)},
	{0, "remote", "COMMAND", "how clew is run there, as 'sudo clew' (clew)", clew_take_string,
	 offsetof(struct fetch_values, remote)},
	{0, "patience", "DURATION", "give up a host that sends nothing for that long (60s)",
	 clew_take_seconds, offsetof(struct fetch_values, patience)},
	CLEW_OPTION_END,
};

/* ---- times ---- */

/* Now by the wall clock. A time of day is that of the last day. */
static struct clew_time_base now_here(void)
{
	uint64_t now = clock_read(CLOCK_REALTIME);
	time_t seconds = (time_t)(now / SECOND);
	struct tm local = {};

	localtime_r(&seconds, &local);
	return (struct clew_time_base){.start = now - 86400 * SECOND + SECOND,
				       .end = now,
				       .has_wall = true,
				       .wall = local.tm_gmtoff * (int64_t)SECOND,
				       .zone = local.tm_gmtoff * (int64_t)SECOND};
}

/* A moment of this host's user as one that each host understands; NULL stays. */
static int convert(const char *option, const char *text, char **ret_text)
{
	const struct clew_time_base base = now_here();
	char buffer[32];
	struct tm utc;
	time_t seconds;
	uint64_t ns;

	*ret_text = NULL;
	if (!text)
		return 0;
	if ((text[0] != '-' && !strchr(text, ':')) || clew_parse_moment(text, &base, &ns) < 0)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: '%s' is no time that all hosts know: write 10:32:07, "
				 "2026-11-25T10:32:07Z or -30s (before now)",
				 option, text);
	seconds = (time_t)(ns / SECOND);
	gmtime_r(&seconds, &utc);
	strftime(buffer, sizeof(buffer), "%Y-%m-%dT%H:%M:%S", &utc);
	return asprintf(ret_text, "%s.%09lluZ", buffer, (unsigned long long)(ns % SECOND)) < 0
		       ? clew_fail_memory()
		       : 0;
}

/* ---- one incident ---- */

/* Makes the folder. One that is there must be empty: no file of it is to be taken for a host's. */
static int make_folder(const char *folder)
{
	if (mkdir(folder, 0700) == 0)
		return 0;
	if (errno == EEXIST && rmdir(folder) == 0 && mkdir(folder, 0700) == 0)
		return 0;
	return clew_fail(errno == ENOTEMPTY || errno == ENOTDIR ? CLEW_EXIT_INPUT
								: CLEW_EXIT_SYSTEM,
			 "%s: %s: name another -o", folder, strerror(errno));
}

/* Stitches what came, and what was given with it. */
static int stitch(const struct fetch_values *values, const struct clew_hosts *hosts,
		  size_t *ret_came)
{
	size_t count = clew_hosts_count(hosts), came = 0;
	char **names = calloc(count + 2, sizeof(*names)), *output = NULL;
	int status = 0;

	if (!names || asprintf(&output, "%s/stitched.ctrace", values->output) < 0) {
		free(names);
		return clew_fail_memory();
	}
	if (values->with)
		names[came++] = (char *)values->with;
	for (size_t i = 0; i < count; i++)
		if (clew_hosts_capture(hosts, i))
			names[came++] = (char *)clew_hosts_capture(hosts, i);
	if (came > 1)
		status = clew_stitch_captures(names, output);
	*ret_came = came - (values->with != NULL);
	free(names);
	free(output);
	return status;
}

static int fetch(const struct fetch_values *values, struct clew_hosts *hosts)
{
	struct clew_hosts_question question = {.ssh = values->ssh,
					       .remote = values->remote,
					       .folder = values->output,
					       .patience = values->patience};
	size_t came = 0;
	int status = convert("from", values->from, &question.from);

	if (!status)
		status = convert("to", values->to, &question.to);
	if (!status && values->with && access(values->with, R_OK) < 0)
		status = clew_fail(CLEW_EXIT_INPUT, "%s: %s: name another file", values->with,
				   strerror(errno));
	if (!status)
		status = make_folder(values->output);
	if (!status)
		status = clew_hosts_fetch(hosts, &question);
	if (!status)
		status = stitch(values, hosts, &came);
	if (!status && !came)
		status = clew_fail(CLEW_EXIT_SYSTEM, "no host gave a capture: mend what is said of "
						     "them above");
	if (!status && came < clew_hosts_count(hosts))
		status = CLEW_EXIT_NEGATIVE;
	free(question.from);
	free(question.to);
	return status;
}

int clew_command_fetch(const struct clew_command *command, int argc, char **argv)
{
	struct fetch_values values = {.output = "incident",
				      .ssh = "ssh -o BatchMode=yes -o ConnectTimeout=10",
				      .remote = "clew",
				      .patience = 60 * SECOND};
	struct clew_hosts *hosts = NULL;
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	for (size_t i = 0; operands[i] && !status; i++)
		status = i + 1 < CLEW_STITCH_MOST_TRACES
				 ? clew_hosts_add(&hosts, operands[i])
				 : clew_fail(CLEW_EXIT_INPUT,
					     "fetch: too many hosts: name at most %d",
					     CLEW_STITCH_MOST_TRACES - 1);
	if (!status && (!values.ssh[strspn(values.ssh, " \t")] ||
			!values.remote[strspn(values.remote, " \t")]))
		status = clew_fail(CLEW_EXIT_INPUT,
				   "fetch: --ssh or --remote is empty: write a command");
	if (!status)
		status = fetch(&values, hosts);
	clew_hosts_free(hosts);
	return status;
}
