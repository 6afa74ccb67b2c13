/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * New executable mappings, by perf events with a ring for each CPU. No program
 * of clew's has to run at each mmap, and a record wakes the waiting thread at
 * once. If a ring overflows, all mappings of all processes are read again.
 *
 * Forks and exits are records of these rings too, and the interrupt of the wake
 * costs more than all other work for a record. While records are frequent (a
 * storm), a ring therefore wakes only when it is half full, and the rings are
 * polled, less often the longer they hold no new file.
 */
#include "record/stacks/mappings.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/ending.h"
#include "base/map.h"
#include "base/vector.h"
#include "record/stream/clock.h"

#define RING_PAGES 16
/* Bytes of a record at most: the kernel loses one only if less than that is free. */
#define RECORD_MOST (sizeof(struct mapped) + PATH_MAX + sizeof(uint64_t))
/*
 * The interval at which rings are polled in a storm: the shortest, and the
 * longest.
 */
#define STORM_NS      5000000ull
#define STORM_NS_MOST 40000000ull
/*
 * A storm begins with so many records in one poll. It ends when STORM_OVER_NS
 * had fewer than one record per STORM_NS.
 */
#define STORM_RECORDS 16
#define STORM_OVER_NS 1000000000ull
#define LAST_NS	      300000000ull /* for so long mappings are looked at once the end has come */

struct clew_mappings {
	struct pollfd *polls; /* one for each CPU, then `stop` */
	struct perf_event_mmap_page **rings;
	unsigned cpus;
	uint64_t polled;   /* ns, time of the last poll */
	uint64_t counted;  /* ns, time from which `taken` counts */
	uint64_t interval; /* ns, between polls in a storm */
	bool storm;
	unsigned taken; /* records since `counted` */
};

/* The kernel's record of a mapping. */
struct mapped {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, length, page;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
	char path[];
};

static size_t ring_size(void)
{
	return RING_PAGES * (size_t)sysconf(_SC_PAGESIZE);
}

static void close_ring(struct perf_event_mmap_page *ring, int descriptor)
{
	if (ring)
		munmap(ring, ring_size() + (size_t)sysconf(_SC_PAGESIZE));
	/*
	 * The descriptor of a CPU that went offline is kept inverted, see
	 * clew_mappings_wait().
	 */
	if (descriptor != -1)
		close(descriptor >= 0 ? descriptor : ~descriptor);
}

/* If it fails, the CPU's old ring stays. */
static int open_ring(struct clew_mappings *mappings, unsigned cpu)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.watermark = 1,
		.wakeup_watermark = mappings->storm ? ring_size() / 2 : 1,
	};
	int descriptor = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1,
				      PERF_FLAG_FD_CLOEXEC),
	    error;
	void *ring;

	if (descriptor < 0)
		return -errno;
	ring = mmap(NULL, ring_size() + (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
		    MAP_SHARED, descriptor, 0);
	if (ring == MAP_FAILED) {
		error = -errno;
		close(descriptor);
		return error;
	}
	mappings->polls[cpu] = (struct pollfd){.fd = descriptor, .events = POLLIN};
	mappings->rings[cpu] = ring;
	return 0;
}

int clew_mappings_open(unsigned cpus, struct clew_mappings **ret_mappings)
{
	struct clew_mappings *mappings = calloc(1, sizeof(*mappings));
	unsigned opened = 0;
	int error = -ENODEV;

	if (!mappings)
		return -ENOMEM;
	mappings->cpus = cpus;
	mappings->polls = calloc(cpus + 1, sizeof(*mappings->polls));
	mappings->rings = calloc(cpus, sizeof(*mappings->rings));
	if (!mappings->polls || !mappings->rings) {
		free(mappings->polls);
		free(mappings->rings);
		free(mappings);
		return -ENOMEM;
	}
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		int r;

		/* No task runs on an offline CPU, so it needs no ring. */
		mappings->polls[cpu].fd = -1;
		r = open_ring(mappings, cpu);
		if (r)
			error = r;
		else
			opened++;
	}
	if (!opened) {
		clew_mappings_close(mappings);
		return error;
	}
	*ret_mappings = mappings;
	return 0;
}

void clew_mappings_close(struct clew_mappings *mappings)
{
	if (!mappings)
		return;
	for (unsigned cpu = 0; cpu < mappings->cpus; cpu++)
		close_ring(mappings->rings[cpu], mappings->polls[cpu].fd);
	free(mappings->polls);
	free(mappings->rings);
	free(mappings);
}

/*
 * Files that a scan found. Each stays pinned until its end, so that no other file gets its inode
 * number meanwhile: many processes map the same files, which are looked for once.
 */
struct clew_mapping_files {
	struct map places;    /* (inode, device) -> place in the list */
	struct vector opened; /* struct clew_opened */
};

