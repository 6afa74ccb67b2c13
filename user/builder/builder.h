/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The builder's inside, shared by the files of user/builder only.
 *
 * A task's time is handed out once: `frontier` is the moment up to which its runs,
 * sleeps and ready stretches have been sent (or given up as unknown), and nothing
 * that begins before it is sent any more.
 */
#ifndef CLEW_BUILDER_BUILDER_H
#define CLEW_BUILDER_BUILDER_H

#include "base/map.h"
#include "base/vector.h"
#include "builder/build.h"
#include "builder/epoch.h"
#include "builder/page_queue.h"

/* How long a decision that later records may still change is put off, ns. */
#define BUILD_GRACE 100000000ull
/* How long a dead task's name is kept for those it woke, ns. */
#define BUILD_DEAD_GRACE 1000000000ull
/* Sleeps put off at once, and shared futexes remembered without waiters. */
#define BUILD_PENDING_MAX 65536u
#define BUILD_ALIAS_MAX	  4096u
/* How long such a futex is remembered, ns, and how many of its releases. */
#define BUILD_ALIAS_GRACE 1000000000ull
#define BUILD_ALIAS_LOG	  64u

/* Stands for a task that ran but whose serial could not be had. */
#define BUILD_UNKNOWN_TASK UINT32_MAX

enum task_state {
	TASK_UNSEEN,  /* no record told of it yet */
	TASK_UNKNOWN, /* something about it was lost */
	TASK_RUNNING,
	TASK_READY,
	TASK_SLEEPING,
	TASK_DEAD,
};

/* A wake, as far as a record tells. */
struct wake {
	uint64_t time; /* 0: no valid stamp */
	uint64_t object;
	uint32_t waker;
	uint32_t device;
	int32_t descriptor;
	uint8_t context;
	uint8_t flags;
	uint8_t operation;
	uint8_t object_kind;
	uint16_t call; /* the waker's */
	struct clew_cause cause;
	const struct clew_link *own; /* the sleeper's request that ended just before, where no cause
					is told; NULL none */
};

struct futex_wait;
struct worker;
struct ring_wait;
struct flush;

/* Steps of a wake at most, and further requests of one dependency. */
#define BUILD_LINKS 4
#define BUILD_AND   1024u
/* How long requests that ended and items that were begun are remembered, ns; and how many, of one
 * address or worker. */
#define BUILD_PAST	1000000000ull
#define BUILD_PAST_MOST 256u

struct links {
	uint32_t count;
	struct clew_link of[BUILD_LINKS];
};

struct task {
	uint32_t serial;
	uint8_t state;	 /* enum task_state */
	bool found;	 /* the state is a STATE record's and may prove wrong */
	bool open_start; /* the state held when the capture began */
	bool switched;	 /* a SWITCH record told of it */
	bool forked;	 /* it began in the capture */
	bool has_wait;
	bool throttled; /* its sleep is none: its group's quota, or its own runtime, was used up */
	bool kworker;
	bool stop_woken; /* stop_wake holds a wake whose switch-in the capture lacks */
	uint16_t cpu;
	uint16_t sleep_state;
	uint32_t call_id;
	uint32_t number; /* of the sleep it is in */
	uint64_t since;
	uint64_t refilled; /* throttled: when its group's quota was enough for all again, 0 not yet
			    */
	uint64_t switched_in; /* when it last came on a CPU, 0 unknown */
	uint64_t frontier;
	uint64_t released_at; /* raw time of the unlock that ended its last sleep, 0 none */
	uint64_t resumed;     /* when it last came on a CPU after a sleep, or unseen */
	uint64_t call_run;    /* that of the call at hand, when that first slept: it may have been
				 preempted since */
	struct futex_wait *futex_wait;
	struct worker *worker;	     /* if it ever began a work item */
	struct ring_wait *ring_wait; /* an ended sleep that is kept back */
	struct flush *flush;	     /* what it writes back, if it ever did, or syncs */
	struct clew_link *ended;     /* its requests that ended while the call it is in slept */
	uint32_t ended_count, ended_capacity;
	struct clew_wait wait;

