/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opens the kernel side, chooses its programs, and sets its constants and the sizes of its maps
 * for this machine and these options.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "clew.skel.h"
#include "record/environment.h"
#include "record/filter.h"
#include "record/functions/announce.h"
#include "record/functions/runtimes.h"
#include "record/functions/tracer.h"
#include "record/load.h"
#include "record/load_parts.h"
#include "record/stacks/direct_map.h"
#include "record/stacks/stacks.h"
#include "record/stream/calls.h"
#include "record/stream/drain.h"
#include "record/stream/kernel.h"
#include "record/stream/pid_namespace.h"
#include "record/stream/programs.h"
#include "record/stream/recorder_state.h"
#include "record/stream/refusals.h"
#include "record/stream/steps.h"
#include "record/together.h"
#include "symbol/elf/kernel.h"

#define PAGE		    4096 /* bytes; page tables and stacks are read by pages of this size */
#define LRU_A_CPU	    512
#define TASK_SLOT_BITS_MOST 16

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
	int error = clew_together_register();

	if (error) {
		errno = -error;
		return NULL;
	}
	/* libbpf looks for what the kernel lacks in its modules, and gives up if it may not list
	 * them (CAP_SYS_ADMIN). It leaves them alone if the caller names the kernel's BTF. */
	if (clew_kernel_hides_modules())
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
int load_prepare(struct clew_recorder *recorder, const struct clew_recorder_options *options,
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
