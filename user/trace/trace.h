/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A causal trace in memory: all findings of a capture, in arrays, found again by task and
 * time. It is one taker of findings, and owns all that it returns: pointers are valid
 * until clew_trace_free(). Times are in ns of CLOCK_MONOTONIC, sizes in bytes.
 *
 * While findings come the trace belongs to the thread that feeds them. Once it is
 * finished, any number of threads may read it at once.
 */
#ifndef CLEW_TRACE_TRACE_H
#define CLEW_TRACE_TRACE_H

#include "builder/build.h"
#include "store/capture.h"

struct clew_trace;

struct clew_trace_task {
	uint32_t serial;
	uint32_t process; /* serial of its thread group's leader, or its own */
	uint32_t parent;
	uint32_t tid;
	uint32_t pid;
	uint32_t inner_tid; /* in its own pid namespace, 0: that is the outermost one */
	uint32_t user;
	uint32_t flags;	   /* CLEW_TASK_* */
	uint32_t instance; /* 1, or 2.. where the tid was re-used */
	uint32_t pid_namespace;
	uint32_t mount_namespace;
	uint64_t cgroup;
	uint64_t birth;		  /* 0: before the capture */
	uint64_t death;		  /* CLEW_TIME_OPEN: not in the capture */
	const char *comm;	  /* its last name */
	const char *command_line; /* blanks between arguments; "" unknown */
	const char *executable;	  /* path, "" unknown */
	const char *host;	  /* NULL: the trace has one host alone */
};

/* As in struct clew_priority; a nice value with its sign. */
struct clew_scheduled {
	uint8_t policy;
	int8_t value;
};

struct clew_trace_options {
	size_t size;
	uint32_t drop_types; /* as in clew_builder_options */
	/* Called from time to time with the share that was read, 0..1. May be NULL. */
	void (*progress)(void *context, double done);
	void *progress_context;
	const struct clew_finding_taker *beside; /* gets the findings, too; NULL: nobody does */
	/*
	 * ns: only what overlaps this interval is kept, and reading ends some time after it. An
	 * open interval ends at the trace's end. `to` 0: all is read and kept.
	 */
	uint64_t from, to;
	/*
	 * A tid: the answer is about what threads of that number do in the interval. Reading ends
	 * when that is known. 0: about others, too.
	 */
	uint32_t thread;
	/* The recording goes on: what is not over at the capture's end is so until now. */
	bool live;
};

/*
 * Reads a capture that was opened, and of which nothing was read yet, into a new trace. The
 * reader stays the caller's. 0 or -errno.
 */
int clew_trace_read(struct clew_reader *reader, const struct clew_trace_options *options,
		    struct clew_trace **ret_trace);
struct clew_join;
/*
 * The same of segments of a recording, as of one capture of them. The description of the trace is
 * that of the last one. `options` have no interval and no progress.
 */
int clew_trace_read_segments(struct clew_join *join, size_t first, size_t count,
			     const struct clew_trace_options *options,
			     struct clew_trace **ret_trace);
/*
 * Opens a capture and reads it into a new trace. On error `message` gets one line of words:
 * what clew_reader_open() says, or why reading failed (-ENOMEM, -EBADMSG, ..).
 */
int clew_trace_load(const char *path, const struct clew_trace_options *options,
		    struct clew_trace **ret_trace, char *message, size_t message_size);
void clew_trace_free(struct clew_trace *trace);

/*
 * A trace from findings: make it, give its taker to a producer of findings, and finish
 * it when the producer is done. `start` and `end`: ns, when recording was enabled and
 * disabled. `options`: NULL or as for loading. 0, -EINVAL or -ENOMEM; finish also fails
 * with -EFBIG. A trace that failed can only be freed.
 */
int clew_trace_new(const struct clew_trace_options *options, uint64_t start,
		   struct clew_trace **ret_trace);