	uint32_t process;
	uint32_t pid_namespace;
	uint32_t tid; /* in its own pid namespace */
	uint32_t global_tid;
	uint64_t start_time;
	char comm[CLEW_COMM_SIZE];

	struct wake stop_wake;
	struct task *next; /* the free list, or the queue of the dead */
};

/* Tasks by serial: pages of pointers, freed with their last task. */
#define TASK_PAGE_BITS 10
struct task_page {
	unsigned used;
	struct task *tasks[1 << TASK_PAGE_BITS];
};

struct task_table {
	struct task_page **pages;
	size_t page_count;
	size_t count;
	size_t pages_used;
	struct task *free;
	size_t free_count;
	struct task *dead_first, *dead_last; /* in order of death; `since` is when */
	struct map tids;	/* (pid namespace, tid in it) -> serial of the living */
	struct map global_tids; /* tid in the initial namespace -> serial of the living */
};

struct cpu {
	uint32_t current;
	bool known; /* `current` has run since `since` */
	bool seen;  /* a record or a gap told of this CPU */
	bool open_start;
	uint64_t since;
	uint64_t last; /* time of its last SWITCH record */
};

/* A release of a futex: `releaser` held it up to `at` and woke `woken`. */
struct release {
	uint64_t at;
	uint64_t again; /* when `woken` slept on the futex again, 0 it did not */
	uint32_t releaser;
	uint32_t woken;
	uint32_t owner; /* task that held the futex at `again` */
	bool many;	/* one of several wakes of one call */
};

struct futex_key {
	uint32_t process;
	uint64_t address;
	struct futex_key *next;
};

struct wait_list {
	struct futex_wait *first, *last;
};

/*
 * A futex that has holders and that somebody waits for. `active` waits are in
 * order of start; `pending` ones have ended but their holders may still change.
 */
struct futex {
	struct futex_key *keys;
	unsigned key_count;
	struct wait_list active, pending;
	struct release *log; /* in order of `at` */
	size_t log_first, log_count, log_capacity, log_prune_at;
	struct futex *idle_next, *idle_previous; /* an alias without waiters */
	uint64_t idle_since;
	bool idle;
	bool shared;
};

struct futex_wait {
	struct futex *futex;
	uint32_t owner;	  /* task that held it at `read_at`, or CLEW_NO_TASK */
	uint32_t process; /* main thread of that task's process where no more is known, or
			     CLEW_NO_TASK */
	bool ended;
	bool sure; /* who releases it has held it */
	uint64_t start;
	uint64_t read_at;
	uint64_t deadline;
	struct clew_sleep sleep;			/* when ended */
	struct clew_link *links;			/* the sleep's */
	struct futex_wait *next, *previous;		/* in its futex's list */
	struct futex_wait *queue_next, *queue_previous; /* in the queue of the pending */
};

struct futex_table {
	struct map keys; /* (address, process) -> struct futex * */
	struct futex *free_futexes;
	struct futex_wait *free_waits;
	struct futex_wait *queue_first, *queue_last; /* pending, in order of deadline */
	size_t pending;
	struct futex *idle_first, *idle_last;
	size_t idle_count;
	size_t memory;
	struct clew_holder *holders; /* for one sleep at a time */
	size_t holder_capacity;
};

/* Why something is written, as of the moment its bio was queued. */
struct why_written {
	uint32_t task;	/* who made it necessary, CLEW_NO_TASK none or unknown */
	uint32_t pass;	/* number of the pass over one file that it is of, 0 none */
	uint8_t reason; /* enum clew_request_reason */
};

/* A stretch of a file in a bio. */
struct part {
	struct file_range range;
	uint32_t set; /* of a block of metadata: who touched it since it was last written */
	uint32_t at;  /* position in the bio, bytes */
};

