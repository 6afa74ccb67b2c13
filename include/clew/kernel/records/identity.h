/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of identities, each sent once and referred to by number afterwards, and of the lives of
 * tasks. See records.h.
 */
#ifndef CLEW_KERNEL_RECORDS_IDENTITY_H
#define CLEW_KERNEL_RECORDS_IDENTITY_H

#include <clew/kernel/records/header.h>

/* clew_task_record.task_flags */
#define CLEW_TASK_KTHREAD 0x01
#define CLEW_TASK_KWORKER 0x02
#define CLEW_TASK_SELF	  0x04 /* clew's own */
#define CLEW_TASK_DETAIL  0x08 /* passes the filter */
#define CLEW_TASK_COMPAT  0x10

/* TASK */
struct clew_task_record {
	struct clew_header header;
	__u64 start_time; /* of the task, CLOCK_MONOTONIC */
	__u64 cgroup;	  /* id of a CGROUP record, 0 unknown */
	__u64 executable; /* inode number, 0 for a kernel thread */
	__u32 executable_device;
	__u32 task;
	__u32 process; /* serial of the thread group's leader, 0 unknown */
	__u32 parent;  /* serial of the creating or real parent, 0 unknown */
	__u32 tid;
	__u32 pid;
	__u32 user;
	__u32 pid_namespace;   /* inode number */
	__u32 mount_namespace; /* inode number */
	__u32 task_flags;
	__u32 nspid[CLEW_NSPID_LEVELS]; /* tid at each pid namespace level, initial first */
	__u16 nspid_count;
	__u16 command_line_size; /* bytes that follow; arguments end in NUL */
	__u32 memory;		 /* the same for all that share their memory, 0 unknown */
	char comm[CLEW_COMM_SIZE];
};

/* header.flags of EXEC and EXIT: FUNCTION records of the task were lost since the last one */
#define CLEW_LIFE_LOST 0x01

/*
 * FORK: task = parent, other = child. EXEC: task = before, other = after; they differ where a
 * thread that was not the leader took the leader's tid. EXIT: task; value = exit code as the kernel
 * keeps it.
 */
struct clew_life {
	struct clew_header header;
	__u32 task;
	__u32 other;
	__u64 value;
};

/* RENAME */
struct clew_rename {
	struct clew_header header;
	__u32 task;
	__u32 reserved;
	char comm[CLEW_COMM_SIZE];
};

/*
 * PRIORITY: the policy and priority of a task from then on. A task without such a record has
 * SCHED_NORMAL and a nice value of 0. Priority inheritance does not count.
 */
struct clew_priority {
	struct clew_header header;
	__u32 task;
	__u8 policy; /* SCHED_* */
	/* FIFO and RR: the real-time priority; DEADLINE: 0; else the nice value modulo 256 */
	__u8 value;
	__u16 reserved;
};

/* clew_header.flags of FILE */
#define CLEW_FILE_DELETED   0x01
#define CLEW_FILE_TRUNCATED 0x02 /* the path lacks its first components, and begins with "..." */
#define CLEW_FILE_DIRECTORY 0x04

/* Set in the inode of a character device, whose `device` is its own number and not that of the file
 * system: no file has such an inode. */
#define CLEW_CHARACTER_INODE (1ull << 63)

/*
 * FILE. In the ring buffer the path is its components from the last to the first, each ended by
 * NUL; the drain turns them into the path that is stored.
 */
struct clew_file_record {
	struct clew_header header;
	__u64 inode;
	__u32 device;
	__u32 mount_namespace; /* of the task that used it */
	__u32 generation;      /* 24 bits of it, 0 none */
	__u16 path_size;
	__u16 reserved;
};

/* clew_header.flags of SOCKET, TCP only; neither: it is not known */
#define CLEW_SOCKET_CONNECTED 0x01 /* this end asked for the connection */
#define CLEW_SOCKET_ACCEPTED  0x02 /* a listener of this end accepted it */

