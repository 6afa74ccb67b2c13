/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of BPF programs. Rows with a feature are lines of `clew doctor` in
 * this order, but for what has to be asked for; the rows after one belong to the
 * same feature and have its costs.
 *
 * A program that writes no record of its own is of the kind whose records it
 * completes: what it learns of interrupts, timers and packets is part of wakes.
 */
#include "record/stream/program_table.h"

#include <string.h>

#include <clew/kernel/records.h>

#define ONCE		 CLEW_PROGRAM_ONCE
#define OPTIONAL	 CLEW_PROGRAM_OPTIONAL
#define CACHE		 CLEW_PROGRAM_PAGE_CACHE
#define ANY		 CLEW_PROGRAM_ANY
#define VERIFY		 CLEW_PROGRAM_VERIFY
#define XFS		 CLEW_PROGRAM_XFS
#define JBD2		 CLEW_PROGRAM_JBD2
#define FUNCTIONS	 CLEW_PROGRAM_FUNCTIONS
#define STACKS		 CLEW_PROGRAM_STACKS
#define KERNEL_FUNCTIONS CLEW_PROGRAM_KERNEL_FUNCTIONS
#define ESSENTIAL	 CLEW_PROGRAM_ESSENTIAL
#define CORE		 CLEW_PROGRAM_CACHE_CORE
#define MESSAGES	 CLEW_PROGRAM_MESSAGES

#define ROW(program, attached, of, when, ...)                                                      \
	{                                                                                          \
		.name = (program), .section = (attached), .kind = CLEW_KIND_##of, .flags = (when), \
		__VA_ARGS__                                                                        \
	}
#define LOST(line, without)		.feature = (line), .costs = (without)
#define NEEDS(...)			.needs = {__VA_ARGS__}
#define TAKES(structure_, number)	.structure = (structure_), .argument = (number)
#define TAKES_OTHER(structure_, number) TAKES(structure_, number), .other = true

#define IPI	    "inter-processor interrupts"
#define WITHOUT_IPI "which of them ended a wait: it is an interrupt of no device, or unknown"

