/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Activations of functions, see frame.c and frame_stack.c.
 */
#ifndef CLEW_BUILDER_FRAME_H
#define CLEW_BUILDER_FRAME_H

#include "base/map.h"
#include "base/vector.h"
#include "builder/findings.h"

struct clew_builder;
struct task;

/* Frames of a task that are open at once, and again as many that are set aside, at most. */
#define FRAMES_MOST 65536u

/* An instruction, from its SITE record. */
struct frame_site {
	uint32_t function;
	uint16_t roles; /* 0: no record told of it */
	uint16_t below;
	uint8_t class;
	uint8_t way;
};

/* An activation that has not been emitted yet. */
struct frame {
	uint64_t stack; /* the stack pointer at the entry */
	uint64_t start;
	uint64_t attached; /* since when it counts as called by the frame that it lies on */
	uint64_t called;   /* ns in traced functions that it called, but for those still on it */
	uint64_t probes;   /* frame_stack.probes at the entry */
	uint8_t *values;   /* of the entry, `values_size` bytes */
	uint32_t function;
	uint32_t number;
	uint32_t parent;
	uint16_t depth;
	uint16_t values_size;
	uint8_t unread;
	uint8_t way;   /* enum clew_site_way */
	uint8_t flags; /* CLEW_FRAME_* */
	bool tail;     /* by trampoline: another function was entered by a jump out of it */
};

#define FRAME_NONE UINT32_MAX

/* A stack pointer that is lower by less than so many bytes is taken to be on the same stack. */
#define FRAME_SAME_STACK 8192u

/*
 * A frame that is no longer on the stack although nothing said that it ended. It may be on another
 * stack, that of a coroutine, and go on later.
 */
struct frame_aside {
	struct frame frame;
	uint64_t at; /* when it was set aside, which is its end if it is one */
	uint32_t outer,
		inner;	/* those that were set aside with it; free: the next free one, in `outer` */
	uint8_t closed; /* enum clew_frame_closed, if it does not go on */
	bool at_end;	/* it closed on the way to the thread's end, which tells how */
	bool doubtful;	/* the task may have left its stack instead */
	bool used;
};

/* Stack pointers between which frames were found to go on after they had been set aside. */
struct frame_region {
	uint64_t low, high;
};

/* The frames on a task's stacks. */
struct frame_stack {
	struct vector open;    /* struct frame, outermost first */
	struct vector aside;   /* struct frame_aside */
	struct vector regions; /* struct frame_region, by address, apart from each other */
	struct map asides;     /* stack pointer -> place in `aside` */
	uint32_t aside_free;   /* FRAME_NONE: there is none */
	uint32_t aside_count;  /* used ones */
	uint64_t probes;       /* ns that probes have taken so far */
	uint64_t last;	       /* time of the last FUNCTION record */
	uint64_t unwinding;    /* since when the stack is unwound, 0: it is not */
	uint8_t unwound_for;   /* then CLEW_FRAME_EXCEPTION or CLEW_FRAME_EXIT */
	bool asked;	       /* the thread asked for its end */
	bool canceled;
};

/* The builder's part. */
struct frame_table {
	struct vector sites;  /* struct frame_site, by number */
	struct vector values; /* bytes of the finding at hand */
	uint32_t count;	      /* frames so far */
	size_t memory;
};

/* ---- frame.c ---- */

int build_feed_site(struct clew_builder *builder, const struct clew_site_record *record);
/* A function is dropped: its activations are lost, and its sites count for nothing. */
int build_feed_dropped(struct clew_builder *builder, const struct clew_dropped *record);
int build_feed_function(struct clew_builder *builder, const struct clew_function *record);
/* The frames of a task. NULL: no memory. */
struct frame_stack *frame_stack_of(struct clew_builder *builder, struct task *task);
/* A child process goes on in the frames of its parent. */
int build_frames_fork(struct clew_builder *builder, const struct task *parent, struct task *child);
/* The task ends, or the program that it ran. */
int build_frames_end(struct clew_builder *builder, struct task *task,
		     const struct clew_life *record);
/* The file lacks records of that CPU since `from`. */
int build_frames_lost(struct clew_builder *builder, uint16_t cpu, uint64_t from);
/* The task is gone, and no record said how. */
int build_frames_gone(struct clew_builder *builder, struct task *task);
/* The capture ends. */
int build_frames_finish(struct clew_builder *builder, struct task *task);
void build_frames_done(struct clew_builder *builder, struct task *task);
void build_frame_table_done(struct clew_builder *builder);
size_t build_frames_memory(const struct clew_builder *builder);

/* ---- frame_stack.c ---- */

/* The ways in which a frame ends. */
struct frame_close {
	uint64_t end;
	uint8_t closed;	       /* enum clew_frame_closed */
	uint32_t end_task;     /* CLEW_NO_TASK: its own */
	const uint8_t *values; /* texts of arguments, then what it returns: `values_size` bytes */
	uint16_t values_size;
	uint16_t again_size; /* of the texts */
	uint8_t again;	     /* a bit for each: its argument */
	bool unread;	     /* what it returns is */
};

static inline struct frame *frame_at(const struct frame_stack *stack, size_t number)
{
	return (struct frame *)stack->open.data + number;
}

static inline struct frame_aside *frame_aside_at(const struct frame_stack *stack, uint32_t number)
{
	return (struct frame_aside *)stack->aside.data + number;
}

/* Says that a frame begins. */
int frame_send_entry(struct clew_builder *builder, const struct task *task,
		     const struct frame *frame);
/* Puts a frame on top; its values become the stack's. 0 or -ENOMEM. */
int frame_push(struct clew_builder *builder, struct frame_stack *stack, const struct frame *frame);
/* Closes the frame on top. */
int frame_close_top(struct clew_builder *builder, struct task *task,
		    const struct frame_close *close);
/* Takes all frames above the first `keep` off the stack; `closed` is how they end if they do not go
 * on. */
int frame_set_aside(struct clew_builder *builder, struct task *task, size_t keep,
		    enum clew_frame_closed closed, bool doubtful);
/* True if frames around that stack pointer went on after they had been set aside. */
bool frame_is_elsewhere(const struct frame_stack *stack, uint64_t pointer);
/* The place of the innermost one that was set aside at this stack pointer, or FRAME_NONE. */
uint32_t frame_find_aside(const struct frame_stack *stack, uint64_t pointer);
/*
 * The frame goes on: it and those outside of it are on top of the stack again. Frames inside of
 * it have ended. Its stack is another one than that of the frames that went on meanwhile.
 */
int frame_revive(struct clew_builder *builder, struct task *task, uint32_t place);
/* The frame that was set aside does not go on, and none of those inside of it. */
int frame_settle(struct clew_builder *builder, struct task *task, uint32_t place);
/* Ends all frames of a function, and leaves those that they were called in and that they called. */
int frame_close_function(struct clew_builder *builder, struct task *task, uint32_t function,
			 const struct frame_close *close);
/* Ends what is open and what was set aside. Frames on stacks that were left and not unwound end
 * like those that are open; the others as was found. */
int frame_close_all(struct clew_builder *builder, struct task *task,
		    const struct frame_close *close);

#endif
