/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The input of a command that adds up: a long capture in windows, anything else in one piece, which
 * is one window. A command asks for its sums in one way, and an answer that windows cannot have
 * says so here. Functions that return an int return 0 or, after clew_fail(), an exit status.
 */
#ifndef CLEW_CLI_OPERAND_INPUT_H
#define CLEW_CLI_OPERAND_INPUT_H

#include "cli/operand/open.h"
#include "cli/operand/selection.h"
#include "trace/windows.h"

/* The needs of an answer. */
struct clew_input_needs {
	const char *whole; /* what was asked for, which windows cannot have; NULL: they can */
	bool functions;	   /* a window has to know which calls were under way when it began: */
	bool announced;	   /* of functions that were recorded, or that programs announced */
	bool models;	   /* causal traces are added up */
	bool works;	   /* the names are to have what separates operations (trace/windows.h) */
	struct clew_window *window; /* --from and --to; NULL: there are none */
	struct clew_ends *ends;	    /* with models: the positions between which it is read; */
	char **memory;		    /* of two texts, for free(3); NULL: there are none */
};

struct clew_input {
	const char *operand;
	struct clew_window *window;
	struct clew_reader *reader; /* of a long capture; NULL: it was read in one piece */
	struct clew_trace *trace;   /* that; once a long one was looked at, all of its names; with
				       models NULL unless there are stacks */
	struct clew_trace *tasks; /* of a long one, the names if they were asked for before that */
	bool works;		  /* these have what separates operations */
	struct clew_model *model; /* the causal trace in one piece, or one of all names */
};

/*
 * Opens it, and reads it unless it is long. clew_input_done() in any case. Before a long capture is
 * looked at, its window has no end.
 */
int clew_input_open(const char *operand, const struct clew_input_needs *needs,
		    struct clew_input *ret_input);
void clew_input_done(struct clew_input *input);

/* A trace that has all tasks and names: reads them if need be. */
int clew_input_names(struct clew_input *input, const struct clew_trace **ret_names);
/*
 * A trace that has all names and what separates operations, of an input that asked for it. If that
 * is more than memory has, says that `what` goes until then, as in "operations are those".
 */
int clew_input_works(struct clew_input *input, const char *what,
		     const struct clew_trace **ret_works);
/* A causal trace of all threads, by which spans are chosen. */
int clew_input_model(struct clew_input *input, const struct clew_model **ret_model);
/* Checks which tasks were asked for, as early as they have to be known. */
int clew_input_choose(struct clew_input *input, struct clew_selection *selection);
/* The tasks that were chosen, as `wants` and `context` of struct clew_chosen: by what is known of
 * them at the end of the capture, which a window's trace may not have. */
struct clew_input_choice {
	const struct clew_input *input;
	struct clew_selection *selection;
};
bool clew_input_wants(void *choice, const struct clew_trace_task *task);
/* All tasks, where a window's trace does not have them; NULL: it has what is needed. */
static inline const struct clew_trace *clew_input_tasks(const struct clew_input *input)
{
	return input->tasks;
}

/* Looks at all windows. `input->trace` has the names afterwards, and the window its end. */
int clew_input_look(struct clew_input *input, const struct clew_windows_taker *taker);
/* Looks at all of them once more. */
int clew_input_look_again(struct clew_input *input, const struct clew_windows_taker *taker);

#endif
