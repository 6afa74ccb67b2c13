/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds out by trying what this kernel offers clew. The programs are loaded and attached by the
 * function that does it to record. Each optional tier is tried with a program of two
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
#include "record/functions/announce.h"
#include "record/functions/probe.h"
#include "record/functions/probe_cost.h"
#include "record/functions/traced_kernel.h"
#include "record/load.h"
#include "record/recorder.h"
#include "record/room.h"
#include "record/stacks/direct_map.h"
#include "record/stream/drain.h"
#include "record/stream/kernel.h"
#include "record/stream/program_table.h"
#include "record/stream/recorder_state.h"
#include "record/ticks.h"
#include "symbol/elf/kernel.h"

#define SMALL_RING 65536 /* bytes a CPU: nothing is recorded */

struct table {
	struct clew_feature *features;
	size_t count;
};

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

/* Why a program cannot be loaded or attached. */
static const char *reason_of(int error)
{
	if (error == -ENOENT || error == -ESRCH)
		return "its tracepoint is not in this kernel, or in a module that is not loaded";
	return strerror(-error);
}

static struct bpf_link *attach_one(struct bpf_program *program)
{
	return bpf_program__type(program) == BPF_PROG_TYPE_PERF_EVENT
		       ? clew_ticks_attach(program, 0, 1000000000)
		       : bpf_program__attach(program);
}

/* The programs that `clew record` can load here. */
struct trial {
	struct clew_recorder recorder; /* its bpf: the programs that this kernel takes */
	bool loaded;		       /* they are loaded */
	char reason[512];	       /* why they are not; "" they are */
};

/* Loads what a recording would. */
static void load_all(struct trial *trial)
{
	const struct clew_recorder_options options = {.stack_threshold = 1,
						      .stacks_if_possible = true,
						      .messages = true,
						      .network = CLEW_NETWORK_OUTSIDE};
	struct clew_message message;

	trial->loaded = !clew_load_programs(&trial->recorder, &options, &message);
	if (!trial->loaded)
		snprintf(trial->reason, sizeof(trial->reason), "%s", message.text);
}

static void drop(struct trial *trial)
{
	clew_ticks_close(&trial->recorder);
	clew_bpf__destroy(trial->recorder.bpf);
	trial->recorder.bpf = NULL;
}

/* Why the feature of a row is lost, NULL if it is not. */
static const char *lost(const struct trial *trial, const struct clew_program_row *row, char *room,
			size_t size)
{
	const struct clew_refusal *refusal = clew_refusals_lost(&trial->recorder.refusals, row);
	const char *own;

	if (!refusal)
		return NULL;
	own = clew_program_feature(refusal->row)->feature;
	if (!strcmp(own, row->feature))
		return refusal->reason;
	snprintf(room, size, "not without %s", own);
	return room;
}

/* True if the kernel takes a tracing program at a function's entry. */
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

/* True if the kernel has the 32-bit entry. A child calls getpid through it; a
 * kernel without the entry kills the child. */
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

/* True if a thread may have real-time priority. 0 or -errno. */
static int try_priority(void)
{
	pthread_t thread;
	int error = -EPERM;

	if (store_thread_start(&thread, go_first, &error))
		return -EAGAIN;
	pthread_join(thread, NULL);
	return error;
}

/* True if the program was attached when it was loaded. */
static bool is_attached(const struct clew_bpf *bpf, const char *name)
{
	for (int i = 0; i < bpf->skeleton->prog_cnt; i++)
		if (!strcmp(bpf->skeleton->progs[i].name, name))
			return *bpf->skeleton->progs[i].link;
	return false;
}

