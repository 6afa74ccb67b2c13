/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew in a PID namespace of its own, as in a container. Records have the
 * machine's numbers of tasks; users and /proc have the namespace's. The machine
 * tells such a process its own number only through BPF.
 */
#include "record/stream/pid_namespace.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MACHINE_PID_NAMESPACE 0xeffffffc /* its inode, in all kernels */

uint32_t clew_pid_namespace(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) || status.st_ino == MACHINE_PID_NAMESPACE
		       ? 0
		       : (uint32_t)status.st_ino;
}

bool clew_pid_namespace_shown(void)
{
	char number[24];
	ssize_t length = readlink("/proc/self", number, sizeof(number) - 1);

	if (length <= 0)
		return false;
	number[length] = '\0';
	return strtol(number, NULL, 10) == getpid();
}

uint32_t clew_machine_pid(void)
{
	const struct bpf_insn instructions[] = {
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_current_pid_tgid},
		{.code = BPF_ALU64 | BPF_RSH | BPF_K, .imm = 32},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int program;
	uint32_t pid;

	if (!clew_pid_namespace())
		return (uint32_t)getpid();
	program = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL, "GPL", instructions, 3, NULL);
	if (program < 0)
		return 0;
	pid = bpf_prog_test_run_opts(program, &run) ? 0 : run.retval;
	close(program);
	return pid;
}

uint32_t clew_pid_here(const struct clew_task_record *task, uint32_t level)
{
	uint32_t count =
		task->nspid_count < CLEW_NSPID_LEVELS ? task->nspid_count : CLEW_NSPID_LEVELS;

	return level < count ? task->nspid[level] : 0;
}
