/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opens and reads files whose names come from traced processes. These may be FIFOs, devices, links
 * that lead elsewhere, or lie on file systems whose servers never answer. So a process of its own
 * opens them, which holds nothing else: one that is late is left behind and replaced.
 *
 * A file is first found, which gives a descriptor that pins it and opens nothing (O_PATH). The
 * parts that are wanted are then copied to memory. Once the end has come (base/ending.h) whatever
 * is late is given up within a second, all together.
 *
 * All functions may be called from any thread. They return 0 or -errno: -ETIMEDOUT of a file that
 * did not open in time, -EBADMSG of what is no regular file, -ESTALE of another file than the one
 * that was asked for, -EFBIG of one that is too large.
 */
#ifndef CLEW_OPENER_OPENER_H
#define CLEW_OPENER_OPENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CLEW_OPEN_SECONDS 2 /* after which a file is late */

/* The parts of an ELF file that are copied. Whatever else is read from the copy is zero. The
 * headers and the notes are always there; of a file that is no ELF file the first bytes are. */
enum clew_open_parts {
	CLEW_OPEN_PROBES = 1,  /* all that is loaded, and the symbols, if it carries probes */
	CLEW_OPEN_FRAMES = 2,  /* the unwind information */
	CLEW_OPEN_SYMBOLS = 4, /* tables of symbols and their names */
	CLEW_OPEN_LOADED = 8,  /* all that is loaded */
	CLEW_OPEN_WHOLE = 16,  /* the whole file */
	CLEW_OPEN_GROWN = 32,  /* the same, to where it ends by now */
};

/* A mapping of a file in a process. */
struct clew_open_mapping {
	pid_t pid;
	uint64_t start, end;
	uint64_t inode, generation; /* generation 0: not known */
	uint32_t major, minor;	    /* as the kernel calls the device */
	const char *path;	    /* as the process sees it */
};

/* A regular file that was found. */
struct clew_opened {
	int path;		/* O_PATH, its owner's; -1: none */
	uint64_t device, inode; /* as stat gives them */
	uint64_t changed;	/* ns, time of the last change */
	uint64_t size;		/* bytes */
	uint32_t generation;	/* 0: not known */
	uid_t owner;
	bool probeable; /* the kernel itself reads it, so it can be probed without a wait for a
			   server */
};

/* Files that a process has in /proc and whose reading may wait for its memory. */
enum clew_open_process { CLEW_OPEN_MAPS, CLEW_OPEN_ENVIRON, CLEW_OPEN_COMMAND_LINE };

/*
 * From here on another process opens files: this program, run again with `argument` alone, which
 * then calls clew_opener_main(). Without it the calling thread opens them itself.
 */
void clew_opener_enable(const char *argument);
/* The helper process. Returns its exit status. */
int clew_opener_main(void);
/* Ends the helper processes. */
void clew_opener_close(void);
/* Files left out so far, as they did not open in time. */
size_t clew_opener_late(void);
/* CPU time of the helper processes so far, ns. */
uint64_t clew_opener_cpu_time(void);

/* The file of a mapping, also if it has no name any more. `ret_path`: PATH_MAX bytes for its path,
 * if the mapping comes without one; NULL: not asked. */
int clew_open_mapped(const struct clew_open_mapping *mapping, struct clew_opened *ret_opened,
		     char *ret_path);
/* A file by its path here. `ret_path`: PATH_MAX bytes for the path without links; NULL: not asked.
 */
int clew_open_named(const char *path, struct clew_opened *ret_opened, char *ret_path);
/* A file by its path as a process sees it; links stay below the root of that process. `proc`: the
 * process's folder in /proc, open. */
int clew_open_below(int proc, pid_t pid, const char *path, struct clew_opened *ret_opened);
void clew_opened_close(struct clew_opened *opened);
/* Another descriptor of the same file. */
int clew_opened_copy(const struct clew_opened *opened, struct clew_opened *ret_copy);

/* A copy of some parts of a file, as large as the file: *ret_file is the caller's. */
int clew_open_read(const struct clew_opened *opened, unsigned parts, int *ret_file);
/* The same of a file of a process in /proc, 64 MiB at most. */
int clew_open_process(pid_t pid, enum clew_open_process which, int *ret_file);
/* The paths that fit a pattern of glob(7), each with a NUL behind it. */
int clew_open_glob(const char *pattern, int *ret_file);
/* Why one of these failed, in a few words. */
const char *clew_open_error(int error);

#endif
