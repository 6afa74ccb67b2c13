/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The user side of a recording on as many CPUs as one likes: the recorder's drain, merge, writer
 * and file, whose rings a thread of this program fills from the streams of a capture, each CPU from
 * one of them. The rings that the kernel would give are this program's memory, taken as a whole
 * before the start, as the kernel takes them.
 *
 * Prints one JSON object: what was put, lost and stored; the most memory that the recorder had, and
 * how much of it are rings; CPU time of all threads but the filling one. With RATE 0 each ring is
 * filled once until a record has no room, and emptied only then: memory is at its worst.
 *
 * Usage: many_cpus CAPTURE OUTPUT CPUS RATE SECONDS      RATE: records a second for each CPU
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "base/vector.h"
#include "clew.skel.h"
#include "record/room.h"
#include "record/stream/clock.h"
#include "record/stream/drain.h"
#include "record/stream/recorder_state.h"
#include "record/stream/takers.h"
#include "store/capture.h"
#include "store/kinds.h"

#define SKIP	UINT64_MAX /* instead of a size: the next record is at the ring's begin */
#define TICK	1000000L   /* ns between two looks at what is due */
#define SOURCES 64u

/* A BPF ring buffer: one thread produces, the drain consumes. */
struct ring {
	char *data;
	size_t size;
	_Atomic uint64_t head, tail;
	int event;
	ring_buffer_sample_fn take;
	void *context;
};

/* Records of one CPU of the capture, each behind its size. */
struct source {
	struct vector bytes;
	size_t records;
};

struct filling {
	struct clew_recorder *recorder;
	const struct source *sources;
	unsigned source_count;
	size_t *at;	/* of each CPU in its source */
	uint64_t *done; /* records of each CPU */
	uint64_t rate, begun;
	uint64_t put, lost, cpu_time;
	atomic_bool stop;
};

static struct ring rings[1024];
static unsigned ring_count;

static void *memory(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (at == MAP_FAILED) {
		fprintf(stderr, "many_cpus: %zu bytes: %s\n", size, strerror(errno));
		exit(3);
	}
	return at;
}

/* ---- what the kernel and libbpf do, by the linker's --wrap ---- */

int __wrap_bpf_map_create(enum bpf_map_type type, const char *name, __u32 key, __u32 value,
			  __u32 entries, const struct bpf_map_create_opts *options);
int __wrap_bpf_map_update_batch(int map, const void *keys, const void *values, __u32 *count,
				const struct bpf_map_batch_opts *options);
struct ring_buffer *__wrap_ring_buffer__new(int map, ring_buffer_sample_fn take, void *context,
					    const struct ring_buffer_opts *options);
int __wrap_ring_buffer__consume(struct ring_buffer *handle);
void __wrap_ring_buffer__free(struct ring_buffer *handle);

int __wrap_bpf_map_create(enum bpf_map_type type, const char *name, __u32 key, __u32 value,
			  __u32 entries, const struct bpf_map_create_opts *options)
{
	struct ring *ring = &rings[ring_count];

	(void)type, (void)name, (void)key, (void)value, (void)options;
	if (ring_count == sizeof(rings) / sizeof(rings[0]))
		return -1;
	ring_count++;
	ring->size = entries;
	ring->data = memory(entries);
	ring->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return ring->event;
}

int __wrap_bpf_map_update_batch(int map, const void *keys, const void *values, __u32 *count,
				const struct bpf_map_batch_opts *options)
{
	(void)map, (void)keys, (void)values, (void)count, (void)options;
	return 0;
}

struct ring_buffer *__wrap_ring_buffer__new(int map, ring_buffer_sample_fn take, void *context,
					    const struct ring_buffer_opts *options)
{
	struct ring *ring = rings;

	(void)options;
	while (ring->event != map)
		ring++;
	ring->take = take;
	ring->context = context;
	return (struct ring_buffer *)ring;
}