static void forget_files(struct clew_mapping_files *files)
{
	struct clew_opened *all = files->opened.data;

	for (size_t i = 0; i < files->opened.count; i++)
		clew_opened_close(&all[i]);
	vector_done(&files->opened);
	map_done(&files->places);
}

static uint32_t device_of(const struct clew_open_mapping *mapping)
{
	return mapping->major << 20 | mapping->minor;
}

static void keep_file(struct clew_mapping_files *files, const struct clew_open_mapping *mapping,
		      const struct clew_opened *opened)
{
	size_t place = files->opened.count;

	if (vector_reserve(&files->opened, place + 1) < 0)
		return;
	/* No descriptor is free: others need them more. */
	if (clew_opened_copy(opened, (struct clew_opened *)files->opened.data + place) < 0 ||
	    map_set(&files->places, mapping->inode, device_of(mapping), place) < 0)
		forget_files(files);
	else
		files->opened.count++;
}

int clew_mapping_file(const struct clew_mapping *mapping, struct clew_opened *ret_file)
{
	struct clew_mapping_files *known = mapping->known;
	const uint64_t *place =
		known ? map_get(&known->places, mapping->at.inode, device_of(&mapping->at)) : NULL;
	int r;

	if (place)
		return clew_opened_copy((struct clew_opened *)known->opened.data + *place,
					ret_file);
	r = clew_open_mapped(&mapping->at, ret_file, NULL);
	if (r >= 0 && known)
		keep_file(known, &mapping->at, ret_file);
	return r;
}

/* One line of /proc/PID/maps. False: it is no executable mapping of a file. */
static bool read_line(char *line, struct clew_open_mapping *mapping)
{
	unsigned long long start, end, inode;
	char protection[8];
	int used = 0;

	if (sscanf(line, "%llx-%llx %7s %*x %x:%x %llu %n", &start, &end, protection,
		   &mapping->major, &mapping->minor, &inode, &used) < 6 ||
	    strlen(protection) < 3 || protection[2] != 'x' || !inode || line[used] != '/')
		return false;
	line[strcspn(line, "\n")] = '\0';
	mapping->start = start;
	mapping->end = end;
	mapping->inode = inode;
	mapping->path = line + used;
	return true;
}

static void scan_process(pid_t pid, struct clew_mapping_files *files, clew_mapping_found *found,
			 void *context)
{
	int copy, r = clew_open_process(pid, CLEW_OPEN_MAPS, &copy);
	FILE *maps = r < 0 ? NULL : fdopen(copy, "r");
	char *line = NULL;
	size_t room = 0;

	if (r >= 0 && !maps)
		close(copy);
	while (maps && !ending_since() && getline(&line, &room, maps) > 0) {
		struct clew_mapping mapping = {.at.pid = pid, .known = files};

		if (read_line(line, &mapping.at))
			found(context, &mapping);
	}
	free(line);
	if (maps)
		fclose(maps);
}

void clew_mappings_scan(clew_mapping_found *found, void *context)
{
	struct clew_mapping_files files = {.opened.item = sizeof(struct clew_opened)};
	DIR *processes = opendir("/proc");
	struct dirent *entry;

	while (processes && !ending_since() && (entry = readdir(processes)))
		if (isdigit((unsigned char)entry->d_name[0]))
			scan_process((pid_t)strtol(entry->d_name, NULL, 10), &files, found,
				     context);
	if (processes)
		closedir(processes);
	forget_files(&files);
}

/* Returns whether the record is of a file that `found` did not know. */
static bool take_record(const struct perf_event_header *header, clew_mapping_found *found,
			void *context)
{
	const struct mapped *mapped = (const struct mapped *)header;
	struct clew_mapping mapping;

	if (header->type != PERF_RECORD_MMAP2 || header->size <= offsetof(struct mapped, path) ||
	    mapped->path[0] != '/' || !mapped->inode || !(mapped->protection & PROT_EXEC))
		return false;
	mapping = (struct clew_mapping){.at = {
						.pid = (pid_t)mapped->pid,
						.start = mapped->start,
						.end = mapped->start + mapped->length,
						.inode = mapped->inode,
						.generation = mapped->generation,
						.major = mapped->major,
						.minor = mapped->minor,
						.path = mapped->path,
					}};
	return found(context, &mapping);
}

/* Contents of the rings in one poll. */
struct drained {
	unsigned records;
	bool lost;  /* records did not fit */
	bool fresh; /* a file was new */
};

/*
 * True if records may not have fitted since the ring was emptied. The kernel reports that with
 * the next record, which may never come.
 */
static bool may_have_lost(struct perf_event_mmap_page *ring)
{
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);

	return head - ring->data_tail + RECORD_MOST > ring_size();
}