/* SOCKET */
struct clew_socket_record {
	struct clew_header header;
	__u64 inode;
	__u64 peer; /* inode number of a Unix socket's peer, 0 unknown */
	__u16 family;
	__u16 type;
	__u16 local_port; /* host byte order */
	__u16 peer_port;
	__u8 local[16]; /* network byte order; IPv4 in the first four */
	__u8 remote[16];
	char local_path[CLEW_UNIX_PATH_SIZE]; /* abstract names begin with '@' */
	char peer_path[CLEW_UNIX_PATH_SIZE];
	/* TCP: the sequence numbers of the first byte of each direction, which both ends have
	   alike; both 0: they are not known */
	__u32 sent_first;
	__u32 received_first;
};

/* clew_header.flags of CGROUP */
#define CLEW_CGROUP_TRUNCATED 0x02 /* as CLEW_FILE_TRUNCATED */

/* CGROUP. The path as in FILE. */
struct clew_cgroup_record {
	struct clew_header header;
	__u64 id;
	__u32 hierarchy; /* 0: the unified one */
	__u16 path_size;
	__u16 reserved;
};

/* TEXT: the text that a hash, an address or one of the numbers below stands for */
struct clew_text_record {
	struct clew_header header;
	__u64 hash;
	__u16 text_size;
	__u16 reserved;
	__u32 reserved2;
};

/* | number of an interrupt: the name of its driver */
#define CLEW_TEXT_IRQ 0x1000000000000ULL
/* | number << 32 | serial of a process: the value of the environment variable that is `number`th in
 * the file's "environment"; "" unset */
#define CLEW_TEXT_ENVIRONMENT 0x2000000000000ULL
/* | uid: the name of a user of the machine */
#define CLEW_TEXT_USER 0x3000000000000ULL
/* | device: the kernel's name of a disk or a partition, and in brackets the name that a mapping was
 * given */
#define CLEW_TEXT_DISK 0x4000000000000ULL
/* | enum clew_group_name << 44 | hierarchy << 32 | inode number: a name of a CGROUP, as the
 * container runtime's own files have it */
#define CLEW_TEXT_GROUP 0x5000000000000ULL

enum clew_group_name {
	CLEW_GROUP_CONTAINER, /* of the innermost container in the group's path */
	CLEW_GROUP_POD,	      /* of Kubernetes, as the next two */
	CLEW_GROUP_NAMESPACE,
	CLEW_GROUP_NAMES
};

/* The number of a group's name; 0: the group's id does not fit. The kernel has given out 4 billion
 * groups and files of groups by then. */
static inline __u64 clew_group_text(__u64 group, unsigned which)
{
	__u64 hierarchy = group >> 48;

	if ((group >> 32 & 0xffff) || hierarchy > 0xfff)
		return 0;
	return CLEW_TEXT_GROUP | (__u64)which << 44 | hierarchy << 32 | (group & 0xffffffff);
}

CLEW_ASSERT_SIZE(struct clew_task_record, 136);
CLEW_ASSERT_LAYOUT(struct clew_task_record, task, 44);
CLEW_ASSERT_LAYOUT(struct clew_task_record, comm, 120);
CLEW_ASSERT_SIZE(struct clew_life, 32);
CLEW_ASSERT_LAYOUT(struct clew_life, value, 24);
CLEW_ASSERT_SIZE(struct clew_rename, 40);
CLEW_ASSERT_LAYOUT(struct clew_rename, comm, 24);
CLEW_ASSERT_SIZE(struct clew_priority, 24);
CLEW_ASSERT_LAYOUT(struct clew_priority, value, 21);
CLEW_ASSERT_SIZE(struct clew_file_record, 40);
CLEW_ASSERT_LAYOUT(struct clew_file_record, path_size, 36);
CLEW_ASSERT_SIZE(struct clew_socket_record, 296);
CLEW_ASSERT_LAYOUT(struct clew_socket_record, local_path, 72);
CLEW_ASSERT_SIZE(struct clew_cgroup_record, 32);
CLEW_ASSERT_LAYOUT(struct clew_cgroup_record, path_size, 28);
CLEW_ASSERT_SIZE(struct clew_text_record, 32);
CLEW_ASSERT_LAYOUT(struct clew_text_record, text_size, 24);

#endif
