/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages that reach the disk, and the tasks that dirtied them. Variants: what, a dash, and the file
 * system of the place: mix (threads, processes, one in a container and some that
 * exit write, sync, truncate, punch, rename and delete, one act after the other),
 * race (they write the same pages at once while others sync), many (40 files, each
 * page its own writer, in one sync), pays (one writes, another's fsync pays), squeeze
 * (btrfs compresses what is written), contain (the writer has its own mounts, and the
 * file is the upper one of an overlay there).
 */
#include <sched.h>
#include <sys/mount.h>

#include "pages.h"

#define FILES	6
#define SINGLES 2 /* the first of them: each page is in memory by itself */
#define DIRECT	5 /* the last: only past the page cache */
#define MANY	40
#define WRITERS 5

#define SQUEEZED 48u /* pages */

static int writers[WRITERS];
static char overlay[300];
static unsigned ends[FILES]; /* pages, as far as they were ever written or truncated */

/* A process in a pid namespace of its own. */
static int fork_contained(int self, void (*function)(int self))
{
	int own = WL_CHECK(open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC)), task;

	if (unshare(CLONE_NEWPID) < 0) {
		close(own);
		return wl_fork(self, function);
	}
	task = wl_fork(self, function);
	WL_CHECK(setns(own, CLONE_NEWPID));
	close(own);
	return task;
}

static void start_writers(int self)
{
	writers[0] = wl_thread(self, page_task);
	writers[1] = wl_thread(self, page_task);
	writers[2] = wl_fork(self, page_task);
	writers[3] = wl_fork(self, page_task);
	writers[4] = fork_contained(self, page_task);
}

static void end_writers(int self)
{
	for (int i = 0; i < WRITERS; i++) {
		page_start(writers[i], (struct page_order){.act = ACT_LEAVE});
		if (i < 2)
			wl_join(self, writers[i]);
		else
			wl_reap(self, writers[i]);
	}
}

/* A process that writes and is gone before anybody syncs. */
static void write_and_exit(int self, unsigned file, unsigned first, unsigned count)
{
	int task = wl_fork(self, page_task_once);

	page_start(task, (struct page_order){.act = file < SINGLES ? ACT_SINGLE : ACT_WRITE,
					     .file = file,
					     .first = first,
					     .count = count});
	wl_reap(self, task);
}

static enum page_act choose_write(unsigned file)
{
	static const enum page_act wide[] = {ACT_WRITE, ACT_WRITE, ACT_VECTOR, ACT_APPEND, ACT_SEND,
					     ACT_RING,	ACT_DSYNC, ACT_PART,   ACT_SINGLE};
	static const enum page_act single[] = {ACT_SINGLE, ACT_SINGLE, ACT_STORE,
					       ACT_STORE,  ACT_PART,   ACT_RING};

	return file < SINGLES ? single[wl_random(0, 5)] : wide[wl_random(0, 8)];
}

static void mix_write(int self)
{
	unsigned file = wl_random(0, DIRECT - 1), count = wl_random(1, 12),
		 first = wl_random(0, PAGES_MOST - count);
	enum page_act act = choose_write(file);
	int writer = writers[wl_random(0, WRITERS - 1)];

	if (act == ACT_APPEND && ends[file] + count > PAGES_MOST)
		act = ACT_WRITE;
	if (act == ACT_APPEND)
		first = ends[file];
	if (act == ACT_PART || (act == ACT_RING && file < SINGLES))
		count = 1;
	/* There is nothing to store to behind the end. */
	if ((act == ACT_STORE || act == ACT_PART) && first + count > ends[file])
		act = file < SINGLES ? ACT_SINGLE : ACT_WRITE;
	if (first + count > ends[file])
		ends[file] = first + count;
	if (wl_random(0, 19) == 0 && wl->task_count < WL_TASKS - 4)
		write_and_exit(self, file, first, count);
	else
		page_tell(writer, act, file, first, count);
}

