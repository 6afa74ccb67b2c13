/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs with a filter of system calls, and with next to none. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static unsigned mix(unsigned value)
{
	return value * 2654435761u ^ value >> 7;
}

static unsigned mix_all(void)
{
	unsigned value = 1;
	char text[64];

	for (unsigned i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "%u", value);
		value = mix(value + (unsigned)strlen(text));
	}
	return value;
}

static int filtered(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = filter};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 1;
	return getppid() == -1 && errno == EXDEV ? 0 : 2;
}

int main(void)
{
	int status = 0;

	if (!fork()) {
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		dprintf(1, "strict %u\n", mix_all());
		syscall(SYS_exit, 7);
	}
	wait(&status);
	printf("status %x\n", status);
	printf("filtered %d %u\n", filtered(), mix_all());
	return 0;
}
