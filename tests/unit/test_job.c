/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The joins of logical spans: by key alone, to the latest submit that is not over. */
#include "runtime_scene.h"

#include "explain/why.h"
#include "relate/job_kept.h"
#include "relate/relate.h"

static const struct clew_job_piece *job_piece(const struct scene *scene, size_t job,
					      unsigned number)
{
	uint32_t at = clew_job_at(scene->jobs, job)->first;

	while (number--) {
		assert_int_not_equal(at, CLEW_NO_NUMBER);
		at = clew_job_piece_at(scene->jobs, at)->next;
	}
	assert_int_not_equal(at, CLEW_NO_NUMBER);
	return clew_job_piece_at(scene->jobs, at);
}

static void assert_piece_of(const struct scene *scene, size_t job, unsigned number, unsigned kind,
			    uint64_t start, uint64_t end, uint32_t task)
{
	const struct clew_job_piece *piece = job_piece(scene, job, number);

	assert_int_equal(piece->kind, kind);
	assert_int_equal(piece->start, start);
	assert_int_equal(piece->end, end);
	assert_int_equal(piece->task, task);
}

static void assert_wait(const struct scene *scene, size_t number, uint64_t to, uint64_t over,
			uint32_t waker)
{
	const struct clew_job_wait *wait = (struct clew_job_wait *)scene->jobs->waits.data + number;

	assert_int_equal(wait->to, to);
	assert_int_equal(wait->over, over);
	assert_int_equal(wait->waker, waker);
}

static void test_life(void **state)
{
	struct scene scene;
	const struct clew_job *job;

	(void)state;
	begin(&scene);
	met(&scene, 2000, 1, PUT, 7);
	met(&scene, 3000, 2, RUN, 7);
	met(&scene, 4000, 2, SLEEP, 7);
	met(&scene, 4100, 2, SLEEP, 7); /* a second time says nothing */
	met(&scene, 5000, 3, WAKE, 7);
	met(&scene, 6000, 4, RUN, 7);
	met(&scene, 7000, 4, YIELD, 7);
	met(&scene, 8000, 2, RUN, 7);
	met(&scene, 9000, 2, END, 0);
	join(&scene, 1);
	job = clew_job_at(scene.jobs, 0);
	assert_int_equal(job->closed, CLEW_JOB_DONE);
	assert_int_equal(job->submitted, 2000);
	assert_int_equal(job->submitter, 1);
	assert_int_equal(job->started, 3000);
	assert_int_equal(job->end, 9000);
	assert_string_equal(clew_job_name(scene.jobs, job), "job");
	assert_piece_of(&scene, 0, 0, CLEW_JOB_QUEUED, 2000, 3000, CLEW_NO_TASK);
	assert_piece_of(&scene, 0, 1, CLEW_JOB_RUNS, 3000, 4000, 2);
	assert_piece_of(&scene, 0, 2, CLEW_JOB_SUSPENDED, 4000, 5000, 3);
	assert_piece_of(&scene, 0, 3, CLEW_JOB_QUEUED, 5000, 6000, CLEW_NO_TASK);
	assert_piece_of(&scene, 0, 4, CLEW_JOB_RUNS, 6000, 7000, 4);
	assert_piece_of(&scene, 0, 5, CLEW_JOB_QUEUED, 7000, 8000, CLEW_NO_TASK);
	assert_piece_of(&scene, 0, 6, CLEW_JOB_RUNS, 8000, 9000, 2);
	assert_int_equal(scene.jobs->seen[SLEEP], 2);
	done(&scene);
}