/* The pages of a bio on their way, until what is to be known of them is. */
struct flight {
	struct flight *next;			  /* of its request */
	struct flight *list_next, *list_previous; /* all of them */
	uint64_t queued;
	uint64_t landed; /* 0: it is on its way still; CLEW_TIME_OPEN: its end will not be seen */
	uint64_t sector;
	uint32_t bytes;
	uint32_t task;
	uint32_t disk;
	uint32_t request; /* number, CLEW_NO_NUMBER none yet */
	uint32_t part_count, part_capacity;
	struct part *parts;
	struct why_written why;
	bool write;
	bool metadata; /* pages of a disk with a journal: who dirtied them says nothing */
	bool direct;   /* from or to the task's own memory */
	bool squeezed; /* its pages are more than its bytes: compressed, and all of them lie where
			  it begins */
};

enum flight_stage { FLIGHT_TAKES_OFF, FLIGHT_LANDS, FLIGHT_SETTLED };

/* Extents and flights wait until nothing earlier can come any more. */
#define BUILD_PAGES_GRACE 1000000000ull

struct page_table {
	struct epoch_table epochs;
	struct page_queue queue;
	struct clew_extent *free_extents; /* linked through `inode` */
	struct flight *free_flights, *flights;
	struct map sent;       /* (pass, writer) -> 1: that edge has been sent */
	struct vector writers; /* uint32_t; of one finding */
	size_t memory;
};

/* Files behind loop devices, and who wrote what went there. See backing.c. */
struct backing_table {
	struct clew_pages pending; /* names a place for a request that comes next; bio 0: none */
	struct map files;	   /* (inode, device) -> its place in `backings` */
	struct map disks;	   /* likewise of a loop device */
	struct backing *backings;
	uint32_t count, capacity;
	struct map places; /* (4096 bytes of a disk, disk) -> newest of its origins */
	struct backing_origin *origins;
	uint32_t origin_count, origin_capacity, free_origin;
};

/* A set of tasks wrote what an upper request carried there. */
struct build_origin {
	uint64_t sector;
	uint64_t bytes;
	uint64_t queued;
	uint64_t landed;
	uint32_t set;
};

/* A task that dirtied much of a file system lately. */
#define BUILD_DIRTIERS 8u
struct dirtier {
	uint32_t task;
	uint64_t bytes; /* fading */
	uint64_t at;
};

struct writeback_table {
	struct map orders; /* address of work -> index of a struct order */
	struct vector all_orders;
	struct map wakes; /* disk -> index of a struct background */
	struct vector all_wakes;
	struct map disks;   /* file system -> the disk its files are written to */
	struct map systems; /* file system -> index of a struct dirty_system */
	struct vector all_systems;
	uint32_t passes;
	uint32_t choices;
	size_t memory;
};

struct journal_table {
	struct map systems;	   /* file system -> 1: it has one */
	struct map touched;	   /* (4096 bytes of a disk, disk) -> transaction, set of those that
				      touched it since it was last written */
	struct map touched_before; /* the same of those that did so before the commit that goes on
				      began, if others did since */
	struct map transactions;   /* (transaction, file system) -> struct transaction * */
	struct transaction *first, *last;
	size_t count;
	size_t memory;
};

/* A bio that is under way, by its address. */
struct bio {
	uint64_t address;
	uint64_t sector;
	uint64_t queued;
	uint64_t inode, index;
	uint32_t bytes;
	uint32_t device;
	uint32_t operation;
	uint32_t file_device;
	uint32_t task;
	uint32_t upper;	       /* number of the request above, CLEW_NO_NUMBER none */
	uint32_t number;       /* its own, where its device has no requests */
	struct flight *flight; /* its pages, NULL none known */
	struct why_written why;
	struct bio *next;  /* the next one at this sector of this device, or in the free list */
	bool queued_again; /* the rest of a bio that was split */
	bool swap;	   /* pages are swapped in or out with it */
};

/* A request, by its address: the latest there, and behind it those before. */
struct request {
	struct clew_block_request block;
	uint64_t address;
	uint64_t allocated;
	uint64_t first_completed;
	uint64_t flushed;	/* when a cache flush that it waits for was issued */
	uint32_t done;		/* bytes */
	uint32_t covered;	/* bytes that were asked below */
	uint64_t orphan;	/* address of its first bio while that was not told of */
	struct flight *flights; /* of its bios */
	uint32_t upper;
	bool ended;
	bool merged;			 /* into another: it is none any more */
	bool listed;			 /* among those of its device that are issued */
	struct request *older, *newer;	 /* at its address */
	struct request *oldest;		 /* of the newest one at an address: those behind it .. */
	uint32_t older_count;		 /* .. and how many they are */
	struct request *next, *previous; /* those of its device that are issued and not ended */
};