/* Attaches one program, if it is among those that are loaded. 0 or -errno. */
static int try_one(const struct trial *trial, const char *name)
{
	struct clew_bpf *bpf = trial->recorder.bpf;
	struct bpf_program *program = bpf ? bpf_object__find_program_by_name(bpf->obj, name) : NULL;
	struct bpf_link *link;
	int error;

	if (!program || bpf_program__fd(program) < 0)
		return -ENOENT;
	if (is_attached(bpf, name))
		return 0;
	link = attach_one(program);
	error = link ? 0 : -errno;
	bpf_link__destroy(link);
	return error;
}

/* The number of rows of the table, from row `first` on, that have its feature. */
static size_t count_same(size_t first)
{
	const struct clew_program_row *rows = &clew_program_table[first];
	size_t count = 1;

	while (rows->feature && first + count < clew_program_table_count && rows[count].feature &&
	       !strcmp(rows[count].feature, rows->feature))
		count++;
	return count;
}

/* True if a line of its own says more of the feature than that its program is loaded. */
static bool has_own_line(const struct clew_program_row *row)
{
	return row->flags & CLEW_PROGRAM_ASKED || !strcmp(row->section, "uprobe") ||
	       !strcmp(row->name, "clew_find_direct_map");
}

/* Adds the lines of programs. `any`: those of features for which one of several
 * programs is enough. `no`: why no program can be had, or NULL. */
static void add_programs(struct table *table, const struct trial *trial, bool any, const char *no)
{
	char room[64];
	size_t same;

	for (size_t i = 0; i < clew_program_table_count; i += same) {
		const struct clew_program_row *rows = &clew_program_table[i];
		const char *why;
		int error = -ENOENT;

		same = count_same(i);
		if (!rows->feature || any != !!(rows->flags & CLEW_PROGRAM_ANY) ||
		    has_own_line(rows))
			continue;
		why = no ?: lost(trial, rows, room, sizeof(room));
		for (size_t n = 0; !why && error && n < same; n++)
			error = try_one(trial, rows[n].name);
		add(table, rows->feature, "base", !why && !error, why ?: reason_of(error),
		    rows->costs);
	}
}

/* The capabilities of the process itself: go before ordinary threads, probe programs. */
static void add_rights(struct table *table, const struct trial *trial, bool privileged,
		       const char *no)
{
	const struct clew_program_row *row = clew_program_row("clew_announced");
	const char *calls_nop5 =
		"the kernel turns such a nop into a call, which writes below the stack pointer";
	const char *refused;
	char room[64];
	bool announced;
	int error = try_priority();

	add(table, "real-time priority", "base", !error,
	    error == -EPERM ? "CAP_SYS_NICE is missing, or the control group has no real-time "
			      "share (cpu.rt_runtime_us)"
			    : strerror(-error),
	    "records of bursts while all CPUs are busy");
	announced = !clew_probe_possible();
	refused = no ?: lost(trial, row, room, sizeof(room));
	add(table, row->feature, "base", announced && !refused,
	    announced ? refused : "built without CONFIG_UPROBE_EVENTS", row->costs);
	add(table, "probes on 5-byte nops", "uprobe",
	    announced && privileged && !clew_probe_calls_nop5(),
	    !announced	  ? "built without CONFIG_UPROBE_EVENTS"
	    : !privileged ? no
			  : calls_nop5,
	    "announcements by such probes, but for those that a function begins with: clew leaves "
	    "them alone");
}

/* The programs that only recordings with stacks load. */
static void add_stacks(struct table *table, const struct trial *trial, const char *no)
{
	const struct clew_program_row *stacks = clew_program_row("clew_sample"),
				      *user = clew_program_row("clew_find_direct_map");
	char room[64];
	const char *why = no ?: lost(trial, stacks, room, sizeof(room));

	add(table, stacks->feature, "base", !why, why, stacks->costs);
	if (!why)
		why = lost(trial, user, room, sizeof(room));
	if (!why && clew_direct_map_find(trial->recorder.bpf))
		why = "the kernel's map of all memory was not found";
	add(table, user->feature, "base", !why, why, user->costs);
}

