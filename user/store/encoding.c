/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Encoding in the background. A thread that may leave the idle policy again
 * runs under it; otherwise all threads run as they were started. A task that
 * wakes in another group on the same CPU still has to wait for the end of the
 * thread's slice, so the slice is short; one that waits there already has to
 * wait for the tick, so the thread works for at most 0.1 ms without a rest.
 *
 * A dense job takes long, but mostly the file has its rows already: separate
 * threads do these patient jobs, and hurry only when memory gets short and at
 * the end.
 *
 * An idle thread that lost its CPU may not get one for a second, and the
 * threads that drain the rings take the same lock: so it holds this lock and
 * the writer's at high priority only.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "store/encoding.h"
#include "store/quick.h"

#define WAITING_MAX                                                                                \
	(64u << 20)	       /* limit of the records that wait for all threads, bytes; above it, \
				  store_encoding_put() blocks */
#define WAITING_MIN (4u << 20) /* but each thread may have that many */
#define WAIT_MAX    250000000u /* ns that a job may wait; then its thread hurries until it is done */
#define HURRY_NICE  (-15)
#define SLICE	    100000    /* ns; the shortest that the kernel accepts */
#define REST	    200000    /* ns */
#define REST_WHILE  100000000 /* ns; rests are short for jobs that are older */
#define REST_SHORT  50000
#define BUSY_FOR    2000000000u /* ns after a job that had to hurry */

struct encoder_thread {
	struct store_encoding *encoding;
	struct store_encoder *encoder;
	struct store_quick quick;
	pthread_t thread;
	bool started;
	bool patient;
	pid_t tid;
	bool may;		      /* may change its policy */
	atomic_bool hurries;	      /* changes under the lock */
	struct store_job_rows *first; /* without the job at work */
	struct store_job_rows **end;
	uint64_t given; /* of the job at work, 0 none */
	size_t waiting; /* bytes, including the job at work */
};

struct store_encoding {
	void (*deliver)(void *context, struct store_chunk *chunk, int error);
	void *context;
	const struct store_schema *schema;
	struct store_buffers *buffers;
	const _Atomic bool *busy;    /* for tests */
	_Atomic uint64_t busy_until; /* ns */
	_Atomic int64_t quick_room;  /* bytes that quick chunks may still take of the file */
	pthread_mutex_t lock;	     /* for all members below and the threads' jobs */
	pthread_cond_t given;
	pthread_cond_t done;
	bool hurries; /* no job waits for idle CPUs any more */
	bool closing;
	size_t waiting_max; /* for each thread */
	unsigned count;
	struct encoder_thread threads[]; /* the second half is for patient jobs */
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

/*
 * Sets the idle policy or the high priority. A task that wakes never waits for
 * a thread of the idle policy, and the scheduler regards a CPU that runs one as
 * idle. Kernels before 6.12 ignore the slice.
 */
static int set_policy(pid_t tid, bool hurry)
{
	/* struct sched_attr: its header conflicts with the C library's. */
	const struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t slice, deadline, period;
	} attributes = {
		.size = sizeof(attributes),
		.policy = hurry ? SCHED_OTHER : SCHED_IDLE,
		.nice = hurry ? HURRY_NICE : 0,
		.slice = SLICE,
	};

	return syscall(SYS_sched_setattr, tid, &attributes, 0) == 0 ? 0 : -errno;
}

bool store_encoding_busy(const struct store_encoding *encoding)
{
	if (encoding->busy)
		return atomic_load(encoding->busy);
	return now() < atomic_load_explicit(&encoding->busy_until, memory_order_relaxed);
}

void store_encoding_grant(struct store_encoding *encoding, uint64_t bytes)
{
	atomic_fetch_add(&encoding->quick_room, bytes);
}

/* True if the job becomes a quick chunk. With the lock held. */
static bool is_quick(const struct store_encoding *encoding, const struct store_job_rows *job)
{
	return job->quick && atomic_load(&encoding->quick_room) > 0 &&
	       (encoding->busy || !encoding->hurries) && store_encoding_busy(encoding);
}

/* With the lock held. */
static void set_hurry(struct encoder_thread *thread, bool hurry)
{
	if (!thread->may || thread->hurries == hurry)
		return;
	atomic_store(&thread->hurries, hurry);
	/* The thread itself goes back to the idle policy, without the lock. */
	if (hurry)
		set_policy(thread->tid, true);
}

