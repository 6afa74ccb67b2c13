/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs a command and compares the stacks that the kernel side finds by clew's tables with those
 * that libdw finds from the same registers and the same memory. A stack is kept with the process's
 * mappings as they were when it came, and compared when the command is over. Prints one JSON
 * object.
 *
 * Usage: unwind_compare SECONDS HERTZ COMMAND ...
 */
#include <bpf/bpf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/stacks/direct_map.h"
#include "record/stacks/unwind_heap.h"
#include "record/ticks.h"
#include "unwind_compare.h"
#include "unwind_compare.skel.h"

#define IMAGES	    4096
#define HEAP_BLOCKS 32
#define DEEP	    256 /* frames of the reference */
#define STACKS	    1500
#define MAPS	    (1 << 20)

/* The number of a register in the kernel's structure. */
#ifdef __aarch64__
#define STACK_POINTER 31
#else
#define STACK_POINTER 19
#endif

struct image {
	struct clew_image_key key;
};

/* A frame as both sides name it. */
struct frame {
	uint64_t inode;
	uint64_t offset;
};

static struct unwind_compare *bpf;
static struct clew_unwind_heap heap;
static struct image images[IMAGES];
static unsigned image_count; /* highest number */
static struct kept {
	struct stack_message message;
	const char *maps; /* /proc/PID/maps */
} * kept[STACKS];
static unsigned kept_count;
static char *last_maps;
static const struct stack_message *at_hand;
static uint64_t reference[DEEP];
static unsigned reference_count;
static bool refused_memory; /* outside the copy of the stack: the reference ends there */
static struct {
	unsigned stacks, same, cut, longer, different, no_table, frames, roots;
	unsigned pairs, equal, unlike, ends[CLEW_STACK_ENDS];
} tally;

static void fail(const char *what)
{
	fprintf(stderr, "unwind_compare: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void publish(int descriptor, const struct clew_image_key *key, uint32_t id)
{
	struct clew_image image = {.id = id, .state = CLEW_IMAGE_NONE};
	struct clew_unwind_table table = {};
	struct clew_unwind_row *rows;
	size_t count;

	if (!clew_unwind_rows(descriptor, &rows, &count)) {
		if (!clew_unwind_table_make(rows, count, &table) &&
		    clew_unwind_heap_add(&heap, &table, &image) < 0)
			image.state = CLEW_IMAGE_FULL;
		clew_unwind_table_done(&table);
		free(rows);
	}
	if (bpf_map_update_elem(bpf_map__fd(bpf->maps.clew_images), key, &image, BPF_ANY))
		fail("publish");
}

static void take_image(const struct clew_image_news *message)
{
	char path[96];
	int descriptor;

	if (message->image >= IMAGES)
		return;
	images[message->image].key = message->key;
	if (message->image > image_count)
		image_count = message->image;
	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", message->pid, message->start,
		 message->end);
	if (message->key.inode) {
		descriptor = open(path, O_RDONLY | O_CLOEXEC);
	} else {
		descriptor = memfd_create("vdso", MFD_CLOEXEC);
		if (write(descriptor, (void *)getauxval(AT_SYSINFO_EHDR), 8192) != 8192)
			fail("vdso");
	}
	/* An exec may have taken the mapping away. The next walk asks again. */
	if (descriptor < 0) {
		bpf_map_delete_elem(bpf_map__fd(bpf->maps.clew_images), &message->key);
		return;
	}
	publish(descriptor, &message->key, message->image);
	close(descriptor);
}

/* The file and the offset of an address, by a list of mappings. */
static struct frame frame_of(const char *maps, uint64_t address)
{
	uint64_t start, end, offset, inode;
	char mode[8];

	for (; maps && *maps; maps = strchr(maps, '\n') + 1) {
		if (sscanf(maps, "%lx-%lx %7s %lx %*x:%*x %lu", &start, &end, mode, &offset,
			   &inode) != 5 ||
		    address < start || address >= end || mode[2] != 'x')
			continue;
		if (inode || !strncmp(strchr(maps, '\n') - 6, "[vdso]", 6))
			return (struct frame){inode, address - start + (inode ? offset : 0)};
		return (struct frame){0, address};
	}
	return (struct frame){};
}

static struct frame own_frame(uint64_t frame)
{
	if (frame & CLEW_FRAME_ADDRESS)
		return (struct frame){0, frame & ~CLEW_FRAME_ADDRESS};
	return (struct frame){images[frame >> CLEW_FRAME_IMAGE_SHIFT & (IMAGES - 1)].key.inode,
			      frame & ((1ull << CLEW_FRAME_IMAGE_SHIFT) - 1)};
}

/* ---- the reference ---- */

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
	(void)dwfl;
	(void)context;
	if (*thread)
		return 0;
	*thread = (void *)at_hand;
	return (pid_t)at_hand->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *context, void **thread)
{
	(void)dwfl;
	(void)tid;
	(void)context;
	*thread = (void *)at_hand;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret_word, void *context)
{
	uint64_t start = at_hand->registers[STACK_POINTER];

	(void)dwfl;
	(void)context;
	if (address < start || address + 8 > start + at_hand->copied) {
		refused_memory = true;
		return false;
	}
	memcpy(ret_word, at_hand->stack + (address - start), sizeof(*ret_word));
	return true;
}

