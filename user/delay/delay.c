/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Delays: finds both functions, loads the programs, and goes through the blocks.
 *
 * Invariant: a delay lasts no longer than this process, as its descriptors hold the probes.
 */
#include "delay/delay.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "delay.skel.h"
#include "record/functions/probe.h"
#include "record/stacks/objects.h"
#include "symbol/code/function.h"

#define ENOUGH 20 /* times a block's length: an operation that is rarer is given up */

/* A function that is probed. */
struct probed {
	struct clew_objects objects;
	struct clew_functions *functions;
	const struct clew_function_symbol *symbol;
	struct clew_probe_links entry, exits;
};

struct clew_delay {
	struct delay_bpf *bpf;
	bool multi;
	struct probed function, span;
	uint64_t *order; /* the delay of each block */
	size_t planned, begun;
	uint64_t block;	     /* ns */
	uint64_t stopped;    /* ns, CLOCK_MONOTONIC; 0: not yet */
	uint64_t busy, time; /* of all CPUs, ticks: at the begin, then since */
	bool spans;	     /* operations are timed here */
	void (*turn)(void *context, bool changed);
	void *context;
};

/* ---- the functions ---- */

/* Functions of all programs have callers that nobody thinks of, or are called where none may wait.
 */
static const char *forbidden(const char *path)
{
	static const char *const names[] = {"libc.so",	  "libc-2",    "ld-linux",  "ld-2",
					    "libpthread", "libjvm.so", "linux-vdso"};
	const char *last = strrchr(path, '/');

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(last ? last + 1 : path, names[i], strlen(names[i])))
			return names[i];
	return NULL;
}

static int find_object(const char *text, const char *colon, struct probed *probed,
		       struct clew_message *message)
{
	char *name = strndup(text, (size_t)(colon - text));
	int r = name ? clew_objects_find(name, &probed->objects, message) : -ENOMEM;

	if (r >= 0 && probed->objects.count != 1)
		r = clew_say(message, -EINVAL, "%s: %zu files have that name: give a path", name,
			     probed->objects.count);
	free(name);
	return r;
}

static int find_function(const char *text, bool delayed, struct probed *probed,
			 struct clew_message *message)
{
	const char *colon = strrchr(text, ':');
	const struct clew_functions_options options = {.size = sizeof(options)};
	const struct clew_function_symbol *const *found;
	const char *name;
	size_t count;
	int r;

	while (colon > text && colon[-1] == ':') /* of C++ */
		colon = memrchr(text, ':', (size_t)(colon - 1 - text));
	if (!colon || colon == text || !colon[1])
		return clew_say(message, -EINVAL, "'%s' is no function: write OBJECT:FUNCTION",
				text);
	r = find_object(text, colon, probed, message);
	if (r < 0)
		return r;
	name = probed->objects.list[0].path;
	if (delayed && forbidden(name))
		return clew_say(message, -EINVAL,
				"%s: functions of %s are not delayed: take one of the program's "
				"own",
				text, name);
	r = clew_object_read(&probed->objects.list[0]);
	if (r < 0)
		return clew_say(message, r, "%s: %s", name, clew_open_error(r));
	r = clew_functions_open(probed->objects.list[0].descriptor, name, &options,
				&probed->functions, message);
	if (r >= 0)
		r = clew_functions_find(probed->functions, colon + 1, &found, &count);
	if (r < 0)
		return r == -ENOMEM ? clew_say(message, r, "no memory for %s: free some", name) : r;
	if (count != 1)
		return clew_say(message, -EINVAL, "%s: %zu functions fit: name one%s", text, count,
				count ? "" : " as clew functions lists them");
	probed->symbol = found[0];
	if (found[0]->refused)
		return clew_say(message, -EINVAL, "%s cannot be probed (%s): take its caller", text,
				found[0]->refused);
	if (delayed && found[0]->entry.class != CLEW_PROBE_EMULATED)
		return clew_say(message, -EINVAL,
				"%s: a probe at its entry is single-stepped, which costs what it "
				"is to measure: take its caller",
				text);
	return 0;
}

/* ---- probes ---- */

static int attach(struct clew_delay *delay, struct bpf_program *program,
		  const struct clew_opened *file, const struct clew_probe_place *places,
		  size_t count, struct clew_probe_links *links)
{
	return clew_probe_attach(program, delay->multi, file->path, places, count, links);
}

static int attach_entry(struct clew_delay *delay, struct bpf_program *program,
			struct probed *probed)
{
	const struct clew_probe_place place = {.offset = probed->symbol->entry.offset};

	return attach(delay, program, &probed->objects.list[0].file, &place, 1, &probed->entry);
}

