/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of a trace, for the files of user/trace, and for those that make a trace
 * from a model or walk timelines piece by piece.
 */
#ifndef CLEW_TRACE_INTERNAL_H
#define CLEW_TRACE_INTERNAL_H

#include "base/dense.h"
#include "base/map.h"
#include "base/sort.h"
#include "base/vector.h"
#include "trace/frames.h"
#include "trace/part.h"
#include "trace/trace.h"
#include <pthread.h>

/* A piece of a timeline: its array in the top two bits, and its index there. */
#define PIECE_RUN   0u
#define PIECE_SLEEP 1u
#define PIECE_READY 2u
#define PIECE_SHIFT 30
#define PIECE_INDEX ((1u << PIECE_SHIFT) - 1)

struct trace_name {
	uint64_t since;
	const char *name;
};

struct numbers {
	uint32_t *data;
	uint32_t count;
	uint32_t capacity;
};

struct trace_priority {
	struct trace_priority *older;
	uint64_t since;
	struct clew_scheduled scheduled;
};

struct trace_task {
	struct clew_trace_task task;
	uint32_t index;	       /* among all tasks, once finished */
	struct numbers pieces; /* in order of start */
	uint64_t last_start;   /* of the last piece */
	uint64_t begin, end;   /* of its timeline */
	bool cut;	       /* pieces of its timeline are not kept */
	bool bounded;	       /* begin, end, birth and death are known already */
	uint64_t start_time;
	uint64_t made_ready; /* when its first piece began, if that is not kept; 0 else */
	uint64_t passed;     /* the end of its last piece that is not kept; 0: all are */
	uint64_t exit_time;  /* 0: no EXIT record */
	uint64_t executed;   /* its last exec, 0 none */
	uint64_t executable_inode;
	uint32_t executable_device;
	/* These four are used in a part with recent runs: */
	struct clew_run lead; /* its last run that is not kept; `end` 0: none */
	uint64_t led;	      /* the end of the one that is kept before a wait, 0: none is */
	uint32_t kept;	      /* pieces that it had before recent runs were given */
	bool recent;	      /* some were */
	uint32_t origin;      /* 1 + index in lone_edges of the fork or exec that made it */
	struct trace_name *names;
	uint32_t name_count, name_capacity;
	struct trace_priority *priority;   /* its last one, NULL: it has none */
	uint32_t frame_first, frame_count; /* in the trace's frames, once finished */
	struct frame_table *frame_table;   /* made when first asked for */
};

#define TRACE_PAGE_BITS 10
struct trace_page {
	struct trace_task *tasks[1 << TRACE_PAGE_BITS];
};

/*
 * A file under one name. `older` is the file, or the name of this file, that had the
 * inode number before, NULL none; `depth` is the number of older ones. `jump` is one of
 * them, so far back that a search takes few steps; the oldest one points to itself.
 */
struct trace_file {
	struct trace_file *older, *jump;
	struct trace_file **last; /* the same file under its last name; shared by all its names */
	uint64_t since;		  /* when it was first recorded under this name */
	uint32_t number;	  /* of the trace's own, from 1 */
	uint32_t depth;
	struct clew_file_record record;
};

/* A lock; `older` had its address before, NULL none. */
struct trace_lock {
	struct trace_lock *older;
	const char *name; /* made at the end; NULL: what it belongs to is not known */
	uint32_t number;  /* of those at this address, from 0 */
	struct clew_lock_name record;
};

/* Touches while acts that follow each other closely are joined. */
/* A pass of the recorder over what tasks sleep on and who has the other ends. */
struct trace_pass {
	uint64_t from;
	uint64_t to;
	bool stop;
};

struct trace_touches {
	struct vector *all; /* struct clew_touch, in the order in which they came */
	struct map files;   /* clew_file_key -> number */
	struct map last;    /* (number << 32 | task, event) -> index of the latest of `all` */
};