static void mix_clean(void)
{
	static const enum page_act acts[] = {ACT_FSYNC, ACT_FSYNC, ACT_FDATASYNC, ACT_MSYNC,
					     ACT_RANGE, ACT_RANGE, ACT_SYNCFS,	  ACT_FORGET};
	unsigned file = wl_random(0, DIRECT - 1), count = wl_random(1, 30),
		 first = wl_random(0, PAGES_MOST - count);
	enum page_act act = acts[wl_random(0, 7)];

	if (act == ACT_FORGET && file < SINGLES)
		act = ACT_FSYNC;
	page_tell(writers[wl_random(0, WRITERS - 1)], act, file, first, count);
}

static void mix_other(void)
{
	unsigned file = wl_random(SINGLES, DIRECT - 1), count = wl_random(1, 12),
		 first = wl_random(0, PAGES_MOST - count);
	int task = writers[wl_random(0, WRITERS - 1)];

	switch (wl_random(0, 5)) {
	case 0:
		page_tell(task, ACT_TRUNCATE, file, first, 0);
		ends[file] = first;
		break;
	case 1:
		page_tell(task, ACT_PUNCH, file, first, count);
		break;
	case 2:
		page_tell(task, ACT_RENAME, file, 0, 0);
		break;
	case 3:
		page_tell(task, ACT_TEMPORARY, 0, 0, count);
		break;
	case 4:
		page_tell(task, ACT_DIRECT, DIRECT, first, count);
		break;
	default:
		page_tell(task, ACT_READ, file, first, count);
	}
}

static void mix(int self)
{
	for (int i = 0; i < FILES; i++)
		page_new_file();
	start_writers(self);
	for (int step = 0, steps = wl_random(120, 160); step < steps; step++) {
		unsigned what = wl_random(0, 9);

		if (what < 6)
			mix_write(self);
		else if (what < 8)
			mix_clean();
		else
			mix_other();
	}
	page_tell(writers[0], ACT_SYNCFS, 0, 0, 0);
	end_writers(self);
}

static void race(int self)
{
	page_new_file();
	page_new_file();
	start_writers(self);
	page_tell(writers[0], ACT_SINGLE, 0, 0, 16);
	page_tell(writers[0], ACT_WRITE, 1, 0, 16);
	page_tell(writers[1], ACT_SYNCFS, 0, 0, 0);
	for (int i = 0; i < WRITERS; i++)
		page_start(writers[i], (struct page_order){.act = i == 1 ? ACT_RACE_SYNC : ACT_RACE,
							   .count = i == 1 ? 40 : 60});
	for (int i = 0; i < WRITERS; i++)
		wl_await(&wl->tasks[writers[i]].step, 0);
	page_tell(writers[2], ACT_SYNCFS, 0, 0, 0);
	end_writers(self);
}

static void many(int self)
{
	for (int i = 0; i < MANY; i++)
		page_new_file();
	start_writers(self);
	for (int lap = 0; lap < 3; lap++) {
		for (int i = 0; i < MANY; i++)
			page_tell(writers[wl_random(0, WRITERS - 1)], ACT_WRITE, i, wl_random(0, 2),
				  wl_random(1, 2));
		page_tell(writers[wl_random(0, WRITERS - 1)], ACT_SYNCFS, 0, 0, 0);
	}
	end_writers(self);
}

static void pays(int self)
{
	page_new_file();
	page_new_file();
	start_writers(self);
	for (int lap = 0; lap < 3; lap++) {
		page_tell(writers[2], ACT_WRITE, 0, 0, PAGES_BULK);
		page_tell(writers[0], ACT_WRITE, 0, wl_random(0, 63), 1);
		page_tell(writers[3], ACT_WRITE, 1, 0, 4);
		page_tell(writers[0], ACT_FSYNC, 0, 0, 0);
		page_tell(writers[3], ACT_FSYNC, 1, 0, 0);
	}
	end_writers(self);
}

