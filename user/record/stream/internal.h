/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Declarations that the parts of the recorder share. */
#ifndef CLEW_RECORD_STREAM_INTERNAL_H
#define CLEW_RECORD_STREAM_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include <clew/kernel/maps.h>

#include "base/vector.h"
#include "record/stream/recording.h"
#include "record/stream/refusals.h"

#define TAKERS_MOST 5 /* the writer included */

struct bpf_object;
struct bpf_program;
struct clew_announcer;
struct clew_sleepers;
struct clew_bpf;
struct ring_buffer;

/* The file that a stream's records go to, and how many of them went there. A keyframe is a further
 * outlet to the same file. */
struct outlet {
	struct clew_writer *writer;
	uint64_t names; /* in outlets of different numbers everything is named again */
	uint64_t read[CLEW_KIND_COUNT];
	uint64_t made[CLEW_KIND_COUNT]; /* records made by clew itself, not by a program */
};

/* `next.writer` is NULL but while the recording goes over to another file: records from `boundary`
 * on are that file's. */
struct outlets {
	struct outlet now, next;
	uint64_t boundary;
};

/*
 * Records taken from a ring buffer that are kept until all older slots are
 * read.
 */
struct pending {
	char *data;
	size_t size, room;
	size_t old; /* bytes of `data` that an earlier round left */
};

/*
 * One CPU's rings, and the records that come from them. Its drain's lock
 * protects it.
 */
struct stream {
	struct clew_recorder *recorder;
	struct drain *drain;
	struct pending pending;
	uint64_t named[1024]; /* kernel addresses whose names were passed on, by hash .. */
	uint64_t named_in;    /* .. for the outlets of this number */
	unsigned cpu;
	int ring;	    /* map */
	uint32_t lost;	    /* of the last record */
	uint64_t last_time; /* of the last record */
	uint64_t last_gap;  /* when records were last found to be lost, 0 never */
	size_t fill;	    /* bytes that this round found in the ring buffer */
	size_t slot_fill;   /* slots that this round found */
	uint64_t horizon;   /* of the last round, see struct clew_round */
	struct outlets outlets;
};

struct drain {
	struct clew_recorder *recorder;
	struct ring_buffer *rings;
	int urgent;		/* epoll descriptor: ready when a program woke one of the rings */
	struct stream *streams; /* the streams of this drain, stream_count of them */
	unsigned stream_count;
	pthread_mutex_t lock; /* protects the rings, the streams, the sleepers and `pause` */
	struct clew_sleepers *sleepers; /* NULL: there are no keyframes */
	uint64_t pause;			/* ns that the polling thread sleeps after a round */
	_Atomic uint64_t polled;	/* ns: when that thread last ended a round, 0 not yet */
	pthread_t threads[2];
	unsigned thread_count;
};

/* Sampled run time of the programs. */
struct cost_sampler {
	uint64_t begun; /* ns, start of the current sample */
	uint64_t next;
	uint64_t sampled_ns; /* wall time that samples covered */
	bool any;
	struct program_cost {
		int descriptor;
		int kind; /* kind of record whose count is the number of its runs, -1 none */
		uint64_t start_time, start_count;
		uint64_t time, count;
	} programs[160];
	unsigned program_count;
};

