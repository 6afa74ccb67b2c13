/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why pages are written, and who waits for whom because of it. Variants: what, a dash,
 * and the file system of the place: periodic, background (the flusher does it by
 * itself; the limits are set for it), throttle (two write more than the limit allows),
 * memory (so does one in a group with a limit), ahead (one reads, and another what was
 * read ahead for the first), journal (an fsync waits for a commit that others are in).
 */
#include "pages.h"

#define TASKS 4
#define AHEAD 256u
#define LARGE 2048u /* pages that one in a group without room writes */
#define GREEDY                                                                                     \
	768u /* pages that each throttled writer writes: it may come to a fifth of a second for a  \
		few of them */
#define CHUNK	   64u
#define REST	   400000000ull
#define REST_MOST  50
#define REST_BLIND 4
#define SETTLED	   20000000ull

static int tasks[TASKS];

static void start(int self)
{
	for (int i = 0; i < TASKS; i++)
		tasks[i] = wl_thread(self, page_task);
}

static void end(int self)
{
	for (int i = 0; i < TASKS; i++) {
		page_start(tasks[i], (struct page_order){.act = ACT_LEAVE});
		wl_join(self, tasks[i]);
	}
}

struct cached {
	uint64_t pages, dirty, written, evicted, evicted_lately;
};

#define CALL_CACHESTAT 451

/* True if nothing of the files is dirty or on its way; false too where the kernel cannot say that.
 */
static bool all_clean(bool *ret_known)
{
	*ret_known = true;
	for (int i = 0; i < pages->file_count; i++) {
		uint64_t range[2] = {0, 0};
		struct cached cached = {0};

		if (syscall(CALL_CACHESTAT, pages->files[i].disk.fd, range, &cached, 0) < 0)
			*ret_known = false;
		if (!*ret_known || cached.dirty + cached.written > 0)
			return false;
	}
	return true;
}

/* The kernel writes as it likes: until nothing is dirty, or for a while. */
static void rest(int self, bool all)
{
	struct page_step step = page_begin();
	struct page_log *log;
	bool known = true;

	wl_sleep(REST);
	for (int i = 0; all && !all_clean(&known) && (known || i < REST_BLIND); i++) {
		if (i == REST_MOST)
			wl_die("the kernel does not write what is dirty");
		wl_sleep(REST);
	}
	log = page_end(self, &step, all ? "sync" : "rest", "rest", 0, 0, 0);
	log->count = PAGES_ALL;
}

static void periodic(int self)
{
	page_new_file();
	page_new_file();
	start(self);
	for (int lap = 0; lap < 2; lap++) {
		page_tell(tasks[0], ACT_WRITE, 0, wl_random(0, 20), wl_random(1, 20));
		page_tell(tasks[1], ACT_WRITE, 1, wl_random(0, 20), wl_random(1, 20));
		page_tell(tasks[1], ACT_SINGLE, 0, wl_random(0, 20), 1);
		rest(self, true);
	}
	end(self);
}

static void background(int self)
{
	page_new_file();
	page_new_file();
	start(self);
	for (unsigned at = 0; at < PAGES_BULK; at += CHUNK)
		page_tell(tasks[at / CHUNK % 2], ACT_WRITE, at / CHUNK % 2, at, CHUNK);
	rest(self, false);
	page_tell(tasks[2], ACT_SYNCFS, 0, 0, 0);
	end(self);
}

static void throttle(int self)
{
	page_new_file();
	page_new_file();
	start(self);
	for (int i = 0; i < 2; i++)
		page_start(tasks[i], (struct page_order){.act = ACT_STREAM,
							 .file = i,
							 .first = PAGES_BULK,
							 .count = GREEDY});
	for (int i = 0; i < 2; i++)
		wl_await(&wl->tasks[tasks[i]].step, 0);
	page_tell(tasks[2], ACT_SYNCFS, 0, 0, 0);
	end(self);
}