static void test_keys(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	met(&scene, 2000, 1, PUT, 7);
	met(&scene, 2100, 5, PUT, 7); /* another process */
	met(&scene, 2200, 2, RUN, 7); /* the first one's */
	met(&scene, 2300, 2, END, 0);
	met(&scene, 2400, 1, PUT, 7); /* used again at once */
	met(&scene, 2500, 1, DROP, 7);
	met(&scene, 2600, 1, PUT, 7);
	met(&scene, 2700, 1, PUT, 7); /* twice */
	met(&scene, 2800, 3, RUN, 8); /* nobody submitted it */
	met(&scene, 2900, 3, END, 0);
	met(&scene, 3000, 3, END, 0); /* of nothing */
	join(&scene, 6);
	assert_int_equal(clew_job_at(scene.jobs, 0)->closed, CLEW_JOB_DONE);
	assert_int_equal(clew_job_at(scene.jobs, 1)->closed, CLEW_JOB_OPEN);
	assert_int_equal(clew_job_at(scene.jobs, 1)->started, 0);
	assert_int_equal(clew_job_at(scene.jobs, 2)->closed, CLEW_JOB_CANCELED);
	assert_int_equal(clew_job_at(scene.jobs, 2)->started, 0);
	assert_int_equal(clew_job_at(scene.jobs, 3)->closed, CLEW_JOB_SUPERSEDED);
	assert_int_equal(clew_job_at(scene.jobs, 3)->end, 2700);
	assert_int_equal(clew_job_at(scene.jobs, 4)->closed, CLEW_JOB_OPEN);
	assert_int_equal(clew_job_at(scene.jobs, 5)->submitted, 0);
	assert_int_equal(clew_job_at(scene.jobs, 5)->closed, CLEW_JOB_DONE);
	assert_int_equal(scene.jobs->strays, 1);
	done(&scene);
}

static void test_loss(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	met(&scene, 2000, 1, PUT, 7);
	met(&scene, 2050, 3, PARK, 8);
	gap(&scene.s, 0, 2100, 2200);
	met(&scene, 3000, 2, RUN, 7);
	met(&scene, 3500, 2, UNPARK, 8);
	met(&scene, 4000, 2, END, 0);
	join(&scene, 2);
	assert_wait(&scene, 0, CLEW_TIME_OPEN, CLEW_TIME_OPEN, CLEW_NO_TASK);
	assert_int_equal(clew_job_at(scene.jobs, 0)->closed, CLEW_JOB_LOST);
	assert_int_equal(clew_job_at(scene.jobs, 0)->end, 2100);
	assert_int_equal(clew_job_at(scene.jobs, 1)->submitted, 0);
	assert_int_equal(clew_job_at(scene.jobs, 1)->started, 3000);
	done(&scene);
}

static void test_parents(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	met(&scene, 2000, 1, PUT, 7);
	met(&scene, 2100, 2, RUN, 7);
	met(&scene, 2200, 2, PUT, 8); /* within the first */
	met(&scene, 2300, 3, RUN, 8);
	met(&scene, 2400, 3, SLEEP, 8);
	met(&scene, 2500, 2, WAKE, 8); /* by the first */
	met(&scene, 2600, 2, RUN, 8);  /* on its thread, which it interrupts */
	met(&scene, 2700, 2, PUT, 9);
	met(&scene, 2800, 2, END, 0);
	met(&scene, 2900, 2, PUT, 10);
	join(&scene, 4);
	assert_int_equal(clew_job_at(scene.jobs, 0)->parent, CLEW_NO_NUMBER);
	assert_int_equal(clew_job_at(scene.jobs, 1)->parent, 0);
	assert_int_equal(job_piece(&scene, 1, 2)->waker, 0);
	assert_int_equal(clew_job_at(scene.jobs, 2)->parent, 1);
	assert_int_equal(clew_job_at(scene.jobs, 1)->closed, CLEW_JOB_DONE);
	assert_int_equal(clew_job_at(scene.jobs, 3)->parent, 0);
	done(&scene);
}