struct clew_recorder {
	struct clew_bpf *bpf;
	struct clew_writer *writer;	      /* of the current file */
	struct clew_recorder_options options; /* strings and layers only */
	struct clew_record_taker takers[TAKERS_MOST];
	unsigned taker_count;
	struct clew_interrupt *interrupt;    /* NULL: it records, or nothing is watched */
	struct clew_kernel_symbols *symbols; /* NULL: the kernel hides them */
	struct clew_cpu_state *cpus;	     /* mapped from the kernel, cpu_count of them */
	size_t cpus_size;
	struct clew_switch_slot *slots; /* mapped from the kernel, switch_slots a CPU */
	size_t slots_size;
	uint32_t switch_slots;
	size_t records_size; /* bytes of a CPU's ring buffer */
	unsigned cpu_count;
	struct stream *streams;
	struct drain *drains;
	unsigned drain_count;
	size_t ring_size; /* bytes of a CPU's slots and ring buffer together */
	uint64_t pause_drain;
	atomic_bool stopping;
	int stop_event;	     /* event descriptor, ready once `stopping` is set */
	atomic_bool started; /* the programs were enabled */
	/*
	 * Set between start and stop, when all records of the user stream have the time at
	 * which they are put: the first drain then ends that stream's rounds. It is cleared
	 * before the end's time is read from the clock.
	 */
	atomic_bool user_current;
	pthread_mutex_t user_lock; /* for records and rounds of the user stream */
	struct outlets user;	   /* of the user stream */
	uint64_t start;
	struct clew_ledger_row *counted; /* by the ledgers of earlier files; NULL: there are none */
	struct clew_recorder_summary summary; /* of the files that were ended */
	char probe_costs[80];		      /* the file's, "" none */
	char recording[40]; /* the same in all files of a recording, "": there is one file */
	uint64_t files;	    /* that were ended */
	uint64_t names;	    /* the number of the last outlets; atomic */
	bool states_again;  /* it says what is known again and again, for files or keyframes */
	uint64_t next_keyframe;
	struct vector again;  /* records that each further file begins with, see user_stream.c */
	struct vector hidden; /* tasks that hidden.c found */
	uint64_t start_cpu_time;
	uint64_t next_clock;
	struct cost_sampler cost;
	const struct clew_layers *layers; /* NULL: there are none */
	struct clew_announcer *announcer; /* NULL: no calls are announced on this machine */
	struct clew_tracer *tracer;	  /* NULL: no functions are recorded */
	const char *page_cache;		  /* "on", "off", or "refused" by the kernel */
	const char *stacks_kept;	  /* in the same words */
	struct clew_refusals refusals;	  /* programs that the kernel does not take */
	char *without;			  /* what is lost with them, in words; NULL: nothing */
	unsigned modules; /* clew_programs_modules() when programs were last loaded; ~0: do not look
			     for new modules */
	struct clew_bpf *more[4]; /* programs for modules that were loaded during the recording */
	unsigned more_count;
	struct bpf_link *stores[2];    /* see stores.c; NULL: not attached */
	struct clew_tick_clock *ticks; /* see ticks.c; NULL: there are none */
	bool ticks_vary;
	unsigned ticks_varied;		  /* how often */
	struct clew_stacks *stacks;	  /* NULL: no stacks are taken */
	struct clew_addresses *addresses; /* NULL: none is named */
	bool verify;
	uint64_t user_lost[CLEW_KIND_COUNT]; /* records of that stream left out for their number */
	uint64_t missed_before[CLEW_KIND_COUNT]; /* clew_missed_runs() at the start */
};

/* recorder.c: waits until the programs that run now have ended. */
void clew_wait_for_programs(void);

/* clock.c: CLOCK_MONOTONIC in the steps in which the programs read it, and this process's CPU time;
 * ns. */
uint64_t clew_now(void);
uint64_t clew_cpu_time(void);

/* recorder.c: the size of each CPU's two rings together for the wanted one, 0: as usual. */
size_t clew_ring_size(size_t wanted, unsigned cpus);

/* Opens the kernel side, for this process's capabilities. NULL: errno says why. */
struct clew_bpf *clew_load_open(void);
/* load.c: opens, loads and attaches the kernel side, and maps its rings. */
int clew_load(struct clew_recorder *recorder, const struct clew_recorder_options *options,
	      struct clew_message *message);
/*
 * load.c: loads and attaches what the kernel takes of the kernel side: recorder->bpf, which is to
 * be destroyed after an error, too, and recorder->ticks. recorder->refusals has what it refuses.
 * `recorder` needs its cpu_count and ring_size. Recordings and `clew doctor` rest on this.
 */
int clew_load_programs(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		       struct clew_message *message);
/*
 * attach.c: attaches the loaded programs of an object that need no target; starts the ticks. 0, 1:
 * the kernel refused some, which were added to the refusals, or -errno.
 */
int clew_attach(struct clew_bpf *bpf, struct clew_refusals *refusals);
int clew_attach_ticks(struct clew_recorder *recorder);
/* load.c: says what is lost with the programs that the kernel refused, and sets recorder->without.
 * 0 or -ENOMEM. */
int clew_say_without(struct clew_recorder *recorder);
/* recorder.c: -EINTR, with a message, once the end is wished for while the recording begins; else
 * 0. */
int clew_recorder_check_ending(struct clew_message *message);
/* load.c: says that the kernel refused `what` with this error. */
int clew_say_refused(struct clew_message *message, const char *what, int error);

