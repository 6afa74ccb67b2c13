/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds out by trying what this kernel offers clew. The programs are loaded as they
 * are to record, without the page cache's if they are refused, and attached. Each
 * optional tier is tried with a program of two instructions.
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
#include "record/direct_map.h"
#include "record/internal.h"
#include "record/kernel.h"
#include "record/probe.h"
#include "record/probe_cost.h"
#include "record/program_table.h"
#include "record/recorder.h"
#include "record/ticks.h"
#include "record/traced_kernel.h"
#include "symbol/kernel.h"

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

static const struct clew_recorder_options as_usual;

/* What `clew record` can load here. */
struct trial {
	struct clew_recorder recorder; /* its bpf: the programs that this kernel is to take */
	bool loaded;		       /* they are loaded */
	bool page_cache;	       /* the programs of the page cache are among them */
	int error;		       /* of loading all of them */
	char reason[200];	       /* why they are not loaded, or not all; "" they are */
};

static char refused[64]; /* the program that libbpf said last it cannot load */

static int note_refused(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char text[256], name[sizeof(refused)];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(text, sizeof(text), format, arguments);
	if (sscanf(text, "libbpf: prog '%63[^']': BPF program load failed", name) == 1)
		strcpy(refused, name);
	return 0;
}

/* Loads the programs as they are loaded to record. 0 or -errno; the object is to be destroyed
 * either way. */
static int load(struct trial *trial, const struct clew_recorder_options *options, bool page_cache)
{
	struct clew_message message;
	int error = clew_load_prepare(&trial->recorder, options, page_cache, &message);

	if (error)
		return error;
	refused[0] = 0;
	libbpf_set_print(note_refused);
	error = clew_bpf__load(trial->recorder.bpf);
	libbpf_set_print(NULL);
	return error;
}

static void drop(struct trial *trial)
{
	clew_bpf__destroy(trial->recorder.bpf);
	trial->recorder.bpf = NULL;
}

