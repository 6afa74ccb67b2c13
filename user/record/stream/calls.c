/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The class of each system call, which says which argument names the object
 * that the call may wait for, and the 64-bit number of each 32-bit call. Names
 * and numbers come from libseccomp.
 */
#include "record/stream/calls.h"

#include <errno.h>
#include <string.h>

#include "arch/calls.h"

static const struct {
	enum clew_call_class class;
	const char *names;
} classes[] = {
	{CLEW_CALL_DESCRIPTOR, "read write pread64 pwrite64 readv writev preadv pwritev preadv2 "
			       "pwritev2 fsync fdatasync sync_file_range syncfs ftruncate "
			       "fallocate "
			       "getdents getdents64 fstat fchmod fchown flock fcntl ioctl lseek "
			       "close fadvise64 readahead sendfile copy_file_range vmsplice "
			       "accept accept4 connect recvfrom recvmsg recvmmsg sendto sendmsg "
			       "sendmmsg shutdown fsetxattr fgetxattr futimesat fchdir "
			       "mq_timedsend "
			       "mq_timedreceive"},
	{CLEW_CALL_SPLICE, "splice tee"},
	{CLEW_CALL_FUTEX, "futex"},
	{CLEW_CALL_FUTEX_VECTOR, "futex_waitv"},
	{CLEW_CALL_EPOLL, "epoll_wait epoll_pwait epoll_pwait2"},
	{CLEW_CALL_POLL, "poll ppoll select pselect6"},
	{CLEW_CALL_PATH,
	 "open creat stat lstat access truncate rename mkdir rmdir link unlink symlink readlink "
	 "chmod chown lchown mknod "
	 "statfs chdir chroot execve "
	 "umount2 swapon swapoff setxattr lsetxattr getxattr lgetxattr utime utimes"},
	{CLEW_CALL_PATH_AT, "openat openat2 mkdirat mknodat fchownat newfstatat unlinkat renameat "
			    "renameat2 linkat readlinkat fchmodat "
			    "faccessat faccessat2 utimensat "
			    "execveat statx name_to_handle_at mount"},
	{CLEW_CALL_CHILD, "wait4"},
	{CLEW_CALL_CHILD_ID, "waitid"},
	{CLEW_CALL_CLONE, "clone"},
	{CLEW_CALL_CLONE3, "clone3"},
	{CLEW_CALL_VFORK, "vfork"},
	{CLEW_CALL_IPC, "msgrcv msgsnd semop semtimedop"},
	{CLEW_CALL_IO_URING, "io_uring_enter"},
	{CLEW_CALL_ARM, "timerfd_settime timer_settime setitimer alarm"},
	{CLEW_CALL_RESTART, "restart_syscall"},
};

/* 32-bit calls whose 64-bit call has another name. */
static const struct {
	const char *name;
	const char *native;
} renamed[] = {
	{"_newselect", "select"},
	{"waitpid", "wait4"},
	{"fstat64", "fstat"},
	{"stat64", "stat"},
	{"lstat64", "lstat"},
	{"fstatat64", "newfstatat"},
	{"fcntl64", "fcntl"},
	{"truncate64", "truncate"},
	{"ftruncate64", "ftruncate"},
	{"_llseek", "lseek"},
	{"sendfile64", "sendfile"},
	{"mmap2", "mmap"},
	{"sigreturn", "rt_sigreturn"},
	{"sigsuspend", "rt_sigsuspend"},
	{"sigprocmask", "rt_sigprocmask"},
	{"clock_nanosleep_time64", "clock_nanosleep"},
	{"futex_time64", "futex"},
	{"ppoll_time64", "ppoll"},
	{"pselect6_time64", "pselect6"},
	{"recvmmsg_time64", "recvmmsg"},
	{"rt_sigtimedwait_time64", "rt_sigtimedwait"},
	{"semtimedop_time64", "semtimedop"},
	{"mq_timedreceive_time64", "mq_timedreceive"},
	{"mq_timedsend_time64", "mq_timedsend"},
	{"utimensat_time64", "utimensat"},
	{"io_pgetevents_time64", "io_pgetevents"},
};

int clew_call_classes(uint8_t ret_classes[CLEW_CALL_COUNT])
{
	memset(ret_classes, CLEW_CALL_PLAIN, CLEW_CALL_COUNT);
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		char names[1024], *save = NULL;

		if (strlen(classes[i].names) >= sizeof(names))
			return -ENAMETOOLONG;
		strcpy(names, classes[i].names);
		for (char *name = strtok_r(names, " ", &save); name;
		     name = strtok_r(NULL, " ", &save)) {
			int number = clew_call_number(name);

			if (number >= 0 && number < CLEW_CALL_COUNT)
				ret_classes[number] = classes[i].class;
		}
	}
	return 0;
}

void clew_compat_calls(uint16_t ret_numbers[CLEW_CALL_COUNT])
{
	for (int number = 0; number < CLEW_CALL_COUNT; number++) {
		char *name = clew_compat_call_name(number);
		int native = -1;

		if (name) {
			for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
				if (!strcmp(name, renamed[i].name))
					native = clew_call_number(renamed[i].native);
			if (native < 0)
				native = clew_call_number(name);
			/* getuid32 is the 32-bit form of getuid. */
			size_t length = strlen(name);
			if (native < 0 && length > 2 && !strcmp(name + length - 2, "32")) {
				name[length - 2] = '\0';
				native = clew_call_number(name);
			}
		}
		free(name);
		ret_numbers[number] =
			native >= 0 && native < CLEW_CALL_COUNT ? native : CLEW_NO_CALL;
	}
}

void clew_translated_calls(uint16_t ret_numbers[CLEW_CALL_COUNT])
{
	for (int number = 0; number < CLEW_CALL_COUNT; number++) {
		int translated = clew_call_translate(number);

		ret_numbers[number] =
			translated >= 0 && translated < CLEW_CALL_COUNT ? translated : CLEW_NO_CALL;
	}
}
