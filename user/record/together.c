/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libbpf prepares a program for the running kernel, and asks take() before it loads it. take()
 * keeps the prepared program, and has libbpf load one that does nothing instead. At the last
 * program, threads load those that were kept. After that each of them gets the descriptor of the
 * one that stands for it, so that to all others libbpf has loaded it.
 *
 * Invariant: what was kept is loaded before take() returns for the last program, as libbpf then
 * closes the descriptors of modules' types.
 */
#include "record/together.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ending.h"
#include "base/thread.h"
#include "record/interrupt.h"
#include "record/room.h"

#define THREADS_MOST 16
#define SECTION	     "tp_btf"

struct kept {
	struct bpf_program *program;
	struct bpf_prog_load_opts options; /* points into the program */
	struct bpf_insn *instructions;
	size_t count;
	int descriptor; /* -1: not loaded */
};

static struct {
	const struct bpf_program *last; /* NULL: libbpf loads all itself */
	struct clew_interrupt *interrupt;
	struct kept *kept;
	size_t count;
	atomic_size_t next;
	atomic_int error;
} together;

/* The largest first, so that none is left for one thread at the end. */
static int by_size(const void *a, const void *b)
{
	const struct kept *left = a, *right = b;

	return (left->count < right->count) - (left->count > right->count);
}

static void load_kept(void)
{
	size_t i;

	while (!atomic_load(&together.error) && !ending_since() &&
	       (i = atomic_fetch_add(&together.next, 1)) < together.count) {
		struct kept *kept = &together.kept[i];

		kept->descriptor =
			bpf_prog_load(BPF_PROG_TYPE_TRACING, bpf_program__name(kept->program),
				      "GPL", kept->instructions, kept->count, &kept->options);
		if (kept->descriptor < 0)
			atomic_store(&together.error, kept->descriptor);
	}
}

static void *help(void *nothing)
{
	clew_interrupt_join(together.interrupt);
	load_kept();
	clew_interrupt_leave(together.interrupt);
	return nothing;
}

static int load_all_kept(void)
{
	pthread_t threads[THREADS_MOST];
	size_t count = 0;
	cpu_set_t set;
	int cpus = sched_getaffinity(0, sizeof(set), &set) < 0 ? THREADS_MOST : CPU_COUNT(&set);
	size_t wanted = clew_room_for_helpers(cpus < THREADS_MOST ? cpus - 1 : THREADS_MOST);

	qsort(together.kept, together.count, sizeof(*together.kept), by_size);
	while (count < wanted && !store_thread_start(&threads[count], help, NULL))
		count++;
	load_kept();
	while (count)
		pthread_join(threads[--count], NULL);
	/* A wish for the end leaves programs that were not loaded. */
	return atomic_load(&together.error) ?: ending_since() ? -ECANCELED : 0;
}

/* Keeps a prepared program, and makes it one that does nothing. */
static int keep(struct bpf_program *program, struct bpf_prog_load_opts *options)
{
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	size_t count = bpf_program__insn_cnt(program), size = count * sizeof(struct bpf_insn);
	struct kept *kept = &together.kept[together.count];

	*kept = (struct kept){.program = program,
			      .options = *options,
			      .instructions = malloc(size),
			      .count = count,
			      .descriptor = -1};
	if (!kept->instructions)
		return -ENOMEM;
	together.count++;
	memcpy(kept->instructions, bpf_program__insns(program), size);
	options->func_info_cnt = options->line_info_cnt = 0;
	return bpf_program__set_insns(program, (struct bpf_insn *)nothing, 2);
}

static int take(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
	int error;

	(void)cookie;
	if (!options->attach_btf_id)
		return -ESRCH;
	if (!together.last)
		return 0;
	error = keep(program, options);
	return error || program != together.last ? error : load_all_kept();
}

static int attach(const struct bpf_program *program, long cookie, struct bpf_link **ret_link)
{
	(void)cookie;
	*ret_link = bpf_program__attach_trace(program);
	return *ret_link ? 0 : -errno;
}

int clew_together_register(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, options, .prog_prepare_load_fn = take,
		    .prog_attach_fn = attach);
	static bool registered;
	int handler;

	if (registered)
		return 0;
	handler = libbpf_register_prog_handler(SECTION "+", BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP,
					       &options);
	registered = handler >= 0;
	return handler < 0 ? handler : 0;
}

/* The tracepoint that a program's section names; NULL: none. */
static const char *tracepoint_of(const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);

	return strncmp(section, SECTION "/", sizeof(SECTION)) ? NULL : section + sizeof(SECTION);
}

void clew_together_find(struct bpf_object *object)
{
	struct bpf_program *program;

	/* A program without its tracepoint is refused at its load, where libbpf names it. */
	bpf_object__for_each_program (program, object)
		if (bpf_program__autoload(program) && tracepoint_of(program))
			bpf_program__set_attach_target(program, 0, tracepoint_of(program));
}

void clew_together_begin(struct bpf_object *object, struct clew_interrupt *interrupt)
{
	struct bpf_program *program;

	size_t count = 0;

	together.interrupt = interrupt;
	together.count = 0;
	atomic_store(&together.next, 0);
	atomic_store(&together.error, 0);
	bpf_object__for_each_program (program, object)
		count++;
	together.kept = store_thread_pays() ? calloc(count, sizeof(*together.kept)) : NULL;
	if (!together.kept)
		return;
	bpf_object__for_each_program (program, object)
		if (bpf_program__autoload(program) && tracepoint_of(program))
			together.last = program;
}

int clew_together_end(int loaded)
{
	int error = atomic_load(&together.error);

	together.last = NULL;
	for (size_t i = 0; i < together.count; i++) {
		const struct kept *kept = &together.kept[i];

		if (!loaded &&
		    dup3(kept->descriptor, bpf_program__fd(kept->program), O_CLOEXEC) < 0)
			error = -errno;
		if (kept->descriptor >= 0)
			close(kept->descriptor);
		free(kept->instructions);
	}
	free(together.kept);
	together.kept = NULL;
	together.count = 0;
	return error;
}
