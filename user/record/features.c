/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What this kernel gives clew, tried rather than guessed: the programs are loaded,
 * one by one if all together are refused, and attached; each optional tier gets a program of two
 * instructions.
 */
#include "record/features.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"
#include "clew.skel.h"
#include "record/announce.h"
#include "record/internal.h"
#include "record/kernel.h"
#include "record/probe.h"
#include "record/programs.h"

struct table {
	struct clew_feature *features;
	size_t count;
};

static const struct {
	const char *program;
	const char *name;
	const char *costs;
} programs[] = {
	{"clew_sched_switch", "switches", "everything: who ran and who waited"},
	{"clew_sched_waking", "wakes", "who ended each wait"},
	{"clew_sched_wakeup_new", "first wakes", "how long a new task waited for a CPU"},
	{"clew_task_newtask", "births", "who made a task, and its identity"},
	{"clew_sched_process_exec", "execs", "programs and command lines of tasks that exec"},
	{"clew_sched_process_exit", "exits", "exit codes"},
	{"clew_task_rename", "names", "names that change during the recording"},
	{"clew_iterate", "tasks before the start",
	 "waits that were open at the start, and identities of tasks from before"},
	{"clew_page_fault_kernel", "faults in calls",
	 "page faults inside system calls are told as the call's own kind"},
	{"clew_irq_handler_entry", "interrupts", "which device's interrupt ended a wait"},
	{"clew_softirq_entry", "softirqs", "which softirq ended a wait"},
	{"clew_call_function_single_entry", "inter-processor interrupts",
	 "they are told as interrupts of no device"},
	{"clew_hrtimer_expire_entry", "high-resolution timers",
	 "sleeps and timeouts end by an interrupt, not by their timer"},
	{"clew_timer_expire_entry", "timers",
	 "timeouts of the kernel end by a softirq, not by their timer"},
	{"clew_workqueue_execute_start", "work items", "for whom a kernel worker works"},
	{"clew_block_rq_issue", "block requests",
	 "which request a wait was for, and its time in the queue and the device"},
	{"clew_block_io_done", "ends of requests",
	 "wakes by the same interrupt after a request's end count as its own"},
	{"clew_net_dev_queue", "packets", "who sent what ended a wait for a TCP or UDP socket"},
	{"clew_net_dev_start_xmit", "parts of packets", "who sent a packet that had to be cut up"},
	{"clew_napi_poll", "turns of network devices",
	 "room that a device makes may be told as made by the packet that came before"},
	{"clew_contention_begin", "kernel locks",
	 "waits for kernel locks are told as their call's kind"},
	{"clew_posix_lock", "locks on files", "who has what flock and fcntl wait for"},
	{"clew_direct_reclaim_begin", "memory reclaim",
	 "waits for memory are told as their call's kind"},
	{"clew_group_reclaim_begin", "group memory reclaim",
	 "waits for a group's memory are told as their call's kind"},
	{"clew_compaction_begin", "memory compaction",
	 "waits for compaction are told as their call's kind"},
	{"clew_cache_dirty_folio", "dirty pages", "who wrote what a request carries"},
	{"clew_cache_ext4_da_write", "ext4 writes",
	 "who wrote to an ext4 page that was dirty already"},
	{"clew_cache_xfs_write", "xfs writes", "who wrote to an xfs page that was dirty already"},
	{"clew_cache_btrfs_write", "btrfs writes",
	 "who wrote to a btrfs page that was dirty already"},
	{"clew_cache_dirty_buffer", "stores to ext4",
	 "who stored to a mapped ext4 page that was dirty already"},
	{"clew_cache_get_pages", "use of cached pages", "who used pages that were read ahead"},
	{"clew_cache_drop", "dropped pages", "what was never written or used"},
	{"clew_cache_writeback_start", "writeback", "why a request was written"},
	{"clew_cache_jbd2_start", "ext4 journal", "who awaited which commit, and who held it up"},
	{"clew_cache_xfs_sync", "xfs log", "who awaited which checkpoint, and who was in it"},
	{"clew_cache_btrfs_sync", "btrfs transactions",
	 "who awaited which commit, and who was in it"},
};

/* One of them is enough. */
static const char *const throttle_programs[] = {"clew_cache_throttled",
						"clew_cache_throttled_numbers"};
static const char *const ring_programs[] = {"clew_io_uring_submit_req", "clew_io_uring_submit_sqe"};