struct disk_issue {
	uint64_t at;
	uint32_t task;
};

#define DISK_ISSUES 16u
struct disk {
	uint32_t device;
	uint32_t flush_task; /* who last asked for a flush of its cache */
	struct why_written flush_why;
	uint64_t flush_queued;
	uint64_t flush_issued; /* the last time */
	bool flush_wanted;     /* since then */
	unsigned next_issue;
	struct disk_issue issues[DISK_ISSUES]; /* the latest, of a loop device */
	struct request *first, *last;	       /* issued, not ended */
	uint32_t orphans;		       /* of those */
};

struct block_table {
	struct map bios;	/* address -> struct bio * */
	struct map places;	/* (sector, device) -> the newest struct bio * that begins there */
	struct map requests;	/* address -> struct request * */
	struct map disk_places; /* device -> its place in `disks` */
	struct disk *disks;
	size_t disk_count, disk_capacity;
	struct bio *free_bios;
	uint32_t numbers;
	size_t memory;
};

struct work_table {
	struct map loops;	 /* function -> 1: it serves a loop device */
	struct map loop_devices; /* address of an item -> device it serves */
	size_t memory;
};

struct ring_submission {
	uint64_t at;
	uint64_t ring;
	uint32_t task;
};

struct ring_completion {
	uint64_t at; /* when it was posted */
	uint64_t ring;
	uint32_t task; /* who posted it */
	struct ring_submission submission;
};

#define BUILD_RING_LOG 256u
struct ring_table {
	struct map submissions; /* (address of the request or user_data, ring) -> struct
				   ring_submission * */
	struct ring_completion log[BUILD_RING_LOG];
	uint32_t next;
	size_t memory;
};

struct clew_builder {
	struct clew_builder_options options;
	struct block_table blocks;
	struct work_table works;
	struct ring_table rings;
	struct page_table pages;
	struct backing_table backings;
	struct writeback_table writebacks;
	struct journal_table journals;
	struct map function_kinds; /* address or hash of a function's name -> kind of waits in it */
	struct map quotas;	   /* cgroup -> struct quota */
	struct vector links;	   /* struct clew_link; of one sleep at a time */
	struct clew_finding_taker *takers;
	size_t taker_count;
	uint32_t wanted;       /* tags that some taker wants */
	uint64_t needed_kinds; /* kinds of records that some wanted finding depends on */
	struct task_table tasks;
	struct futex_table futexes;
	struct cpu *cpus;
	size_t cpu_count;
	uint32_t sleep_count;
	uint64_t loss_to;     /* when the last gap ended, 0 none */
	uint64_t last_switch; /* time of the last SWITCH record */
	uint64_t now;
	int error; /* what a taker returned, or -ENOMEM */
};

/* ---- emit.c ---- */

/* Tags of findings that follow from what is known of pages. */
#define BUILD_PAGE_TAGS                                                                            \
	(CLEW_FINDING_BIT(CLEW_FINDING_PAGES) | CLEW_FINDING_BIT(CLEW_FINDING_EDGE) |              \
	 CLEW_FINDING_BIT(CLEW_FINDING_TOUCH))
/* Tags of findings that follow from what a sleep was for and what ended it. */
#define BUILD_SLEEP_TAGS                                                                           \
	(CLEW_FINDING_BIT(CLEW_FINDING_SLEEP) | CLEW_FINDING_BIT(CLEW_FINDING_EDGE))

/* Fills in the builder's takers and what they need. 0 or -ENOMEM. */
int build_takers_set(struct clew_builder *builder, const struct clew_finding_taker *takers,
		     size_t count);