/* Finds out if a recording can be made at all, and which features it would lack. */
static void add_recording(struct table *table, const struct trial *trial, const char *no)
{
	const struct clew_refusals *refusals = &trial->recorder.refusals;
	const struct clew_refusal *cache = clew_refusals_page_cache(refusals);

	add(table, "recording", "base", !no, no, "everything: nothing can be recorded");
	if (!no && refusals->count)
		table->features[table->count - 1].without = clew_refusals_text(refusals, "; ");
	add(table, CLEW_PAGE_CACHE, "base", !no && !cache,
	    no
		    ?: cache ? cache->reason
			     : "",
	    "all of the page cache, as with --no-page-cache");
}

size_t clew_features_probe(struct clew_feature ret_features[CLEW_FEATURES_MOST])
{
	struct table table = {.features = ret_features};
	struct clew_message message;
	bool privileged = clew_kernel_privileged();
	struct btf *btf = clew_kernel_btf(&message);
	struct trial trial = {};
	const char *no = !privileged ? "not permitted: run as root"
			 : !btf	     ? "the kernel has no BTF"
				     : NULL;
	int error, cpus = clew_kernel_cpus();

	add(&table, "privileges", "base", privileged,
	    "CAP_BPF and CAP_PERFMON are missing: run as root",
	    "everything: nothing can be recorded");
	add(&table, "BTF", "base", btf != NULL, "built without CONFIG_DEBUG_INFO_BTF",
	    "everything: clew's programs cannot be fitted to the kernel");
	trial.recorder.cpu_count = cpus > 0 ? (unsigned)cpus : 1;
	trial.recorder.rings.size = clew_ring_size(SMALL_RING, trial.recorder.cpu_count);
	clew_recorder_raise_files();
	if (!no) {
		load_all(&trial);
		no = trial.loaded ? NULL : trial.reason;
	}
	add_recording(&table, &trial, no);
	add_programs(&table, &trial, false, no);
	add(&table, "all tasks", "base", clew_kernel_shows_all_tasks(),
	    "in a PID namespace of its own: start clew in the machine's (nsenter -t 1 -p, docker "
	    "--pid=host)",
	    "tasks from before the start that are not in this namespace, and what they do");
	add_programs(&table, &trial, true, no);
	add_stacks(&table, &trial, no);
	drop(&trial);
	clew_kernel_symbols_free(trial.recorder.symbols);
	add(&table, "compressed btrfs files", "base",
	    btf && clew_kernel_has_member(btf, "btrfs", "btrfs_bio", "inode") &&
		    clew_kernel_has_member(btf, "btrfs", "btrfs_bio", "ordered"),
	    btf ? "btrfs does not tell of which file a compressed write is, or is not loaded" : no,
	    "who wrote what such a request carries");
	add(&table, "contexts", "base", btf && clew_kernel_knows_contexts(btf),
	    btf ? "the place of the preempt count is not in BTF" : no,
	    "whether a task or an interrupt ended a wait: all such waits are unknown");
	add(&table, "32-bit calls", "base", try_compat(), "the kernel has no 32-bit entry",
	    "nothing: no 32-bit program can run here either");

	add_rights(&table, &trial, privileged, no);
	add(&table, "kprobe", "kprobe",
	    access("/sys/bus/event_source/devices/kprobe/type", F_OK) == 0,
	    "built without CONFIG_KPROBES",
	    "functions of the kernel where it has no CONFIG_FPROBE (clew record -k)");
	add(&table, "kernel functions", "kprobe", privileged && !traced_kernel_possible(&message),
	    privileged ? message.text : no, "functions of the kernel (clew record -k)");
	error = privileged && btf ? try_fentry(btf) : -EPERM;
	add(&table, "fentry", "fentry", !error,
	    error == -EPERM && privileged ? "refused: the kernel is locked down" : strerror(-error),
	    "nothing yet: no answer of this version rests on fentry");
	btf__free(btf);
	return table.count;
}