struct clew_trace {
	struct clew_capture_info *info; /* in the arena; NULL: it came from no capture */
	struct vector metas;		/* const char *: key, value, key, value; in the arena */
	struct vector own_types; /* const char *, of the types from CLEW_EDGE_TYPE_COUNT on */
	uint64_t start, end;
	uint64_t last_run;	  /* when the one ended that ended last */
	uint32_t drop_types;	  /* bits of edge types that are left out */
	uint32_t mount_namespace; /* the machine's own, 0 unknown */
	int error;
	bool live;
	struct trace_part *part; /* NULL: all findings are kept */

	struct vector runs, sleeps, readies;
	struct vector lone_edges; /* edges that end no sleep */
	struct vector gaps;
	size_t first_sleep; /* the array begins here once finished */
	struct clew_builder_forgotten forgotten;
	uint64_t hidden; /* as clew_trace_hidden() */

	struct vector pages;  /* struct trace_page *, by the upper bits of the serial */
	struct vector tasks;  /* struct trace_task *; in order of serial once finished */
	struct numbers *cpus; /* indexes of runs, by CPU */
	size_t cpu_count;
	size_t number_bytes; /* of all struct numbers */

	struct vector requests; /* struct clew_trace_request; by number until finished */
	struct vector below;	/* struct clew_below */
	struct vector
		page_extents; /* struct clew_page_extent; by request, then sector, once finished */
	uint32_t file_count;
	struct vector touches;	     /* struct clew_touch */
	struct trace_touches joined; /* until finished */
	struct map acceptors;	     /* by inode number of a socket: who accepts there */
	struct vector failed; /* struct clew_failed, in order of task, then time, once finished */
	/* Ends of connections whose messages are recorded: messages.c */
	struct vector talk_ends;
	struct vector placed; /* struct clew_placed, in order of task, then time, once finished */
	struct map talk_of;   /* inode number of a socket, host -> number of its end */
	struct map talk_keys; /* addresses -> number of the end that had them last */
	struct vector
		exchanges; /* struct clew_exchange, in order of end, then begin, once finished */
	struct sort_key *exchange_order; /* key: task; by task, then begin; NULL until finished */
	struct vector spins;		 /* in order of task, then end, once finished */
	struct vector deadlocks;	 /* struct clew_deadlock */
	/* by the index of a task: 1 + the deadlock that it is in or waits for, or 0; NULL: none is
	 */
	uint32_t *stuck;
	struct vector left_stuck; /* struct left_stuck: of windows, in the trace of all names */
	struct vector retries;	  /* struct clew_retried */
	struct vector tried;	  /* struct clew_tried */
	/* index of a sleep -> (1 + place in `tried`) << 32 | place in `failed` of the attempt
	 * before */
	struct map tried_of;
	struct map vain;     /* index of a sleep -> ns; only those that ended for nothing */
	struct map retry_of; /* index of a sleep -> of `retries`; only slices have one */
	/* index of a sleep -> of a client that waits for an answer, when the question left, ns;
	   else 1; only those in an exchange have one */
	struct dense in_exchange;
	/* index of a sleep -> TRACE_RESTS, TRACE_PARKED: it separates operations; or TRACE_ASKED: a
	   client's question ended it */
	struct dense resting;
	struct vector stays, ticks, tallies; /* in order of task, then end */
	struct vector frames;	     /* struct clew_trace_frame; by task and start once finished */
	struct vector frame_keys;    /* struct frame_key, of each frame until finished */
	struct vector frame_details; /* struct clew_frame_detail */
	struct vector functions;     /* struct clew_trace_function, by number */
	struct vector taken;	     /* struct clew_taken, as clew_trace_taken() */
	struct vector dropped;	     /* struct clew_trace_dropped */
	struct map stacks;	     /* hash -> const struct clew_trace_stack * */
	struct map images;	     /* number -> const struct trace_image * */
	struct vector waited;	     /* struct clew_task_stacks; by task and time once finished */
	struct vector wakers;	     /* the same of those who woke others */
	struct vector samples;	     /* struct clew_task_stacks; by task and time once finished */
	struct vector symbols;	     /* struct trace_symbol; by image and start once finished */
	struct trace_lines *lines;   /* NULL: places in the source are not asked for */
	struct numbers throttles; /* sleeps for want of quota, in order of start, once finished */