/* It wants everything. Its context is the trace, which must outlive the producer's last call. */
struct clew_finding_taker clew_trace_taker(struct clew_trace *trace);
int clew_trace_finish(struct clew_trace *trace, uint64_t end);

/* The metadata of the capture's file; NULL: the trace came from no capture. A trace that was
 * converted to notation and back keeps it. */
const struct clew_capture_info *clew_trace_info(const struct clew_trace *trace);
/* True if another tracer recorded it: no dependency is more than observed. */
static inline bool clew_is_imported(const struct clew_trace *trace)
{
	const struct clew_capture_info *info = clew_trace_info(trace);

	return info && info->imported;
}
const char *clew_trace_meta(const struct clew_trace *trace, const char *key);
/* True if only a part of the capture is wanted and reading ended before the capture does. The
 * trace's end is the moment of that. */
bool clew_trace_is_cut(const struct clew_trace *trace);
/* True if the recording that the capture is of goes on. */
bool clew_trace_is_live(const struct clew_trace *trace);
/* True if the end is less than 10 s after what is wanted, as all was known of its thread. */
bool clew_trace_is_cut_early(const struct clew_trace *trace);
uint64_t clew_trace_start(const struct clew_trace *trace);
uint64_t clew_trace_end(const struct clew_trace *trace);

/** A moment until which something lasted; the trace's end if that is open. */
static inline uint64_t clew_trace_until(const struct clew_trace *trace, uint64_t end)
{
	return end == CLEW_TIME_OPEN ? clew_trace_end(trace) : end;
}

/* Tasks in order of serial. */
size_t clew_trace_task_count(const struct clew_trace *trace);
const struct clew_trace_task *clew_trace_task_at(const struct clew_trace *trace, size_t index);
/* By serial; NULL unknown. */
const struct clew_trace_task *clew_trace_task(const struct clew_trace *trace, uint32_t serial);
/* The serial of a task's process; its own if the task is unknown. */
uint32_t clew_trace_process(const struct clew_trace *trace, uint32_t serial);
/* The name that a task had at a moment; never NULL. */
const char *clew_trace_comm_at(const struct clew_trace *trace, uint32_t serial, uint64_t at);
/* The policy and priority of a task at a moment; SCHED_NORMAL and 0 before its first record. */
struct clew_scheduled clew_trace_scheduled_at(const struct clew_trace *trace, uint32_t serial,
					      uint64_t at);
/* When a task's last exec was, ns; 0: the capture has none. */
uint64_t clew_trace_executed(const struct clew_trace *trace, uint32_t serial);
/* The names of a task by number from 0, in order of time; NULL: there are no more. */
const char *clew_trace_comm_number(const struct clew_trace *trace, uint32_t serial, size_t number);

/* All sleeps in order of start, then serial. */
const struct clew_sleep *clew_trace_sleeps(const struct clew_trace *trace, size_t *ret_count);

/*
 * A retried wait: one that its thread cut into slices by a timeout. The end of the last slice
 * is that of the whole wait, as far as can be observed: no record says so.
 */
struct clew_retried {
	uint32_t slices; /* 2 or more */
	uint32_t last;	 /* the trace's own number of the last slice */
};
/* The retried wait that a sleep of the trace is a slice of; NULL: none. */
const struct clew_retried *clew_trace_retried(const struct clew_trace *trace,
					      const struct clew_sleep *sleep);
/* True if a sleep ended for nothing: its thread went to sleep again in the same call. *ret_ns: the
 * time from its wake until then; NULL: nobody asks. */
bool clew_trace_vain(const struct clew_trace *trace, const struct clew_sleep *sleep,
		     uint64_t *ret_ns);
/* The number of a task's waits that began in from..to, ns, and ended in vain. *ret_ns: their times
 * together. */
size_t clew_trace_vain_sum(const struct clew_trace *trace, uint32_t serial, uint64_t from,
			   uint64_t to, uint64_t *ret_ns);
