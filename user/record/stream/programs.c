/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the programs that this kernel can take, and the addresses with which they compare.
 *
 * A program is loaded if its tracepoint is in the kernel and its feature is not
 * lost. `clew doctor` says what is lost without the others.
 */
#include "record/stream/programs.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clew.skel.h"
#include "record/stream/kernel.h"
#include "record/stream/missing.h"
#include "record/stream/program_table.h"
#include "record/stream/refusals.h"

/* File systems that may be modules. A module has types of its own once it is
 * loaded. */
static const char *const modules[] = {"jbd2", "ext4", "xfs", "btrfs", "loop"};

#define MODULES (sizeof(modules) / sizeof(modules[0]))

/* There are files of XFS where the kernel has it. */
#define XFS_TRACEPOINT "xfs_file_fsync"

struct types {
	const struct btf *kernel;
	struct btf *modules[MODULES];
	const char **tracepoints; /* names, sorted */
	size_t tracepoint_count;
};

static bool has_types(const char *module)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/btf/%s", module);
	return access(path, F_OK) == 0;
}

unsigned clew_programs_modules(void)
{
	unsigned found = 0;

	for (size_t i = 0; i < MODULES && !clew_kernel_hides_modules(); i++)
		if (has_types(modules[i]))
			found |= 1u << i;
	return found;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lists all tracepoints at once: each single search would go through all types
 * of the kernel. */
static int list_tracepoints(struct types *types)
{
	const char prefix[] = "btf_trace_";
	size_t room = 0;

	for (size_t i = 0; i <= MODULES; i++) {
		const struct btf *btf = i == MODULES ? types->kernel : types->modules[i];

		/* Numbers of a module's types start where the kernel's end. */
		for (uint32_t id = btf && i < MODULES ? btf__type_cnt(types->kernel) : 1;
		     btf && id < btf__type_cnt(btf); id++) {
			const struct btf_type *type = btf__type_by_id(btf, id);
			const char *name, **larger;

			if (!btf_is_typedef(type))
				continue;
			name = btf__name_by_offset(btf, type->name_off);
			if (strncmp(name, prefix, sizeof(prefix) - 1))
				continue;
			if (types->tracepoint_count == room) {
				larger = reallocarray(types->tracepoints,
						      room = room ? room * 2 : 4096,
						      sizeof(*larger));
				if (!larger)
					return -ENOMEM;
				types->tracepoints = larger;
			}
			types->tracepoints[types->tracepoint_count++] = name + sizeof(prefix) - 1;
		}
	}
	if (types->tracepoint_count)
		qsort(types->tracepoints, types->tracepoint_count, sizeof(*types->tracepoints),
		      by_name);
	return 0;
}

static int types_open(struct types *types, struct btf *kernel)
{
	unsigned found = clew_programs_modules();

	*types = (struct types){.kernel = kernel};
	for (size_t i = 0; i < MODULES; i++)
		if (found & (1u << i))
			types->modules[i] = btf__load_module_btf(modules[i], kernel);
	return list_tracepoints(types);
}

static void types_close(struct types *types)
{
	for (size_t i = 0; i < MODULES; i++)
		btf__free(types->modules[i]);
	free(types->tracepoints);
}

static bool has_tracepoint(const struct types *types, const char *name)
{
	return types->tracepoint_count &&
	       bsearch(&name, types->tracepoints, types->tracepoint_count, sizeof(name), by_name);
}

/* Finds a member of an enumeration without a name, among the types from `first`
 * on. */
static bool find_member(const struct btf *btf, uint32_t first, const char *name,
			uint32_t *ret_value)
{
	for (uint32_t id = first; btf && id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const struct btf_enum *members;

		if (!btf_is_enum(type) || type->name_off)
			continue;
		members = btf_enum(type);
		for (uint32_t i = 0; i < btf_vlen(type); i++)
			if (!strcmp(btf__name_by_offset(btf, members[i].name_off), name)) {
				*ret_value = members[i].val;
				return true;
			}
	}
	return false;
}

static void find_btrfs(const struct types *types, struct clew_bpf *bpf)
{
	const char *const tree = "IO_TREE_INODE_IO", *const written = "EXTENT_DELALLOC";
	uint32_t value = 0;

	if (!has_tracepoint(types, "btrfs_set_extent_bit"))
		return;
	for (size_t i = 0; i <= MODULES; i++) {
		const struct btf *btf = i == MODULES ? types->kernel : types->modules[i];
		uint32_t first = i == MODULES ? 1 : btf__type_cnt(types->kernel);

		if (!bpf->rodata->btrfs_inode_tree && find_member(btf, first, tree, &value))
			bpf->rodata->btrfs_inode_tree = value;
		if (!bpf->rodata->btrfs_written && find_member(btf, first, written, &value))
			bpf->rodata->btrfs_written = value;
	}
	/* Before 6.2 it was a macro, which is not in BTF. */
	if (!bpf->rodata->btrfs_written)
		bpf->rodata->btrfs_written = 1 << 4;
}

/* NULL: the program has none. */
static const char *tracepoint_of(const struct clew_program_row *row)
{
	const char prefix[] = "tp_btf/";

	return strncmp(row->section, prefix, sizeof(prefix) - 1)
		       ? NULL
		       : row->section + sizeof(prefix) - 1;
}

static bool is_wanted(const struct types *types, const struct bpf_program *program,
		      const struct clew_program_choice *choice)
{
	const struct clew_program_row *row = clew_program_row(bpf_program__name(program));
	const char *tracepoint;

	if (!row || clew_refusals_lost(choice->refusals, row))
		return false;
	if (row->flags & CLEW_PROGRAM_VERIFY)
		return choice->verify;
	if (row->flags & CLEW_PROGRAM_FUNCTIONS)
		return choice->functions;
	if (row->flags & CLEW_PROGRAM_KERNEL_FUNCTIONS)
		return choice->kernel_functions;
	if (row->flags & CLEW_PROGRAM_RUNTIMES)
		return choice->runtimes;
	if ((row->flags & CLEW_PROGRAM_STACKS) && !choice->stacks)
		return false;
	if ((row->flags & CLEW_PROGRAM_MESSAGES) && !choice->messages)
		return false;
	if ((row->flags & CLEW_PROGRAM_PAGE_CACHE) && !choice->page_cache)
		return false;
	if ((row->flags & CLEW_PROGRAM_XFS) && !has_tracepoint(types, XFS_TRACEPOINT))
		return false;
	if ((row->flags & CLEW_PROGRAM_JBD2) && !has_tracepoint(types, "jbd2_start_commit"))
		return false;
	if (!strcmp(row->name, "clew_consume_skb") && !clew_kernel_is(6, 14))
		return false;
	tracepoint = tracepoint_of(row);
	if (!tracepoint)
		return true;
	if (!has_tracepoint(types, tracepoint))
		return false;
	return !row->structure ||
	       row->other != clew_kernel_tracepoint_takes(types->kernel, tracepoint, row->argument,
							  row->structure);
}

/* The module that is loaded, has the tracepoint and hides its types; NULL: there is none. */
static const char *hiding_module(const char *tracepoint)
{
	for (size_t i = 0; i < MODULES; i++) {
		size_t length = strlen(modules[i]);

		if (!strncmp(tracepoint, modules[i], length) && tracepoint[length] == '_' &&
		    has_types(modules[i]))
			return modules[i];
	}
	return NULL;
}

/* Refuses in the kernel's name what it would not find. */
static void refuse_missing(const struct types *types, struct clew_refusals *refusals)
{
	bool hidden = clew_kernel_hides_modules();
	char reason[64];

	for (size_t i = 0; i < clew_program_table_count; i++) {
		const struct clew_program_row *row = &clew_program_table[i];
		const char *tracepoint = tracepoint_of(row);
		const char *module = hidden && tracepoint && !has_tracepoint(types, tracepoint)
					     ? hiding_module(tracepoint)
					     : NULL;

		snprintf(reason, sizeof(reason), "the module %s needs CAP_SYS_ADMIN", module ?: "");
		if (module)
			clew_refusals_add(refusals, row, reason);
		if (tracepoint && !(row->flags & CLEW_PROGRAM_OPTIONAL) &&
		    !has_tracepoint(types, tracepoint) &&
		    (!(row->flags & CLEW_PROGRAM_XFS) || has_tracepoint(types, XFS_TRACEPOINT)))
			clew_refusals_add(refusals, row, "its tracepoint is not in this kernel");
	}
}

/* The events that the remaining programs do not see. */
static unsigned find_unseen(const struct clew_refusals *refusals)
{
	static const struct {
		const char *feature;
		enum clew_unseen what;
	} by_feature[] = {
		{"interrupts", CLEW_UNSEEN_INTERRUPTS},
		{"inter-processor interrupts", CLEW_UNSEEN_CROSS},
		{"softirqs", CLEW_UNSEEN_SOFTIRQS},
		{"high-resolution timers", CLEW_UNSEEN_HRTIMERS},
		{"timers", CLEW_UNSEEN_TIMERS},
		{"work items", CLEW_UNSEEN_WORK},
		{"execs", CLEW_UNSEEN_EXECS},
		{"kernel locks", CLEW_UNSEEN_LOCKS},
		{"memory reclaim", CLEW_UNSEEN_REASONS},
		{"group memory reclaim", CLEW_UNSEEN_REASONS},
		{"memory compaction", CLEW_UNSEEN_REASONS},
		{"throttled writers", CLEW_UNSEEN_DIRTY},
	};
	unsigned unseen = 0;

	for (size_t i = 0; i < sizeof(by_feature) / sizeof(by_feature[0]); i++)
		if (clew_refusals_lost_feature(refusals, by_feature[i].feature))
			unseen |= by_feature[i].what;
	return unseen;
}

static void choose(const struct types *types, const struct clew_bpf *bpf,
		   const struct clew_program_choice *choice)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, bpf->obj)
		bpf_program__set_autoload(program, is_wanted(types, program, choice));
}