#ifdef __aarch64__
/* DWARF has the kernel's order. */
static bool set_registers(Dwfl_Thread *thread, void *context)
{
	Dwarf_Word words[STACK_POINTER + 1];

	(void)context;
	for (int i = 0; i <= STACK_POINTER; i++)
		words[i] = at_hand->registers[i];
	dwfl_thread_state_register_pc(thread, at_hand->registers[STACK_POINTER + 1]);
	return dwfl_thread_state_registers(thread, 0, STACK_POINTER + 1, words);
}
#else
static bool set_registers(Dwfl_Thread *thread, void *context)
{
	/* DWARF's order of registers, by the kernel's. */
	static const uint8_t order[17] = {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16};
	Dwarf_Word words[17];

	(void)context;
	for (int i = 0; i < 17; i++)
		words[i] = at_hand->registers[order[i]];
	return dwfl_thread_state_registers(thread, 0, 17, words);
}
#endif

static int take_frame(Dwfl_Frame *frame, void *context)
{
	bool exact;
	Dwarf_Addr address;

	(void)context;
	if (!dwfl_frame_pc(frame, &address, &exact) || reference_count == DEEP)
		return DWARF_CB_ABORT;
	reference[reference_count++] = address - !exact;
	return DWARF_CB_OK;
}

/* True if it reached the root. */
static bool unwind_reference(Dwfl *dwfl)
{
	reference_count = 0;
	refused_memory = false;
	return dwfl_getthread_frames(dwfl, (pid_t)at_hand->tid, take_frame, NULL) == 0;
}

static Dwfl *open_reference(pid_t pid, const char *maps)
{
	static char *no_path = (char *)"";
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &no_path,
	};
	static const Dwfl_Thread_Callbacks threads = {
		.next_thread = next_thread,
		.get_thread = get_thread,
		.memory_read = read_memory,
		.set_initial_registers = set_registers,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	FILE *file = fmemopen((void *)maps, strlen(maps), "r");

	if (!dwfl || !file || dwfl_linux_proc_maps_report(dwfl, file) ||
	    dwfl_report_end(dwfl, NULL, NULL) ||
	    !dwfl_attach_state(dwfl, NULL, pid, &threads, NULL)) {
		fprintf(stderr, "unwind_compare: reference: %s\n%s", dwfl_errmsg(-1), maps);
		dwfl_end(dwfl);
		dwfl = NULL;
	}
	if (file)
		fclose(file);
	return dwfl;
}

static void show(const struct kept *stack, unsigned at, const char *what)
{
	const struct stack_message *message = &stack->message;
	static int shown;

	if (shown++ >= 5)
		return;
	fprintf(stderr, "%s at frame %u of %u and %u, end %u\n", what, at, message->count,
		reference_count, message->end);
	for (unsigned i = 0; i < message->count || i < reference_count; i++) {
		struct frame own = own_frame(i < message->count ? message->frames[i] : 0),
			     other = frame_of(stack->maps, i < reference_count ? reference[i] : 0);

		fprintf(stderr, "  %10lu+%-10lx %10lu+%lx\n", own.inode, own.offset, other.inode,
			other.offset);
	}
}

static void compare_stack(Dwfl *dwfl, const struct kept *stack)
{
	const struct stack_message *message = &stack->message;
	unsigned at = 0;
	bool root;

	at_hand = message;
	tally.ends[message->end % CLEW_STACK_ENDS]++;
	root = unwind_reference(dwfl);
	/* What the reference cannot tell is no truth. */
	if (!root || !reference_count || reference_count > CLEW_STACK_MOST)
		return;
	for (; at < message->count && at < reference_count; at++) {
		struct frame own = own_frame(message->frames[at]),
			     other = frame_of(stack->maps, reference[at]);

		if (own.inode != other.inode || own.offset != other.offset)
			break;
	}
	if (at == reference_count && at < message->count && refused_memory)
		return;
	tally.stacks++;
	tally.frames += reference_count;
	tally.roots += message->end == CLEW_STACK_ROOT;
	if (at == message->count && at == reference_count) {
		tally.same++;
	} else if (at == message->count) {
		tally.cut++;
		show(stack, at, "cut");
	} else if (at == reference_count) {
		tally.longer++;
		show(stack, at, "longer");
	} else {
		tally.different++;
		show(stack, at, "different");
	}
}

static void compare_stacks(void)
{
	const char *maps = NULL;
	Dwfl *dwfl = NULL;

	for (unsigned i = 0; i < kept_count; i++) {
		if (kept[i]->maps != maps) {
			dwfl_end(dwfl);
			maps = kept[i]->maps;
			dwfl = open_reference((pid_t)kept[i]->message.pid, maps);
		}
		if (dwfl)
			compare_stack(dwfl, kept[i]);
	}
	dwfl_end(dwfl);
}

