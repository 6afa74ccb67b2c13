/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loading the kernel side: its constants and the sizes of its maps are set for this
 * machine and these options, the kernel verifies the programs, and they are attached.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/ending.h"
#include "base/thread.h"
#include "clew.skel.h"
#include "record/environment.h"
#include "record/filter.h"
#include "record/functions/announce.h"
#include "record/functions/runtimes.h"
#include "record/functions/tracer.h"
#include "record/interrupt.h"
#include "record/load.h"
#include "record/room.h"
#include "record/stacks/direct_map.h"
#include "record/stacks/stacks.h"
#include "record/stores.h"
#include "record/stream/calls.h"
#include "record/stream/drain.h"
#include "record/stream/kernel.h"
#include "record/stream/pid_namespace.h"
#include "record/stream/programs.h"
#include "record/stream/recorder_state.h"
#include "record/stream/refusals.h"
#include "record/stream/steps.h"
#include "record/ticks.h"
#include "record/together.h"
#include "symbol/elf/kernel.h"

#define PAGE		    4096 /* bytes; page tables and stacks are read by pages of this size */
#define LRU_A_CPU	    512
#define TASK_SLOT_BITS_MOST 16
#define PROGRAMS_MOST	    256 /* of the object, functions among them */
#define REFUSED		    "the kernel refuses clew's programs"

static void *map_memory(struct bpf_map *map, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/*
 * Before 6.16 each CPU keeps up to 128 entries of an LRU map in a list of its own. A CPU
 * that finds no free entry for its list takes its newest ones again.
 */
static void size_lru_maps(struct bpf_object *object, unsigned cpus)
{
	struct bpf_map *map;

	bpf_object__for_each_map (map, object)
		if (bpf_map__type(map) == BPF_MAP_TYPE_LRU_HASH &&
		    bpf_map__max_entries(map) < cpus * LRU_A_CPU)
			bpf_map__set_max_entries(map, cpus * LRU_A_CPU);
}

/* Four slots for each thread: one in eight then finds its own slot taken. The most is a limit of
 * memory. */
static uint32_t choose_task_slot_bits(void)
{
	uint32_t bits = CLEW_TASK_SLOT_BITS;
	unsigned threads = 0;
	FILE *file = fopen("/proc/loadavg", "re");

	if (file && fscanf(file, "%*f %*f %*f %*u/%u", &threads) != 1)
		threads = 0;
	if (file)
		fclose(file);
	while (bits < TASK_SLOT_BITS_MOST && 1u << bits < 4 * threads)
		bits++;
	return bits;
}

struct clew_bpf *clew_load_open(void)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);
	__u32 id;
	int error = clew_together_register();

	if (error) {
		errno = -error;
		return NULL;
	}
	/* libbpf looks for what the kernel lacks in its modules, and gives up if it may not list
	 * them (CAP_SYS_ADMIN). It leaves them alone if the caller names the kernel's BTF. */
	if (bpf_btf_get_next_id(0, &id) < 0 && errno == EPERM)
		options.btf_custom_path = "/sys/kernel/btf/vmlinux";
	if (clew_kernel_test_btf())
		options.btf_custom_path = clew_kernel_test_btf();
	return clew_bpf__open_opts(&options);
}

/* The kernel's symbols, which a thread reads meanwhile: it takes as long as all the rest here. */
struct symbols_reading {
	pthread_t thread;
	bool begun;
	struct clew_kernel_symbols *symbols;
};

static void *read_symbols(void *context)
{
	struct symbols_reading *reading = context;

	clew_kernel_symbols_load(&reading->symbols);
	return NULL;
}

static void symbols_begin(struct symbols_reading *reading, const struct clew_recorder *recorder)
{
	*reading = (struct symbols_reading){};
	if (!recorder->symbols && store_thread_pays())
		reading->begun = !store_thread_start(&reading->thread, read_symbols, reading);
}

static void symbols_end(struct symbols_reading *reading, struct clew_recorder *recorder)
{
	if (reading->begun)
		pthread_join(reading->thread, NULL);
	else if (!recorder->symbols)
		read_symbols(reading);
	if (!recorder->symbols)
		recorder->symbols = reading->symbols;
}