/*
 * True if a job, the next one or the one at work, or the amount that waits,
 * cannot wait for idle CPUs any more. With the lock held.
 */
static bool is_late(struct encoder_thread *thread, uint64_t given)
{
	struct store_encoding *encoding = thread->encoding;
	uint64_t time = now();

	if (encoding->hurries)
		return true;
	if (thread->waiting <= encoding->waiting_max / 4 &&
	    (thread->patient || time - given <= WAIT_MAX))
		return false;
	if (!thread->patient)
		atomic_store_explicit(&encoding->busy_until, time + BUSY_FOR, memory_order_relaxed);
	return true;
}

static struct encoder_thread *thread_of(struct store_encoding *encoding, unsigned stream,
					bool patient)
{
	unsigned half = encoding->count / 2;

	return &encoding->threads[stream % half + (patient ? half : 0)];
}

/* Before a lock is taken. */
static void raise_priority(const struct encoder_thread *self)
{
	if (self->may)
		set_policy(self->tid, true);
}

/*
 * After a lock was released. A thread that asks for a hurry at the same time
 * sets `hurries` first and the policy then, so the check below sees it.
 */
static void lower_priority(const struct encoder_thread *self)
{
	if (!self->may || atomic_load(&self->hurries))
		return;
	set_policy(self->tid, false);
	if (atomic_load(&self->hurries))
		set_policy(self->tid, true);
}

static void encode(struct encoder_thread *self, const struct store_job_rows *job, bool quick)
{
	struct store_encoding *encoding = self->encoding;
	struct store_chunk *chunk = NULL;
	int r;

	if (quick) {
		r = store_quick_encode(&self->quick, encoding->schema, job->records, job->bytes,
				       job->rows, job->stream, job->row, &chunk);
	} else {
		lower_priority(self);
		r = store_encode(self->encoder, job->records, job->bytes, job->rows, job->stream,
				 job->row, job->dense, &chunk);
		raise_priority(self);
	}
	if (r == 0) {
		chunk->provisional = job->provisional;
		chunk->redoes = job->redoes;
		if (quick && !chunk->provisional)
			atomic_fetch_sub(&encoding->quick_room, store_chunk_columns(chunk));
	}
	encoding->deliver(encoding->context, r == 0 ? chunk : NULL, r);
}

static void rest(void *context)
{
	const struct encoder_thread *self = context;
	struct timespec length = {0};

	if (atomic_load_explicit(&self->hurries, memory_order_relaxed))
		return;
	length.tv_nsec = now() - self->given < REST_WHILE ? REST : REST_SHORT;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL);
}

static void *encode_thread(void *context)
{
	struct encoder_thread *self = context;
	struct store_encoding *encoding = self->encoding;
	pid_t tid = gettid();
	bool may;

	pthread_setname_np(pthread_self(), self->patient ? "clew-pack" : "clew-encode");
	/*
	 * Where raising the priority is not permitted, lowering it could not be
	 * undone.
	 */
	may = !encoding->busy && set_policy(tid, true) == 0 && set_policy(tid, false) == 0;
	if (may) {
		store_encoder_rest(self->encoder, rest, self);
		set_policy(tid, true);
	}
	pthread_mutex_lock(&encoding->lock);
	self->tid = tid;
	self->may = may;
	set_hurry(self, encoding->hurries);
	for (;;) {
		struct store_job_rows *job;
		size_t bytes;
		bool quick;

		while (!self->first && !encoding->closing) {
			set_hurry(self, false);
			pthread_cond_wait(&encoding->given, &encoding->lock);
		}
		job = self->first;
		if (!job)
			break;
		self->first = job->next;
		if (!self->first)
			self->end = &self->first;
		self->given = job->given;
		/* The hurry was for the job before. */
		set_hurry(self, is_late(self, job->given));
		quick = is_quick(encoding, job);
		pthread_mutex_unlock(&encoding->lock);

		encode(self, job, quick);
		bytes = job->bytes;
		store_buffers_give(encoding->buffers, job->records);

		pthread_mutex_lock(&encoding->lock);
		self->given = 0;
		self->waiting -= bytes;
		pthread_cond_broadcast(&encoding->done);
	}
	pthread_mutex_unlock(&encoding->lock);
	return NULL;
}

