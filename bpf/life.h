/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lives of tasks: fork, exec, exit, names; and the identity of each.
 *
 * A serial is one (task, tid): a thread that takes its leader's tid by exec gets
 * a new one.
 */
#ifndef CLEW_LIFE_H
#define CLEW_LIFE_H

#include "environment.h"
#include "sched.h"

struct task_record {
	struct clew_task_record task;
	char command_line[CLEW_COMMAND_LINE_SIZE];
};

static __always_inline __u32 new_serial(void)
{
	return __sync_fetch_and_add(&last_serial, 1) + 1;
}

/* A match under way: where we are in the name and the pattern, and where to go on after a '*' that
 * was too short. */
struct glob {
	char comm[CLEW_COMM_SIZE];
	__u32 at;
	__u32 pattern;
	__u32 star; /* behind the last '*', 0 none */
	__u32 resume;
	bool matches;
};

/*
 * Always 0, which the verifier must not know: older ones look at a loop's first turn
 * only and take for dead what cannot happen in that.
 */
volatile __u32 nothing;

/* One step of it, so that the verifier looks at one step only; 1 ends the loop. */
static long glob_step(__u32 turn, struct glob *glob)
{
	char c = glob->comm[glob->at & (CLEW_COMM_SIZE - 1)];
	char p = filter_glob[glob->pattern & (sizeof(filter_glob) - 1)];

	if (glob->at >= CLEW_COMM_SIZE || !c) {
		glob->pattern++;
		glob->matches = !p;
		return p != '*';
	}
	if (p == '*') {
		glob->star = ++glob->pattern;
		glob->resume = glob->at;
	} else if (p == '?' || p == c) {
		glob->pattern++;
		glob->at++;
	} else if (glob->star) {
		glob->pattern = glob->star;
		glob->at = ++glob->resume;
	} else {
		return 1;
	}
	return 0;
}

/* Shell-like match of a task's name with the filter's pattern: '*' and '?'. */
static __noinline bool comm_wanted(const char *comm)
{
	struct glob glob = {.at = nothing, .pattern = nothing, .star = nothing, .resume = nothing};

	bpf_probe_read_kernel_str(glob.comm, sizeof(glob.comm), comm);
	bpf_loop(CLEW_COMM_SIZE * sizeof(filter_glob), glob_step, &glob, 0);
	return glob.matches;
}

/* `comm` is its name, or will be in a moment. Written only where it changes, as a task may be
 * renamed by another while it is switched. */
static __always_inline void update_detail(struct clew_task_state *state, const char *comm)
{
	bool wanted = (state->flags & CLEW_TASK_STATE_PID) &&
		      !(state->flags & CLEW_TASK_STATE_SELF) && (!filter_comm || comm_wanted(comm));

	if (wanted != !!(state->flags & CLEW_TASK_STATE_DETAIL))
		state->flags ^= CLEW_TASK_STATE_DETAIL;
}

static __always_inline void update_filter(struct task_struct *task, struct clew_task_state *state,
					  bool inherited)
{
	__u32 tid = task->pid, pid = (__u32)task->tgid | 0x80000000u;

	if (task->tgid == (int)self_pid)
		state->flags |= CLEW_TASK_STATE_SELF;
	if (inherited || !filter_pids || bpf_map_lookup_elem(&clew_filter, &tid) ||
	    bpf_map_lookup_elem(&clew_filter, &pid))
		state->flags |= CLEW_TASK_STATE_PID;
	update_detail(state, task->comm);
}

/* Serials of the leader and the parent. */
static __always_inline void describe_kin(struct task_struct *task, struct clew_task_state *state,
					 struct clew_task_record *record)
{
	struct task_struct *leader = task->group_leader, *parent = task->real_parent;
	struct clew_task_state *other;

	record->process = state->serial;
	if (leader && leader != task) {
		other = task_state(leader);
		record->process = other ? other->serial : 0;
	}
	record->parent = 0;
	if (parent) {
		other = task_state(parent);
		record->parent = other ? other->serial : 0;
	}
}

