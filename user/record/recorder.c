/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A recording from load to close. See recorder.h for the order of things.
 *
 * The gate (`enabled`) is the only thing that tells programs to work: they are
 * attached before it opens and detached after it shut, so start and stop are
 * sharp on all CPUs at once.
 */
#include "record/recorder.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "clew.skel.h"
#include "record/announce.h"
#include "record/calls.h"
#include "record/environment.h"
#include "record/internal.h"
#include "record/kernel.h"
#include "record/programs.h"
#include "record/topology.h"

#define RING_SIZE_MAX	    (8UL << 20)
#define RING_SIZE_TOTAL	    (512UL << 20)
#define CLOCK_PERIOD	    10000000000ULL
#define LRU_A_CPU	    512
#define TASK_SLOT_BITS_MOST 16

static size_t default_ring_size(unsigned cpus)
{
	size_t size = RING_SIZE_MAX;

	while (size > RING_SIZE_TOTAL / cpus && size > 65536)
		size /= 2;
	return size;
}

/* The size of both rings of a CPU together: what is half of it must be a power of two of pages. */
static size_t ring_size_of(size_t wanted)
{
	size_t size = 8 * sysconf(_SC_PAGESIZE);

	while (size < wanted)
		size *= 2;
	return size;
}

static void *map_memory(struct bpf_map *map, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/*
 * What is forgotten when there is no room is found by CPU; before 6.16 each takes 128 entries for
 * itself, and where that is more than there are it reuses its newest ones.
 */
static void size_for_cpus(struct bpf_object *object, unsigned cpus)
{
	struct bpf_map *map;

	bpf_object__for_each_map (map, object)
		if (bpf_map__type(map) == BPF_MAP_TYPE_LRU_HASH &&
		    bpf_map__max_entries(map) < cpus * LRU_A_CPU)
			bpf_map__set_max_entries(map, cpus * LRU_A_CPU);
}

/* Four slots for each thread that there is, so that one in eight finds its own taken; but not
 * without end, as they are memory. */
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

/* `what` failed in the kernel. */
static int say_refused(struct clew_message *message, const char *what, int error)
{
	int number = error == -EMFILE || error == -ENOMEM
			     ? error
			     : -ENOTSUP; /* -EINVAL is for arguments alone */

	if (error == -EMFILE)
		return clew_say(message, number,
				"%s: too many open files: raise their limit (ulimit -Hn)", what);
	if (error == -ENOMEM)
		return clew_say(message, number,
				"%s: out of memory: free some, or give a smaller --ring-size",
				what);
	if (clew_kernel_jit_off())
		return clew_say(
			message, number,
			"%s: BPF's JIT is off: turn it on (sysctl net.core.bpf_jit_enable=1)",
			what);
	return clew_say(message, number, "%s: %s: see `clew doctor`", what, strerror(-error));
}

/* `what`: the file's name, or what it is. */
static int say_unwritable(struct clew_message *message, const char *what, int error)
{
	switch (error) {
	case -ENOMEM:
	case -EAGAIN:
		return clew_say(message, error, "no memory or threads to write %s with: free some",
				what);
	case -EBUSY:
		return clew_say(message, error,
				"%s is being written by another recording: give another -o", what);
	case -EFBIG:
		return clew_say(message, error,
				"%s cannot be written: no file may become larger: raise that limit "
				"(ulimit -f), or give another -o",
				what);
	case -ENOSPC:
	case -EDQUOT:
		return clew_say(message, error,
				"%s cannot be written: %s: make room, or give another -o", what,
				strerror(-error));
	default:
		return clew_say(message, error, "%s cannot be written: %s: give another -o", what,
				strerror(-error));
	}
}

static int load_with(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		     bool page_cache, struct clew_message *message)
{
	const struct clew_program_choice choice = {.verify = options->verify,
						   .page_cache = page_cache};
	struct clew_bpf *bpf;
	struct btf *btf;
	int error;

	if (!clew_kernel_privileged())
		return clew_say(
			message, -EPERM,
			"recording is not permitted: run as root (CAP_BPF and CAP_PERFMON)");
	btf = clew_kernel_btf(message);
	if (!btf)
		return -ENOTSUP;
	bpf = recorder->bpf = clew_bpf__open();
	if (!bpf) {
		btf__free(btf);
		return clew_say(message, -errno,
				"the kernel side cannot be opened: %s: build clew again",
				strerror(errno));
	}
	bpf->rodata->preempt_count_offset = clew_kernel_preempt_count_offset(btf);
	bpf->rodata->softnet_offset = clew_kernel_softnet_offset(btf);
	if (!recorder->symbols)
		clew_kernel_symbols_load(&recorder->symbols);
	clew_programs_addresses(bpf, recorder->symbols);
	error = clew_programs_choose(bpf, btf, &choice);
	btf__free(btf);
	if (error)
		return clew_say(message, error,
				"the kernel's tracepoints cannot be listed: %s: free some memory",
				strerror(-error));

	bpf->rodata->self_pid = getpid();
	error = clew_call_classes(bpf->rodata->call_class);
	if (error)
		return clew_say(message, error,
				"the table of system calls is wrong: build clew again");
	clew_compat_calls(bpf->rodata->compat_call);
	error = clew_filter_prepare(bpf, options, message);
	if (!error)
		error = clew_environment_prepare(bpf, options->environment, message);
	if (error)
		return error;
	clew_announce_prepare(bpf);
	clew_drain_sizes(recorder);
	bpf->rodata->switch_slots = recorder->switch_slots;
	bpf->rodata->ring_urgent = recorder->records_size / CLEW_URGENT_SHARE;
	bpf_map__set_max_entries(bpf->maps.clew_switches,
				 recorder->switch_slots * recorder->cpu_count);
	bpf->rodata->task_slot_bits = options->few_task_slots ? 1 : choose_task_slot_bits();
	bpf_map__set_max_entries(bpf->maps.clew_task_slots, 1u << bpf->rodata->task_slot_bits);
	bpf_map__set_max_entries(bpf->maps.clew_cpus, recorder->cpu_count);
	bpf_map__set_max_entries(bpf->maps.clew_rings, recorder->cpu_count);
	size_for_cpus(bpf->obj, recorder->cpu_count);

	error = clew_bpf__load(bpf);
	if (error)
		return say_refused(message, "the kernel refuses clew's programs", error);
	error = clew_filter_fill(bpf, options, message);
	if (error)
		return error;

	recorder->cpus_size = sizeof(struct clew_cpu_state) * recorder->cpu_count;
	recorder->cpus = map_memory(bpf->maps.clew_cpus, recorder->cpus_size);
	recorder->slots = map_memory(bpf->maps.clew_switches, recorder->slots_size);
	if (!recorder->cpus || !recorder->slots)
		return clew_say(message, -errno,
				"the rings cannot be mapped: %s: free some memory, or give a "
				"smaller --ring-size",
				strerror(errno));
	return 0;
}

/* A kernel that takes all but the page cache's programs still tells the rest. */
static int load(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		struct clew_message *message)
{
	int error = load_with(recorder, options, !options->no_page_cache, message);

	recorder->page_cache = options->no_page_cache ? "off" : "on";
	if (error != -ENOTSUP || options->no_page_cache || !recorder->bpf)
		return error;
	clew_bpf__destroy(recorder->bpf);
	recorder->bpf = NULL;
	recorder->page_cache = "refused";
	return load_with(recorder, options, false, message);
}

static int write_meta(struct clew_recorder *recorder, const struct clew_recorder_options *options)
{
	struct utsname name;
	char number[32], *topology;
	int error;

	uname(&name);
	snprintf(number, sizeof(number), "%u", recorder->cpu_count);
	error = clew_writer_meta(recorder->writer, "kernel", name.release);
	error = error ? error : clew_writer_meta(recorder->writer, "machine", name.machine);
	error = error ? error : clew_writer_meta(recorder->writer, "host", name.nodename);
	error = error ? error : clew_writer_meta(recorder->writer, "cpus", number);
	if (!error)
		error = clew_topology_read(recorder->cpu_count, &topology);
	if (!error) {
		error = clew_writer_meta(recorder->writer, "topology", topology);
		free(topology);
	}
	error = error ? error
		      : clew_writer_meta(recorder->writer, "page_cache", recorder->page_cache);
	if (options->command)
		error = error ? error
			      : clew_writer_meta(recorder->writer, "command", options->command);
	if (options->environment)
		error = error ? error
			      : clew_writer_meta(recorder->writer, "environment",
						 options->environment);
	if (options->layers_text)
		error = error ? error
			      : clew_writer_meta(recorder->writer, "layers", options->layers_text);
	return error;
}

static int write_number(struct clew_recorder *recorder, const char *key, uint64_t value)
{
	char number[32];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)value);
	return clew_writer_meta(recorder->writer, key, number);
}