static void test_coalesced(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	met(&scene, 2000, 1, SEND, 7);
	met(&scene, 2100, 1, SEND, 7);
	met(&scene, 2200, 1, SEND, 7);
	met(&scene, 2300, 2, GOT, 7);
	met(&scene, 2400, 2, OVER, 0);
	met(&scene, 2500, 1, SEND, 7);
	met(&scene, 2600, 2, GOT, 7);
	/* While it runs, sends are for the next run. */
	met(&scene, 2700, 1, SEND, 7);
	met(&scene, 2750, 1, SEND, 7);
	met(&scene, 2800, 2, OVER, 0);
	met(&scene, 2900, 2, GOT, 7);
	met(&scene, 3000, 2, OVER, 0);
	join(&scene, 3);
	assert_int_equal(clew_job_at(scene.jobs, 0)->origins, 3);
	assert_int_equal(clew_job_at(scene.jobs, 0)->submitted, 2000);
	assert_int_equal(clew_job_at(scene.jobs, 1)->origins, 1);
	assert_int_equal(clew_job_at(scene.jobs, 1)->closed, CLEW_JOB_DONE);
	assert_int_equal(clew_job_at(scene.jobs, 1)->end, 2800);
	assert_int_equal(clew_job_at(scene.jobs, 2)->origins, 2);
	assert_int_equal(clew_job_at(scene.jobs, 2)->submitted, 2700);
	assert_int_equal(clew_job_at(scene.jobs, 2)->started, 2900);
	assert_int_equal(clew_job_at(scene.jobs, 2)->end, 3000);
	done(&scene);
}

/* A function frees its memory for the next job, which has its key then, before it returns. */
static void test_key_freed(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	met(&scene, 1000, 1, PUT, 9);
	met(&scene, 2000, 2, RUN, 9);
	met(&scene, 3000, 1, PUT, 9);
	met(&scene, 3100, 2, END, 0);
	met(&scene, 4000, 3, RUN, 9);
	met(&scene, 5000, 3, END, 0);
	join(&scene, 2);
	assert_int_equal(clew_job_at(scene.jobs, 0)->closed, CLEW_JOB_DONE);
	assert_int_equal(clew_job_at(scene.jobs, 0)->end, 3100);
	assert_int_equal(clew_job_at(scene.jobs, 1)->submitted, 3000);
	assert_int_equal(clew_job_at(scene.jobs, 1)->started, 4000);
	assert_int_equal(clew_job_at(scene.jobs, 1)->end, 5000);
	done(&scene);
}

/* Values of an entry belong to the exit at the same stack pointer, and to one event behind it. */
static void test_entries(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	met_at(&scene, 2000, 1, MAKE, 11, 0x2000);
	met_at(&scene, 2100, 1, MAKE, 12, 0x1000); /* in itself */
	met_at(&scene, 2200, 1, MAKE_LEAVE, 70, 0x1000);
	met_at(&scene, 2300, 1, MAKE_LEAVE, 71, 0x2000);
	met_at(&scene, 2400, 1, MAKE_LEAVE, 72, 0x2000); /* entered before the capture */
	met_at(&scene, 2500, 1, MAKE, 13, 0x1000);	 /* left by longjmp */
	met_at(&scene, 2600, 1, MAKE, 14, 0x2000);
	met_at(&scene, 2700, 1, MAKE_LEAVE, 73, 0x2000);
	met_at(&scene, 2800, 1, MAKE2, 15, 0x1000);
	met_at(&scene, 2900, 1, ALLOC, 80, 0x900);
	met_at(&scene, 3000, 1, ALLOC, 81, 0x900); /* only the first counts */
	met_at(&scene, 3100, 2, ALLOC, 82, 0x900); /* another thread */
	join(&scene, 4);
	assert_int_equal(clew_job_at(scene.jobs, 0)->key[0], 70);
	assert_int_equal(clew_job_at(scene.jobs, 0)->queue, 12);
	assert_int_equal(clew_job_at(scene.jobs, 1)->queue, 11);
	assert_int_equal(clew_job_at(scene.jobs, 2)->queue, 14);
	assert_int_equal(clew_job_at(scene.jobs, 3)->key[0], 80);
	assert_int_equal(clew_job_at(scene.jobs, 3)->queue, 15);
	done(&scene);
}

