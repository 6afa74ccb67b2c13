/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls that a FUSE daemon never answers, each on a mount and with a daemon of
 * its own. The daemon speaks the kernel's protocol itself; what it gets for a
 * path named "hang" or for an operation that is to hang, it takes and then
 * sleeps. All is in a mount namespace of its own.
 *
 * Prints a line for each, "NAME waiter TID, followed TID, holders TID.., path P",
 * where `-` is no path, then "ready" once all wait. Ends with its input.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ONE thread of one process; a process that only has the device too; a POOL of threads, of which
 * one has the request. */
enum who { ONE, TWO, POOL };

struct variant {
	const char *call;
	enum who who;
	uint32_t hangs; /* operation, 0: the look-up of "hang" */
	bool direct;	/* without the page cache */
};

static const char *const whos[] = {"one", "two", "pool"};

static const struct variant variants[] = {
	{"stat", ONE, 0, false},
	{"stat", TWO, 0, false},
	{"stat", POOL, 0, false},
	{"open", ONE, FUSE_OPEN, false},
	{"open", POOL, FUSE_OPEN, false},
	{"mkdir", ONE, FUSE_MKDIR, false},
	{"list", ONE, FUSE_OPENDIR, false},
	{"read", ONE, FUSE_READ, true},
	{"read", TWO, FUSE_READ, true},
	{"cached", ONE, FUSE_READ, false},
	{"close", ONE, FUSE_FLUSH, false},
};

static volatile pid_t *taken; /* shared: the thread that has the request */

static void need(bool good, const char *what)
{
	if (!good)
		err(1, "%s", what);
}

static void sleep_for_ever(void)
{
	for (;;)
		sleep(1000);
}

static void answer(int device, uint64_t unique, int error, const void *data, size_t size)
{
	char bytes[512];
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + size), .error = error, .unique = unique};

	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), data, size);
	(void)!write(device, bytes, header.len);
}

/* The root is 1, a file 2. */
static struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){.ino = node,
				  .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0644,
				  .size = node == 1 ? 0 : 1 << 20,
				  .nlink = 1};
}

static void serve_one(int device, const struct variant *variant, const struct fuse_in_header *in)
{
	struct fuse_entry_out entry = {.nodeid = 2, .attr = attributes(2)};
	struct fuse_attr_out found = {.attr = attributes(in->nodeid)};
	struct fuse_open_out opened = {.open_flags = variant->direct ? FOPEN_DIRECT_IO : 0};
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
				     .minor = 31,
				     .max_write = 4096,
				     .max_background = 8,
				     .congestion_threshold = 8};
	bool hang = in->opcode == FUSE_LOOKUP && !variant->hangs;

	if (in->opcode == variant->hangs || hang) {
		*taken = gettid();
		sleep_for_ever();
	}
	switch (in->opcode) {
	case FUSE_INIT:
		answer(device, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_GETATTR:
		answer(device, in->unique, 0, &found, sizeof(found));
		break;
	case FUSE_LOOKUP:
		if (variant->hangs == FUSE_MKDIR)
			answer(device, in->unique, -ENOENT, NULL, 0);
		else
			answer(device, in->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(device, in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(device, in->unique, -ENOSYS, NULL, 0);
	}
}

struct service {
	int device;
	const struct variant *variant;
};

static void *serve(void *argument)
{
	const struct service *service = argument;
	char *bytes = malloc(1 << 17);

	while (read(service->device, bytes, 1 << 17) > 0 || errno == EINTR || errno == ENOENT)
		serve_one(service->device, service->variant, (struct fuse_in_header *)bytes);
	return NULL;
}

static pid_t child(const char *name)
{
	pid_t parent = getpid(), pid;

	fflush(stdout);
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

static void be_daemon(const struct variant *variant, int device)
{
	struct service service = {device, variant};
	pthread_t threads[3];

	if (variant->who != POOL)
		serve(&service);
	for (int i = 0; i < 3; i++)
		need(!pthread_create(&threads[i], NULL, serve, &service), "pthread_create");
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

static void await(const struct variant *variant, const char *path)
{
	struct stat status;
	char byte[16];
	int file;

	if (!strcmp(variant->call, "stat")) {
		stat(path, &status);
	} else if (!strcmp(variant->call, "mkdir")) {
		mkdir(path, 0700);
	} else if (!strcmp(variant->call, "list")) {
		opendir(path);
	} else {
		file = open(path, O_RDONLY);
		if (!strcmp(variant->call, "close"))
			close(file);
		else
			(void)!read(file, byte, sizeof(byte));
	}
	_exit(0);
}

static void run(const struct variant *variant, const char *directory)
{
	pid_t waiter, server, other = 0;
	char options[128], path[128];
	bool named = variant->call[0] != 'r' && variant->call[0] != 'c';
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	need(device >= 0, "/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	need(!mount("clew-fuse", directory, "fuse", MS_NOSUID | MS_NODEV, options), "mount");
	*taken = 0;
	server = child("fuse-daemon");
	if (!server)
		be_daemon(variant, device);
	if (variant->who == TWO) {
		other = child("fuse-other");
		if (!other)
			sleep_for_ever();
	}
	close(device);
	snprintf(path, sizeof(path), "%s%s", directory,
		 !strcmp(variant->call, "list") ? "" : "/hang");
	waiter = child("fuse-waiter");
	if (!waiter)
		await(variant, path);
	while (!*taken)
		usleep(1000);
	umount2(directory, MNT_DETACH);
	printf("%s-%s waiter %d, followed %d, holders %d", variant->call, whos[variant->who],
	       waiter, other ? 0 : *taken, other ? server : *taken);
	if (other)
		printf(" %d", other);
	printf(", path %s\n", named ? path : "-");
}

int main(void)
{
	char directory[] = "/tmp/clew-fuse-XXXXXX", line[8];

	taken = mmap(NULL, sizeof(*taken), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	need(taken != MAP_FAILED && mkdtemp(directory), "mkdtemp");
	need(!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL),
	     "unshare");
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		run(&variants[i], directory);
	usleep(100000);
	puts("ready");
	fflush(stdout);
	rmdir(directory);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