/* Opens the kernel side and chooses the programs that this kernel can take. */
static int choose_object(struct clew_recorder *recorder, const struct clew_program_choice *choice,
			 struct clew_message *message)
{
	long page = sysconf(_SC_PAGESIZE);
	struct clew_bpf *bpf;
	struct btf *btf;
	int error;

	if (page != PAGE)
		return clew_say(message, -ENOTSUP,
				"this kernel has pages of %ld kB: one with pages of 4 kB is needed",
				page / 1024);
	btf = clew_kernel_btf(message);
	if (!btf)
		return -ENOTSUP;
	bpf = recorder->bpf = clew_load_open();
	if (!bpf) {
		btf__free(btf);
		return clew_say(message, -errno,
				"the kernel side cannot be opened: %s: build clew again",
				strerror(errno));
	}
	bpf->rodata->preempt_count_offset = clew_kernel_preempt_count_offset(btf);
	bpf->rodata->preempt_hardirq = clew_kernel_hardirq_bits(btf);
	bpf->rodata->softnet_offset = clew_kernel_softnet_offset(btf);
	error = clew_programs_choose(bpf, btf, choice);
	btf__free(btf);
	if (error)
		return clew_say(message, error,
				"the kernel's tracepoints cannot be listed: %s: free some memory",
				strerror(-error));
	return 0;
}

static int open_object(struct clew_recorder *recorder, const struct clew_program_choice *choice,
		       struct clew_message *message)
{
	struct symbols_reading reading;
	int error;

	symbols_begin(&reading, recorder);
	error = choose_object(recorder, choice, message);
	symbols_end(&reading, recorder);
	if (!error)
		clew_programs_addresses(recorder->bpf, recorder->symbols);
	return error;
}

/* Sets what the programs find in their constants. */
static int set_constants(struct clew_recorder *recorder,
			 const struct clew_recorder_options *options, struct clew_message *message)
{
	struct clew_bpf *bpf = recorder->bpf;
	int error;

	bpf->rodata->self_pid = clew_machine_pid();
	bpf->rodata->filter_namespace = clew_pid_namespace();
	error = clew_call_classes(bpf->rodata->call_class);
	if (error)
		return clew_say(message, error,
				"the table of system calls is wrong: build clew again");
	clew_compat_calls(bpf->rodata->compat_call);
#ifdef __aarch64__
	clew_translated_calls(bpf->rodata->own_call);
#endif
	error = clew_filter_prepare(bpf, options, message);
	if (!error)
		error = clew_environment_prepare(bpf, options->environment, message);
	if (error)
		return error;
	clew_announce_prepare(bpf);
	clew_tracer_prepare(recorder->tracer, bpf, options, recorder->cpu_count);
	error = clew_runtimes_prepare(bpf, options, message);
	if (error)
		return error;
	/* Without it memory of other processes stays unread. */
	clew_direct_map_prepare(bpf);
	error = clew_stacks_prepare(bpf, options->stack_threshold);
	if (error)
		return clew_say(message, error, "stacks cannot be taken: %s: free some memory",
				strerror(-error));
	bpf->rodata->switch_slots = recorder->rings.switch_slots;
	bpf->rodata->ring_urgent = recorder->rings.records_size / CLEW_URGENT_SHARE;
	bpf->rodata->task_slot_bits = options->few_task_slots ? 1 : choose_task_slot_bits();
	return 0;
}

static void size_maps(struct clew_recorder *recorder)
{
	struct clew_bpf *bpf = recorder->bpf;

	bpf_map__set_max_entries(bpf->maps.clew_switches,
				 recorder->rings.switch_slots * recorder->cpu_count);
	bpf_map__set_max_entries(bpf->maps.clew_task_slots, 1u << bpf->rodata->task_slot_bits);
	bpf_map__set_max_entries(bpf->maps.clew_cpus, recorder->cpu_count);
	bpf_map__set_max_entries(bpf->maps.clew_rings, recorder->cpu_count);
	size_lru_maps(bpf->obj, recorder->cpu_count);
}