void build_takers_done(struct clew_builder *builder);
/* Hands a finding to all takers that want it. */
int build_emit(struct clew_builder *builder, struct clew_finding finding);

static inline bool build_wants(const struct clew_builder *builder, enum clew_finding_tag tag)
{
	return builder->wanted & CLEW_FINDING_BIT(tag);
}

static inline bool build_needs(const struct clew_builder *builder, unsigned kind)
{
	return kind >= 64 || builder->needed_kinds >> kind & 1;
}

/* ---- tasks.c ---- */

/* A serial that names no task: the idle task, or one that the kernel side could not tell. */
static inline bool build_nobody(uint32_t serial)
{
	return serial == CLEW_NO_TASK || serial == BUILD_UNKNOWN_TASK;
}

/* NULL: never seen, or gone. */
struct task *build_task_find(const struct clew_builder *builder, uint32_t serial);
/* Makes it if need be; NULL: no memory, or nobody. */
struct task *build_task_get(struct clew_builder *builder, uint32_t serial);
int build_task_identity(struct clew_builder *builder, const struct clew_task_record *record);
void build_task_dead(struct clew_builder *builder, struct task *task);
void build_task_forget_dead(struct clew_builder *builder, uint64_t before);
/* The living task that `waiter`, blocked, would mean by a tid. */
uint32_t build_task_resolve(const struct clew_builder *builder, const struct task *waiter,
			    uint32_t tid, bool shared);
/* The living task of a tid in the initial namespace. */
uint32_t build_task_by_tid(const struct clew_builder *builder, uint32_t tid);
void build_tasks_done(struct clew_builder *builder);
size_t build_tasks_memory(const struct clew_builder *builder);

/* ---- switch.c ---- */

int build_feed_switch(struct clew_builder *builder, const struct clew_switch *record);
int build_feed_state(struct clew_builder *builder, const struct clew_switch *record);
/* NULL: no memory. */
struct cpu *build_cpu(struct clew_builder *builder, uint16_t number);
/* What happened on a CPU after `sure` is not known. */
int build_lose_cpu(struct clew_builder *builder, struct cpu *cpu, uint64_t sure);
/* `task` NULL: the CPU was idle. */
int build_send_run(struct clew_builder *builder, struct task *task, uint16_t cpu, uint64_t start,
		   uint64_t end, enum clew_run_end ended, bool open_start);
int build_send_ready(struct clew_builder *builder, struct task *task, uint64_t start, uint64_t end);

/* ---- life.c ---- */

int build_feed_identity(struct clew_builder *builder, const struct clew_header *record);
int build_feed_lock(struct clew_builder *builder, const struct clew_lock *record);

/* ---- wake.c ---- */

#define BUILD_STATE_INTERRUPTIBLE 1u   /* of clew_switch.prev_state */
#define BUILD_STATE_STOPPED	  0xcu /* stopped or traced */
#define BUILD_STATE_TRACED	  0x8u

/* A wake that says nothing. */
extern const struct wake build_no_wake;
struct wake build_wake_of(const struct clew_builder *builder, const struct task *task,
			  const struct clew_switch *record);
/* The type of the edge that this wake is to a sleep of that kind, in that scheduler state. */
enum clew_edge_type build_edge_type(enum clew_wait_kind kind, const struct clew_wait *wait,
				    unsigned state, const struct wake *wake);
/* A wake that only says when, from no task. */
struct wake build_timed_wake(uint64_t time);
/* Whether who releases what a wait is for is known to have had it: of a kernel lock only if that
 * keeps its owner. */
bool build_owner_known(const struct clew_wait *wait);
/* Emits a finished sleep. */
int build_send_sleep(struct clew_builder *builder, struct clew_sleep *sleep);
bool build_dropped(const struct clew_builder *builder, enum clew_edge_type type);
int build_send_edge(struct clew_builder *builder, struct clew_edge *edge);

/*
 * Ends the sleep a task is in. `end` is CLEW_TIME_OPEN while it sleeps on at the
 * capture's end. The sleep is sent, or handed to futex.c that sends it later.
 */
