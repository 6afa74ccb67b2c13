/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files and memory that hold up whoever opens or reads them, each as any user can have them:
 *
 * foreign fuse stop|hold: maps a file whose FUSE server then stops, or takes requests and never
 * answers them.
 * foreign memory fuse|userfault: has its command line, and with userfaultfd a lock and what it
 * polls, in pages that nobody makes present.
 * foreign fifo DIRECTORY: maps a file and puts a FIFO in its place, again and again.
 * foreign link DIRECTORY TARGET: in a root of its own maps a file and puts an absolute link to
 * TARGET in its place, again and again.
 *
 * Each prints "ready PID" when that is so, and ends with its input.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE	 4096
#define BYTES	 (4 * PAGE) /* of a file */
#define FILE_ONE "program"
#define TIMES_MS 20

enum silence { ANSWERS, STOPS, HOLDS };

static volatile int *silence; /* shared with the server: what it is to do from now on */
static pid_t server;	      /* 0: there is none */

static void need(bool good, const char *what)
{
	if (!good)
		err(1, "%s", what);
}

static void await_end(void)
{
	char line[8];

	while (fgets(line, sizeof(line), stdin))
		;
	/* The waiters go on. */
	if (server)
		kill(server, SIGKILL);
	_exit(0);
}

static void be_ready(void)
{
	printf("ready %d\n", getpid());
	fflush(stdout);
}

static pid_t child(void)
{
	pid_t parent = getpid(), pid;

	fflush(stdout);
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

/* ---- a file system with one file ---- */

static char contents[BYTES];

static void answer(int device, uint64_t unique, int error, const void *data, size_t size)
{
	static char bytes[sizeof(struct fuse_out_header) + BYTES];
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + size), .error = error, .unique = unique};

	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), data, size);
	(void)!write(device, bytes, header.len);
}

/* The root is 1, the file 2. Nothing is valid for any time, so everything is asked for again. */
static struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){.ino = node,
				  .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0755,
				  .size = node == 1 ? 0 : BYTES,
				  .nlink = 1};
}

static void serve_one(int device, const struct fuse_in_header *in)
{
	const struct fuse_read_in *read_in = (const void *)(in + 1);
	struct fuse_entry_out entry = {.nodeid = 2, .attr = attributes(2)};
	struct fuse_attr_out found = {.attr = attributes(in->nodeid)};
	struct fuse_open_out opened = {};
	struct fuse_statfs_out file_system = {.st = {.bsize = PAGE, .namelen = 255}};
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
				     .minor = 31,
				     .max_write = PAGE,
				     .max_background = 8,
				     .congestion_threshold = 8};

	if (in->opcode == FUSE_INIT)
		answer(device, in->unique, 0, &init, sizeof(init));
	else if (in->opcode == FUSE_GETATTR)
		answer(device, in->unique, 0, &found, sizeof(found));
	else if (in->opcode == FUSE_LOOKUP)
		answer(device, in->unique, 0, &entry, sizeof(entry));
	else if (in->opcode == FUSE_OPEN)
		answer(device, in->unique, 0, &opened, sizeof(opened));
	else if (in->opcode == FUSE_STATFS)
		answer(device, in->unique, 0, &file_system, sizeof(file_system));
	else if (in->opcode == FUSE_READ && read_in->offset < BYTES)
		answer(device, in->unique, 0, contents + read_in->offset,
		       read_in->size < BYTES - read_in->offset ? read_in->size
							       : BYTES - read_in->offset);
	else if (in->opcode != FUSE_FORGET && in->opcode != FUSE_BATCH_FORGET &&
		 in->opcode != FUSE_INTERRUPT)
		answer(device, in->unique, -ENOSYS, NULL, 0);
}

static void serve(int device)
{
	char *bytes = malloc(1 << 17);

	while (read(device, bytes, 1 << 17) > 0 || errno == EINTR || errno == ENOENT) {
		if (*silence == ANSWERS)
			serve_one(device, (struct fuse_in_header *)bytes);
	}
	_exit(0);
}

/* Mounts it where nobody else sees it, and opens the file. */
static int open_served(void)
{
	char directory[] = "/tmp/clew-foreign-XXXXXX", text[128];
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC), self, file;

	silence = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	need(device >= 0 && self >= 0, "/dev/fuse");
	need(silence != MAP_FAILED && read(self, contents, BYTES) == BYTES, "memory");
	need(mkdtemp(directory), "mkdtemp");
	need(!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL),
	     "unshare");
	snprintf(text, sizeof(text), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 device);
	need(!mount("clew-foreign", directory, "fuse", MS_NOSUID | MS_NODEV, text), "mount");
	server = child();
	if (!server)
		serve(device);
	close(device);
	snprintf(text, sizeof(text), "%s/" FILE_ONE, directory);
	file = open(text, O_RDONLY | O_CLOEXEC);
	need(file >= 0, text);
	umount2(directory, MNT_DETACH);
	rmdir(directory);
	return file;
}

