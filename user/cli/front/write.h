/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writing causal traces as notation, and files in general.
 */
#ifndef CLEW_CLI_FRONT_WRITE_H
#define CLEW_CLI_FRONT_WRITE_H

#include <clew/model.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

/*
 * Notes that what is written from now on is made of that file, too. Such a file or folder gets the
 * owner and the mode of its source, of several their modes' common part: a capture has everyone's
 * command lines, and so has what is made of it. Without a source, the umask decides.
 */
void clew_write_made_of(const struct stat *source);

/* True if a file belongs to whom one that is written would be given. */
bool clew_write_is_theirs(const char *path);

/* Gives an open file the owner and the mode that what is written has. */
void clew_write_give(int fd);

/*
 * Refuses to write a trace over the capture that it is made of, which holds
 * more. `output` NULL: nothing is written. Returns 0 or, after clew_fail(), an
 * exit status.
 */
int clew_check_output(const char *input, const char *output);

/*
 * Writes a trace to the file `output`, "-" standard output. `name`: the trace's
 * name in messages. Returns 0 or, after clew_fail(), an exit status; the file
 * is unchanged then.
 */
int clew_write_model(const char *name, const struct clew_model *model, const char *output);

/*
 * Writes a file by `write`, which returns an exit status; errors of the stream may stay on it. The
 * file has its name only once it is whole; a pipe or device is written in place. `output`: "-" is
 * standard output, whose errors are the caller's. Returns 0 or, after clew_fail(), an exit status.
 */
int clew_write_file(const char *output, int (*write)(void *context, FILE *out), void *context);

/*
 * The same for what writes a file by its name: `write` gets the name of a temporary file, and an
 * open descriptor of it that it closes.
 */
int clew_write_beside(const char *output, int (*write)(void *context, const char *path, int fd),
		      void *context);

/* Says that a file cannot be written, and why: an errno. Returns an exit status. */
int clew_fail_to_write(const char *name, int error);

/*
 * Writes files into a new folder by `write`, which returns an exit status. The folder has its name
 * only once all are whole; one that is there must be empty. Returns 0 or, after clew_fail(), an
 * exit status.
 */
int clew_write_folder(const char *output, int (*write)(void *context, const char *folder),
		      void *context);

/* Removes a folder with all in it. */
void clew_remove_folder(const char *folder);

#endif