	struct map files, sockets, cgroups, texts, locks; /* -> pointers into the arena */
	struct map addresses;				  /* the same; by address and memory */
	struct map codes;    /* the same of functions, by process -> name */
	struct map memories; /* by address with a place, and the task that it was asked for */
	struct vector announcements; /* const struct clew_announce *, into the arena */
	struct vector moments;	     /* const struct clew_moment *, likewise */
	struct clew_jobs *jobs;	     /* clew_trace_keep_jobs(); NULL none */
	void (*free_jobs)(struct clew_jobs *jobs);
	bool keeps_rings; /* requests to io_urings are moments, too */
	/* struct clew_end; in order of task, and of end, once finished */
	struct vector end_sleepers, end_holders;
	struct vector passes;	     /* struct trace_pass, in order of time */
	struct clew_keyframe stated; /* where reading of a part began; 0 at the start */
	struct arena arena;

	pthread_mutex_t frame_lock; /* guards what tasks' frame_table is set to */
	pthread_mutex_t edge_lock;
	struct clew_edge *edges; /* made when first asked for */
	uint32_t *edge_sleeps;	 /* of each edge: the sleep it ended, as an index among all, or
				    UINT32_MAX */
	size_t edge_count;
};

/* A file that stacks lead through, or code that a process made. */
struct trace_image {
	const char *path;
	uint64_t base; /* of code: the address that offsets count from */
	uint64_t bias; /* as in struct clew_image_record; 0 unless `linked` */
	uint8_t build_id[CLEW_BUILD_ID_BYTES];
	uint8_t build_id_size; /* 0 unknown */
	bool jit;
	bool linked;
};

/* A function that frames of stacks lie in. */
struct trace_symbol {
	uint64_t start; /* offset in the file, or the kernel's address */
	uint64_t length;
	const char *name; /* "": it has none */
	uint32_t image;
};

/* Keeps one finding, of a builder or of a model that is turned back into a trace. `context`: the
 * trace. */
int trace_take(void *context, struct clew_finding finding);
/* Stores a run, and lists it for its CPU (UINT16_MAX unknown), in order of time there. */
int trace_keep_run(struct clew_trace *trace, const struct clew_run *run, size_t *ret_index);
/* The first process, and the parent of the kernel's threads, have the machine's own mounts. */
static inline void trace_note_mounts(struct clew_trace *trace, const struct clew_trace_task *task)
{
	if ((task->tid == 1 || task->tid == 2) && task->mount_namespace)
		trace->mount_namespace = task->mount_namespace;
}

/* Adds a run, sleep or ready interval at the end of a task's timeline, whenever it was. */
int trace_append_piece(struct clew_trace *trace, struct trace_task *task, unsigned kind,
		       size_t index);
/* Adds it where it belongs. */
int trace_add_piece(struct clew_trace *trace, uint32_t serial, unsigned kind, size_t index,
		    uint64_t start);

/* ---- priority.c ---- */

int trace_priority_add(struct clew_trace *trace, const struct clew_priority *record);

/* ---- identity.c ---- */

int trace_identity(struct clew_trace *trace, const struct clew_header *record);
/* True if a serial names no task. */
static inline bool trace_nobody(uint32_t serial)
{
	return serial == CLEW_NO_TASK || serial == UINT32_MAX;
}

/* Found or made; NULL: no memory, or nobody. */
struct trace_task *trace_task_get(struct clew_trace *trace, uint32_t serial);
int trace_finish_tasks(struct clew_trace *trace);

/* The tasks so far; once finished, all of them in order of serial. */
static inline struct trace_task *trace_task_at(const struct clew_trace *trace, size_t index)
{
	return ((struct trace_task **)trace->tasks.data)[index];
}

static inline struct trace_task *trace_task_find(const struct clew_trace *trace, uint32_t serial)
{
	const struct trace_page *page =
		serial >> TRACE_PAGE_BITS < trace->pages.count
			? ((struct trace_page **)trace->pages.data)[serial >> TRACE_PAGE_BITS]
			: NULL;

	return page ? page->tasks[serial & ((1u << TRACE_PAGE_BITS) - 1)] : NULL;
}

/* failed.c */
int trace_take_failed(struct clew_trace *trace, const struct clew_failed *record);
void trace_order_failed(struct clew_trace *trace);