int build_end_sleep(struct clew_builder *builder, struct task *task, const struct wake *wake,
		    uint64_t end, uint64_t switch_in, bool blind);
/* A sleep of which only the wake is known. */
int build_unseen_sleep(struct clew_builder *builder, struct task *task, const struct wake *wake,
		       uint64_t start, uint64_t switch_in);
/* A wake that ended a sleep nothing is known of. */
int build_lone_wake(struct clew_builder *builder, const struct task *task, const struct wake *wake);

/* ---- futex.c ---- */

int build_futex_wait(struct clew_builder *builder, struct task *task);
/* It was not asleep after all. */
void build_futex_cancel(struct clew_builder *builder, struct task *task);
/* Takes over an ended sleep of a task with a futex_wait; an open one is decided at once. */
int build_futex_ended(struct clew_builder *builder, struct task *task,
		      const struct clew_sleep *sleep, const struct wake *wake);
/* Sends what waited long enough, or everything. */
int build_futex_expire(struct clew_builder *builder, uint64_t now, bool all);
void build_futexes_done(struct clew_builder *builder);
size_t build_futexes_memory(const struct clew_builder *builder);

/* ---- cause.c ---- */

/* What a wake came from, from the wake back. A cause that nothing is known of leaves nothing. */
void build_links(struct clew_builder *builder, const struct wake *wake, struct links *ret_links);
/* The same of a cause that was met at `at`. */
void build_cause_links(struct clew_builder *builder, const struct clew_cause *cause, uint64_t at,
		       struct links *links);

/* ---- work.c ---- */

int build_feed_work(struct clew_builder *builder, const struct clew_work *record);
/* What led to the item that a worker was at then. False: no item is known. */
bool build_work_links(const struct clew_builder *builder, const struct task *worker, uint64_t at,
		      struct links *links);
/* The loop device that a task serves now, 0 none. */
uint32_t build_loop_device(const struct clew_builder *builder, const struct task *task);
void build_worker_done(struct clew_builder *builder, struct task *task);
void build_works_done(struct clew_builder *builder);

/* ---- block.c, request.c ---- */

int build_feed_bio(struct clew_builder *builder, const struct clew_bio *record);
int build_feed_request(struct clew_builder *builder, const struct clew_request *record);
/* The request at an address that had completed, in part at least, at `at`; NULL unknown. */
const struct request *build_request_at(const struct clew_builder *builder, uint64_t address,
				       uint64_t at);
struct clew_link build_request_link(const struct request *request, uint64_t at);
/* The loop device's request whose item a task issued last before `at`; its device, 0 none. */
uint32_t build_issued_before(const struct clew_builder *builder, uint32_t task, uint64_t at);
/* Sends all that is not ended. */
int build_blocks_finish(struct clew_builder *builder);
void build_blocks_done(struct clew_builder *builder);

/* ---- ring.c ---- */

int build_feed_ring(struct clew_builder *builder, const struct clew_ring *record);
/* Who submitted what this wake of a waiter on `ring` completed; false: no completion tells it yet.
 */
bool build_ring_submission(const struct clew_builder *builder, uint64_t ring,
			   const struct wake *wake, struct ring_submission *ret);
/* Keeps a sleep back until the woken task has posted its completions. */
int build_ring_keep(struct clew_builder *builder, struct task *task,
		    const struct clew_sleep *sleep);
int build_ring_release(struct clew_builder *builder, struct task *task);
void build_rings_done(struct clew_builder *builder);

/* ---- pages.c ---- */

int build_feed_extent(struct clew_builder *builder, const struct clew_extent *record);
int build_feed_pages(struct clew_builder *builder, const struct clew_pages *record);
/* The pages of a bio that is queued; *ret_flight NULL: it has none that are known. */
int build_flight_new(struct clew_builder *builder, const struct clew_bio *record,
		     const struct why_written *why, struct flight **ret_flight);
/* Its first bytes go on in another bio. */
int build_flight_split(struct clew_builder *builder, struct flight *whole, uint32_t bytes,
		       struct flight **ret_front);