static void fall_silent(enum silence how)
{
	*silence = how;
	if (how == STOPS)
		kill(server, SIGSTOP);
}

static void be_served(enum silence how)
{
	int file = open_served();
	volatile const char *memory =
		mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);

	need(memory != MAP_FAILED, "mmap");
	for (size_t i = 0; i < BYTES; i += PAGE)
		(void)memory[i];
	close(file);
	fall_silent(how);
	be_ready();
	await_end();
}

/* ---- memory ---- */

static char *absent;	   /* pages that nobody makes present */
static char *command_line; /* the page in which it begins */

static void *wait_for_lock(void *unused)
{
	(void)unused;
	syscall(SYS_futex, absent, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	return NULL;
}

static void *poll_nothing(void *unused)
{
	struct pollfd *polled = (struct pollfd *)(absent + PAGE);

	(void)unused;
	polled[0] = (struct pollfd){.fd = -1};
	polled[1] = (struct pollfd){.fd = -1};
	poll(polled, 2, -1);
	return NULL;
}

static pthread_t begin(void *(*run)(void *unused))
{
	pthread_t thread;

	need(!pthread_create(&thread, NULL, run, NULL), "pthread_create");
	return thread;
}

static void take_away(int faults, void *memory, size_t size)
{
	struct uffdio_register region = {.mode = UFFDIO_REGISTER_MODE_MISSING,
					 .range = {.start = (uintptr_t)memory, .len = size}};

	need(!ioctl(faults, UFFDIO_REGISTER, &region), "UFFDIO_REGISTER");
	need(!madvise(memory, size, MADV_DONTNEED), "madvise");
}

/* The stack of the first thread may be in that page, too: it waits and never goes on. */
static void *lose_faulted(void *unused)
{
	struct uffdio_api api = {.api = UFFD_API};
	int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	(void)unused;
	absent = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(faults >= 0 && !ioctl(faults, UFFDIO_API, &api), "userfaultfd");
	need(absent != MAP_FAILED, "mmap");
	memset(absent, 0, BYTES);
	begin(wait_for_lock);
	begin(poll_nothing);
	usleep(50000); /* they sleep by then */
	take_away(faults, absent, BYTES);
	take_away(faults, command_line, PAGE);
	be_ready();
	await_end();
	return NULL;
}

static void *lose_served(void *unused)
{
	int file = open_served();

	(void)unused;
	need(mmap(command_line, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) != MAP_FAILED,
	     "mmap");
	close(file);
	fall_silent(HOLDS);
	be_ready();
	await_end();
	return NULL;
}

static void lose_memory(bool by_fuse, const char *first_argument)
{
	command_line = (char *)((uintptr_t)first_argument & ~(uintptr_t)(PAGE - 1));
	pthread_join(begin(by_fuse ? lose_served : lose_faulted), NULL);
}

/* ---- names ---- */

/* Maps a copy of this program for a moment; something else has its path when that is over. */
static void map_for_a_moment(const char *path)
{
	int file = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0755);
	void *memory;

	need(file >= 0 && write(file, contents, BYTES) == BYTES, path);
	memory = mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	need(memory != MAP_FAILED, "mmap");
	munmap(memory, BYTES);
	close(file);
	unlink(path);
}

static bool input_ended(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&input, 1, TIMES_MS) != 0;
}

/* `target`: of a link; NULL: a FIFO takes the place. Each file has a name of its own, so that what
 * took the place stays. */
static void change_names(const char *directory, const char *target)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char path[256];

	need(self >= 0 && read(self, contents, BYTES) == BYTES, "/proc/self/exe");
	if (target)
		need(!chroot(directory) && !chdir("/"), "chroot");
	for (unsigned i = 0; i == 0 || !input_ended(); i++) {
		snprintf(path, sizeof(path), "%s/foreign-%u.so", target ? "" : directory, i);
		map_for_a_moment(path);
		need(target ? !symlink(target, path) : !mkfifo(path, 0666), path);
		if (!i)
			be_ready();
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	if (!strcmp(what, "fuse"))
		be_served(!strcmp(argv[2], "stop") ? STOPS : HOLDS);
	else if (!strcmp(what, "memory"))
		lose_memory(!strcmp(argv[2], "fuse"), argv[0]);
	else if (!strcmp(what, "fifo"))
		change_names(argv[2], NULL);
	else if (!strcmp(what, "link") && argc > 3)
		change_names(argv[2], argv[3]);
	else
		errx(2, "usage: foreign fuse|memory|fifo|link ..");
	return 0;
}