static int map_rings(struct clew_recorder *recorder, struct clew_message *message)
{
	struct clew_bpf *bpf = recorder->bpf;

	recorder->rings.cpus_size = sizeof(struct clew_cpu_state) * recorder->cpu_count;
	recorder->rings.cpus = map_memory(bpf->maps.clew_cpus, recorder->rings.cpus_size);
	recorder->rings.slots = map_memory(bpf->maps.clew_switches, recorder->rings.slots_size);
	if (!recorder->rings.cpus || !recorder->rings.slots)
		return clew_say(message, -errno,
				"the rings cannot be mapped: %s: free some memory, or give a "
				"smaller --ring-size",
				strerror(errno));
	return 0;
}

/* Chooses the wanted programs that can be loaded. */
static struct clew_recorder_options options_less(const struct clew_recorder *recorder,
						 const struct clew_recorder_options *options)
{
	struct clew_recorder_options less = *options;

	if (clew_refusals_lost_feature(&recorder->refusals, "stacks of waits"))
		less.stack_threshold = 0;
	return less;
}

/* Has only the passes over tasks loaded. */
static void leave_iterators(struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, object)
		if (strncmp(bpf_program__section_name(program), "iter", strlen("iter")) != 0)
			bpf_program__set_autoload(program, false);
}

/*
 * Opens the kernel side, chooses its programs, and sets its constants and the sizes of its maps.
 * The kernel's verdict on a program depends on the constants.
 */
static int prepare(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		   struct clew_message *message)
{
	const struct clew_recorder_options less = options_less(recorder, options);
	const struct clew_program_choice choice = {.verify = less.verify,
						   .page_cache = !less.no_page_cache,
						   .functions = clew_records_functions(&less),
						   .kernel_functions = less.kernel_function_count,
						   .runtimes = clew_records_runtimes(&less),
						   .stacks = less.stack_threshold != 0,
						   .messages = less.messages || less.network,
						   .refusals = &recorder->refusals};
	int error = open_object(recorder, &choice, message);

	if (error)
		return error;
	if (options->found_only)
		leave_iterators(recorder->bpf->obj);
	clew_drain_sizes(recorder);
	error = set_constants(recorder, &less, message);
	if (error)
		return error;
	size_maps(recorder);
	clew_refuse_load_for_test(recorder->bpf->obj);
	return 0;
}

/* True if a recording without the program is none, or not the one that was asked for. */
static bool is_needed(const struct clew_refusal *refusal,
		      const struct clew_recorder_options *options)
{
	unsigned flags = clew_program_feature(refusal->row)->flags;

	if (flags & CLEW_PROGRAM_STACKS)
		return !options->stacks_if_possible;
	return flags & (CLEW_PROGRAM_ESSENTIAL | CLEW_PROGRAM_ASKED);
}

/* Says that nothing is recorded without what the kernel refuses. */
static int say_needed(const struct clew_refusal *refusal, struct clew_message *message)
{
	const struct clew_program_row *feature = clew_program_feature(refusal->row);

	return clew_say(message, -ENOTSUP, "the kernel refuses what is needed for %s: %s: %s",
			feature->feature, refusal->reason,
			feature->flags & CLEW_PROGRAM_ASKED ? "record without it"
							    : "see `clew doctor`");
}

static int check_needed(const struct clew_recorder *recorder,
			const struct clew_recorder_options *options, struct clew_message *message)
{
	for (size_t i = 0; i < recorder->refusals.count; i++)
		if (is_needed(&recorder->refusals.of[i], options))
			return say_needed(&recorder->refusals.of[i], message);
	return 0;
}

/* True if the kernel may take the other programs. */
static bool is_of_program(int error)
{
	return error != -EMFILE && error != -ENOMEM && error != -EPERM && !clew_kernel_jit_off();
}

/* False if there are fewer descriptors than maps and programs. That is found out before the load:
 * libbpf makes a map to learn what the kernel can do, and takes the lack of a descriptor for a no.
 */
static bool has_descriptors(struct bpf_object *object)
{
	struct bpf_program *program;
	struct bpf_map *map;
	struct rlimit limit;
	rlim_t needed = 0;

	bpf_object__for_each_map (map, object)
		needed++;
	bpf_object__for_each_program (program, object)
		needed += bpf_program__autoload(program);
	return getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= needed;
}