/* It is over at that moment, CLEW_TIME_OPEN: unseen. */
int build_flight_land(struct clew_builder *builder, struct flight *flight, uint64_t at);
/* Decides what `now` can be decided, or everything. */
int build_pages_drain(struct clew_builder *builder, uint64_t now, bool all);
/* Something was lost. */
int build_pages_lost(struct clew_builder *builder);
void build_pages_done(struct clew_builder *builder);
size_t build_pages_memory(const struct clew_builder *builder);

/* A request of direct I/O on a file behind a loop device: its origins are known a little later. */
int build_flight_direct(struct clew_builder *builder, const struct clew_block_request *block,
			uint64_t offset);

/* ---- backing.c ---- */

bool build_is_backing(const struct clew_builder *builder, uint64_t inode, uint32_t device);
/* Whether a disk may be one with a file behind it. */
bool build_is_backed(uint32_t disk);
void build_feed_backing(struct clew_builder *builder, const struct clew_pages *record);
int build_backing_issued(struct clew_builder *builder, const struct clew_request *record);
int build_origin_add(struct clew_builder *builder, uint32_t disk,
		     const struct build_origin *origin);
/* Who is behind a page of such a file in a bio that was queued `at`; 0: nobody is known. */
int build_origin_take(struct clew_builder *builder, const struct file_range *page, uint64_t at,
		      uint32_t *ret_set);
void build_backings_done(struct clew_builder *builder);
size_t build_backings_memory(const struct clew_builder *builder);

/* ---- writeback.c ---- */

int build_feed_writeback(struct clew_builder *builder, const struct clew_writeback *record);
/* Why a bio is queued, by what its task is at. */
struct why_written build_why_written(struct clew_builder *builder, const struct clew_bio *record);
/* A task begins, or ends, to commit a transaction of a journal, 0 none. */
int build_committing(struct clew_builder *builder, uint32_t task, bool begins);
/* It awaits that transaction. */
int build_awaits(struct clew_builder *builder, uint32_t task, uint64_t transaction,
		 uint32_t device);
bool build_awaited(const struct task *task, uint64_t *ret_transaction, uint32_t *ret_device);
int build_dirtied(struct clew_builder *builder, const struct clew_extent *record);
/* A task is made to wait, from now on, as too much is dirty. */
int build_throttled(struct clew_builder *builder, const struct task *task);
/* The disk that files of a file system are on, 0 unknown. */
uint32_t build_disk_of(const struct clew_builder *builder, uint32_t device);
/* A worker begins another item. */
void build_flush_next(struct task *task);
void build_flush_done(struct clew_builder *builder, struct task *task);
void build_writebacks_done(struct clew_builder *builder);
size_t build_writebacks_memory(const struct clew_builder *builder);

/* ---- quota.c ---- */

/* A task leaves its CPU for want of quota. */
int build_quota_used_up(struct clew_builder *builder, struct task *task);
int build_feed_refill(struct clew_builder *builder, const struct clew_refill *record);
/* Until when that kept it off, as it comes on a CPU now. */
uint64_t build_quota_end(struct clew_builder *builder, const struct task *task);
void build_quotas_done(struct clew_builder *builder);
size_t build_quotas_memory(const struct clew_builder *builder);

/* ---- journal.c ---- */

int build_feed_journal(struct clew_builder *builder, const struct clew_journal *record);
/*
 * Whether a bio's pages are a disk's own, such as blocks of metadata; *ret_journaled: and
 * a journal's, of which who makes them dirty says nothing.
 */
bool build_is_disk_page(const struct clew_builder *builder, uint64_t inode, uint32_t file_device,
			uint32_t disk, bool *ret_journaled);
/* Who touched a page of metadata since this was last asked. */
uint32_t build_touched_by(struct clew_builder *builder, uint32_t device, uint64_t offset);
/* The evidence of a wake of a waiter for a journal by who commits: exact if it ended the
 * transaction awaited. */
int build_journal_evidence(const struct clew_builder *builder, const struct task *waiter,
			   uint32_t waker);
void build_journals_done(struct clew_builder *builder);
size_t build_journals_memory(const struct clew_builder *builder);

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

#endif