static bool is_late(void)
{
	uint64_t ending = ending_since();

	return ending && clew_now() > ending + LAST_NS;
}

static void drain_ring(struct perf_event_mmap_page *ring, clew_mapping_found *found, void *context,
		       struct drained *drained)
{
	union {
		struct perf_event_header header;
		char bytes[UINT16_MAX + 1];
	} record;
	const char *data = (const char *)ring + sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE), tail = ring->data_tail;
	size_t size = ring_size();

	while (tail != head && !is_late()) {
		size_t at = tail % size, length, first;

		/*
		 * Records are aligned to eight bytes, so that a header never
		 * wraps.
		 */
		memcpy(&record.header, data + at, sizeof(record.header));
		length = record.header.size;
		if (length < sizeof(record.header) || length > head - tail)
			break;
		first = length < size - at ? length : size - at;
		memcpy(record.bytes, data + at, first);
		memcpy(record.bytes + first, data, length - first);
		record.bytes[length] = '\0';
		tail += length;
		drained->records++;
		drained->lost |= record.header.type == PERF_RECORD_LOST;
		drained->fresh |= take_record(&record.header, found, context);
	}
	drained->lost |= may_have_lost(ring);
	__atomic_store_n(&ring->data_tail, head, __ATOMIC_RELEASE);
}

/*
 * Sleeps until STORM_NS after the last poll, so that what comes together is
 * read together.
 */
static void await_more(const struct clew_mappings *mappings)
{
	uint64_t until = mappings->polled + STORM_NS;
	struct timespec time = {.tv_sec = (time_t)(until / 1000000000),
				.tv_nsec = (long)(until % 1000000000)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/*
 * Begins or ends a storm: makes new rings with another watermark. Each old ring
 * records until the new one does.
 */
static void turn_storm(struct clew_mappings *mappings, clew_mapping_found *found, void *context,
		       struct drained *drained)
{
	bool stays = false;

	mappings->storm = !mappings->storm;
	mappings->interval = STORM_NS;
	for (unsigned cpu = 0; cpu < mappings->cpus; cpu++) {
		struct perf_event_mmap_page *ring = mappings->rings[cpu];
		int descriptor = mappings->polls[cpu].fd;

		/* An offline CPU's ring cannot be opened, and would have no records. */
		if (open_ring(mappings, cpu)) {
			stays |= descriptor >= 0;
			continue;
		}
		if (ring)
			drain_ring(ring, found, context, drained);
		close_ring(ring, descriptor);
	}
	/* A ring that wakes only when it is half full has to be polled. */
	mappings->storm |= stays;
}

/* True if a storm begins or ends with the last poll. */
static bool storm_turns(struct clew_mappings *mappings, const struct drained *drained)
{
	uint64_t counted = mappings->polled - mappings->counted;
	bool turns;

	mappings->taken += drained->records;
	if (!mappings->storm) {
		turns = mappings->taken >= STORM_RECORDS;
	} else {
		mappings->interval = drained->fresh ? STORM_NS : mappings->interval * 2;
		if (mappings->interval > STORM_NS_MOST)
			mappings->interval = STORM_NS_MOST;
		if (counted < STORM_OVER_NS)
			return false;
		turns = mappings->taken < counted / STORM_NS;
	}
	mappings->taken = 0;
	mappings->counted = mappings->polled;
	return turns;
}

int clew_mappings_wait(struct clew_mappings *mappings, int stop, clew_mapping_found *found,
		       void *context)
{
	struct drained drained = {};
	bool ends;

	mappings->polls[mappings->cpus] = (struct pollfd){.fd = stop, .events = POLLIN};
	if (poll(mappings->polls, mappings->cpus + 1,
		 mappings->storm ? (int)(mappings->interval / 1000000) : -1) < 0)
		return errno == EINTR ? 0 : -errno;
	/* Stacks lead through what was mapped just before the end, too. */
	ends = mappings->polls[mappings->cpus].revents;
	if (!mappings->storm && !ends)
		await_more(mappings);
	mappings->polled = clew_now();
	for (unsigned cpu = 0; cpu < mappings->cpus; cpu++) {
		if (mappings->rings[cpu])
			drain_ring(mappings->rings[cpu], found, context, &drained);
		/*
		 * When a CPU goes offline its descriptor stays ready for ever.
		 * poll() ignores an inverted one, as it is negative.
		 */
		if (mappings->polls[cpu].revents & (POLLERR | POLLHUP | POLLNVAL))
			mappings->polls[cpu].fd = ~mappings->polls[cpu].fd;
	}
	if (ends)
		return -ECANCELED;
	if (storm_turns(mappings, &drained))
		turn_storm(mappings, found, context, &drained);
	if (drained.lost)
		clew_mappings_scan(found, context);
	return 0;
}
