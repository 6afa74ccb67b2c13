/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs with the rights of the file's owner. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	printf("%u %u %s\n", getuid(), geteuid(), secure_getenv("HOME") ? "home" : "none");
	return 0;
}
