/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses logical spans and waits by their threads, their names and the time. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "answers/spans/logical_sum.h"
#include "explain/job_chosen.h"

bool clew_logical_wants(const struct clew_logical *logical, const struct clew_job *job)
{
	return clew_job_is_chosen(&logical->chosen, logical->jobs, job, logical->from,
				  logical->to) &&
	       (!logical->name || !fnmatch(logical->name, clew_job_name(logical->jobs, job), 0) ||
		!fnmatch(logical->name, job->kind->name, 0));
}

bool logical_next_file(const char **at, struct logical_file *ret)
{
	char line[sizeof(*ret) + 64];
	size_t length = *at ? strcspn(*at, "\n") : 0;

	*ret = (struct logical_file){};
	if (!length || length >= sizeof(line))
		return false;
	memcpy(line, *at, length);
	line[length] = '\0';
	*at += length + ((*at)[length] == '\n');
	return sscanf(line, "%127[^\t]\t%u\t%u\t%4095[^\t]\t%255[^\n]", ret->name, &ret->points,
		      &ret->ns, ret->path, ret->why) >= 4;
}

uint64_t logical_wait_end(const struct clew_job_wait *wait)
{
	return wait->over != CLEW_TIME_OPEN ? wait->over : wait->to;
}

bool clew_logical_wants_wait(const struct clew_logical *logical, const struct clew_job_wait *wait)
{
	return wait->from <= logical->to && logical_wait_end(wait) >= logical->from &&
	       (!logical->name || !fnmatch(logical->name, wait->kind->name, 0)) &&
	       clew_is_chosen(&logical->chosen, logical->jobs->trace, wait->task);
}