const struct clew_program_row clew_program_table[] = {
	ROW("clew_sched_switch", "tp_btf/sched_switch", SWITCH, ONCE | ESSENTIAL,
	    LOST("switches", "everything: who ran and who waited")),
	ROW("clew_sched_waking", "tp_btf/sched_waking", WAKE, ONCE | ESSENTIAL,
	    LOST("wakes", "who ended each wait")),
	ROW("clew_sched_wakeup_new", "tp_btf/sched_wakeup_new", WAKE, 0,
	    LOST("first wakes", "how long a new task waited for a CPU")),
	ROW("clew_task_newtask", "tp_btf/task_newtask", FORK, ONCE | ESSENTIAL,
	    LOST("births", "who made a task, and its identity")),
	ROW("clew_sched_process_exec", "tp_btf/sched_process_exec", EXEC, ONCE,
	    LOST("execs", "command lines of tasks that exec")),
	ROW("clew_sched_process_exit", "tp_btf/sched_process_exit", EXIT, ONCE | ESSENTIAL,
	    LOST("exits", "exit codes")),
	ROW("clew_task_rename", "tp_btf/task_rename", RENAME, ONCE,
	    LOST("names", "names that change during the recording")),
	ROW("clew_iterate", "iter.s/task", WAKE, ESSENTIAL,
	    LOST("tasks before the start",
		 "waits that were open at the start, and identities of tasks from before")),
	ROW("clew_end_waits", "iter.s/task", END, 0,
	    LOST("other ends",
		 "who has the other end of what a task waits for, and where it sleeps")),
	ROW("clew_end_holders", "iter/task_file", END, 0),
	ROW("clew_tick", "perf_event", WHERE, 0,
	    LOST("ticks", "in which call a task was that ran for long")),
	ROW("clew_sample", "perf_event", SAMPLE, OPTIONAL | STACKS,
	    LOST("stacks of waits", "from where in the code a task waited")),
	ROW("clew_waited", "tp_btf/sched_switch", WAITED, OPTIONAL | STACKS),
	ROW("clew_waker", "tp_btf/sched_waking", WAKER, OPTIONAL | STACKS),
	ROW("clew_waiting", "iter/task", WAITED, OPTIONAL | STACKS),
	ROW("clew_find_direct_map", "iter/task", WAITED, OPTIONAL,
	    LOST("user stacks",
		 "from where in its code a task waited (stacks have the kernel's part "
		 "alone), and at what it waited when the recording began")),
	ROW("clew_memory_begin", "tp_btf/percpu_alloc_percpu", WHERE, OPTIONAL,
	    LOST("forks of large processes", "for how long a task ran in fork or exec")),
	ROW("clew_page_fault_kernel", "tp_btf/page_fault_kernel", SWITCH, OPTIONAL,
	    LOST("faults in calls",
		 "time: which waits in system calls are page faults is looked for in the kernel's "
		 "stack at each wait")),
	ROW("clew_irq_handler_entry", "tp_btf/irq_handler_entry", WAKE, 0,
	    LOST("interrupts", "which device's interrupt ended a wait")),
	ROW("clew_irq_handler_exit", "tp_btf/irq_handler_exit", WAKE, 0),
	ROW("clew_softirq_entry", "tp_btf/softirq_entry", WAKE, 0,
	    LOST("softirqs", "which softirq ended a wait")),
	ROW("clew_softirq_exit", "tp_btf/softirq_exit", WAKE, 0),
#ifdef __aarch64__
	ROW("clew_ipi_entry", "tp_btf/ipi_entry", WAKE, OPTIONAL, LOST(IPI, WITHOUT_IPI)),
	ROW("clew_ipi_exit", "tp_btf/ipi_exit", WAKE, OPTIONAL),
#else
	ROW("clew_call_function_single_entry", "tp_btf/call_function_single_entry", WAKE, OPTIONAL,
	    LOST(IPI, WITHOUT_IPI)),
	ROW("clew_call_function_single_exit", "tp_btf/call_function_single_exit", WAKE, OPTIONAL),
	ROW("clew_call_function_entry", "tp_btf/call_function_entry", WAKE, OPTIONAL),
	ROW("clew_call_function_exit", "tp_btf/call_function_exit", WAKE, OPTIONAL),
	ROW("clew_irq_work_entry", "tp_btf/irq_work_entry", WAKE, OPTIONAL),
	ROW("clew_irq_work_exit", "tp_btf/irq_work_exit", WAKE, OPTIONAL),
#endif
	ROW("clew_hrtimer_expire_entry", "tp_btf/hrtimer_expire_entry", WAKE, 0,
	    LOST("high-resolution timers",
		 "which timer ended a sleep or a timeout: it is unknown")),
	ROW("clew_hrtimer_expire_exit", "tp_btf/hrtimer_expire_exit", WAKE, 0),
	ROW("clew_hrtimer_start", "tp_btf/hrtimer_start", WAKE, 0),
	ROW("clew_timer_expire_entry", "tp_btf/timer_expire_entry", WAKE, 0,
	    LOST("timers", "which timer ended a timeout of the kernel: it is unknown")),
	ROW("clew_timer_expire_exit", "tp_btf/timer_expire_exit", WAKE, 0),
	ROW("clew_timer_start", "tp_btf/timer_start", WAKE, 0),
	ROW("clew_workqueue_execute_start", "tp_btf/workqueue_execute_start", WORK, 0,
	    LOST("work items", "for whom a kernel worker works")),
	ROW("clew_workqueue_queue_work", "tp_btf/workqueue_queue_work", WORK, 0),
	ROW("clew_block_rq_issue", "tp_btf/block_rq_issue", REQUEST, 0,
	    LOST("block requests",
		 "which request a wait was for, and its time in the queue and the device")),
	ROW("clew_block_rq_requeue", "tp_btf/block_rq_requeue", REQUEST, 0),
	ROW("clew_block_rq_merge", "tp_btf/block_rq_merge", REQUEST, 0),
	ROW("clew_block_rq_complete", "tp_btf/block_rq_complete", REQUEST, 0),
	ROW("clew_block_bio_queue", "tp_btf/block_bio_queue", BIO, 0),
	ROW("clew_block_bio_remap", "tp_btf/block_bio_remap", BIO, 0),
	ROW("clew_block_split", "tp_btf/block_split", REQUEST, 0),
	ROW("clew_block_bio_backmerge", "tp_btf/block_bio_backmerge", BIO, 0),
	ROW("clew_block_bio_frontmerge", "tp_btf/block_bio_frontmerge", BIO, 0),
	ROW("clew_block_bio_complete", "tp_btf/block_bio_complete", BIO, 0),
	ROW("clew_block_io_done", "tp_btf/block_io_done", REQUEST, OPTIONAL,
	    LOST("ends of requests",
		 "wakes by the same interrupt after a request's end count as its own")),
	ROW("clew_net_dev_queue", "tp_btf/net_dev_queue", WAKE, 0,
	    LOST("packets", "who sent what ended a wait for a TCP or UDP socket"),
	    NEEDS("turns of network devices")),
	ROW("clew_netif_receive_skb", "tp_btf/netif_receive_skb", WAKE, 0),
	ROW("clew_net_dev_start_xmit", "tp_btf/net_dev_start_xmit", WAKE, 0,
	    LOST("parts of packets", "who sent a packet that had to be cut up"), NEEDS("packets")),
	ROW("clew_napi_poll", "tp_btf/napi_poll", WAKE, 0,
	    LOST("turns of network devices",
		 "where a packet's effects end, and so who sent what ended a wait")),
	ROW("clew_kfree_skb", "tp_btf/kfree_skb", WAKE, OPTIONAL,
	    LOST("refused packets", "that a packet filter of this machine refused what was lost"),
	    NEEDS("packets")),
	ROW("clew_tcp_retransmit_skb", "tp_btf/tcp_retransmit_skb", FAILED, OPTIONAL,
	    LOST("attempts to connect", "why an attempt to connect by TCP takes long or fails"),
	    NEEDS("packets")),
	ROW("clew_tcp_receive_reset", "tp_btf/tcp_receive_reset", FAILED, OPTIONAL),
	ROW("clew_consume_skb", "tp_btf/consume_skb", FAILED, OPTIONAL),
	ROW("clew_sock_send_length", "tp_btf/sock_send_length", MESSAGE, OPTIONAL | MESSAGES,
	    LOST("messages",
		 "what was asked of other hosts and when their answers came, and requests that "
		 "nobody waited for (clew record --messages)")),
	ROW("clew_sock_recv_length", "tp_btf/sock_recv_length", MESSAGE, OPTIONAL | MESSAGES),
	ROW("clew_tcp_rcv_space_adjust", "tp_btf/tcp_rcv_space_adjust", MESSAGE,
	    OPTIONAL | MESSAGES),
	ROW("clew_tcp_probe", "tp_btf/tcp_probe", MESSAGE, OPTIONAL | MESSAGES),
	ROW("clew_contention_begin", "tp_btf/contention_begin", LOCK, 0,
	    LOST("kernel locks", "which waits are for kernel locks, and who holds them")),
	ROW("clew_contention_end", "tp_btf/contention_end", LOCK, 0),
	ROW("clew_posix_lock", "tp_btf/posix_lock_inode", WAKE, OPTIONAL,
	    LOST("locks on files", "who has what flock and fcntl wait for")),
	ROW("clew_flock", "tp_btf/flock_lock_inode", WAKE, OPTIONAL),
	ROW("clew_direct_reclaim_begin", "tp_btf/mm_vmscan_direct_reclaim_begin", SWITCH, 0,
	    LOST("memory reclaim", "which waits are for memory")),
	ROW("clew_direct_reclaim_end", "tp_btf/mm_vmscan_direct_reclaim_end", SWITCH, 0),
	ROW("clew_group_reclaim_begin", "tp_btf/mm_vmscan_memcg_reclaim_begin", SWITCH, OPTIONAL,
	    LOST("group memory reclaim", "which waits are for a group's memory")),
	ROW("clew_group_reclaim_end", "tp_btf/mm_vmscan_memcg_reclaim_end", SWITCH, OPTIONAL),
	ROW("clew_compaction_begin", "tp_btf/mm_compaction_begin", SWITCH, OPTIONAL,
	    LOST("memory compaction", "which waits are for compaction")),
	ROW("clew_compaction_end", "tp_btf/mm_compaction_end", SWITCH, OPTIONAL),
	ROW("clew_cache_dirty_folio", "tp_btf/writeback_dirty_folio", EXTENT,
	    OPTIONAL | CACHE | CORE, LOST("dirty pages", "who wrote what a request carries")),
	ROW("clew_cache_ext4_da_write", "tp_btf/ext4_da_write_end", EXTENT, OPTIONAL | CACHE,
	    LOST("ext4 writes", "who wrote to an ext4 page that was dirty already")),
	ROW("clew_cache_ext4_write", "tp_btf/ext4_write_end", EXTENT, OPTIONAL | CACHE),
	ROW("clew_cache_ext4_journalled_write", "tp_btf/ext4_journalled_write_end", EXTENT,
	    OPTIONAL | CACHE),
	ROW("clew_cache_xfs_write", "tp_btf/xfs_file_buffered_write", EXTENT, OPTIONAL | CACHE,
	    LOST("xfs writes", "who wrote to an xfs page that was dirty already")),
	ROW("clew_cache_xfs_store", "tp_btf/xfs_write_fault", EXTENT, OPTIONAL | CACHE),
	ROW("clew_cache_xfs_fault", "tp_btf/xfs_filemap_fault", EXTENT, OPTIONAL | CACHE),
	ROW("clew_cache_store_user", "tp_btf/page_fault_user", EXTENT, CACHE | XFS,
	    LOST("stores to mapped xfs pages",
		 "who stored to mapped pages of xfs: they count as not stored to")),
	ROW("clew_cache_store_kernel", "tp_btf/page_fault_kernel", EXTENT, CACHE | XFS),
	ROW("clew_cache_btrfs_write", "tp_btf/btrfs_set_extent_bit", EXTENT, OPTIONAL | CACHE,
	    LOST("btrfs writes", "who wrote to a btrfs page that was dirty already")),
	ROW("clew_cache_dirty_buffer", "tp_btf/block_dirty_buffer", EXTENT, OPTIONAL | CACHE,
	    LOST("stores to ext4", "who stored to a mapped ext4 page that was dirty already")),
	ROW("clew_cache_get_pages", "tp_btf/mm_filemap_get_pages", EXTENT, OPTIONAL | CACHE,
	    LOST("use of cached pages", "who used pages that were read ahead")),
	ROW("clew_cache_map_pages", "tp_btf/mm_filemap_map_pages", EXTENT, OPTIONAL | CACHE),
	ROW("clew_cache_fault", "tp_btf/mm_filemap_fault", EXTENT, OPTIONAL | CACHE),
	ROW("clew_cache_drop", "tp_btf/mm_filemap_delete_from_page_cache", EXTENT,
	    OPTIONAL | CACHE | CORE, LOST("dropped pages", "what was never written or used")),
	ROW("clew_cache_iomap_zero", "tp_btf/iomap_zero_iter", EXTENT, OPTIONAL | CACHE),
	ROW("clew_cache_ext4_clear", "tp_btf/ext4_invalidate_folio", EXTENT, OPTIONAL | CACHE),
	ROW("clew_cache_ext4_journalled_clear", "tp_btf/ext4_journalled_invalidate_folio", EXTENT,
	    OPTIONAL | CACHE),
	ROW("clew_cache_writeback_start", "tp_btf/writeback_start", WRITEBACK, OPTIONAL | CACHE,
	    LOST("writeback", "why a request was written")),
	ROW("clew_cache_writeback_queue", "tp_btf/writeback_queue", WRITEBACK, OPTIONAL | CACHE),
	ROW("clew_cache_writeback_written", "tp_btf/writeback_written", WRITEBACK,
	    OPTIONAL | CACHE),
	ROW("clew_cache_writeback_wake", "tp_btf/writeback_wake_background", WRITEBACK,
	    OPTIONAL | CACHE),
	ROW("clew_cache_writeback_inode_start", "tp_btf/writeback_single_inode_start", WRITEBACK,
	    OPTIONAL | CACHE),
	ROW("clew_cache_writeback_inode", "tp_btf/writeback_single_inode", WRITEBACK,
	    OPTIONAL | CACHE),
	ROW("clew_cache_jbd2_start", "tp_btf/jbd2_start_commit", JOURNAL, OPTIONAL | CACHE,
	    LOST("ext4 journal", "who awaited which commit, and who held it up")),
	ROW("clew_cache_jbd2_locking", "tp_btf/jbd2_commit_locking", JOURNAL, OPTIONAL | CACHE),
	ROW("clew_cache_jbd2_flushing", "tp_btf/jbd2_commit_flushing", JOURNAL, OPTIONAL | CACHE),
	ROW("clew_cache_jbd2_end", "tp_btf/jbd2_end_commit", JOURNAL, OPTIONAL | CACHE),
	ROW("clew_cache_jbd2_handle", "tp_btf/jbd2_handle_stats", JOURNAL, OPTIONAL | CACHE),
	ROW("clew_cache_ext4_sync", "tp_btf/ext4_sync_file_enter", JOURNAL, OPTIONAL | CACHE),
	ROW("clew_cache_touch_buffer", "tp_btf/block_touch_buffer", JOURNAL,
	    OPTIONAL | CACHE | JBD2),
	ROW("clew_cache_xfs_sync", "tp_btf/xfs_file_fsync", JOURNAL, OPTIONAL | CACHE,
	    LOST("xfs log", "who awaited which checkpoint, and who was in it")),
	ROW("clew_cache_xfs_commit", "tp_btf/xfs_trans_commit", JOURNAL, OPTIONAL | CACHE),
	ROW("clew_cache_xfs_push", "tp_btf/workqueue_execute_start", JOURNAL,
	    OPTIONAL | CACHE | XFS),
	ROW("clew_cache_xfs_wait", "tp_btf/xlog_iclog_wait_on", JOURNAL, OPTIONAL | CACHE),
	ROW("clew_cache_xfs_force", "tp_btf/xfs_log_force", JOURNAL, OPTIONAL | CACHE),
	ROW("clew_cache_xfs_space", "tp_btf/xfs_log_grant_sleep", JOURNAL, OPTIONAL | CACHE),
	ROW("clew_cache_xfs_block", "tp_btf/xfs_trans_log_buf", JOURNAL, OPTIONAL | CACHE),
	ROW("clew_cache_btrfs_sync", "tp_btf/btrfs_sync_file", JOURNAL, OPTIONAL | CACHE,
	    LOST("btrfs transactions", "who awaited which commit, and who was in it")),
	ROW("clew_cache_btrfs_block", "tp_btf/btrfs_cow_block", JOURNAL, OPTIONAL | CACHE),
	ROW("clew_cache_btrfs_commit", "tp_btf/btrfs_transaction_commit", JOURNAL,
	    OPTIONAL | CACHE),
	ROW("clew_cache_throttled", "tp_btf/balance_dirty_pages", SWITCH, OPTIONAL | CACHE | ANY,
	    LOST("throttled writers", "that a writer sleeps because too much is dirty"),
	    TAKES("dirty_throttle_control", 1)),
	ROW("clew_cache_throttled_numbers", "tp_btf/balance_dirty_pages", SWITCH,
	    OPTIONAL | CACHE | ANY,
	    LOST("throttled writers", "that a writer sleeps because too much is dirty"),
	    TAKES_OTHER("dirty_throttle_control", 1)),
	ROW("clew_io_uring_submit_req", "tp_btf/io_uring_submit_req", RING, OPTIONAL | ANY,
	    LOST("io_uring", "who submitted what a wait for a ring was for")),
	ROW("clew_io_uring_submit_sqe", "tp_btf/io_uring_submit_sqe", RING, OPTIONAL | ANY,
	    LOST("io_uring", "who submitted what a wait for a ring was for")),
	ROW("clew_io_uring_queue_async_work", "tp_btf/io_uring_queue_async_work", RING, OPTIONAL),
	ROW("clew_io_uring_complete_entry", "tp_btf/io_uring_complete", RING, OPTIONAL,
	    TAKES("io_uring_cqe", 2)),
	ROW("clew_io_uring_complete", "tp_btf/io_uring_complete", RING, OPTIONAL,
	    TAKES_OTHER("io_uring_cqe", 2)),
	ROW("clew_announced", "uprobe", ANNOUNCE, 0,
	    LOST("announcements",
		 "what programs announce of themselves, and the layers that are described")),
	ROW("clew_function", "uprobe", FUNCTION, FUNCTIONS,
	    LOST("functions", "functions of programs (clew record -f)")),
	ROW("clew_moment", "uprobe", MOMENT, CLEW_PROGRAM_RUNTIMES,
	    LOST("runtimes", "logical spans of runtimes (clew record --runtime)")),
	ROW("clew_kernel_function", "kprobe.multi", FUNCTION, KERNEL_FUNCTIONS,
	    LOST("kernel functions", "functions of the kernel (clew record -k)")),
	ROW("clew_verify_switch", "tp_btf/sched_switch", WAKE, OPTIONAL | VERIFY,
	    LOST("verification", "the count of switches (clew record --verify-counters)")),
};

const size_t clew_program_table_count = sizeof(clew_program_table) / sizeof(clew_program_table[0]);

const struct clew_program_row *clew_program_row(const char *name)
{
	for (size_t i = 0; i < clew_program_table_count; i++)
		if (!strcmp(clew_program_table[i].name, name))
			return &clew_program_table[i];
	return NULL;
}

const struct clew_program_row *clew_program_feature(const struct clew_program_row *row)
{
	while (!row->feature)
		row--;
	return row;
}