static void memory(int self)
{
	char path[320];
	FILE *group;

	page_new_file();
	start(self);
	tasks[0] = wl_fork(self, page_task);
	snprintf(path, sizeof(path), "%s/cgroup.procs", wl_place("limit"));
	group = fopen(path, "we");
	if (!group || fprintf(group, "%d", wl->tasks[tasks[0]].pid) < 0 || fclose(group))
		wl_skip("a group is refused");
	page_tell(tasks[0], ACT_STREAM, 0, LARGE, LARGE);
	page_tell(tasks[1], ACT_SYNCFS, 0, 0, 0);
	page_start(tasks[0], (struct page_order){.act = ACT_LEAVE});
	wl_reap(self, tasks[0]);
	for (int i = 1; i < TASKS; i++) {
		page_start(tasks[i], (struct page_order){.act = ACT_LEAVE});
		wl_join(self, tasks[i]);
	}
}

/* The number of pages in memory, from the first on; of all, or up to the first that is not. */
static unsigned in_memory_now(const struct page_file *file, unsigned pages_count, bool all)
{
	unsigned char there[AHEAD];
	unsigned count = 0;
	void *memory =
		mmap(NULL, pages_count * DISK_BLOCK, PROT_READ, MAP_SHARED, file->disk.fd, 0);

	if (memory == MAP_FAILED || mincore(memory, pages_count * DISK_BLOCK, there) < 0)
		wl_die("mincore: %s", strerror(errno));
	munmap(memory, pages_count * DISK_BLOCK);
	for (unsigned i = 0; i < pages_count && (all || there[i] & 1); i++)
		count += there[i] & 1;
	return count;
}

/* The same once no page is still being read. */
static unsigned in_memory(const struct page_file *file, unsigned pages_count, bool all)
{
	unsigned before, count = in_memory_now(file, pages_count, all);

	do {
		before = count;
		wl_sleep(SETTLED);
		count = in_memory_now(file, pages_count, all);
	} while (count != before);
	return count;
}

/* So many pages were read ahead for nobody. */
static void unused(int self, unsigned count)
{
	struct page_step step = page_begin();

	page_end(self, &step, "unused", "", pages->files[0].disk.inode, 0, count);
}

static void ahead(int self)
{
	unsigned left = 0;
	bool known = true;

	page_new_file();
	start(self);
	page_tell(tasks[2], ACT_WRITE, 0, 0, AHEAD);
	for (int lap = 0; lap < 3; lap++) {
		unsigned there, part, still;

		page_tell(tasks[2], ACT_FORGET, 0, 0, 0);
		known &= in_memory(&pages->files[0], AHEAD, true) == 0;
		for (unsigned at = 0; at < 16; at += 4)
			page_tell(tasks[0], ACT_READ, 0, at, 4);
		there = in_memory(&pages->files[0], AHEAD, false);
		part = there > 20 ? (there - 16) / 3 : 0;
		/* Read ahead for the first, used by two more; the rest by nobody. */
		if (part > 0) {
			page_tell(tasks[1], ACT_READ_AHEAD, 0, 16, part);
			page_tell(tasks[3], ACT_READ_AHEAD, 0, 16 + part, part);
		}
		still = in_memory(&pages->files[0], AHEAD, true);
		/* Pages that the kernel took back meanwhile were read ahead for nobody, too. */
		known &= still >= there;
		left += still - 16 - 2 * part;
	}
	if (known)
		unused(self, left);
	end(self);
}

static void journal(int self)
{
	page_new_file();
	page_new_file();
	start(self);
	for (int lap = 0; lap < 4; lap++) {
		page_tell(tasks[2], ACT_SYNCFS, 0, 0, 0);
		/* One of the first two is in the transaction, or both, and who syncs. */
		if (lap % 4 != 1)
			page_tell(tasks[0], ACT_NAME, 0, 0, 0);
		if (lap % 4 != 0)
			page_tell(tasks[1], ACT_NAME, 0, 0, 0);
		page_tell(tasks[2], ACT_APPEND, 1, 0, 1);
		page_tell(tasks[2], ACT_FSYNC, 1, 0, 0);
	}
	end(self);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(int self);
	} variants[] = {{"periodic", periodic}, {"background", background}, {"throttle", throttle},
			{"memory", memory},	{"ahead", ahead},	    {"journal", journal}};
	int self = wl_begin(argc, argv, "pagereason");
	char what[32];

	page_open_variant(what, sizeof(what));
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		if (strcmp(what, variants[i].name) == 0)
			variants[i].run(self);
	wl_print();
	return 0;
}