static void test_waits(void **state)
{
	struct scene scene;
	const struct clew_job_wait *wait;

	(void)state;
	begin(&scene);
	met(&scene, 2000, 1, PUT, 7);
	met(&scene, 2100, 2, RUN, 7);
	met(&scene, 2200, 1, JOIN, 50);
	met(&scene, 2300, 3, JOIN, 50);
	met(&scene, 2400, 2, DONE, 50);
	met(&scene, 2500, 1, JOIN, 51); /* nobody wakes it */
	join(&scene, 1);
	wait = clew_job_wait_of(scene.jobs, 1, 2300);
	assert_non_null(wait);
	assert_int_equal(wait->job, 0);
	assert_int_equal(wait->waker, 2);
	assert_int_equal(clew_job_wait_of(scene.jobs, 3, 2350)->to, 2400);
	assert_null(clew_job_wait_of(scene.jobs, 1, 2450));
	assert_null(clew_job_wait_of(scene.jobs, 1, 2600));
	assert_null(clew_job_wait_of(scene.jobs, 2, 2300));
	done(&scene);
}

/* Threads that say themselves when they wait no more. */
static void test_waited(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	/* The first wake ends a park. */
	met(&scene, 1000, 1, PARK, 7);
	met(&scene, 2000, 2, UNPARK, 7);
	met(&scene, 2500, 3, UNPARK, 7);
	met(&scene, 3000, 1, PARKED, 7);
	/* A permit that was there, or a timeout: nobody woke it. */
	met(&scene, 4000, 2, UNPARK, 7);
	met(&scene, 5000, 1, PARK, 7);
	met(&scene, 6000, 1, PARKED, 7);
	met(&scene, 6500, 2, UNPARK, 7);
	/* The last one before it goes on counts for an object that repeats. */
	met(&scene, 7000, 1, WANT, 8);
	met(&scene, 7100, 2, WANT, 8);
	met(&scene, 7200, 3, LEAVE, 8);
	met(&scene, 7300, 1, HAVE, 8);
	met(&scene, 7400, 1, LEAVE, 8);
	met(&scene, 7500, 2, HAVE, 8);
	join(&scene, 0);
	assert_int_equal(scene.jobs->waits.count, 4);
	assert_wait(&scene, 0, 2000, 3000, 2);
	assert_wait(&scene, 1, CLEW_TIME_OPEN, 6000, CLEW_NO_TASK);
	assert_wait(&scene, 2, 7200, 7300, 3);
	assert_wait(&scene, 3, 7400, 7500, 1);
	assert_non_null(clew_job_wait_of(scene.jobs, 1, 1500));
	assert_null(clew_job_wait_of(scene.jobs, 1, 2500));
	assert_null(clew_job_wait_of(scene.jobs, 1, 5500));
	done(&scene);
}

/* Where nothing says who resumes a span, its thread does when it comes to it. */
static void test_loop(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	met(&scene, 1000, 1, STEP, 7);
	met(&scene, 2000, 1, STOP, 7);
	met(&scene, 3000, 2, STEP, 7);
	met(&scene, 4000, 1, PUT, 9);
	met(&scene, 5000, 1, RUN, 9);
	met(&scene, 6000, 1, SLEEP, 9);
	met(&scene, 7000, 2, RUN, 9);
	join(&scene, 2);
	assert_piece_of(&scene, 0, 1, CLEW_JOB_SUSPENDED, 2000, 3000, 2);
	assert_true(job_piece(&scene, 0, 1)->by_thread);
	assert_false(job_piece(&scene, 1, 2)->by_thread);
	/* Nobody submits it: it began by itself. */
	assert_int_equal(clew_job_asked(clew_job_at(scene.jobs, 0)), 1000);
	done(&scene);
}

/* A thread that waits for a group waits for all of its spans; a group that is over begins anew. */
static void test_groups(void **state)
{
	const struct clew_job_wait *wait;
	struct scene scene;

	(void)state;
	begin(&scene);
	met(&scene, 1000, 1, ALL, 0x70); /* of a group of none nobody waits */
	met(&scene, 2000, 1, ADD, 0x71);
	met(&scene, 2100, 1, ADD, 0x72);
	met(&scene, 2200, 1, ADD, 0x81);
	met(&scene, 2300, 2, TAKE, 0x71);
	met(&scene, 2400, 3, TAKE, 0x72);
	met(&scene, 2450, 4, TAKE, 0x81);
	met(&scene, 2500, 1, ALL, 0x70);
	met(&scene, 3000, 3, TAKEN, 0x72);
	met(&scene, 3500, 4, TAKEN, 0x81); /* another group's */
	met(&scene, 4000, 2, TAKEN, 0x71);
	met(&scene, 4500, 1, ALL, 0x70);
	met(&scene, 5000, 1, ADD, 0x73);
	met(&scene, 5500, 1, ALL, 0x70); /* it is pending when the capture ends */
	join(&scene, 4);
	assert_int_equal(scene.jobs->waits.count, 2);
	assert_wait(&scene, 0, 4000, CLEW_TIME_OPEN, 2);
	assert_wait(&scene, 1, CLEW_TIME_OPEN, CLEW_TIME_OPEN, CLEW_NO_TASK);
	wait = scene.jobs->waits.data;
	assert_int_equal(wait->from, 2500);
	assert_int_equal(wait->job, 0);
	assert_int_equal(wait->members, 2);
	assert_int_equal(wait[1].members, 0);
	done(&scene);
}