/*
 * True if a sleep is in an exchange: its thread waits for the answer of a server that its process
 * asked through a socket, or for something else while a client waits for its own answer. The
 * sockets tell who is whose client; who asked is observed, as no record says so.
 */
bool clew_trace_in_exchange(const struct clew_trace *trace, const struct clew_sleep *sleep);
/*
 * True if a thread rests in a sleep between its operations: it slept by its own choice, in the same
 * call at least three times, with something else done between. A series of sleeps that leads on to
 * something else was for that, and is none.
 */
bool clew_trace_rests(const struct clew_trace *trace, const struct clew_sleep *sleep);
/* True if it does so in a function of a runtime: another of its threads may wait for an answer. */
bool clew_trace_parks(const struct clew_trace *trace, const struct clew_sleep *sleep);
/* True if a client's question ended a sleep of its server's. */
bool clew_trace_was_asked(const struct clew_trace *trace, const struct clew_sleep *sleep);
/*
 * A question and its answer at one end of a connection, from what was sent and received there. A
 * server's begins when the question came, and ends when the answer left.
 */
struct clew_exchange {
	uint64_t from, to;   /* ns */
	uint64_t socket;     /* inode number */
	uint32_t task;	     /* it took or sent the last part of the answer, if there was one */
	uint32_t other;	     /* the task at the other end, CLEW_NO_TASK unknown */
	uint32_t questions;  /* messages that the question was, or the questions */
	uint32_t end;	     /* number of the end of a connection */
	uint64_t sent;	     /* when the last part of the question left, or came */
	uint64_t first;	     /* when the first part of the answer came, or left; 0: none had */
	uint64_t last;	     /* the same of the last one */
	uint32_t round_trip; /* us, the shortest to the other end lately; 0 unknown */
	uint32_t resent;     /* segments that this end sent again meanwhile */
	uint64_t query;	     /* hash of the name that DNS was asked for, 0 none */
	bool outside;	     /* the other end is on another host */
	bool full;	     /* the other end had no room for all of the question */
	bool client;	     /* the end asks */
	bool pipelined;	     /* which answer is to which question of the connection is not known */
	bool goes_on;	     /* no answer had come when the recording ended */
};

/* Bytes that a task sent to a TCP connection, or took from it, by their places. */
struct clew_placed {
	uint64_t time;	   /* ns: the call's end */
	uint64_t at;	   /* when the last of it left, or came; 0 unknown */
	uint64_t socket;   /* inode number */
	uint64_t position; /* bytes before it in its direction */
	uint32_t bytes;
	uint32_t task;
	uint8_t flags; /* CLEW_MESSAGE_* */
};

/* The messages of a task that have a place, in order of time. A trace that is read in parts has
 * none. */
const struct clew_placed *clew_trace_placed(const struct clew_trace *trace, uint32_t serial,
					    size_t *ret_count);

/* Flags of an exchange in a causal trace. */
#define CLEW_EXCHANGE_CLIENT	1
#define CLEW_EXCHANGE_PIPELINED 2
#define CLEW_EXCHANGE_GOES_ON	4
#define CLEW_EXCHANGE_OUTSIDE	8
#define CLEW_EXCHANGE_FULL	16

/* The count of a task's; *ret_first: the number of the first one. They are in order of their
 * begins, and their numbers follow each other. */
size_t clew_trace_exchange_count(const struct clew_trace *trace, uint32_t serial,
				 size_t *ret_first);
const struct clew_exchange *clew_trace_exchange(const struct clew_trace *trace, size_t number);
/* When the question left for whose answer a client waits at a socket, as messages show it; 0: they
 * show none. */
uint64_t clew_trace_message_question(const struct clew_trace *trace,
				     const struct clew_sleep *sleep);
/* True if a client waits in a sleep for the answer of another host, or for its end, or for a
 * connection to be accepted there. *ret_exchange, unless that is NULL: the question, as messages
 * show it, or else the wait itself. */