static void add(struct table *table, const char *name, const char *tier, bool available,
		const char *reason, const char *costs)
{
	struct clew_feature *feature = &table->features[table->count];

	if (table->count == CLEW_FEATURES_MOST)
		return;
	table->count++;
	*feature = (struct clew_feature){.name = name,
					 .tier = tier,
					 .available = available,
					 .costs = available ? "" : costs};
	snprintf(feature->reason, sizeof(feature->reason), "%s", available ? "" : reason);
}

/* Why a program cannot be had. */
static const char *reason_of(int error)
{
	if (error == -ENOENT || error == -ESRCH)
		return "its tracepoint is not in this kernel, or in a module that is not loaded";
	return strerror(-error);
}

/* Loads one program alone, and attaches it where it has a tracepoint. 0 or -errno. */
static int try_program(const char *name)
{
	struct clew_bpf *bpf = clew_bpf__open();
	struct bpf_program *program, *wanted = NULL;
	struct bpf_link *link;
	int error;

	if (!bpf)
		return -errno;
	bpf_object__for_each_program (program, bpf->obj) {
		bool is = !strcmp(bpf_program__name(program), name);

		bpf_program__set_autoload(program, is);
		if (is)
			wanted = program;
	}
	error = wanted ? clew_bpf__load(bpf) : -ENOENT;
	if (!error) {
		link = bpf_program__attach(wanted);
		error = link ? 0 : -errno;
		bpf_link__destroy(link);
	}
	clew_bpf__destroy(bpf);
	return error;
}

/* Whether the kernel takes a tracing program at a function's entry. */
static int try_fentry(const struct btf *btf)
{
	const struct bpf_insn instructions[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY);
	int id = btf__find_by_name_kind(btf, "vfs_fsync_range", BTF_KIND_FUNC), descriptor, link;

	if (id < 0)
		return -ENOENT;
	options.attach_btf_id = id;
	descriptor = bpf_prog_load(BPF_PROG_TYPE_TRACING, NULL, "GPL", instructions, 2, &options);
	if (descriptor < 0)
		return -errno;
	link = bpf_raw_tracepoint_open(NULL, descriptor);
	id = link < 0 ? -errno : 0;
	if (link >= 0)
		close(link);
	close(descriptor);
	return id;
}

/* Whether the kernel has the 32-bit entry: one without it kills the child that calls getpid there.
 */