/* Everything but the header, the kin and the command line. */
static __always_inline void describe_task(struct where *where, struct task_struct *task,
					  struct clew_task_state *state,
					  struct clew_task_record *record)
{
	struct pid *pid = READ(task, thread_pid);
	struct file *executable = NULL;
	struct mm_struct *mm = READ_TRUSTED(task, mm);
	struct inode *inode;
	__u32 i, level;

	record->start_time = CLEW_CLOCK(task->start_time);
	record->task = state->serial;
	record->tid = task->pid;
	record->pid = task->tgid;
	record->user = READ(task, real_cred, uid.val);
	record->task_flags = 0;
	if (task->flags & PF_KTHREAD)
		record->task_flags |= CLEW_TASK_KTHREAD;
	if (task->flags & PF_WQ_WORKER)
		record->task_flags |= CLEW_TASK_KWORKER;
	if (state->flags & CLEW_TASK_STATE_SELF)
		record->task_flags |= CLEW_TASK_SELF;
	if (state->flags & CLEW_TASK_STATE_DETAIL)
		record->task_flags |= CLEW_TASK_DETAIL;
	level = READ(pid, level);
	record->nspid_count = 0;
	__builtin_memset(record->nspid, 0, sizeof(record->nspid));
	for (i = 0; i < CLEW_NSPID_LEVELS; i++) {
		struct upid upid = {};

		if (i > level)
			break;
		bpf_core_read(&upid, bpf_core_type_size(struct upid),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				      i * bpf_core_type_size(struct upid));
		record->nspid[i] = upid.nr;
		record->nspid_count = i + 1;
		record->pid_namespace = READ(upid.ns, ns.inum);
	}
	record->mount_namespace = mount_namespace_of(task);
	record->cgroup = send_cgroup((__u64)cgroup_of(task), where->cpu, where->time);
	record->executable = 0;
	record->executable_device = 0;
	if (mm)
		executable = (void *)READ_NUMBER(mm, exe_file);
	if (executable) {
		inode = READ(executable, f_inode);
		record->executable = READ(inode, i_ino);
		record->executable_device = READ(inode, i_sb, s_dev);
		send_file((__u64)executable, where->cpu, where->time, record->mount_namespace);
	}
	record->command_line_size = 0;
	record->reserved = 0;
	bpf_probe_read_kernel(record->comm, sizeof(record->comm), task->comm);
}

static __always_inline void send_life(struct where *where, __u8 kind, __u32 task, __u32 other,
				      __u64 value)
{
	struct clew_life *life =
		record_reserve(where->cpu_state, where->cpu, kind, where->time, sizeof(*life));

	if (!life)
		return;
	life->task = task;
	life->other = other;
	life->value = value;
	record_submit(life);
}

/* A record of that size with a task's identity but for its command line; NULL: it is lost, and the
 * task knows. */
static __always_inline struct clew_task_record *begin_identity(struct where *where,
							       struct task_struct *task,
							       struct clew_task_state *state,
							       __u64 size)
{
	struct clew_task_record *record =
		record_reserve(where->cpu_state, where->cpu, CLEW_KIND_TASK, where->time, size);

	if (!record) {
		state->flags |= CLEW_TASK_STATE_UNTOLD;
		return NULL;
	}
	describe_kin(task, state, record);
	describe_task(where, task, state, record);
	state->flags &= ~CLEW_TASK_STATE_UNTOLD;
	return record;
}

static __always_inline void tell_identity(struct where *where, struct task_struct *task,
					  struct clew_task_state *state)
{
	struct clew_task_record *record = begin_identity(where, task, state, sizeof(*record));

	if (record)
		record_submit(record);
}

/* The task here tells its identity again, which was lost: the command line is no longer where it
 * was looked for. */
__noinline int tell_again(__u32 cpu, __u64 time)
{
	struct where where = {.cpu_state = this_cpu_state(cpu), .time = time, .cpu = cpu};
	struct task_struct *task = bpf_get_current_task_btf();
	struct clew_task_state *state = task_state(task);

	if (state && where.cpu_state)
		tell_identity(&where, task, state);
	return 0;
}

static __always_inline bool here(struct where *where)
{
	where->cpu = bpf_get_smp_processor_id();
	where->cpu_state = this_cpu_state(where->cpu);
	where->time = clock_ns();
	return where->cpu_state != NULL;
}