bool clew_trace_remote(const struct clew_trace *trace, const struct clew_sleep *sleep,
		       struct clew_exchange *ret_exchange);
/* True if messages of the socket that a sleep waits for were recorded, from its begin on, and an
 * answer is among them. */
bool clew_trace_shows_messages(const struct clew_trace *trace, const struct clew_sleep *sleep);
/* When the question left whose answer a client waits for in a sleep, ns; 0: it is in no exchange,
 * or not as a client. */
uint64_t clew_trace_question_at(const struct clew_trace *trace, const struct clew_sleep *sleep);
/* The last slice of the retried wait that a sleep is a slice of, or else the sleep itself. */
const struct clew_sleep *clew_trace_last_slice(const struct clew_trace *trace,
					       const struct clew_sleep *sleep);
/*
 * True if the timer that ended a wait was set by the waiting call itself: its
 * timeout, or the time that it slept.
 */
bool clew_is_own_timeout(const struct clew_trace *trace, const struct clew_sleep *sleep);

/* All edges in order of to_at; made at the first call. NULL with *ret_count 0 also when memory is
 * short. */
const struct clew_edge *clew_trace_edges(const struct clew_trace *trace, size_t *ret_count);

/* The name of an edge's type: from the closed list, or a name that a model in notation brought.
 * Never NULL. */
const char *clew_trace_type_name(const struct clew_trace *trace, unsigned type);

/*
 * One release that woke several (a barrier, a broadcast) is one dependency with
 * several destinations. Group g is the edges (*ret_order)[(*ret_begin)[g]] up to,
 * but not with, (*ret_order)[(*ret_begin)[g + 1]]; groups come in order of their
 * first edge. Both arrays are the caller's to free. 0 or -errno.
 */
int clew_trace_edge_groups(const struct clew_trace *trace, uint32_t **ret_order,
			   uint32_t **ret_begin, size_t *ret_count);

/*
 * A block request, or a bio of a device that has no requests, in order of `queued`.
 * `number` is its index here, to which links and objects of kind REQUEST refer.
 */
struct clew_trace_request {
	struct clew_block_request block;
	const uint32_t *lower; /* indexes of the requests that were made below for it */
	uint32_t lower_count;
	const uint32_t *woke; /* tasks whose waits its completion ended, in order of time */
	uint32_t woke_count;
	const struct clew_page_extent
		*pages; /* the ranges of files that it carries, in order of sector */
	uint32_t page_count;
	/*
	 * Its completion was lost: the capture has none, records were lost after it was queued, and
	 * later requests show that it was over. When it ended is unknown.
	 */
	bool end_lost;
	/*
	 * Until when it is known to have been in progress: its completion; else its issue if the
	 * completion was lost; else, in a recording that was cut off, the moment at which the
	 * first CPU's records end, but not before its issue; else CLEW_TIME_OPEN.
	 */
	uint64_t until;
	uint64_t over; /* the latest `until` of this one and all before it in the list */
};
const struct clew_trace_request *clew_trace_requests(const struct clew_trace *trace,
						     size_t *ret_count);

/*
 * Acts of tasks on files in the page cache, in order of `begin`. Acts of one kind by
 * one task on one file that follow each other closely are one, with the sum of their
 * `bytes` and the least `offset`.
 */
const struct clew_touch *clew_trace_touches(const struct clew_trace *trace, size_t *ret_count);
/* True if a request reads pages of a file that a group's memory limit had evicted. */
bool clew_trace_read_again(const struct clew_trace *trace,
			   const struct clew_block_request *request);

/* The first spin of a task that ends after a moment, NULL none. The task's later ones follow it in
 * memory. */
const struct clew_spin *clew_trace_spin(const struct clew_trace *trace, uint32_t serial,
					uint64_t after);

/* The first stay of a task in a call that ends after a moment, NULL none; the first tick after
 * it. */
const struct clew_stay *clew_trace_stay(const struct clew_trace *trace, uint32_t serial,
					uint64_t after);