/* Attaches at each instruction that leaves the function. Refuses one with a conditional jump out of
 * it: whether that leaves depends on flags that the program does not see. */
static int attach_exits(struct clew_delay *delay, const char *text, struct probed *probed,
			struct clew_message *message)
{
	const struct clew_function_symbol *symbol = probed->symbol;
	struct clew_probe_place *places = calloc(symbol->exit_count + 1, sizeof(*places));
	int r = places ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < symbol->exit_count; i++) {
		if (symbol->exits[i].kind != CLEW_EXIT_RET &&
		    symbol->exits[i].kind != CLEW_EXIT_JUMP)
			r = -ENOTSUP;
		else
			places[i].offset = symbol->exits[i].offset;
	}
	if (r == -ENOTSUP || (r == 0 && !symbol->exit_count))
		r = clew_say(message, -EINVAL,
			     "--span %s: its end is not seen at a return: take another function",
			     text);
	else if (r == 0)
		r = attach(delay, delay->bpf->progs.operation_end, &probed->objects.list[0].file,
			   places, symbol->exit_count, &probed->exits);
	free(places);
	return r;
}

static int attach_all(struct clew_delay *delay, const struct clew_delay_options *options,
		      struct clew_message *message)
{
	int r = 0;

	if (options->span)
		r = attach_entry(delay, delay->bpf->progs.operation_begin, &delay->span);
	if (r >= 0 && options->span)
		r = attach_exits(delay, options->span, &delay->span, message);
	if (r >= 0 && options->function)
		r = attach_entry(delay, delay->bpf->progs.delay_call, &delay->function);
	if (r >= 0 && !options->all) {
		struct bpf_link *link = bpf_program__attach(delay->bpf->progs.forked);

		delay->bpf->links.forked = link;
		r = link ? 0 : -errno;
	}
	return r;
}

static int load(struct clew_delay *delay, const struct clew_delay_options *options,
		struct clew_message *message)
{
	int r;

	libbpf_set_print(NULL);
	delay->bpf = delay_bpf__open();
	if (!delay->bpf)
		return clew_say(message, -errno, "the programs cannot be opened: %s",
				strerror(errno));
	delay->bpf->rodata->self = (uint32_t)getpid();
	delay->bpf->rodata->all = options->all;
	delay->bpf->rodata->percent = options->percent;
	delay->bpf->bss->block = CLEW_DELAY_BLOCKS; /* the first one has not begun */
	delay->multi = clew_probe_multi();
	if (delay->multi) {
		clew_probe_prepare_multi(delay->bpf->progs.delay_call);
		clew_probe_prepare_multi(delay->bpf->progs.operation_begin);
		clew_probe_prepare_multi(delay->bpf->progs.operation_end);
	}
	r = delay_bpf__load(delay->bpf);
	if (r < 0)
		return clew_say(message, r,
				"the kernel refuses the programs: %s: run as root, see clew doctor",
				strerror(-r));
	return 0;
}

/* ---- blocks ---- */

/* Half of them without a delay, and each length as often as others, in random order. */
static int plan(struct clew_delay *delay, const struct clew_delay_options *options)
{
	uint64_t state = clock_read(CLOCK_MONOTONIC) | 1;

	delay->planned = options->blocks < CLEW_DELAY_BLOCKS ? options->blocks : CLEW_DELAY_BLOCKS;
	delay->block = options->block;
	delay->spans = options->span != NULL;
	delay->turn = options->turn;
	delay->context = options->context;
	delay->order = calloc(delay->planned + 1, sizeof(*delay->order));
	if (!delay->order)
		return -ENOMEM;
	for (size_t i = 1; i < delay->planned; i += 2)
		delay->order[i] = options->lengths[i / 2 % options->length_count];
	for (size_t i = delay->planned; i > 1; i--) {
		size_t other;
		uint64_t swap;

		state = state * 6364136223846793005ull + 1442695040888963407ull;
		other = (state >> 33) % i;
		swap = delay->order[i - 1];
		delay->order[i - 1] = delay->order[other];
		delay->order[other] = swap;
	}
	return 0;
}

int clew_delay_open(const struct clew_delay_options *options, struct clew_delay **ret,
		    struct clew_message *message)
{
	struct clew_delay *delay = calloc(1, sizeof(*delay));
	int r;