/* The process's mappings now; the last ones if they are the same. NULL: it is gone. */
static const char *read_maps(pid_t pid)
{
	char path[64], *maps = malloc(MAPS);
	size_t size = 0;
	ssize_t got;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	while (file >= 0 && size < MAPS - 1 && (got = read(file, maps + size, MAPS - 1 - size)) > 0)
		size += (size_t)got;
	if (file >= 0)
		close(file);
	maps[size] = '\0';
	if (!size || (last_maps && !strcmp(maps, last_maps))) {
		free(maps);
		return size ? last_maps : NULL;
	}
	last_maps = maps;
	return maps;
}

static void keep_stack(const struct stack_message *message)
{
	const char *maps;

	if (message->end == CLEW_STACK_NO_TABLE) {
		tally.no_table++;
		return;
	}
	maps = kept_count < STACKS ? read_maps((pid_t)message->pid) : NULL;
	if (!maps)
		return;
	kept[kept_count] = malloc(sizeof(**kept));
	*kept[kept_count++] = (struct kept){*message, maps};
}

static int take(void *context, void *data, size_t size)
{
	const struct pair_message *pair = data;

	(void)context;
	(void)size;
	if (pair->kind == MESSAGE_STACK) {
		keep_stack(data);
	} else if (pair->out_end != CLEW_STACK_NO_TABLE && pair->in_end != CLEW_STACK_NO_TABLE) {
		tally.pairs++;
		tally.equal += pair->equal;
	}
	return 0;
}

static int take_news(void *context, void *data, size_t size)
{
	(void)context;
	(void)size;
	take_image(data);
	return 0;
}

static void find_direct_map(void)
{
	uint64_t *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	struct bpf_link *link;
	uint64_t entry = 0;

	mlock(page, 4096);
	*page = 0x1234567890abcdefull ^ (uint64_t)getpid() << 32;
	if (pread(pagemap, &entry, sizeof(entry), (off_t)((uint64_t)page / 4096 * 8)) !=
	    sizeof(entry))
		fail("pagemap");
	close(pagemap);
	bpf->bss->five_levels = clew_five_levels();
	bpf->bss->page_word = *page;
	bpf->bss->page_frame = (entry & ((1ull << 55) - 1)) * 4096;
	bpf->bss->target = (uint32_t)getpid();
	link = bpf_program__attach(bpf->progs.find_direct_map);
	getppid();
	usleep(1000);
	bpf_link__destroy(link);
}

static pid_t start(char **command, int *ret_gate)
{
	int gate[2];
	pid_t pid;

	if (pipe(gate))
		fail("pipe");
	pid = fork();
	if (pid == 0) {
		char byte;

		close(gate[1]);
		if (read(gate[0], &byte, 1) == 1) {
			close(gate[0]);
			execvp(command[0], command);
		}
		_exit(127);
	}
	close(gate[0]);
	*ret_gate = gate[1];
	return pid;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int count, char **arguments)
{
	struct ring_buffer *messages;
	uint64_t period;
	double end;
	int gate;
	pid_t pid;

	if (count < 4)
		return 2;
	bpf = unwind_compare__open();
	if (!bpf || bpf_map__set_max_entries(bpf->maps.clew_unwind_heap, HEAP_BLOCKS) ||
	    unwind_compare__load(bpf))
		fail("load");
	if (clew_unwind_heap_open(bpf_map__fd(bpf->maps.clew_unwind_heap), HEAP_BLOCKS, &heap))
		fail("heap");
	find_direct_map();
	pid = start(arguments + 3, &gate);
	bpf->bss->target = (uint32_t)pid;
	period = (uint64_t)(1e9 / atof(arguments[2]));
	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
		if (!clew_ticks_attach(bpf->progs.sample, cpu, period))
			fail("ticks");
	if (!bpf_program__attach(bpf->progs.compare_switch))
		fail("switch");
	messages = ring_buffer__new(bpf_map__fd(bpf->maps.messages), take, NULL, NULL);
	if (ring_buffer__add(messages, bpf_map__fd(bpf->maps.clew_image_news), take_news, NULL))
		fail("news");
	bpf->bss->enabled_here = 1;
	if (write(gate, "g", 1) != 1)
		fail("start");
	for (end = now() + atof(arguments[1]); now() < end && !waitpid(pid, NULL, WNOHANG);)
		ring_buffer__poll(messages, 50);
	bpf->bss->enabled_here = 0;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	compare_stacks();
	printf("{\"direct_map\": %s, \"images\": %u, \"stacks\": %u, \"same\": %u, \"cut\": %u, "
	       "\"longer\": %u, \"different\": %u, \"no_table\": %u, \"frames\": %u, \"roots\": "
	       "%u, "
	       "\"pairs\": %u, \"equal\": %u, \"heap_bytes\": %zu, \"ends\": [",
	       bpf->bss->direct_map ? "true" : "false", image_count, tally.stacks, tally.same,
	       tally.cut, tally.longer, tally.different, tally.no_table, tally.frames, tally.roots,
	       tally.pairs, tally.equal, heap.used * 4);
	for (int i = 0; i < CLEW_STACK_ENDS; i++)
		printf("%s%u", i ? ", " : "", tally.ends[i]);
	printf("]}\n");
	return 0;
}
