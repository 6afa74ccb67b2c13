/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's structures, continued: timers, work items, the block layer, the
 * network, locks, quotas, io_uring. See kernel.h.
 */
#ifndef CLEW_BPF_KERNEL_IO_H
#define CLEW_BPF_KERNEL_IO_H

#include "kernel.h"

#define IFF_LOOPBACK 0x8
#define LOOP_MAJOR   7
#define MINOR_BITS   20

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct irqaction {
	const char *name;
};

struct timer_list {
	void *function;
};

typedef struct {
	__s64 counter;
} atomic_long_t;

struct work_struct {
	atomic_long_t data;
	void *func;
};

struct wq_barrier {
	struct work_struct work;
	struct task_struct *task;
};

struct pool_workqueue;
struct workqueue_struct;

struct worker {
	struct workqueue_struct *rescue_wq;
};

/* The state of a kernel thread; task_struct.worker_private points to it. */
struct kthread {
	void *data;
};

struct page {
	unsigned long compound_head;
};

struct page___info { /* since 7.1 */
	unsigned long compound_info;
};

struct xarray {
	void *xa_head;
};

struct address_space {
	struct inode *host;
	struct xarray i_pages;
};

struct folio {
	struct address_space *mapping;
	unsigned long index;
	void *private;
};

struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
};

struct bvec_iter {
	__u64 bi_sector;
	unsigned int bi_size;
	unsigned int bi_idx;
	unsigned int bi_bvec_done;
} __attribute__((packed));

struct bvec_iter___offset { /* since 7.3 */
	unsigned int bi_offset;
};

struct bio___offset {
	struct bvec_iter___offset bi_iter;
};

struct block_device {
	struct gendisk *bd_disk;
	__u32 bd_dev;
};

struct block_device_operations {
	void *submit_bio; /* set for a device without requests */
};

struct gendisk {
	int major;
	void *private_data;
	struct block_device *part0;
	const struct block_device_operations *fops;
};

struct request_queue {
	struct gendisk *disk;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	__u32 bi_opf;
	struct bvec_iter bi_iter;
	void *bi_end_io;
	void *bi_private;
	unsigned short bi_vcnt;
	struct bio_vec *bi_io_vec;
	struct blkcg_gq *bi_blkg;
};

struct request {
	struct request_queue *q;
	__u32 cmd_flags;
	unsigned int __data_len;
	__u64 __sector;
	struct bio *bio;
	struct block_device *part;
	__u64 start_time_ns;
};

struct kiocb {
	struct file *ki_filp;
	__s64 ki_pos;
	void *ki_complete;
};

/* Follows the request that a loop device passes on. */
struct loop_cmd {
	struct kiocb iocb;
};

struct iomap_dio {
	struct kiocb *iocb;
	__s64 size;
	struct {
		struct task_struct *waiter;
	} submit;
};

struct blkcg {
	struct cgroup_subsys_state css;
};

struct throtl_data {
	struct request_queue *queue;
};

/* The state that the I/O limits keep for a group and a disk. */
struct throtl_grp {
	struct throtl_data *td;
	/* reads, writes; before 6.10 a lower and a higher limit of reads, then of writes */
	__u64 bps[2];
	unsigned int iops[2];
};

/* A group on a disk, with what each policy keeps for it. */
struct blkcg_gq {
	struct request_queue *q;
	struct blkcg *blkcg;
	struct blkcg_gq *parent;
	struct throtl_grp *pd[6];
};

struct mutex {
	atomic_long_t owner;
};

struct rw_semaphore {
	atomic_long_t owner;
};

struct rt_mutex_base {
	struct task_struct *owner;
};

/* In a real-time kernel. */
struct rwbase_rt {
	struct rt_mutex_base rtmutex;
};

struct rtnl_link_ops;

struct device {
	struct device *parent;
	__u32 devt;
};

struct net_device {
	char name[16];
	unsigned int flags;
	const struct rtnl_link_ops *rtnl_link_ops;
	struct device dev;
};

/* The route of a socket's packets. */
struct dst_entry {
	struct net_device *dev;
};

struct napi_struct {
	struct list_head poll_list;
	struct net_device *dev;
	unsigned int napi_id;
};

struct softnet_data {
	struct list_head poll_list;
};

struct inet_connection_sock {
	struct {
		__u32 lrcvtime;
	} icsk_ack;
};

struct minmax_sample {
	__u32 v;
};

struct minmax {
	struct minmax_sample s[3]; /* the first is the least */
};

struct tcp_sock {
	__u64 bytes_received;
	__u64 bytes_sent;
	__u64 bytes_acked;
	__u64 tcp_wstamp_ns;
	__u64 tcp_mstamp;
	__u32 copied_seq;
	__u32 rcv_nxt;
	__u32 lsndtime;
	__u32 write_seq;
	unsigned int packets_out;
	unsigned int snd_sml;
	unsigned int snd_nxt;
	unsigned int snd_una;
	unsigned int mss_cache;
	struct minmax rtt_min; /* us */
	unsigned int total_retrans;
	unsigned int snd_wnd;
	__u8 chrono_type : 2;
	__u8 nonagle : 4;
};

struct sk_buff {
	unsigned int len;
	struct net_device *dev;
	struct sock *sk;
	unsigned int napi_id;
	unsigned int truesize;
	unsigned char *head;
	unsigned char *data;
	__u16 network_header;
	__u8 pkt_type : 3;
};

/* TCP's listening sockets, by a hash of their address and port. */
struct hlist_nulls_head {
	struct hlist_nulls_node *first;
};

struct inet_listen_hashbucket {
	struct hlist_nulls_head nulls_head;
};

struct inet_hashinfo {
	unsigned int lhash2_mask;
	struct inet_listen_hashbucket *lhash2;
};

struct inet_timewait_death_row {
	struct inet_hashinfo *hashinfo;
};

struct netns_ipv4 {
	struct inet_timewait_death_row tcp_death_row;
};

struct net {
	unsigned int hash_mix;
	struct netns_ipv4 ipv4;
};

/* Why a packet is dropped, since 5.17. */
enum skb_drop_reason { SKB_DROP_REASON_NETFILTER_DROP = 12 };

struct page_counter {
	atomic_long_t usage;
	unsigned long max;
	unsigned long high;
};

struct mem_cgroup {
	struct cgroup_subsys_state css; /* the first field: the kernel relies on that */
	struct page_counter memory;
};

struct cfs_bandwidth {
	__u64 runtime;
	struct hrtimer period_timer;
	struct hrtimer slack_timer;
	struct list_head throttled_cfs_rq;
};

struct task_group {
	struct cgroup_subsys_state css;
	struct cfs_bandwidth cfs_bandwidth;
};

struct io_cqe {
	__u64 user_data;
};

struct io_uring_cqe {
	__u64 user_data;
};

struct io_ring_ctx;

struct io_kiocb {
	__u8 opcode;
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
};

#pragma clang attribute pop

#endif