	if (!delay)
		return clew_say(message, -ENOMEM, "no memory for delays: free some");
	delay->function.entry.multi = delay->span.entry.multi = delay->span.exits.multi = -1;
	delay->function.exits.multi = -1;
	r = options->function ? find_function(options->function, true, &delay->function, message)
			      : 0;
	if (r >= 0 && options->span)
		r = find_function(options->span, false, &delay->span, message);
	if (r >= 0 && options->span && options->function &&
	    delay->function.objects.list[0].file.inode == delay->span.objects.list[0].file.inode &&
	    delay->function.symbol->address == delay->span.symbol->address)
		r = clew_say(message, -EINVAL,
			     "--span is the function that is delayed: name one that calls it");
	if (r >= 0)
		r = plan(delay, options);
	if (r >= 0)
		r = load(delay, options, message);
	for (size_t i = 0; r >= 0 && i < options->pid_count; i++)
		r = clew_delay_add(delay, options->pids[i]);
	if (r >= 0)
		r = attach_all(delay, options, message);
	if (r < 0 && !message->text[0])
		clew_say(message, r, "the probes cannot be set: %s: see clew doctor", strerror(-r));
	if (r < 0)
		clew_delay_close(delay);
	else
		*ret = delay;
	return r;
}

int clew_delay_add(struct clew_delay *delay, pid_t pid)
{
	uint32_t process = (uint32_t)pid, one = 1;

	return bpf_map_update_elem(bpf_map__fd(delay->bpf->maps.targets), &process, &one, BPF_ANY)
		       ? -errno
		       : 0;
}

/* Ticks of all CPUs with something to do, and in all. */
static void read_busy(uint64_t *ret_busy, uint64_t *ret_time)
{
	unsigned long long of[8] = {};
	FILE *file = fopen("/proc/stat", "re");
	bool known = file && fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &of[0],
				    &of[1], &of[2], &of[3], &of[4], &of[5], &of[6], &of[7]) == 8;

	*ret_busy = *ret_time = 0;
	for (unsigned i = 0; known && i < 8; i++) {
		*ret_time += of[i];
		*ret_busy += i == 3 || i == 4 ? 0 : of[i];
	}
	if (file)
		fclose(file);
}

/* True if the current block is over: it has an operation, or there are none. */
static bool is_over(const struct clew_delay *delay)
{
	volatile struct clew_delay_block *block = &delay->bpf->bss->blocks[delay->begun - 1];
	uint64_t passed = clock_read(CLOCK_MONOTONIC) - block->start;

	return passed >= delay->block &&
	       (!delay->spans || block->operations || passed >= ENOUGH * delay->block);
}

static void begin_block(struct clew_delay *delay)
{
	volatile struct clew_delay_block *block = &delay->bpf->bss->blocks[delay->begun];
	uint64_t length = delay->order[delay->begun];

	if (!delay->begun)
		read_busy(&delay->busy, &delay->time);
	if (delay->turn)
		delay->turn(delay->context, length > 0);
	block->start = clock_read(CLOCK_MONOTONIC);
	block->delay = length;
	__atomic_store_n(&delay->bpf->bss->block, (uint32_t)delay->begun, __ATOMIC_RELEASE);
	delay->begun++;
}

bool clew_delay_step(struct clew_delay *delay)
{
	if (delay->begun && !is_over(delay))
		return true;
	if (delay->begun == delay->planned)
		return false;
	begin_block(delay);
	return true;
}

void clew_delay_stop(struct clew_delay *delay)
{
	uint64_t busy, time;

	if (delay->stopped)
		return;
	/* Calls from now on are in no block. */
	__atomic_store_n(&delay->bpf->bss->block, CLEW_DELAY_BLOCKS, __ATOMIC_RELEASE);
	delay->stopped = clock_read(CLOCK_MONOTONIC);
	if (delay->turn)
		delay->turn(delay->context, false);
	read_busy(&busy, &time);
	delay->busy = delay->begun ? busy - delay->busy : 0;
	delay->time = delay->begun ? time - delay->time : 0;
}

const struct clew_delay_block *clew_delay_blocks(const struct clew_delay *delay, size_t *ret_count)
{
	*ret_count = delay->begun;
	return delay->bpf->bss->blocks;
}

uint64_t clew_delay_until(const struct clew_delay *delay, size_t block)
{
	return block + 1 < delay->begun ? delay->bpf->bss->blocks[block + 1].start : delay->stopped;
}

double clew_delay_busy(const struct clew_delay *delay)
{
	return delay->time ? (double)delay->busy / (double)delay->time : 0;
}

static void probed_done(struct probed *probed)
{
	clew_probe_detach(&probed->entry, 1);
	clew_probe_detach(&probed->exits, 1);
	clew_functions_close(probed->functions);
	clew_objects_done(&probed->objects);
}

void clew_delay_close(struct clew_delay *delay)
{
	if (!delay)
		return;
	probed_done(&delay->function);
	probed_done(&delay->span);
	delay_bpf__destroy(delay->bpf);
	free(delay->order);
	free(delay);
}
