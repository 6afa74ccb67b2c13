/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of the functions that are recorded, for the files that find, plan and follow them:
 * tracer_prepare.c before the load, tracer_resolve.c the files of the choices, tracer_plan.c what
 * is probed in a file, tracer.c start and end, tracer_follow.c all between.
 *
 * Invariant: `started` is false while one thread has the tracer alone. From then on `lock` protects
 * all of it.
 */
#ifndef CLEW_RECORD_FUNCTIONS_TRACER_STATE_H
#define CLEW_RECORD_FUNCTIONS_TRACER_STATE_H

#include <pthread.h>
#include <string.h>

#include "base/vector.h"
#include "opener/opener.h"
#include "record/functions/choice.h"
#include "record/functions/probe_judge.h"
#include "record/functions/traced_file.h"
#include "record/functions/traced_limit.h"
#include "record/stream/recording.h"
#include "symbol/code/closure.h"

struct bpf_program;

/* The choice of one option. */
struct chosen {
	struct clew_function_choice choice;
	char *title;   /* the option that chose it */
	bool optional; /* the file may lack such functions */
	bool by_name;
	bool anywhere;	 /* in each file that is mapped */
	pid_t pid;	 /* by process, else 0 */
	uint8_t filters; /* the bit of that process */
	bool later;	 /* no file has it yet, but the command may map one */
	size_t found;	 /* functions that fit */
};

/* A file that was found, to be attached to. */
struct opened {
	struct traced_file *file;
	char *path;
	struct clew_opened found;
	uint64_t choices; /* a bit for each that it is of */
};

struct clew_tracer {
	struct traced traced;
	const struct bpf_program *program;	  /* at functions of programs */
	const struct bpf_program *kernel_program; /* and of the kernel */
	struct traced_file *kernel;		  /* NULL: nothing of it is recorded */
	struct clew_functions_options options;
	struct clew_closure *closure;
	struct chosen *chosen;
	size_t count;
	struct vector files;  /* struct traced_file * */
	struct vector opened; /* struct opened, at the start */
	struct traced_events events;
	bool by_events;
	struct probe_judge judge;
	const char *command; /* the program that is about to be run, or NULL */
	bool has_functions;  /* not only probes that programs carry */
	bool started;	     /* files that come from now on are probed as far as it goes */
	struct traced_limit limit;
	pthread_mutex_t lock; /* of all of it, once it has started */
};

static inline const char *tracer_last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The entry of a file, made if there is none: it lives as long as the tracer. NULL: no memory. */
struct traced_file *tracer_file_of(struct clew_tracer *tracer, uint64_t device, uint64_t inode);

/*
 * Copies what some choices need of a file, and looks for what they are for. `choices`: a bit for
 * each. `path`: for messages and records. 0 or -errno with a message.
 */
int tracer_plan_file(struct clew_tracer *tracer, struct traced_file *file,
		     const struct clew_opened *found, const char *path, uint64_t choices,
		     struct clew_message *message);
/* Finds the functions of the kernel. 0 or -errno with a message. */
int tracer_plan_kernel(struct clew_tracer *tracer, const struct clew_recorder_options *options,
		       struct clew_message *message);

/* True in *ret_by_events if probes in programs have to be trace events. 0 or -ENOTSUP with a
 * message. */
int tracer_possible(const struct clew_recorder_options *options, bool *ret_by_events,
		    struct clew_message *message);
/* Finds the files of a choice, into tracer->opened. 0 or -errno with a message. */
int tracer_resolve(struct clew_tracer *tracer, size_t number, struct clew_message *message);
/* The same of the libraries that have functions that cut stacks, as far as there are any. */
int tracer_resolve_control(struct clew_tracer *tracer, struct clew_message *message);
/* True if the file of this name is one of these libraries. */
bool tracer_has_control(const char *path);
/* Gives the kernel side the processes in which functions are recorded. 0 or -errno with a message.
 */
int tracer_filter_processes(const struct clew_tracer *tracer, struct clew_message *message);
/* Says which choice fits nothing, and what is alike. Always -EINVAL. */
int tracer_say_none(struct clew_tracer *tracer, size_t number, struct clew_message *message);

/* Attaches what is planned in a file. 0 or -errno; -EREMOTE: the kernel would wait for a server,
 * with the program's memory locked. */
int tracer_attach_file(const struct clew_tracer *tracer, struct traced_file *file,
		       const struct clew_opened *found);

#endif
