/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A worker that waits for a child in each of its jobs: it computes for a small part of its time. */
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

int main(void)
{
	uint64_t begin = now();

	prctl(PR_SET_NAME, "jobs");
	for (int i = 0; i < 12; i++) {
		if (!fork()) {
			prctl(PR_SET_NAME, "job");
			usleep(60000);
			_exit(0);
		}
		wait(NULL);
		for (volatile int k = 0; k < 2000000; k++)
			;
	}
	tell("jobs", begin, now());
	return 0;
}