/* meta.c: what the capture says of the machine and of the options; a number; a reading of the
 * clocks. 0 or the file's error. */
int clew_meta_write(const struct clew_recorder *recorder, struct clew_writer *writer);
int clew_meta_number(struct clew_writer *writer, const char *key, uint64_t value);
int clew_meta_clock(struct clew_recorder *recorder, struct clew_writer *writer);

/* stream.c: passes on a record of the ring buffer, with a GAP before it if records were lost. */
void clew_stream_pass(struct stream *stream, const void *data, size_t size);
/* stream.c: passes on a slot. The record may take the slot `next`, too; returns how many it took.
 */
unsigned clew_stream_pass_slot(struct stream *stream, const struct clew_switch_slot *slot,
			       const struct clew_switch_slot *next);
/* stream.c: a GAP from the stream's last record to `to`. */
void clew_stream_gap(struct stream *stream, uint64_t to, uint32_t count);

#define CLEW_URGENT_SHARE                                                                          \
	4 /* a program wakes the urgent thread when 1/4 of a ring buffer is full */

/* drain.c */
void clew_drain_sizes(struct clew_recorder *recorder); /* before clew_load() */
int clew_drain_open(struct clew_recorder *recorder, struct clew_message *message);
/*
 * One round; the caller holds the lock. The last round keeps no records for a
 * next one.
 */
void clew_drain_round(struct drain *drain, bool last);
/*
 * After the last round: passes on what is still open in the kernel, and GAPs
 * for the last losses.
 */
void clew_drain_end(struct clew_recorder *recorder);
void clew_drain_close(struct clew_recorder *recorder);

/* drain_threads.c: gives the calling thread a real-time policy. 0 or -errno. */
int clew_go_first(void);
int clew_drain_start(struct clew_recorder *recorder, struct clew_message *message);
/* Ends the threads, which empty the rings first, and the stream of each CPU. */
void clew_drain_stop(struct clew_recorder *recorder);

/*
 * takers.c: a record, the end of a round, the start and the end of the recording for all
 * takers. Put: 0 or the first error that one of them met.
 */
void clew_takers_add_writer(struct clew_recorder *recorder);
int clew_takers_add(struct clew_recorder *recorder, const struct clew_record_taker *takers,
		    size_t count);
void clew_takers_begin(const struct clew_recorder *recorder, uint64_t start);
int clew_takers_put(const struct clew_recorder *recorder, unsigned stream, const void *record,
		    size_t size);
void clew_takers_round(const struct clew_recorder *recorder, unsigned stream,
		       const struct clew_round *round);
void clew_takers_end(const struct clew_recorder *recorder, uint64_t end);

/* iterate.c: one pass over all tasks. 0 or -errno. */
int clew_iterate_tasks(struct clew_recorder *recorder, enum clew_pass which,
		       struct clew_message *message);
/* iterate.c: all that an iterator writes, which the caller frees. 0 or -errno. */
int clew_iterate_read(const struct bpf_program *program, char **ret_data, size_t *ret_size);

/*
 * ends.c: puts what tasks sleep on now, and who has the other ends of it open.
 * 0 or -errno.
 */
int clew_ends_find(struct clew_recorder *recorder, bool stop, struct clew_message *message);

/*
 * hidden.c: identifies tasks that /proc shows and the iterator does not.
 * `known`: the tids that the iterator found, in order. 0 or the file's error.
 */
int clew_identify_hidden(struct clew_recorder *recorder, const uint32_t *known, size_t count);
/* Identifies those that were found then and still live, for a further file. */
int clew_identify_hidden_again(struct clew_recorder *recorder);

/* takers.c: the outlets of a stream, and the one of them for a record of that time. */
struct outlets *clew_outlets_of(struct clew_recorder *recorder, unsigned stream);
static inline struct outlet *clew_outlet(struct outlets *outlets, uint64_t time)
{
	return outlets->next.writer && time >= outlets->boundary ? &outlets->next : &outlets->now;
}

/* Bytes that all names may take together. */
static inline size_t clew_names_most(const struct clew_recorder *recorder)
{
	return recorder->options.names_most ?: CLEW_NAMES_MOST;
}

/* recorder.c: says that a file cannot be written. `what`: its name, or words for it. */
int clew_say_unwritable(const struct clew_recorder *recorder, struct clew_message *message,
			const char *what, int error);