/* task_newtask, not sched_process_fork: the latter leaves out the threads of io_uring. */
SEC("tp_btf/task_newtask")
int BPF_PROG(clew_task_newtask, struct task_struct *child)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct clew_task_state *state, *parent_state;
	struct where where;

	if (!here(&where))
		return 0;
	if (enabled) {
		state = task_state_make(child);
	} else {
		/*
		 * A state is made even while the gate is shut: the iterator may have passed
		 * already. Then it is in task storage, where who looks for hidden tasks finds that
		 * there is one, and a slot is of who had the address before.
		 */
		task_state_drop(child);
		state = bpf_task_storage_get(&clew_tasks, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	}
	if (!state) {
		if (enabled) {
			count_atomic(&where.cpu_state->counts[CLEW_KIND_TASK].seen);
			count_atomic(&where.cpu_state->counts[CLEW_KIND_TASK].missed);
		}
		return 0;
	}
	parent_state = task_state(parent);
	state->serial = new_serial();
	state->flags |= CLEW_TASK_STATE_NEW;
	update_filter(child, state, parent_state && (parent_state->flags & CLEW_TASK_STATE_PID));
	if (!identifying)
		return 0;
	tell_identity(&where, child, state);
	if (enabled)
		send_life(&where, CLEW_KIND_FORK, parent_state ? parent_state->serial : 0,
			  state->serial, 0);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(clew_sched_process_exec, struct task_struct *task, int old_pid)
{
	struct clew_task_state *state;
	struct task_record *record;
	struct where where;
	__u32 before;
	__u64 start, size;
	long got;

	state = task_state(task);
	if (!here(&where) || !state)
		return 0;
	before = state->serial;
	if (task->pid != old_pid) {
		state->serial = new_serial();
		where.cpu_state->running = state->serial;
		where.cpu_state->running_pid = task->pid;
	}
	state->call_after = 0;
	state->fault_frame = 0;
	update_filter(task, state, state->flags & CLEW_TASK_STATE_PID);
	if (!identifying)
		return 0;
	if (enabled)
		send_life(&where, CLEW_KIND_EXEC, before, state->serial, 0);
	record = (struct task_record *)begin_identity(&where, task, state, sizeof(*record));
	if (!record)
		return 0;
	start = READ(task, mm, arg_start);
	size = READ(task, mm, arg_end) - start;
	if (size > CLEW_COMMAND_LINE_SIZE)
		size = CLEW_COMMAND_LINE_SIZE;
	got = bpf_probe_read_user(record->command_line, size, (void *)start);
	record->task.command_line_size = got ? 0 : size;
	record_submit(record);
	send_environment(task, state->serial, where.cpu, where.time);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(clew_sched_process_exit, struct task_struct *task)
{
	struct clew_task_state *state;
	struct where where;

	if (!enabled || !here(&where))
		return 0;
	state = task_state(task);
	if (state && unlikely(state->flags & CLEW_TASK_STATE_UNTOLD))
		tell_again(where.cpu, where.time);
	if (state)
		send_life(&where, CLEW_KIND_EXIT, state->serial, 0, (__u32)task->exit_code);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(clew_task_rename, struct task_struct *task, const char *name)
{
	struct clew_rename *record;
	struct clew_task_state *state;
	struct where where;

	/* An exec tells its name in the record of the new identity. */
	if (BPF_CORE_READ_BITFIELD(task, in_execve) || !here(&where))
		return 0;
	state = task_state(task);
	if (!state)
		return 0;
	/* Threads get names of their own only after they were made. The task still has the old one
	 * here. */
	if (filter_comm)
		update_detail(state, name);
	if (!identifying)
		return 0;
	record = record_reserve(where.cpu_state, where.cpu, CLEW_KIND_RENAME, where.time,
				sizeof(*record));
	if (!record)
		return 0;
	record->task = state->serial;
	record->reserved = 0;
	__builtin_memset(record->comm, 0, sizeof(record->comm));
	bpf_probe_read_kernel_str(record->comm, sizeof(record->comm), name);
	record_submit(record);
	return 0;
}

#endif