const struct clew_stay *clew_trace_tick(const struct clew_trace *trace, uint32_t serial,
					uint64_t after);
/* The task's next stay behind a stay, or its next tick behind a tick. */
const struct clew_stay *clew_trace_next_stay(const struct clew_trace *trace,
					     const struct clew_stay *stay);
/* The first tally of a task that ends after a moment, and the one behind a tally. */
const struct clew_tally *clew_trace_tally(const struct clew_trace *trace, uint32_t serial,
					  uint64_t after);
const struct clew_tally *clew_trace_next_tally(const struct clew_trace *trace,
					       const struct clew_tally *tally);

/* All times off the CPU that no sleep precedes. */
const struct clew_ready *clew_trace_readies(const struct clew_trace *trace, size_t *ret_count);

/* All runs. A CPU's idle intervals are runs of serial 0. */
const struct clew_run *clew_trace_runs(const struct clew_trace *trace, size_t *ret_count);

/*
 * A task's timeline: pieces without overlap in order of time, from its birth (or
 * the capture's start) to its death (or the capture's end). An interval
 * without records is UNKNOWN.
 */
enum clew_piece_kind {
	CLEW_PIECE_RUNNING,
	CLEW_PIECE_RUNQUEUE,
	CLEW_PIECE_SLEEP,
	CLEW_PIECE_UNKNOWN
};
struct clew_piece {
	uint64_t start;
	uint64_t end;
	const struct clew_sleep *sleep; /* of a SLEEP piece */
	uint16_t cpu; /* RUNNING: where; RUNQUEUE: where it came to run, 0xffff unknown */
	uint8_t kind; /* enum clew_piece_kind */
};
/* The piece of `serial` that contains `at`, or (before=true) the one that ends at or contains `at`
 * from the left. False: the task did not live then. */
bool clew_trace_piece(const struct clew_trace *trace, uint32_t serial, uint64_t at, bool before,
		      struct clew_piece *ret_piece);

/* The run on a CPU at a moment; serial 0: idle. False: unknown. */
bool clew_trace_running(const struct clew_trace *trace, uint16_t cpu, uint64_t at,
			struct clew_run *ret_run);

/* The fork that made a task: NULL if before the capture or unknown. */
const struct clew_edge *clew_trace_fork_of(const struct clew_trace *trace, uint32_t serial);
/* The command line of a task's process; of one that did not exec, that of who forked it. NULL:
 * unknown. */
const char *clew_trace_program(const struct clew_trace *trace, const struct clew_trace_task *task);

/* Identities. NULL or false: unknown. */
const struct clew_file_record *clew_trace_file(const struct clew_trace *trace, uint32_t device,
					       uint64_t inode, const char **ret_path);
/* The file that had this number then, by its last name: clew_trace_file() gives the last one that
 * had it. */
const struct clew_file_record *clew_trace_file_at(const struct clew_trace *trace, uint32_t device,
						  uint64_t inode, uint64_t at,
						  const char **ret_path);
/* The same by the name that it had then. */
const struct clew_file_record *clew_trace_file_then(const struct clew_trace *trace, uint32_t device,
						    uint64_t inode, uint64_t at,
						    const char **ret_path);
/* A key that is the same for all moments at which a file had an inode number: the file's own number
 * if it is known, else the inode's. */
struct clew_file_key {
	uint64_t number;
	uint32_t device; /* of the inode; UINT32_MAX: the number is the file's own */
};
struct clew_file_key clew_trace_file_key(const struct clew_trace *trace, uint32_t device,
					 uint64_t inode, uint64_t at);
/* Inode number of the mount namespace of the machine itself, 0 unknown. */
uint32_t clew_trace_mount_namespace(const struct clew_trace *trace);
const struct clew_socket_record *clew_trace_socket(const struct clew_trace *trace, uint64_t inode);
const char *clew_trace_cgroup(const struct clew_trace *trace, uint64_t id);
const char *clew_trace_text(const struct clew_trace *trace, uint64_t hash);
/* A name that the runtime of a control group's container has; NULL: unknown. `which`: enum
 * clew_group_name. */