/* Loads what a recording would: all, else all but the page cache's. */
static void load_all(struct trial *trial)
{
	struct clew_message message;

	trial->error = load(trial, &as_usual, true);
	trial->loaded = trial->page_cache = !trial->error;
	if (trial->loaded)
		return;
	/* The number says if other programs may be loaded instead. */
	if (clew_say_refused(&message, "", trial->error) != -ENOTSUP) {
		snprintf(trial->reason, sizeof(trial->reason), "the kernel refuses all at once: %s",
			 strerror(-trial->error));
		refused[0] = 0;
		return;
	}
	snprintf(trial->reason, sizeof(trial->reason), "the kernel refuses %s: %s",
		 refused[0] ? refused : "them", strerror(-trial->error));
	drop(trial);
	trial->loaded = !load(trial, &as_usual, false);
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

/* Attaches one program, if it is among those that are loaded. 0 or -errno. */
static int try_one(const struct trial *trial, const char *name)
{
	struct clew_bpf *bpf = trial->recorder.bpf;
	struct bpf_program *program = bpf ? bpf_object__find_program_by_name(bpf->obj, name) : NULL;
	struct bpf_link *link;
	int error;

	if (!program || !bpf_program__autoload(program))
		return -ENOENT;
	if (!trial->loaded)
		return strcmp(name, refused) ? 0 : trial->error;
	link = attach_one(program);
	error = link ? 0 : -errno;
	bpf_link__destroy(link);
	return error;
}

/* How many rows of the table, from row `first` on, have its feature. */
static size_t count_same(size_t first)
{
	const struct clew_program_row *rows = &clew_program_table[first];
	size_t count = 1;

	while (rows->feature && first + count < clew_program_table_count && rows[count].feature &&
	       !strcmp(rows[count].feature, rows->feature))
		count++;
	return count;
}

/* Adds the lines of programs. `any`: those of features for which one of several
 * programs is enough. `no`: why no program can be had, or NULL. */
static void add_programs(struct table *table, const struct trial *trial, bool any, const char *no)
{
	bool left_out = !trial->page_cache;
	size_t same;

	for (size_t i = 0; i < clew_program_table_count; i += same) {
		const struct clew_program_row *rows = &clew_program_table[i];
		int error = no ? -EPERM : -ENOENT;

		same = count_same(i);
		if (!rows->feature || any != !!(rows->flags & CLEW_PROGRAM_ANY))
			continue;
		for (size_t n = 0; !no && error && n < same; n++)
			error = try_one(trial, rows[n].name);
		add(table, rows->feature, "base", !error,
		    no								 ? no
		    : error && left_out && rows->flags & CLEW_PROGRAM_PAGE_CACHE ? trial->reason
										 : reason_of(error),
		    rows->costs);
	}
}

/* What the process itself may do: go before ordinary threads, probe programs. */
static void add_rights(struct table *table, bool privileged, const char *no)
{
	const char *calls_nop5 =
		"the kernel turns such a nop into a call, which writes below the stack pointer";
	bool announced;
	int error = try_priority();

	add(table, "real-time priority", "base", !error,
	    error == -EPERM ? "CAP_SYS_NICE is missing, or the control group has no real-time "
			      "share (cpu.rt_runtime_us)"
			    : strerror(-error),
	    "records of bursts while all CPUs are busy");
	error = clew_announce_possible();
	add(table, "announcements", "base", !error, "built without CONFIG_UPROBE_EVENTS",
	    "what programs announce of themselves, and the layers that are described");
	announced = !error;
	add(table, "probes on 5-byte nops", "uprobe",
	    announced && privileged && !clew_probe_calls_nop5(),
	    !announced	  ? "built without CONFIG_UPROBE_EVENTS"
	    : !privileged ? no
			  : calls_nop5,
	    "announcements by such probes, but for those that a function begins with: clew leaves "
	    "them alone");
}

/* The programs that only recordings with stacks load. */
static void add_stacks(struct table *table, struct trial *trial, const char *no)
{
	const struct clew_recorder_options options = {.stack_threshold = 1};
	bool taken = !no && trial->loaded && !load(trial, &options, trial->page_cache);

	add(table, "stacks of waits", "base", taken, no ?: "the kernel refuses their programs",
	    "from where in the code a task waited");
	add(table, "user stacks", "base", taken && !clew_direct_map_find(trial->recorder.bpf),
	    no ?: "the kernel's map of all memory was not found",
	    "from where in its code a task waited: stacks have the kernel's part alone");
	drop(trial);
}

size_t clew_features_probe(struct clew_feature ret_features[CLEW_FEATURES_MOST])
{
	struct table table = {.features = ret_features};
	struct clew_message message;
	bool privileged = clew_kernel_privileged();
	struct btf *btf = clew_kernel_btf(&message);
	struct trial trial = {.page_cache = true};
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
	trial.recorder.ring_size = clew_ring_size(SMALL_RING, trial.recorder.cpu_count);
	clew_recorder_raise_files();
	if (!no)
		load_all(&trial);
	add(&table, "recording", "base", trial.loaded, no ?: trial.reason,
	    "everything: nothing can be recorded");
	add(&table, "page cache", "base", trial.page_cache && !no, no ?: trial.reason,
	    "all of the page cache, as with --no-page-cache");
	add_programs(&table, &trial, false, no);
	add(&table, "all tasks", "base", clew_kernel_shows_all_tasks(),
	    "in a PID namespace of its own: start clew in the machine's (nsenter -t 1 -p, docker "
	    "--pid=host)",
	    "tasks from before the start that are not in this namespace, and what they do");
	add_programs(&table, &trial, true, no);
	drop(&trial);
	add_stacks(&table, &trial, no);
	clew_kernel_symbols_free(trial.recorder.symbols);
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

	add_rights(&table, privileged, no);
	add(&table, "kprobe", "kprobe",
	    access("/sys/bus/event_source/devices/kprobe/type", F_OK) == 0,
	    "built without CONFIG_KPROBES",
	    "nothing yet: no answer of this version rests on kprobes");
	add(&table, "kernel functions", "kprobe", privileged && !traced_kernel_possible(&message),
	    privileged ? message.text : no, "functions of the kernel (clew record -k)");
	error = privileged && btf ? try_fentry(btf) : -EPERM;
	add(&table, "fentry", "fentry", !error,
	    error == -EPERM && privileged ? "refused: the kernel is locked down" : strerror(-error),
	    "nothing yet: no answer of this version rests on fentry");
	btf__free(btf);
	return table.count;
}