/* acceptors.c: once the sleeps are in order. */
int trace_finish_acceptors(struct clew_trace *trace);

/* address.c */
int trace_take_address(struct clew_trace *trace, const struct clew_address *record);

/* lock_name.c */
int trace_take_lock_name(struct clew_trace *trace, const struct clew_lock_name *record);
/* Makes the names, once all tasks and files are known. */
int trace_finish_lock_names(struct clew_trace *trace);
/* ---- ends.c ---- */

int trace_take_end(struct clew_trace *trace, const struct clew_end *end);
int trace_finish_ends(struct clew_trace *trace);

/* ---- requests.c, pages.c ---- */

int trace_add_request(struct clew_trace *trace, const struct clew_block_request *request);
int trace_add_below(struct clew_trace *trace, const struct clew_below *below);
int trace_add_spin(struct clew_trace *trace, const struct clew_spin *spin);
int trace_add_stay(struct clew_trace *trace, const struct clew_stay *stay);
int trace_add_tally(struct clew_trace *trace, const struct clew_tally *tally);
/* Puts stays, ticks and tallies in order. */
void trace_finish_stays(struct clew_trace *trace);
int trace_add_pages(struct clew_trace *trace, const struct clew_page_extent *extent);
int trace_add_touch(struct clew_trace *trace, const struct clew_touch *touch);
/* Adds a touch to touches->all, or to the one there that it goes on with. 0 or -ENOMEM. */
int trace_join_touch(const struct clew_trace *trace, struct trace_touches *touches,
		     const struct clew_touch *touch);
/* `all` is left. */
void trace_touches_done(struct trace_touches *touches);
/* Gives requests their pages. place_of: by the builder's number, the request's index or
 * UINT32_MAX. */
int trace_finish_pages(struct clew_trace *trace, const uint32_t *place_of, size_t numbers);
int trace_finish_touches(struct clew_trace *trace);
/* When a request was queued or, if that is not known, issued, ns. */
static inline uint64_t trace_asked_at(const struct clew_block_request *request)
{
	return request->queued ?: request->issued;
}
/* Puts requests in order, and joins them to each other and to the sleeps that they ended. Sleeps
 * are in order already. */
int trace_finish_requests(struct clew_trace *trace);

/* ---- order.c ---- */

int trace_order_sleeps(struct clew_trace *trace);
void trace_blind_sleeps(struct clew_trace *trace);

/* A sleep by its index among all, unused ones included. */
static inline const struct clew_sleep *trace_sleep_at(const struct clew_trace *trace,
						      uint32_t index)
{
	return (const struct clew_sleep *)trace->sleeps.data + index;
}

/* ---- frames.c, frame_table.c ---- */

/* The number that the builder gave a frame, and its task. */
struct frame_key {
	uint32_t task, number;
};

/* Frames beyond this number of functions are of unknown ones. */
#define TRACE_MOST_FUNCTIONS (1u << 20)

int trace_take_site(struct clew_trace *trace, const struct clew_site_record *site);
int trace_take_dropped(struct clew_trace *trace, const struct clew_dropped *record);
int trace_add_frame(struct clew_trace *trace, const struct clew_frame *frame);
/* Describes function `number`; what was known of it before holds. The strings are copied; title
 * and readable name are made of the name. */
int trace_add_function(struct clew_trace *trace, uint32_t number,
		       const struct clew_trace_function *function);
/* Puts frames in order, and joins each to the one that it was called in. Before the tasks are
 * in order. 0, -ENOMEM or -EFBIG. */
int trace_finish_frames(struct clew_trace *trace);
void trace_free_frame_table(struct trace_task *task);

static inline const struct clew_trace_frame *trace_frame(const struct clew_trace *trace,
							 uint32_t number)
{
	return number == CLEW_NO_NUMBER
		       ? NULL
		       : (const struct clew_trace_frame *)trace->frames.data + number;
}

/* The number of a task's frames that were entered at or before a moment. */
size_t trace_frames_until(const struct clew_trace_frame *frames, size_t count, uint64_t at);

