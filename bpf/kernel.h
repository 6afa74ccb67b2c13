/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's structures, as far as clew reads them: only the fields that it
 * uses. Offsets come from the running kernel's BTF at load (CO-RE), so neither
 * the order nor missing fields matter. A structure with a suffix ___x is
 * another kernel's version of the structure without the suffix.
 */
#ifndef CLEW_BPF_KERNEL_H
#define CLEW_BPF_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#define PF_EXITING     0x00000004
#define PF_IO_WORKER   0x00000010
#define PF_WQ_WORKER   0x00000020
#define PF_MEMALLOC    0x00000800
#define PF_USER_WORKER 0x00004000
#define PF_KTHREAD     0x00200000

#define SCHED_FIFO     1
#define SCHED_RR       2
#define SCHED_DEADLINE 6

#define TASK_INTERRUPTIBLE   0x0001
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_STOPPED	     0x0004
#define TASK_TRACED	     0x0008
#define TASK_DEAD	     0x0080
#define TASK_WAKEKILL	     0x0100
#define TASK_KILLABLE	     (TASK_WAKEKILL | TASK_UNINTERRUPTIBLE)
#define TASK_NOLOAD	     0x0400
#define TASK_RTLOCK_WAIT     0x1000
#define TASK_FREEZABLE	     0x2000
#define TASK_FROZEN	     0x8000

#define S_IFMT	 0170000
#define S_IFSOCK 0140000
#define S_IFREG	 0100000
#define S_IFBLK	 0060000
#define S_IFDIR	 0040000
#define S_IFCHR	 0020000
#define S_IFIFO	 0010000