int clew_programs_choose(struct clew_bpf *bpf, struct btf *btf,
			 const struct clew_program_choice *choice)
{
	struct timespec tick = {};
	struct types types;
	const void *file;
	size_t size, refused;
	int r = types_open(&types, btf);

	if (r < 0) {
		types_close(&types);
		return r;
	}
	refuse_missing(&types, choice->refusals);
	choose(&types, bpf, choice);
	refused = choice->refusals->count;
	file = clew_bpf__elf_bytes(&size);
	r = clew_missing_refuse(bpf->obj, file, size, btf, types.modules, MODULES,
				clew_kernel_hides_modules(), choice->refusals);
	if (choice->refusals->count > refused)
		choose(&types, bpf, choice);
	find_btrfs(&types, bpf);
	types_close(&types);
	if (r < 0)
		return r;
	bpf->rodata->can_cast = btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
	bpf->rodata->unseen = find_unseen(choice->refusals);
	/* Not every kernel has its tracepoint. */
	if (!bpf_program__autoload(bpf->progs.clew_cache_get_pages))
		bpf->rodata->unseen |= CLEW_UNSEEN_USES;
	if (!bpf_program__autoload(bpf->progs.clew_page_fault_kernel))
		bpf->rodata->unseen |= CLEW_UNSEEN_FAULTS;
	bpf->rodata->page_cache = choice->page_cache && !clew_refusals_page_cache(choice->refusals);
	/* A step of the coarse clock is one of the kernel's ticks. */
	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	bpf->rodata->jiffy = tick.tv_nsec;
	return 0;
}