int __wrap_ring_buffer__consume(struct ring_buffer *handle)
{
	struct ring *ring = (struct ring *)handle;
	uint64_t head = atomic_load(&ring->head), tail = atomic_load(&ring->tail);
	int count = 0;

	while (tail != head) {
		char *at = ring->data + tail % ring->size;
		uint64_t size;

		memcpy(&size, at, sizeof(size));
		if (size == SKIP) {
			tail += ring->size - tail % ring->size;
			continue;
		}
		ring->take(ring->context, at + sizeof(size), size);
		tail += sizeof(size) + (size + 7) / 8 * 8;
		atomic_store(&ring->tail, tail);
		count++;
	}
	return count;
}

void __wrap_ring_buffer__free(struct ring_buffer *handle)
{
	(void)handle;
}

/* ---- filling ---- */

/* Puts a record into the ring buffer; false: there is no room. */
static bool put_ring(struct ring *ring, const void *record, size_t size)
{
	uint64_t head = atomic_load(&ring->head), tail = atomic_load(&ring->tail), skip = SKIP;
	uint64_t needed = sizeof(uint64_t) + (size + 7) / 8 * 8,
		 left = ring->size - head % ring->size;
	uint64_t length = size;

	if (head + needed + (left < needed ? left : 0) - tail > ring->size)
		return false;
	if (left < needed) {
		memcpy(ring->data + head % ring->size, &skip, sizeof(skip));
		head += left;
	}
	memcpy(ring->data + head % ring->size, &length, sizeof(length));
	memcpy(ring->data + head % ring->size + sizeof(length), record, size);
	atomic_store(&ring->head, head + needed);
	if ((head + needed - tail) * CLEW_URGENT_SHARE > ring->size)
		eventfd_write(ring->event, 1);
	return true;
}

/* Puts a switch into one slot, or two if it has a cause; false: there is no room. */
static bool put_slots(struct clew_recorder *recorder, unsigned cpu, const char *record, size_t size)
{
	struct clew_cpu_state *state = &recorder->rings.cpus[cpu];
	uint32_t count = recorder->rings.switch_slots;
	struct clew_switch_slot *slots = recorder->rings.slots + (size_t)cpu * count;
	const struct clew_header *header = (const void *)record;
	bool caused = header->flags & CLEW_SWITCH_CAUSE;
	uint64_t head = state->head, tail = __atomic_load_n(&state->tail, __ATOMIC_ACQUIRE);
	size_t own = size - (caused ? sizeof(struct clew_cause) : 0);

	if (head + 1 + caused - tail > count || own > sizeof(*slots))
		return false;
	memcpy(&slots[head % count], record, own);
	if (caused)
		memcpy(&slots[(head + 1) % count].cause, record + own, sizeof(struct clew_cause));
	__atomic_store_n(&state->head, head + 1 + caused, __ATOMIC_RELEASE);
	if ((head - tail) * CLEW_URGENT_SHARE > count)
		eventfd_write(rings[cpu].event, 1);
	return true;
}

/* Puts the next record of a CPU; false: it was lost. */
static bool put_next(struct filling *filling, unsigned cpu)
{
	const struct source *source = &filling->sources[cpu % filling->source_count];
	struct clew_cpu_state *state = &filling->recorder->rings.cpus[cpu];
	char *record = (char *)source->bytes.data + filling->at[cpu] + sizeof(uint64_t);
	struct clew_header *header = (struct clew_header *)record;
	uint64_t size;
	bool fits;

	memcpy(&size, record - sizeof(size), sizeof(size));
	filling->at[cpu] += sizeof(size) + (size + 7) / 8 * 8;
	if (filling->at[cpu] == source->bytes.count)
		filling->at[cpu] = 0;
	header->time = clew_now();
	header->cpu = (uint16_t)cpu;
	header->lost = state->lost;
	fits = header->kind == CLEW_KIND_SWITCH ? put_slots(filling->recorder, cpu, record, size)
						: put_ring(&rings[cpu], record, size);
	filling->put += fits;
	filling->lost += !fits;
	state->lost += !fits;
	return fits;
}