/* Opens the kernel side and prepares all chosen programs. 0 or -errno. */
static int open_all(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		    struct clew_message *message)
{
	int error = prepare(recorder, options, message);

	if (!error && !has_descriptors(recorder->bpf->obj))
		error = clew_say_refused(message, REFUSED, -EMFILE);
	if (!error)
		error = check_needed(recorder, options, message);
	return error ?: clew_recorder_check_ending(message);
}

/*
 * Loads the chosen programs, several at once. Returns 1 if the kernel refuses one of them, and 0 or
 * -errno.
 */
static int try_together(struct clew_recorder *recorder, const struct clew_recorder_options *options,
			struct clew_message *message)
{
	struct clew_refusal ignored;
	int error = open_all(recorder, options, message), refused;

	if (error)
		return error;
	clew_verdict_begin();
	clew_together_find(recorder->bpf->obj);
	clew_interrupt_begin(recorder->interrupt);
	clew_together_begin(recorder->bpf->obj, recorder->interrupt);
	error = clew_bpf__load(recorder->bpf);
	refused = clew_together_end(error);
	clew_interrupt_end(recorder->interrupt);
	clew_verdict_end(&ignored);
	if (!error && !refused)
		return 0;
	/* It refuses nothing: it was broken off. */
	if (ending_since())
		return clew_recorder_check_ending(message);
	return 1;
}

/*
 * Loads the chosen programs one by one, but with `some` for those that the kernel is known to take;
 * `taken` has one for each program of the object. A program that the kernel refuses is added to the
 * refusals, and those before it are taken. Returns 1 then, or 0 or -errno.
 */
static int try(struct clew_recorder *recorder, const struct clew_recorder_options *options,
	       bool *taken, bool some, struct clew_message *message)
{
	struct clew_refusal refusal;
	struct bpf_program *program;
	size_t count = 0;
	bool named;
	int error = open_all(recorder, options, message);

	if (error)
		return error;
	if (some)
		bpf_object__for_each_program (program, recorder->bpf->obj)
			if (taken[count++])
				bpf_program__set_autoload(program, false);
	clew_verdict_begin();
	clew_together_find(recorder->bpf->obj);
	clew_interrupt_begin(recorder->interrupt);
	error = clew_bpf__load(recorder->bpf);
	clew_interrupt_end(recorder->interrupt);
	named = clew_verdict_end(&refusal);
	if (!error)
		return 0;
	if (ending_since())
		return clew_recorder_check_ending(message);
	if (!named || !is_of_program(error) ||
	    !clew_refusals_add(&recorder->refusals, refusal.row, refusal.reason))
		return clew_say_refused(message, REFUSED, error);
	count = 0;
	bpf_object__for_each_program (program, recorder->bpf->obj) {
		if (!strcmp(bpf_program__name(program), refusal.row->name))
			break;
		taken[count++] = true;
	}
	return 1;
}

static void drop(struct clew_recorder *recorder)
{
	clew_bpf__destroy(recorder->bpf);
	recorder->bpf = NULL;
}

/*
 * Finds the programs that the kernel refuses, after it has refused one. libbpf ends at the first
 * of them, so each takes an object of its own, but no program is verified twice. The rings are
 * small meanwhile.
 */
static int find_refused(struct clew_recorder *recorder, const struct clew_recorder_options *options,
			bool *taken, struct clew_message *message)
{
	size_t ring_size = recorder->rings.size;
	int r;

	recorder->rings.size = clew_ring_size(1, recorder->cpu_count);
	do {
		drop(recorder);
		r = try(recorder, options, taken, true, message);
	} while (r > 0);
	recorder->rings.size = ring_size;
	drop(recorder);
	return r;
}

/* Loads what the kernel takes. 0 or -errno. */
static int load_taken(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		      bool *taken, struct clew_message *message)
{
	int r = try_together(recorder, options, message);
	size_t known;

	while (r > 0) {
		known = recorder->refusals.count;
		r = find_refused(recorder, options, taken, message);
		/* It refuses none of them by itself. */
		if (!r && recorder->refusals.count == known)
			r = try(recorder, options, taken, false, message);
		else if (!r)
			r = try_together(recorder, options, message);
	}
	return r;
}