static const struct clew_kernel_place *place_named(const struct clew_kernel_place *places,
						   size_t count, const char *name)
{
	while (count > 1 && strcmp(places->name, name) != 0) {
		places++;
		count--;
	}
	return places;
}

/* Without symbols these stay 0, and the programs do not record faults in calls,
 * functions that wait, who armed a timer, and quotas. */
void clew_programs_addresses(struct clew_bpf *bpf, const struct clew_kernel_symbols *symbols)
{
	const struct {
		const char *symbol;
		const volatile __u64 *start, *end;
	} addresses[] = {
		{"asm_exc_page_fault", &bpf->rodata->fault_entry, &bpf->rodata->fault_entry_end},
		{"do_mem_abort", &bpf->rodata->fault_entry,
		 &bpf->rodata->fault_entry_end}, /* the same elsewhere */
		{"__sched_text_start", &bpf->rodata->sched_text, NULL},
		{"__sched_text_end", &bpf->rodata->sched_text_end, NULL},
		{"try_to_wake_up", &bpf->rodata->wake_entry, &bpf->rodata->wake_entry_end},
		{"wait_woken", &bpf->rodata->wait_woken, &bpf->rodata->wait_woken_end},
		{"schedule_preempt_disabled", &bpf->rodata->lock_schedule,
		 &bpf->rodata->lock_schedule_end},
		{"timerfd_tmrproc", &bpf->rodata->timer_timerfd, NULL},
		{"posix_timer_fn", &bpf->rodata->timer_posix, NULL},
		{"it_real_fn", &bpf->rodata->timer_interval, NULL},
		{"delayed_work_timer_fn", &bpf->rodata->timer_delayed, NULL},
		{"sched_cfs_period_timer", &bpf->rodata->timer_period, NULL},
		{"sched_cfs_slack_timer", &bpf->rodata->timer_slack, NULL},
		{"tcp_delack_timer", &bpf->rodata->timer_acknowledge, NULL},
		{"wq_barrier_func", &bpf->rodata->work_barrier, NULL},
		{"blk_throtl_dispatch_work_fn", &bpf->rodata->work_limits, NULL},
		{"iomap_dio_bio_end_io", &bpf->rodata->direct_end_io, NULL},
		{"bio_chain_endio", &bpf->rodata->chain_end_io, NULL},
		{"lo_rw_aio_complete", &bpf->rodata->loop_complete, NULL},
		{"btrfs_simple_end_io", &bpf->rodata->btrfs_end_io, NULL},
		{"btrfs_orig_write_end_io", &bpf->rodata->btrfs_write_end_io, NULL},
		{"btrfs_dio_end_io", &bpf->rodata->btrfs_direct_end, NULL},
		{"btrfs_end_dio_bio", &bpf->rodata->btrfs_direct_end, NULL}, /* before 6.2 or so */
		{"end_bio_bh_io_sync", &bpf->rodata->buffer_end_io, NULL},
		{"journal_end_buffer_io_sync", &bpf->rodata->journal_end_io, NULL},
		{"end_swap_bio_read", &bpf->rodata->swap_in_end, NULL},
		{"end_swap_bio_write", &bpf->rodata->swap_out_end, NULL},
		{"xlog_cil_push_work", &bpf->rodata->work_xfs_push, NULL},
		{"unix_stream_connect", &bpf->rodata->unix_connect, &bpf->rodata->unix_connect_end},
	};
	enum { COUNT = sizeof(addresses) / sizeof(addresses[0]) };
	struct clew_kernel_place places[COUNT];

	for (size_t i = 0; i < COUNT; i++)
		places[i] = (struct clew_kernel_place){.name = addresses[i].symbol};
	if (symbols)
		clew_kernel_symbols_find(symbols, places, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		const struct clew_kernel_place *place =
			place_named(places, COUNT, addresses[i].symbol);

		if (!place->start)
			continue;
		*(__u64 *)addresses[i].start = place->start;
		if (addresses[i].end)
			*(__u64 *)addresses[i].end = place->end;
	}
	if (!bpf->rodata->sched_text || !bpf->rodata->sched_text_end)
		bpf->rodata->sched_text = bpf->rodata->sched_text_end = 0;
	/* It runs at every work item, and compares each with this function. */
	if (!bpf->rodata->work_xfs_push)
		bpf_program__set_autoload(bpf->progs.clew_cache_xfs_push, false);
}