static bool try_compat(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
#ifdef __x86_64__
		long result;

		asm volatile("int $0x80"
			     : "=a"(result)
			     : "a"(20)
			     : "memory", "r8", "r9", "r10", "r11");
		_exit(result > 0 ? 0 : 1);
#else
		_exit(1);
#endif
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

static void *go_first(void *ret_error)
{
	*(int *)ret_error = clew_go_first();
	return NULL;
}

/* Whether a thread may go before ordinary ones. 0 or -errno. */
static int try_priority(void)
{
	pthread_t thread;
	int error = -EPERM;

	if (store_thread_start(&thread, go_first, &error))
		return -EAGAIN;
	pthread_join(thread, NULL);
	return error;
}

/* All programs at once; NULL if they do not load together, and each has to be tried by itself. */
static struct clew_bpf *load_all(struct btf *btf, const struct clew_kernel_symbols *symbols)
{
	const struct clew_program_choice choice = {.page_cache = true};
	struct clew_bpf *bpf = clew_bpf__open();

	if (!bpf)
		return NULL;
	clew_programs_addresses(bpf, symbols);
	if (!clew_programs_choose(bpf, btf, &choice) && !clew_bpf__load(bpf))
		return bpf;
	clew_bpf__destroy(bpf);
	return NULL;
}

/* 0 or -errno. `all`: what load_all gave. */
static int try_one(struct clew_bpf *all, const char *name)
{
	struct bpf_program *program = all ? bpf_object__find_program_by_name(all->obj, name) : NULL;
	struct bpf_link *link;
	int error;

	if (!program)
		return try_program(name);
	if (bpf_program__fd(program) < 0)
		return -ENOENT;
	link = bpf_program__attach(program);
	error = link ? 0 : -errno;
	bpf_link__destroy(link);
	return error;
}

/* The same of several programs, of which one is enough. */
static int try_any(struct clew_bpf *all, const char *const *names, size_t count)
{
	int error = -ENOENT;

	for (size_t i = 0; error && i < count; i++)
		error = try_one(all, names[i]);
	return error;
}

size_t clew_features_probe(struct clew_feature ret_features[CLEW_FEATURES_MOST])
{
	struct table table = {.features = ret_features};
	struct clew_message message;
	bool privileged = clew_kernel_privileged(), announced;
	struct btf *btf = clew_kernel_btf(&message);
	struct clew_kernel_symbols *symbols = NULL;
	struct clew_bpf *all;
	const char *calls_nop5 =
		"the kernel turns such a nop into a call, which writes below the stack pointer";
	const char *no = !privileged ? "not permitted: run as root" : "the kernel has no BTF";
	int error;

	add(&table, "privileges", "base", privileged,
	    "CAP_BPF and CAP_PERFMON are missing: run as root",
	    "everything: nothing can be recorded");
	add(&table, "BTF", "base", btf != NULL, "built without CONFIG_DEBUG_INFO_BTF",
	    "everything: clew's programs cannot be fitted to the kernel");
	clew_kernel_symbols_load(&symbols);
	all = privileged && btf ? load_all(btf, symbols) : NULL;
	clew_kernel_symbols_free(symbols);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		error = privileged && btf ? try_one(all, programs[i].program) : -EPERM;
		add(&table, programs[i].name, "base", !error,
		    privileged && btf ? reason_of(error) : no, programs[i].costs);
	}
	add(&table, "all tasks", "base", clew_kernel_shows_all_tasks(),
	    "in a PID namespace of its own: start clew in the machine's (nsenter -t 1 -p, docker "
	    "--pid=host)",
	    "tasks from before the start that are not in this namespace, and what they do");
	error = privileged && btf
			? try_any(all, throttle_programs,
				  sizeof(throttle_programs) / sizeof(throttle_programs[0]))
			: -EPERM;
	add(&table, "throttled writers", "base", !error, privileged && btf ? reason_of(error) : no,
	    "that a writer sleeps because too much is dirty");
	error = privileged && btf ? try_any(all, ring_programs,
					    sizeof(ring_programs) / sizeof(ring_programs[0]))
				  : -EPERM;
	add(&table, "io_uring", "base", !error, privileged && btf ? reason_of(error) : no,
	    "who submitted what a wait for a ring was for");
	clew_bpf__destroy(all);
	add(&table, "compressed btrfs files", "base",
	    btf && clew_kernel_has_member(btf, "btrfs", "btrfs_bio", "inode") &&
		    clew_kernel_has_member(btf, "btrfs", "btrfs_bio", "ordered"),
	    btf ? "btrfs does not tell of which file a compressed write is, or is not loaded" : no,
	    "who wrote what such a request carries");
	add(&table, "contexts", "base", btf && clew_kernel_preempt_count_offset(btf),
	    btf ? "the place of the preempt count is not in BTF" : no,
	    "whether a task or an interrupt ended a wait: all such waits are unknown");
	add(&table, "32-bit calls", "base", try_compat(), "the kernel has no 32-bit entry",
	    "nothing: no 32-bit program can run here either");

	error = try_priority();
	add(&table, "real-time priority", "base", !error,
	    error == -EPERM ? "CAP_SYS_NICE is missing, or the control group has no real-time "
			      "share (cpu.rt_runtime_us)"
			    : strerror(-error),
	    "records of bursts while all CPUs are busy");
	error = clew_announce_possible();
	add(&table, "announcements", "base", !error, "built without CONFIG_UPROBE_EVENTS",
	    "what programs announce of themselves, and the layers that are described");
	announced = !error;
	add(&table, "probes on 5-byte nops", "uprobe",
	    announced && privileged && !clew_probe_calls_nop5(),
	    !announced	  ? "built without CONFIG_UPROBE_EVENTS"
	    : !privileged ? no
			  : calls_nop5,
	    "announcements by such probes, but for those that a function begins with: clew leaves "
	    "them alone");
	add(&table, "kprobe", "kprobe",
	    access("/sys/bus/event_source/devices/kprobe/type", F_OK) == 0,
	    "built without CONFIG_KPROBES",
	    "nothing yet: no answer of this version rests on kprobes");
	error = privileged && btf ? try_fentry(btf) : -EPERM;
	add(&table, "fentry", "fentry", !error,
	    error == -EPERM && privileged ? "refused: the kernel is locked down" : strerror(-error),
	    "nothing yet: no answer of this version rests on fentry");
	btf__free(btf);
	return table.count;
}