/* user_stream.c: a record for the user stream. 0 or the first error of a taker. */
int clew_put_user(struct clew_recorder *recorder, const void *record, size_t size);
/* user_stream.c: the same, while programs record; sets the record's time and CPU. */
int clew_put_user_now(struct clew_recorder *recorder, struct clew_header *record, size_t size);
/* user_stream.c: the same, and each further file of the recording begins with the record, too. */
int clew_put_user_kept(struct clew_recorder *recorder, struct clew_header *record, size_t size);
/* user_stream.c: puts those records once more. */
int clew_put_user_again(struct clew_recorder *recorder);
/* Forgets kept records for which `gone` is true. */
void clew_forget_user_kept(struct clew_recorder *recorder,
			   bool (*gone)(void *context, const struct clew_header *record),
			   void *context);
/*
 * user_stream.c: ends a round of the user stream. No later record of it may be
 * older than `now`.
 */
void clew_user_round(struct clew_recorder *recorder, uint64_t now, bool flush);
/* user_stream.c: ends a round unless a thread is putting a record, for which it does not wait. */
void clew_user_try_round(struct clew_recorder *recorder, uint64_t now);
/*
 * user_stream.c: puts the text of a hash, cut to the size of a record. 0 or the
 * file's error.
 */
int clew_put_text(struct clew_recorder *recorder, uint64_t hash, const char *text, uint64_t time);

/* user_stream.c: puts the names of the kernel addresses of a wait. 0 or the file's error. */
int clew_name_function(struct clew_recorder *recorder, const struct clew_wait *wait, uint64_t time);

/*
 * disks.c: puts the names of the machine's disks, as records of that time. 0 or
 * the file's error.
 */
int clew_disks_read(struct clew_recorder *recorder, uint64_t time);

/* filter.c. Prepare: before the load. Fill: after it. */
int clew_filter_prepare(struct clew_bpf *bpf, const struct clew_recorder_options *options,
			struct clew_message *message);
int clew_filter_fill(struct clew_bpf *bpf, const struct clew_recorder_options *options,
		     struct clew_message *message);

/* cost.c. Add: includes the programs of a loaded object; not during a tick. */
void clew_cost_add(struct clew_recorder *recorder, const struct bpf_object *object);
void clew_cost_tick(struct clew_recorder *recorder, uint64_t now);
/* ns that a run of a program took on average in the samples so far, 0 unknown. */
uint32_t clew_cost_of_run(const struct clew_recorder *recorder, int program);
void clew_cost_close(struct clew_recorder *recorder, uint64_t duration, struct clew_cost *ret_cost);

/*
 * stores.c: programs that note where stores to mapped files fault. Prepare:
 * before attaching.
 */
void clew_stores_prepare(struct clew_bpf *bpf);
void clew_stores_open(struct clew_recorder *recorder);
void clew_stores_tick(struct clew_recorder *recorder);
void clew_stores_close(struct clew_recorder *recorder);

/*
 * modules.c: programs for file systems whose modules are loaded during the
 * recording. Close: before the rings are closed.
 */
void clew_modules_open(struct clew_recorder *recorder, bool page_cache);
void clew_modules_tick(struct clew_recorder *recorder);
void clew_modules_close(struct clew_recorder *recorder);

/*
 * missed.c: how many runs of programs the kernel has skipped so far, by kind of
 * record: CLEW_KIND_COUNT numbers.
 */
void clew_missed_runs(const struct clew_recorder *recorder, uint64_t *ret_counts);

/*
 * ledger.c: writes the ledger of a file and adds it to recorder->summary. `outlets`: those of the
 * file, by CPU, then the user stream's. `last`: the programs have ended. 0 or the file's error.
 */
int clew_ledger_write(struct clew_recorder *recorder, const struct outlet *outlets, bool last,
		      const struct clew_cost *cost);

/* file.c: says of a recording of several files which it is. 0 or -errno. */
int clew_file_name_recording(struct clew_recorder *recorder);
/* file.c: waits until all records of the rings that are older have been passed on. */
void clew_file_await(struct clew_recorder *recorder, uint64_t time);
/* file.c: writes the ends of the last file at the time `end`. 0 or the file's error. */
int clew_file_end_last(struct clew_recorder *recorder, uint64_t end);

#endif