/* Fills all rings to the brim, which the drain may empty only then. */
static void fill_at_once(struct filling *filling)
{
	struct drains *drains = &filling->recorder->drains;

	for (unsigned i = 0; i < drains->count; i++)
		pthread_mutex_lock(&drains->of[i].lock);
	for (unsigned cpu = 0; cpu < filling->recorder->cpu_count; cpu++)
		while (put_next(filling, cpu))
			;
	for (unsigned i = 0; i < drains->count; i++)
		pthread_mutex_unlock(&drains->of[i].lock);
}

static void *fill_main(void *argument)
{
	const struct timespec tick = {.tv_nsec = TICK};
	struct filling *filling = argument;
	struct timespec time;

	if (!filling->rate)
		fill_at_once(filling);
	while (filling->rate && !atomic_load(&filling->stop)) {
		uint64_t due = (clew_now() - filling->begun) * filling->rate / 1000000000;

		for (unsigned cpu = 0; cpu < filling->recorder->cpu_count; cpu++)
			for (; filling->done[cpu] < due; filling->done[cpu]++)
				put_next(filling, cpu);
		nanosleep(&tick, NULL);
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	filling->cpu_time = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
	return NULL;
}

/* ---- the streams of a capture ---- */

static int keep(struct source *source, const struct clew_header *record, uint64_t size)
{
	size_t padded = (size + 7) / 8 * 8, at = source->bytes.count;
	int r;

	source->bytes.item = 1;
	r = vector_reserve(&source->bytes, at + sizeof(size) + padded);
	if (r < 0)
		return r;
	memcpy((char *)source->bytes.data + at, &size, sizeof(size));
	memcpy((char *)source->bytes.data + at + sizeof(size), record, size);
	source->bytes.count = at + sizeof(size) + padded;
	source->records++;
	return 0;
}

/* Reads the streams of the capture's CPUs; returns how many have records. */
static int read_sources(const char *path, struct source *ret_sources)
{
	const struct clew_header *record;
	struct clew_reader *reader;
	char message[256] = "";
	unsigned count = 0;
	int r = clew_reader_open(path, &reader, message, sizeof(message));

	if (r < 0) {
		fprintf(stderr, "many_cpus: %s: %s\n", path, message);
		return r;
	}
	while ((r = clew_reader_next(reader, &record)) > 0 && r >= 0)
		if (record->cpu < SOURCES && store_shape(record->kind)->in_ledger &&
		    keep(&ret_sources[record->cpu], record, store_record_size(record, SIZE_MAX)))
			return -ENOMEM;
	clew_reader_close(reader);
	for (unsigned cpu = 0; cpu < SOURCES; cpu++)
		if (ret_sources[cpu].records)
			ret_sources[count++] = ret_sources[cpu];
	return r < 0 ? r : count ? (int)count : -ENODATA;
}

/* ---- a recording ---- */

/* A recorder of so many CPUs, its rings in this program's memory. 0 or -errno. */
static int open_recorder(struct clew_recorder *recorder, const char *output, unsigned cpus,
			 struct clew_message *message)
{
	const struct clew_writer_options options = {.size = sizeof(options), .cpus = cpus};
	int error;

	recorder->cpu_count = cpus;
	recorder->bpf = calloc(1, sizeof(*recorder->bpf));
	recorder->rings.size = clew_ring_size(0, cpus);
	clew_drain_sizes(recorder);
	recorder->rings.cpus = memory(cpus * sizeof(*recorder->rings.cpus));
	recorder->rings.slots = memory(recorder->rings.slots_size);
	error = clew_writer_open(output, &options, &recorder->files.writer);
	if (error)
		return clew_say(message, error, "%s: %s", output, strerror(-error));
	clew_takers_add_writer(recorder);
	error = clew_drain_open(recorder, message);
	return error ?: clew_drain_start(recorder, message);
}

/* Bytes that this process has had at most, since the last mark, or has now. */
static uint64_t resident(const char *what)
{
	char line[128];
	uint64_t kilobytes = 0;
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, what, strlen(what)))
			kilobytes = strtoull(line + strlen(what) + 1, NULL, 10);
	if (file)
		fclose(file);
	return kilobytes * 1024;
}