static void squeeze(int self)
{
	static const enum page_act cleans[] = {ACT_FSYNC, ACT_FDATASYNC, ACT_RANGE, ACT_SYNCFS,
					       ACT_FORGET};
	static const enum page_act acts[] = {ACT_WRITE, ACT_WRITE, ACT_VECTOR, ACT_SINGLE,
					     ACT_RING};
	int flags = FS_COMPR_FL;

	for (int i = 0; i < 2; i++) {
		page_new_file();
		WL_CHECK(ioctl(pages->files[i].disk.fd, FS_IOC_SETFLAGS, &flags));
	}
	start_writers(self);
	for (int step = 0; step < 60; step++) {
		unsigned count = wl_random(1, 16);
		enum page_act act = step % 4 == 3 ? cleans[wl_random(0, 4)] : acts[wl_random(0, 4)];

		page_tell(writers[wl_random(0, WRITERS - 1)], act, wl_random(0, 1),
			  wl_random(0, SQUEEZED - count), count);
	}
	page_tell(writers[0], ACT_SYNCFS, 0, 0, 0);
	end_writers(self);
}

/* From here on the files are what an overlay shows of them. */
static void overlay_task(int self)
{
	char options[1000], path[700];

	WL_CHECK(unshare(CLONE_NEWNS));
	WL_CHECK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
	snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work",
		 overlay, overlay, overlay);
	snprintf(path, sizeof(path), "%s/merged", overlay);
	WL_CHECK(mount("overlay", path, "overlay", 0, options));
	for (int i = 0; i < pages->file_count; i++) {
		const char *name = strrchr(pages->files[i].path, '/');
		int fd;

		snprintf(path, sizeof(path), "%s/merged%s", overlay, name);
		fd = WL_CHECK(open(path, O_RDWR | O_CLOEXEC));
		WL_CHECK(dup3(fd, pages->files[i].disk.fd, O_CLOEXEC));
		close(fd);
	}
	page_task(self);
}

static void contain(int self)
{
	static const enum page_act acts[] = {ACT_WRITE, ACT_APPEND, ACT_SINGLE, ACT_STORE,
					     ACT_RING};
	static const char *const parts[] = {"", "/lower", "/upper", "/work", "/merged"};
	char path[400], line[64];
	FILE *systems = fopen("/proc/filesystems", "re");
	bool known = false;

	while (systems && fgets(line, sizeof(line), systems))
		known |= strstr(line, "\toverlay\n") != NULL;
	if (systems)
		fclose(systems);
	if (!known)
		wl_skip("no such kernel part: overlay");
	snprintf(overlay, sizeof(overlay), "%s/overlay-%d", wl_place(pages->system), (int)getpid());
	for (int i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s%s", overlay, parts[i]);
		WL_CHECK(mkdir(path, 0700));
	}
	snprintf(path, sizeof(path), "%s/upper", overlay);
	page_new_file_in(path);
	page_new_file_in(path);
	writers[0] = wl_thread(self, page_task);
	writers[1] = fork_contained(self, overlay_task);
	/* There is nothing to store to behind the end. */
	page_tell(writers[1], ACT_WRITE, 0, 0, 16);
	page_tell(writers[1], ACT_WRITE, 1, 0, 16);
	for (int lap = 0; lap < 6; lap++) {
		for (unsigned i = 0; i < 4; i++)
			page_tell(writers[1], acts[wl_random(0, 4)], wl_random(0, 1),
				  wl_random(0, 8), wl_random(1, 8));
		/* A range is synced of the overlay's own file, which has no pages. */
		page_tell(writers[lap % 2], lap % 2 == 0 && wl_random(0, 1) ? ACT_RANGE : ACT_FSYNC,
			  wl_random(0, 1), 0, 16);
	}
	page_tell(writers[0], ACT_SYNCFS, 0, 0, 0);
	for (int i = 0; i < 2; i++)
		page_start(writers[i], (struct page_order){.act = ACT_LEAVE});
	wl_join(self, writers[0]);
	wl_reap(self, writers[1]);
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "pagecache");
	char what[32];

	page_open_variant(what, sizeof(what));
	if (strcmp(what, "mix") == 0)
		mix(self);
	else if (strcmp(what, "race") == 0)
		race(self);
	else if (strcmp(what, "many") == 0)
		many(self);
	else if (strcmp(what, "pays") == 0)
		pays(self);
	else if (strcmp(what, "squeeze") == 0)
		squeeze(self);
	else if (strcmp(what, "contain") == 0)
		contain(self);
	else
		wl_die("no variant %s", what);
	wl_print();
	return 0;
}