/*
 * Attaches what is loaded, but for programs that wait for something to be attached to. If the
 * kernel refuses some, they are added to the refusals, and all have to be loaded again, as the
 * programs' constants say what is not seen. Returns 1 then, or 0 or -errno.
 */
static int attach(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		  struct clew_message *message)
{
	int r = clew_filter_fill(recorder->bpf, options, message);

	if (r)
		return r;
	clew_stores_prepare(recorder->bpf);
	r = clew_attach(recorder->bpf, &recorder->refusals);
	if (!r)
		r = clew_attach_ticks(recorder);
	return r < 0 ? clew_say_refused(message, "the programs cannot be attached", r) : r;
}

static int check_permitted(struct clew_message *message)
{
	return clew_kernel_privileged()
		       ? 0
		       : clew_say(message, -EPERM,
				  "recording is not permitted: run as root (CAP_BPF and "
				  "CAP_PERFMON)");
}

int clew_load_programs(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		       struct clew_message *message)
{
	bool taken[PROGRAMS_MOST] = {};
	int r = check_permitted(message);

	if (r)
		return r;
	recorder->refusals.count = 0;
	do {
		clew_ticks_close(recorder);
		drop(recorder);
		r = load_taken(recorder, options, taken, message);
		if (!r)
			r = attach(recorder, options, message);
	} while (r > 0);
	return r;
}

int clew_say_without(struct clew_recorder *recorder)
{
	char *words = clew_refusals_text(&recorder->refusals, "; "), *line = NULL;

	free(recorder->features.without);
	recorder->features.without = clew_refusals_text(&recorder->refusals, "\n");
	if (!recorder->features.without || !words ||
	    asprintf(&line, "recording: yes, without %s", words) < 0) {
		free(words);
		return -ENOMEM;
	}
	if (recorder->options.say)
		recorder->options.say(line);
	free(words);
	free(line);
	return 0;
}

/* Says that messages were asked for, if this kernel has no tracepoint at them. */
static const char *choose_messages_kept(const struct clew_recorder *recorder,
					const struct clew_recorder_options *options)
{
	if (!options->messages)
		return "off";
	if (bpf_program__autoload(recorder->bpf->progs.clew_sock_send_length))
		return "on";
	if (options->messages_asked && options->say &&
	    !clew_refusals_lost_feature(&recorder->refusals, "messages"))
		options->say(
			"this kernel does not show what is sent and received (Linux 6.3 does): "
			"requests are those that a thread waits for");
	return "refused";
}

static const char *network_kept(const struct clew_recorder *recorder,
				const struct clew_recorder_options *options)
{
	if (options->network == CLEW_NETWORK_OFF)
		return "off";
	if (!bpf_program__autoload(recorder->bpf->progs.clew_sock_recv_length))
		return "refused";
	return options->network == CLEW_NETWORK_ALL ? "all" : "outside";
}

int clew_load(struct clew_recorder *recorder, const struct clew_recorder_options *options,
	      struct clew_message *message)
{
	struct clew_refusals *refusals = &recorder->refusals;
	int error = check_permitted(message);

	if (!error && options->kernel_function_count)
		clew_kernel_symbols_load(&recorder->symbols);
	/* A wrong name is said at once: loading takes a second. */
	if (!error)
		error = clew_tracer_choose(recorder, options, &recorder->tracer, message);
	if (!error)
		error = clew_recorder_check_ending(message);
	if (!error)
		error = clew_load_programs(recorder, options, message);
	if (error)
		return error;
	recorder->features.page_cache = options->no_page_cache		     ? "off"
					: clew_refusals_page_cache(refusals) ? "refused"
									     : "on";
	recorder->features.stacks = !options->stack_threshold ? "off"
				    : clew_refusals_lost_feature(refusals, "stacks of waits")
					    ? "refused"
					    : "on";
	recorder->features.messages = choose_messages_kept(recorder, options);
	recorder->features.network = network_kept(recorder, options);
	if (refusals->count && clew_say_without(recorder))
		return clew_say(message, -ENOMEM, "no memory for the recorder: free some");
	return map_rings(recorder, message);
}