static uint64_t cpu_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t stored_by(const struct clew_recorder *recorder)
{
	uint64_t sum = 0;

	for (unsigned cpu = 0; cpu < recorder->cpu_count; cpu++)
		for (unsigned kind = 0; kind < CLEW_KIND_COUNT; kind++)
			if (store_shape(kind)->in_ledger)
				sum += clew_writer_stored(recorder->files.writer, cpu, kind);
	return sum;
}

/* Fills for so long, stops the drain, closes the file and prints. 0 or -errno. */
static int record(struct filling *filling, double seconds, uint64_t before)
{
	struct clew_recorder *recorder = filling->recorder;
	uint64_t begun = cpu_time(), took, stored, ring_bytes, most;
	pthread_t thread;
	int error;

	recorder->start = filling->begun = clew_now();
	atomic_store(&recorder->started, true);
	error = -pthread_create(&thread, NULL, fill_main, filling);
	if (error)
		return error;
	nanosleep(&(struct timespec){.tv_sec = (time_t)seconds,
				     .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)},
		  NULL);
	atomic_store(&filling->stop, true);
	pthread_join(thread, NULL);
	clew_drain_stop(recorder);
	stored = stored_by(recorder);
	error = clew_writer_close(recorder->files.writer);
	took = cpu_time() - begun - filling->cpu_time;
	most = resident("VmHWM:") - before;
	clew_drain_close(recorder);
	ring_bytes = recorder->rings.size * recorder->cpu_count;
	printf("{\"cpus\":%u,\"rate\":%" PRIu64 ",\"put\":%" PRIu64 ",\"lost\":%" PRIu64
	       ",\"stored\":%" PRIu64 ",\"memory\":%" PRIu64 ",\"rings\":%" PRIu64
	       ",\"cpu_ns\":%" PRIu64 ",\"cpu_ns_a_record\":%.0f,\"cpu_share_a_cpu\":%.6f}\n",
	       recorder->cpu_count, filling->rate, filling->put, filling->lost, stored, most,
	       ring_bytes, took, filling->put ? (double)took / (double)filling->put : 0.0,
	       (double)took / 1e9 / seconds / recorder->cpu_count);
	return error;
}

int main(int argc, char **argv)
{
	static struct source sources[SOURCES];
	static struct clew_recorder recorder;
	struct filling filling = {.recorder = &recorder, .sources = sources};
	struct clew_message message = {};
	uint64_t before;
	int r;

	if (argc != 6 || atoi(argv[3]) < 1 ||
	    atoi(argv[3]) > (int)(sizeof(rings) / sizeof(rings[0]))) {
		fprintf(stderr, "usage: many_cpus CAPTURE OUTPUT CPUS RATE SECONDS\n");
		return 2;
	}
	r = read_sources(argv[1], sources);
	if (r < 0)
		return 3;
	filling.source_count = (unsigned)r;
	filling.rate = strtoull(argv[4], NULL, 10);
	filling.at = calloc((size_t)atoi(argv[3]), sizeof(*filling.at));
	filling.done = calloc((size_t)atoi(argv[3]), sizeof(*filling.done));
	before = resident("VmRSS:");
	r = open_recorder(&recorder, argv[2], (unsigned)atoi(argv[3]), &message);
	if (!r)
		r = record(&filling, strtod(argv[5], NULL), before);
	if (r)
		fprintf(stderr, "many_cpus: %s: %s\n", message.text, strerror(-r));
	return r ? 3 : 0;
}