/* Spans go on in the next segment of a recording, under their names. */
static void test_kept(void **state)
{
	struct clew_jobs_kept kept = {};
	struct scene first, next;
	const struct clew_job *job;

	(void)state;
	begin(&first);
	met(&first, 2000, 1, PUT, 7);
	met(&first, 3000, 2, RUN, 7);
	met(&first, 4000, 2, PUT, 8);
	met(&first, 4100, 1, PUT, 9);
	met(&first, 4200, 3, RUN, 9);
	met(&first, 4300, 3, END, 0);
	join(&first, 3);
	assert_int_equal(clew_jobs_keep(first.jobs, 1000000, &kept), 0);
	assert_int_equal(kept.list.count, 2);
	done(&first);
	begin(&next);
	met(&next, 5000, 2, END, 0);
	met(&next, 6000, 3, RUN, 8);
	next.trace = synthetic_trace(&next.s, 9000, 0);
	assert_int_equal(clew_jobs_new_behind(next.trace, next.layers, &kept, &next.jobs), 0);
	clew_jobs_kept_done(&kept);
	assert_int_equal(next.jobs->list.count, 2);
	job = clew_job_at(next.jobs, 0);
	assert_int_equal(job->closed, CLEW_JOB_DONE);
	assert_int_equal(job->submitted, 2000);
	assert_int_equal(job->end, 5000);
	assert_piece_of(&next, 0, 0, CLEW_JOB_RUNS, 3000, 5000, 2);
	job = clew_job_at(next.jobs, 1);
	assert_string_equal(clew_job_name(next.jobs, job), "job");
	assert_string_equal(job->submitted_in, "job");
	assert_piece_of(&next, 1, 0, CLEW_JOB_QUEUED, 4000, 6000, CLEW_NO_TASK);
	assert_piece_of(&next, 1, 1, CLEW_JOB_RUNS, 6000, CLEW_TIME_OPEN, 3);
	done(&next);
}

static void test_late(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	met(&scene, 1000, 1, PUT, 9);
	met(&scene, 2000, 1, RUN, 9);
	met(&scene, 3000, 1, SLEEP, 9);
	met(&scene, CLEW_JOB_LATE_NS, 2, RUN, 9);
	met(&scene, CLEW_JOB_LATE_NS + 500, 2, SLEEP, 9);
	met(&scene, CLEW_JOB_LATE_NS + 2000, 2, RUN, 9);
	scene.trace = synthetic_trace(&scene.s, CLEW_JOB_LATE_NS + 9000, 0);
	assert_int_equal(clew_jobs_new(scene.trace, scene.layers, &scene.jobs), 0);
	assert_int_equal(clew_job_resumed(scene.jobs, clew_job_at(scene.jobs, 0)),
			 CLEW_JOB_LATE_NS + 2000);
	done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),	  cmocka_unit_test(test_keys),
		cmocka_unit_test(test_loss),	  cmocka_unit_test(test_parents),
		cmocka_unit_test(test_coalesced), cmocka_unit_test(test_key_freed),
		cmocka_unit_test(test_entries),	  cmocka_unit_test(test_waits),
		cmocka_unit_test(test_waited),	  cmocka_unit_test(test_loop),
		cmocka_unit_test(test_late),	  cmocka_unit_test(test_groups),
		cmocka_unit_test(test_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