int store_encoding_new(const struct store_schema *schema, struct store_buffers *buffers,
		       unsigned threads, const _Atomic bool *busy,
		       void (*deliver)(void *context, struct store_chunk *chunk, int error),
		       void *context, struct store_encoding **ret_encoding)
{
	struct store_encoding *encoding =
		calloc(1, sizeof(*encoding) + 2 * threads * sizeof(encoding->threads[0]));
	int r = 0;

	if (!encoding)
		return -ENOMEM;
	encoding->deliver = deliver;
	encoding->context = context;
	encoding->schema = schema;
	encoding->buffers = buffers;
	encoding->busy = busy;
	encoding->count = 2 * threads;
	encoding->waiting_max =
		WAITING_MAX / threads > WAITING_MIN ? WAITING_MAX / threads : WAITING_MIN;
	store_lock_init(&encoding->lock);
	pthread_cond_init(&encoding->given, NULL);
	pthread_cond_init(&encoding->done, NULL);
	for (unsigned i = 0; i < 2 * threads && r == 0; i++) {
		struct encoder_thread *thread = &encoding->threads[i];

		thread->encoding = encoding;
		thread->patient = i >= threads;
		thread->end = &thread->first;
		r = store_encoder_new(schema, &thread->encoder);
		if (r == 0)
			r = store_thread_start(&thread->thread, encode_thread, thread);
		thread->started = r == 0;
	}
	if (r < 0) {
		store_encoding_free(encoding);
		return r;
	}
	*ret_encoding = encoding;
	return 0;
}

void store_encoding_put(struct store_encoding *encoding, const struct store_job_rows *given)
{
	struct encoder_thread *thread = thread_of(encoding, given->stream, given->patient);
	struct store_job_rows *job = store_buffers_note(encoding->buffers, given->records);

	_Static_assert(sizeof(*job) <= STORE_BUFFERS_NOTE, "a job does not fit");
	*job = *given;
	job->next = NULL;
	job->given = now();
	pthread_mutex_lock(&encoding->lock);
	/* The thread that gives rows of the file again is one that the encoding waits for. */
	while (!job->redoes && thread->waiting > encoding->waiting_max) {
		set_hurry(thread, true);
		pthread_cond_wait(&encoding->done, &encoding->lock);
	}
	*thread->end = job;
	thread->end = &job->next;
	thread->waiting += job->bytes;
	if (is_late(thread, job->given))
		set_hurry(thread, true);
	pthread_cond_broadcast(&encoding->given);
	pthread_mutex_unlock(&encoding->lock);
}

void store_encoding_look(struct store_encoding *encoding, unsigned stream)
{
	struct encoder_thread *thread = thread_of(encoding, stream, false);
	uint64_t oldest;

	pthread_mutex_lock(&encoding->lock);
	oldest = thread->given ? thread->given : thread->first ? thread->first->given : 0;
	if (oldest && is_late(thread, oldest))
		set_hurry(thread, true);
	pthread_mutex_unlock(&encoding->lock);
}

void store_encoding_hurry(struct store_encoding *encoding)
{
	pthread_mutex_lock(&encoding->lock);
	encoding->hurries = true;
	for (unsigned i = 0; i < encoding->count; i++)
		set_hurry(&encoding->threads[i], true);
	pthread_mutex_unlock(&encoding->lock);
}

void store_encoding_await(struct store_encoding *encoding)
{
	pthread_mutex_lock(&encoding->lock);
	for (unsigned i = 0; i < encoding->count; i++)
		while (encoding->threads[i].waiting)
			pthread_cond_wait(&encoding->done, &encoding->lock);
	pthread_mutex_unlock(&encoding->lock);
}

void store_encoding_free(struct store_encoding *encoding)
{
	if (!encoding)
		return;
	store_encoding_hurry(encoding);
	pthread_mutex_lock(&encoding->lock);
	encoding->closing = true;
	pthread_cond_broadcast(&encoding->given);
	pthread_mutex_unlock(&encoding->lock);
	for (unsigned i = 0; i < encoding->count; i++) {
		if (encoding->threads[i].started)
			pthread_join(encoding->threads[i].thread, NULL);
		store_encoder_free(encoding->threads[i].encoder);
		store_quick_done(&encoding->threads[i].quick);
	}
	pthread_cond_destroy(&encoding->given);
	pthread_cond_destroy(&encoding->done);
	pthread_mutex_destroy(&encoding->lock);
	free(encoding);
}