/* The frame that a task is in at a moment that follows the entry of `last` and precedes its next
 * entry; NULL none. One that a logical span replaces is none. */
static inline const struct clew_trace_frame *
trace_open_frame(const struct clew_trace *trace, const struct clew_trace_frame *last, uint64_t at)
{
	while (last && (last->end <= at || last->flags & CLEW_FRAME_REPLACED))
		last = trace_frame(trace, last->parent);
	return last;
}

/* ---- retry.c ---- */

/* Finds the retried waits. Everything else is finished. 0 or -ENOMEM. */
int trace_join_retries(struct clew_trace *trace);
/* tried.c: finds the sleeps between attempts in vain; retries are known. 0 or -ENOMEM. */
int trace_find_tried(struct clew_trace *trace);
/* taken.c: pairs recorded takes and releases of locks, and names the holders of waits for them.
 * Tasks and frames are finished. 0 or -ENOMEM. */
int trace_find_taken(struct clew_trace *trace);
/* safepoint.c: finds the naps in which a JVM waits for a thread to stop. After trace_find_tried().
 * 0 or -ENOMEM. */
int trace_find_safepoints(struct clew_trace *trace);
/* vain.c: finds the wakes for nothing. 0 or -ENOMEM. */
int trace_find_vain(struct clew_trace *trace);

/* deadlock.c: finds the deadlocks. Tasks, sleeps and ends are finished. 0 or -ENOMEM. */
int trace_find_deadlocks(struct clew_trace *trace);
/* deadlock_left.c: the same of the trace of all names, which took them from windows. */
int trace_settle_deadlocks(struct clew_trace *names);

/* ---- messages.c ---- */

/* placed.c: takes a message with its place; puts all in order. 0 or -ENOMEM. */
int trace_take_placed(struct clew_trace *trace, const struct clew_placed *placed);
void trace_finish_placed(struct clew_trace *trace);

int trace_take_message(struct clew_trace *trace, const struct clew_message_record *message);
/* Adds one that is known already, but for its task's messages. 0 or -ENOMEM. */
int trace_add_exchange(struct clew_trace *trace, const struct clew_exchange *exchange);
/* Ends what is open, and puts the exchanges in order. 0 or -ENOMEM. */
int trace_finish_messages(struct clew_trace *trace);
void trace_free_messages(struct clew_trace *trace);

/* ---- exchange.c ---- */

/* Finds the waits within exchanges. Everything else is finished. 0 or -ENOMEM. */
int trace_find_exchanges(struct clew_trace *trace);
/* Notes a sleep before the part that the trace is of. 0 or -ENOMEM. */
int trace_exchange_pass(struct clew_trace *trace, const struct clew_sleep *sleep);
void trace_pairs_done(struct trace_pairs *pairs);

#define TRACE_RESTS  1
#define TRACE_ASKED  2
#define TRACE_PARKED 3 /* .. in a function of a runtime that waits for work */

/* ---- rest.c ---- */

/* Finds the waits by which a thread rests between its operations; exchanges are known. 0 or
 * -ENOMEM. */
int trace_find_rests(struct clew_trace *trace);

/* ---- timeline.c ---- */

uint64_t trace_piece_start(const struct clew_trace *trace, uint32_t piece);
/* The number of a task's pieces that begin at or before a moment. */
uint32_t trace_pieces_until(const struct clew_trace *trace, const struct trace_task *task,
			    uint64_t at);
/*
 * The piece of a task at a moment, as clew_trace_piece(). *hint: where the last one was
 * found, 0 at first; the search begins there.
 */
bool trace_piece_at(const struct clew_trace *trace, const struct trace_task *task, uint64_t at,
		    uint32_t *hint, struct clew_piece *ret_piece);
/*
 * The task that ran on a CPU at a moment. *ret_until: until when that holds, at most
 * `to`. False: unknown, until *ret_until.
 */
bool trace_ran_at(const struct clew_trace *trace, uint16_t cpu, uint64_t at, uint64_t to,
		  uint32_t *ret_task, uint64_t *ret_until);
/* The fork or exec that made a task, or NULL. */
const struct clew_edge *trace_origin_of(const struct clew_trace *trace,
					const struct trace_task *task);

#endif