const char *clew_trace_group_name(const struct clew_trace *trace, uint64_t id, unsigned which);
/* The owner of the kernel lock with this address at a moment, and the lock's usual name, as in
 * "mmap_lock of search-12". Once the trace is finished. */
const struct clew_lock_name *clew_trace_lock(const struct clew_trace *trace, uint64_t address,
					     uint64_t at, const char **ret_name);

/* The attempts of a task that failed from `from` to before `to`, in order of time. Once the trace
 * is finished. */
const struct clew_failed *clew_trace_failed(const struct clew_trace *trace, uint32_t serial,
					    uint64_t from, uint64_t to, size_t *ret_count);
/* The task that waits for connections at a listening socket of one of these, at any time;
 * CLEW_NO_TASK: none is seen, or those of several processes are. */
uint32_t clew_trace_acceptor(const struct clew_trace *trace, uint64_t listener);

/* The announcements of programs, in order of time. The words follow each structure, then a NUL. */
const struct clew_announce *const *clew_trace_announcements(const struct clew_trace *trace,
							    size_t *ret_count);
/* The function at an address of a process, as people write it; NULL: it is not known. */
const char *clew_trace_code(const struct clew_trace *trace, uint32_t process, uint64_t address);
/* Numbers from here on are no points: a request was submitted to an io_uring, and the next: it was
 * completed. Their values are the request, its user_data, its operation and the ring. */
#define CLEW_MOMENT_RING 0xfff0u

/* The moments at which tasks met points of runtimes, in order of time. The values follow each
 * structure, then a NUL. */
const struct clew_moment *const *clew_trace_moments(const struct clew_trace *trace,
						    size_t *ret_count);
/* The logical spans that were joined from these live as long as the trace: `free_jobs` is called
 * before it is gone. */
struct clew_jobs;
void clew_trace_keep_jobs(struct clew_trace *trace, struct clew_jobs *jobs,
			  void (*free_jobs)(struct clew_jobs *jobs));
/* NULL: none were joined. */
const struct clew_jobs *clew_trace_jobs(const struct clew_trace *trace);

/*
 * The object that a sleep was seen on at the start or the stop of the recording, whichever
 * is later: the kernel's function, and the other ends of its descriptors. NULL:
 * no pass saw it.
 */
const struct clew_end *clew_trace_slept_on(const struct clew_trace *trace,
					   const struct clew_sleep *sleep, size_t *ret_count);
/*
 * The holders of the other end of `sleeper`'s object open in the same pass, in order of
 * task; a task with several descriptors is there several times. `listens`: who
 * has the socket at which that end is still to be accepted.
 */
const struct clew_end *clew_trace_end_holders(const struct clew_trace *trace,
					      const struct clew_end *sleeper, bool listens,
					      size_t *ret_count);

/*
 * Waits of which a switch is missing although no record was lost: some kernels hide the
 * switches of protected tasks from programs.
 */
uint64_t clew_trace_hidden(const struct clew_trace *trace);

/*
 * The same of a capture that was opened and of which nothing was read yet, without a
 * trace of it. 0 or -errno.
 */
int clew_count_hidden(struct clew_reader *reader, uint64_t *ret_count);

/* The pages that the builder forgot for want of room; none if a model was turned into the trace. */
struct clew_builder_forgotten clew_trace_forgotten(const struct clew_trace *trace);

/* The gaps that overlap an interval: their number, and the first one in *ret_first, if not NULL. */
size_t clew_trace_gaps(const struct clew_trace *trace, uint64_t from, uint64_t to,
		       const struct clew_gap **ret_first);

/* Bytes that the trace takes. */
size_t clew_trace_memory(const struct clew_trace *trace);

#endif