static int write_clock(struct clew_recorder *recorder)
{
	struct timespec monotonic, boot, wall;
	struct clew_clock clock;

	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_REALTIME, &wall);
	clock.monotonic = monotonic.tv_sec * 1000000000ULL + monotonic.tv_nsec;
	clock.boot = boot.tv_sec * 1000000000ULL + boot.tv_nsec;
	clock.wall = wall.tv_sec * 1000000000ULL + wall.tv_nsec;
	recorder->next_clock = clock.monotonic + CLOCK_PERIOD;
	return clew_writer_clock(recorder->writer, &clock);
}

int clew_recorder_open(const struct clew_recorder_options *options,
		       struct clew_recorder **ret_recorder, struct clew_message *message)
{
	struct clew_recorder *recorder;
	struct clew_writer_options writer_options = {
		.size = sizeof(writer_options), .sync = options->sync, .waits = true};
	struct clew_recorder_summary summary;
	struct clew_message ignored;
	int error, cpus = clew_kernel_cpus();

	if (cpus <= 0)
		return clew_say(message, -ENOTSUP, "the number of CPUs is not told: %s: mount /sys",
				strerror(-cpus));
	recorder = calloc(1, sizeof(*recorder));
	if (!recorder)
		return clew_say(message, -ENOMEM, "no memory for the recorder: free some");
	recorder->cpu_count = cpus;
	recorder->ring_size = ring_size_of(
		options->ring_size ? options->ring_size : default_ring_size(recorder->cpu_count));
	recorder->pause_drain = options->pause_drain;
	recorder->verify = options->verify;
	recorder->layers = options->layers;