#define AF_UNIX		 1
#define IPPROTO_TCP	 6
#define IPPROTO_UDP	 17
#define AF_INET		 2
#define AF_INET6	 10
#define TCP_NEW_SYN_RECV 12
#define TCP_SYN_SENT	 2
#define TCP_LISTEN	 10

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rb_node {
	unsigned long __rb_parent_color;
	struct rb_node *rb_right, *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct rb_root_cached {
	struct rb_root rb_root;
};

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

typedef struct {
	int counter;
} atomic_t;

struct refcount_struct {
	atomic_t refs;
};

struct rq {
	int cpu;
};

struct task_group;
struct sched_entity;

struct cfs_rq {
	struct rq *rq;
	struct task_group *tg;
	int throttle_count;
};

/* 6.18 has bit fields where older kernels have ints. */
struct cfs_rq___int {
	int throttled;
};

struct cfs_rq___bit {
	bool throttled : 1;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
	struct sched_entity *parent;
};

struct thread_info {
	unsigned long flags;
	__u32 status;
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	unsigned int level;
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct mnt_namespace {
	struct ns_common ns;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
};

typedef struct {
	unsigned int val;
} kuid_t;

struct cred {
	kuid_t uid;
};

struct qstr {
	__u64 hash_len;
	const unsigned char *name;
};

struct super_block {
	__u32 s_dev;
	struct dentry *s_root;
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	unsigned int i_nlink;
	__u32 i_rdev;
	__u32 i_generation;
	struct address_space *i_mapping;
	struct hlist_head i_dentry;
	struct file_lock_context *i_flctx;
};

union dentry_links {
	struct hlist_node d_alias;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	union dentry_links d_u;
};

struct dentry___alias { /* since 7.1 */
	struct hlist_node d_alias;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

/* Where a file system is mounted: a list before 6.18, then a singly linked
 * chain. */
struct mount___list {
	struct list_head mnt_instance;
};

struct super_block___list {
	struct list_head s_mounts;
};

struct mount___chain {
	struct mount___chain *mnt_next_for_sb;
};

struct super_block___chain {
	struct mount *s_mounts;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	unsigned int f_mode;
	struct path f_path;
	struct inode *f_inode;
	struct address_space *f_mapping;
	void *f_op;
	void *private_data;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct mm_struct {
	unsigned long arg_start, arg_end, env_start, env_end;
	struct file *exe_file;
};

typedef struct {
	unsigned long sig[1];
} sigset_t;

struct sigpending {
	sigset_t signal;
};

struct signal_struct {
	atomic_t live;
	struct sigpending shared_pending;
};

struct kernfs_node {
	struct kernfs_node *parent;
	const char *name;
	__u64 id;
};

struct kernfs_node___renamed { /* since 6.15 */
	struct kernfs_node___renamed *__parent;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup_root *root;
	struct cgroup *ancestors[1];
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
};

struct timerqueue_node {
	__s64 expires;
};

struct hrtimer_clock_base {
	__s64 offset;
};

struct hrtimer {
	struct timerqueue_node node;
	__s64 _softexpires;
	void *function;
	struct hrtimer_clock_base *base;
};

struct task_io_accounting {
	__u64 syscr;
	__u64 syscw;
};

struct sched_dl_entity {
	unsigned dl_throttled : 1;
	unsigned dl_yielded : 1;
	struct hrtimer dl_timer;
};

enum cgroup_subsys_id { cpu_cgrp_id, memory_cgrp_id };

struct bio_list;

struct thread_struct {
	unsigned long fsbase; /* x86 */
	struct {
		unsigned long tp_value;
	} uw; /* arm64 */
};

struct task_struct {
	void *stack;
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int pid;
	int tgid;
	char comm[16];
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct files_struct *files;
	struct mm_struct *mm;
	struct nsproxy *nsproxy;
	struct pid *thread_pid;
	struct css_set *cgroups;
	const struct cred *real_cred;
	__u64 start_time;
	__u64 utime;
	unsigned long min_flt;
	unsigned long maj_flt;
	int exit_state;
	int exit_code;
	int on_cpu;
	int prio;
	int static_prio;
	unsigned rt_priority;
	unsigned policy;
	unsigned in_iowait : 1;
	unsigned in_execve : 1;
	unsigned frozen : 1;
	struct signal_struct *signal;
	struct sigpending pending;
	sigset_t blocked;
	void *rseq;
	struct rt_mutex_waiter *pi_blocked_on;
	struct bio_list *bio_list;
	void *worker_private;
	void *journal_info;
	struct task_io_accounting ioac;
	struct sched_entity se;
	struct sched_dl_entity dl;
	struct thread_struct thread;
	struct uprobe_task *utask;
};

/* arm64 has the preempt count in the task, x86-64 in a variable of each CPU. */
struct thread_info___count {
	__u64 preempt_count;
};

struct task_struct___count {
	struct thread_info___count thread_info;
};

/* The kernel points vaddr at this for a trace event's probe. */
struct uprobe_task {
	unsigned long vaddr;
};

struct trace_uprobe {
	unsigned long offset;
};

struct uprobe_dispatch_data {
	struct trace_uprobe *tu;
};

struct rseq_event {
	__u8 has_rseq;
};

struct rseq_data {
	void *usrptr;
	struct rseq_event event;
};

struct task_struct___rseq { /* since 6.19 */
	struct rseq_data rseq;
};

/* In a real-time kernel a softirq belongs to the task that serves it. */
struct task_struct___rt {
	int softirq_disable_cnt;
};

/* The returns that probes wait for in the task's calls. */
struct task_struct___hooked {
	struct {
		void *first;
	} rethooks;
};

struct task_struct___blocked { /* since 6.17 */
	struct mutex *blocked_on;
};

/* Since 6.18 a quota throttles tasks, not run queues. */
struct task_struct___throttled {
	bool throttled;
};

struct linux_binprm {
	int unused_field;
};

struct eventfd_ctx {
	int id;
};

struct epoll_filefd {
	struct file *file;
	int fd;
} __attribute__((packed));

struct epitem {
	struct rb_node rbn;
	struct list_head rdllink;
	struct epoll_filefd ffd;
};

struct pipe_inode_info {
	unsigned int head;
	unsigned int tail;
	unsigned int max_usage;
};

struct eventpoll {
	struct list_head rdllist;
	struct rb_root_cached rbr;
};

struct in6_addr {
	__u8 bytes[16];
};

typedef struct {
	void *net;
} possible_net_t;

struct hlist_nulls_node {
	struct hlist_nulls_node *next;
};

struct sock_common {
	unsigned short skc_family;
	unsigned char skc_state;
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
	__u16 skc_dport;
	__u16 skc_num;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	possible_net_t skc_net;
	struct hlist_nulls_node skc_nulls_node;
};

struct socket;
struct sk_buff;
struct dst_entry;

typedef struct {
	int owned;
} socket_lock_t;

struct sk_buff_head {
	struct sk_buff *next;
	__u32 qlen;
};

struct sock {
	struct sock_common __sk_common;
	socket_lock_t sk_lock;
	struct sk_buff_head sk_receive_queue;
	struct {
		int len;
	} sk_backlog;
	__u16 sk_protocol;
	__u32 sk_ack_backlog;
	__u32 sk_max_ack_backlog;
	struct socket *sk_socket;
	long sk_rcvtimeo;
	long sk_sndtimeo;
	struct dst_entry *sk_dst_cache;
};

struct socket {
	short type;
	struct file *file;
	struct sock *sk;
};

struct sockaddr_un {
	unsigned short sun_family;
	char sun_path[108];
};

struct unix_address {
	int len;
	struct sockaddr_un name[1];
};

struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct sock *peer;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

#pragma clang attribute pop

#endif