	error = load(recorder, options, message);
	if (error)
		goto fail;
	writer_options.cpus = recorder->cpu_count;
	error = clew_writer_open(options->output, &writer_options, &recorder->writer);
	if (error) {
		say_unwritable(message, options->output, error);
		goto fail;
	}
	clew_takers_add_writer(recorder);
	if (clew_takers_add(recorder, options->takers, options->taker_count)) {
		error = clew_say(message, -EINVAL, "records go to %d takers at most: give fewer",
				 TAKERS_MOST - 1);
		goto fail;
	}
	error = write_meta(recorder, options);
	if (!error)
		error = write_clock(recorder);
	if (error) {
		say_unwritable(message, options->output, error);
		goto fail;
	}
	error = clew_drain_open(recorder, message);
	if (error)
		goto fail;
	recorder->bpf->bss->identifying = 1;
	clew_stores_prepare(recorder->bpf);
	if (clew_bpf__attach(recorder->bpf)) {
		error = say_refused(message, "the programs cannot be attached", -errno);
		goto fail;
	}
	error = clew_announce_open(recorder, options->program, &recorder->announcer, message);
	if (error)
		goto fail;
	clew_stores_open(recorder);
	clew_modules_open(recorder, !strcmp(recorder->page_cache, "on"));
	clew_cost_add(recorder, recorder->bpf->obj);
	*ret_recorder = recorder;
	return 0;

fail:
	clew_recorder_stop(recorder, &summary, &ignored);
	return error;
}

int clew_recorder_start(struct clew_recorder *recorder, struct clew_message *message)
{
	uint64_t common;
	int error;

	recorder->start_cpu_time = clew_cpu_time();
	error = clew_drain_start(recorder, message);
	if (!error)
		error = clew_iterate_tasks(recorder, CLEW_PASS_IDENTIFY, message);
	if (error)
		return error;
	/* Bit 1 in older kernels, bit 0 since they number these flags alike on all machines. */
	common = recorder->bpf->data->sleeping_flags & 3;
	recorder->bpf->bss->notify_resume_mask = common == 1 || common == 2 ? common : 0;

	clew_missed_runs(recorder, recorder->missed_before);
	recorder->start = clew_now();
	recorder->started = true;
	recorder->bpf->bss->enabled = 1;
	error = clew_iterate_tasks(recorder, CLEW_PASS_START, message);
	if (!error && write_number(recorder, "start", recorder->start))
		error = say_unwritable(message, "the capture", clew_writer_error(recorder->writer));
	clew_takers_begin(recorder, recorder->start);
	clew_user_round(recorder, clew_now(), true);
	return error;
}

int clew_recorder_keep(struct clew_recorder *recorder, struct clew_message *message)
{
	int error = clew_writer_begin(recorder->writer);

	return error ? say_unwritable(message, "the capture", error) : 0;
}

int clew_recorder_tick(struct clew_recorder *recorder)
{
	uint64_t now = clew_now();

	if (now >= recorder->next_clock)
		write_clock(recorder);
	clew_cost_tick(recorder, now);
	clew_modules_tick(recorder);
	clew_stores_tick(recorder);
	clew_user_round(recorder, now, false);
	return clew_writer_error(recorder->writer);
}

/* Programs that saw the gate open have ended when all CPUs passed a grace period. */
static void wait_for_programs(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0)) {
		struct timespec time = {.tv_nsec = 50000000};

		nanosleep(&time, NULL);
	}
}

static int finish(struct clew_recorder *recorder, uint64_t end,
		  struct clew_recorder_summary *ret_summary, struct clew_message *message)
{
	int error = clew_iterate_tasks(recorder, CLEW_PASS_STOP, message), result;

	clew_disks_read(recorder, end);
	clew_user_round(recorder, clew_now(), true);
	clew_takers_end(recorder, end);
	ret_summary->duration = end - recorder->start;
	write_number(recorder, "end", end);
	if (ret_summary->left_alone)
		clew_writer_meta(recorder->writer, "left_alone", ret_summary->left_alone);
	write_clock(recorder);
	clew_cost_close(recorder, ret_summary->duration, &ret_summary->cost);
	result = clew_ledger_write(recorder, &ret_summary->cost, ret_summary);
	ret_summary->bytes = clew_writer_bytes(recorder->writer);
	if (recorder->verify)
		ret_summary->verified_switches = recorder->bpf->bss->verify_switches;
	if (!error && result)
		error = say_unwritable(message, "the capture", result);
	return error;
}

int clew_recorder_stop(struct clew_recorder *recorder, struct clew_recorder_summary *ret_summary,
		       struct clew_message *message)
{
	uint64_t end = 0;
	int error = 0, result;

	memset(ret_summary, 0, sizeof(*ret_summary));
	if (recorder->bpf && recorder->bpf->bss) {
		recorder->bpf->bss->enabled = 0;
		recorder->bpf->bss->identifying = 0;
		end = clew_now();
		wait_for_programs();
	}
	ret_summary->left_alone = clew_announce_close(recorder->announcer);
	clew_drain_stop(recorder);
	if (recorder->started)
		error = finish(recorder, end, ret_summary, message);
	if (recorder->writer) {
		result = clew_writer_close(recorder->writer);
		if (!error && result)
			error = say_unwritable(message, "the capture", result);
	}
	clew_modules_close(recorder);
	clew_stores_close(recorder);
	if (recorder->bpf)
		clew_bpf__detach(recorder->bpf);
	clew_drain_close(recorder);
	if (recorder->cpus)
		munmap(recorder->cpus, recorder->cpus_size);
	if (recorder->slots)
		munmap(recorder->slots, recorder->slots_size);
	clew_bpf__destroy(recorder->bpf);
	clew_kernel_symbols_free(recorder->symbols);
	free(recorder);
	return error;
}
