/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks and devices of a what-if run on small random traces: threads that take locks in turn, and
 * requests that queue up on devices, are recorded by a naive simulator; with other lengths it says
 * when each runs, of what a record can know. And whatever a trace says of holders and requests, if
 * nothing changes all stays as it was.
 */
#include "analyse/whatif/internal.h"
#include <clew/model_make.h>
#include <clew/notation.h>
#include <clew/tokens.h>
#include <inttypes.h>
#include <stdio.h>

#include "random_model.h"

enum { ROUNDS = 10000, MOST_THREADS = 4, MOST_STEPS = 24, MOST_RUNS = 400, LOCKS = 3 };

static int apply(const struct clew_model *model, const char *text, struct clew_model **ret_after)
{
	struct clew_query_error error = {.message = ""};
	struct clew_program *program;
	struct clew_what_if result;
	int r = clew_program_compile(text, strlen(text), false, &program, &error);

	assert_int_equal(r, 0);
	r = clew_what_if(model, program, NULL, ret_after, &result, &error);
	clew_program_free(program);
	return r;
}

static struct clew_model *try_model_from_text(const char *text)
{
	struct clew_model *model;
	char message[256];

	return clew_notation_read(text, strlen(text), NULL, &model, message, sizeof(message)) < 0
		       ? NULL
		       : model;
}

static struct clew_model *model_from_text(const char *text)
{
	struct clew_model *model = try_model_from_text(text);

	if (!model)
		print_error("%s\n", text);
	assert_non_null(model);
	return model;
}

static void assert_consistent(const struct clew_model *after)
{
	struct clew_problem *problems;
	size_t count;

	assert_int_equal(clew_model_check(after, false, &problems, &count), 0);
	for (size_t i = 0; i < count; i++)
		print_error("%s\n", problems[i].message);
	assert_int_equal(count, 0);
	free(problems);
}

/* ---- threads that take locks ---- */

enum step_kind { STEP_RUN, STEP_SLEEP, STEP_LOCK, STEP_UNLOCK };

struct step {
	enum step_kind kind;
	unsigned lock;
	clew_time length;
	/* For ESs that lock, as recorded: when somebody else was first seen waiting, how long
	 * it had run since. */
	bool waited, was_waited_for;
	bool woken; /* it waited then, and took a moment to go on */
	bool seen;  /* it takes the lock when somebody was seen waiting, just before */
	clew_time seen_after;
};

struct thread {
	struct step steps[MOST_STEPS];
	unsigned count, at;
	clew_time ready;
	bool blocked;
	unsigned held; /* the step that took what it has */
	clew_time got;
};

struct world {
	struct thread threads[MOST_THREADS];
	unsigned count;
	clew_time latency;
	unsigned queue[LOCKS][MOST_THREADS], queued[LOCKS];
	int owner[LOCKS]; /* -1: free */
	clew_time asked[MOST_THREADS];
	struct {
		unsigned thread;
		clew_time from, to;
	} runs[MOST_RUNS];
	unsigned run_count;
	/* As notation, if it is to be written. */
	FILE *waits, *dependencies;
	struct {
		char rows[512];
	} holders[MOST_THREADS];
};

static void add_run(struct world *world, unsigned thread, clew_time from, clew_time to)
{
	for (unsigned i = world->run_count; i-- > 0;)
		if (world->runs[i].thread == thread) {
			if (world->runs[i].to != from)
				break;
			world->runs[i].to = to;
			return;
		}
	assert_true(world->run_count < MOST_RUNS);
	world->runs[world->run_count].thread = thread;
	world->runs[world->run_count].from = from;
	world->runs[world->run_count++].to = to;
}

static void hold(struct world *world, unsigned thread, clew_time at)
{
	struct thread *t = &world->threads[thread];

	world->owner[t->steps[t->at].lock] = (int)thread;
	t->held = t->at;
	t->got = at;
	t->at++;
}

/* All who wait for it saw who had it until now. */
static void write_holder(struct world *world, unsigned lock, unsigned holder, clew_time to)
{
	for (unsigned i = 0; i < world->queued[lock]; i++) {
		unsigned waiter = world->queue[lock][i];
		char *rows = world->holders[waiter].rows;
		clew_time from = world->threads[holder].got > world->asked[waiter]
					 ? world->threads[holder].got
					 : world->asked[waiter];

		snprintf(rows + strlen(rows), sizeof(world->holders[waiter].rows) - strlen(rows),
			 "%st%u %" PRId64 " %" PRId64 " exact", rows[0] ? "," : "", holder, from,
			 to);
	}
}

static void unlock(struct world *world, unsigned thread, unsigned lock, clew_time now)
{
	struct thread *t = &world->threads[thread], *next;
	unsigned waiter;

	world->owner[lock] = -1;
	if (world->queued[lock] == 0)
		return;
	if (world->waits)
		write_holder(world, lock, thread, now);
	t->steps[t->held].was_waited_for = true;
	waiter = world->queue[lock][0];
	memmove(world->queue[lock], world->queue[lock] + 1,
		--world->queued[lock] * sizeof(world->queue[lock][0]));
	next = &world->threads[waiter];
	next->blocked = false;
	next->ready = now + (world->waits || next->steps[next->at].woken ? world->latency : 0);
	if (world->waits) {
		fprintf(world->waits,
			"wait t%u %" PRId64 "..%" PRId64 " futex object=futex:%u holder=\"%s\"\n",
			waiter, world->asked[waiter], next->ready, lock,
			world->holders[waiter].rows);
		fprintf(world->dependencies, "dep unlock t%u@%" PRId64 " -> t%u@%" PRId64 "\n",
			thread, now, waiter, next->ready);
		world->holders[waiter].rows[0] = 0;
	}
	next->steps[next->at].waited = true;
	hold(world, waiter, now);
}

static void do_step(struct world *world, unsigned thread)
{
	struct thread *t = &world->threads[thread];
	struct step *step = &t->steps[t->at];
	clew_time now = t->ready;

	switch (step->kind) {
	case STEP_RUN:
		add_run(world, thread, now, now + step->length);
		t->ready = now + step->length;
		t->at++;
		break;
	case STEP_SLEEP:
		if (world->waits)
			fprintf(world->waits, "wait t%u %" PRId64 "..%" PRId64 " sleep\n", thread,
				now, now + step->length);
		t->ready = now + step->length;
		t->at++;
		break;
	case STEP_LOCK:
		if (world->owner[step->lock] < 0) {
			hold(world, thread, now);
		} else {
			struct thread *owner = &world->threads[world->owner[step->lock]];

			if (!owner->steps[owner->held].was_waited_for)
				owner->steps[owner->held].seen_after = now - owner->got;
			owner->steps[owner->held].was_waited_for = true;
			world->queue[step->lock][world->queued[step->lock]++] = thread;
			world->asked[thread] = now;
			t->blocked = true;
		}
		break;
	case STEP_UNLOCK:
		t->at++;
		unlock(world, thread, step->lock, now);
		break;
	}
}

static void run_world(struct world *world)
{
	for (unsigned i = 0; i < LOCKS; i++)
		world->owner[i] = -1;
	for (;;) {
		unsigned first = MOST_THREADS;

		for (unsigned i = 0; i < world->count; i++) {
			const struct thread *t = &world->threads[i];

			if (t->blocked || t->at == t->count ||
			    (first < MOST_THREADS && t->ready > world->threads[first].ready))
				continue;
			if (first == MOST_THREADS || t->ready < world->threads[first].ready ||
			    t->steps[t->at].seen)
				first = i;
		}
		if (first == MOST_THREADS)
			return;
		do_step(world, first);
	}
}

static void add_step(struct thread *t, enum step_kind kind, unsigned lock, clew_time length)
{
	t->steps[t->count++] = (struct step){.kind = kind, .lock = lock, .length = length};
}

static void make_world(struct random_model *m, struct world *world)
{
	memset(world, 0, sizeof(*world));
	world->count = 2 + pick(m, MOST_THREADS - 1);
	world->latency = pick(m, 2) ? 1000 : 0;
	for (unsigned i = 0; i < world->count; i++) {
		struct thread *t = &world->threads[i];

		t->ready = 0;
		add_step(t, STEP_RUN, 0, 1000 + pick(m, 1000000));
		/* Each lock once: of one that nobody waited for it cannot be told whether it was
		 * let go before it was taken again. */
		for (unsigned lock = 0; lock < LOCKS; lock++) {
			if (pick(m, 4) == 0)
				continue;
			if (pick(m, 3) == 0) {
				add_step(t, STEP_SLEEP, 0, 1000 + pick(m, 1000000));
				add_step(t, STEP_RUN, 0, 1000 + pick(m, 1000000));
			}
			add_step(t, STEP_LOCK, lock, 0);
			add_step(t, STEP_RUN, 0, 3000 + pick(m, 1500000));
			add_step(t, STEP_UNLOCK, lock, 0);
			add_step(t, STEP_RUN, 0, 1000 + pick(m, 500000));
		}
	}
}

/* The same, of which only that is known which a record tells; what one thread runs times `factor`.
 */
static void known_world(const struct world *recorded, struct world *world, unsigned factor)
{
	memset(world, 0, sizeof(*world));
	world->count = recorded->count;
	world->latency = recorded->latency;
	for (unsigned i = 0; i < world->count; i++) {
		const struct thread *from = &recorded->threads[i];
		struct thread *t = &world->threads[i];
		clew_time times = i ? 1 : factor;

		for (unsigned j = 0; j < from->count; j++) {
			const struct step *step = &from->steps[j];

			if (step->kind != STEP_LOCK) {
				add_step(t, step->kind, step->lock,
					 step->length * (step->kind == STEP_RUN ? times : 1));
				continue;
			}
			if (step->waited) {
				add_step(t, STEP_LOCK, step->lock, 0);
				t->steps[t->count - 1].woken = true;
			}
			if (step->waited && !step->was_waited_for)
				add_step(t, STEP_UNLOCK, step->lock, 0);
			if (!step->waited && step->was_waited_for) {
				add_step(t, STEP_RUN, 0, step->seen_after * times);
				add_step(t, STEP_LOCK, step->lock, 0);
				t->steps[t->count - 1].seen = true;
				add_step(t, STEP_RUN, 0,
					 (step[1].length - step->seen_after) * times);
			} else {
				add_step(t, STEP_RUN, 0, step[1].length * times);
			}
			if (step->was_waited_for)
				add_step(t, STEP_UNLOCK, step->lock, 0);
			j += 2;
		}
	}
}

static struct clew_model *record_world(struct world *world)
{
	char *waits = NULL, *dependencies = NULL, *all = NULL;
	struct clew_model *model;
	size_t size;
	FILE *out;

	world->waits = open_memstream(&waits, &size);
	world->dependencies = open_memstream(&dependencies, &size);
	run_world(world);
	fclose(world->waits);
	fclose(world->dependencies);
	world->waits = NULL;
	out = open_memstream(&all, &size);
	for (unsigned i = 0; i < world->count; i++)
		fprintf(out, "span t%u [0,%" PRId64 "]\n", i, world->threads[i].ready);
	fprintf(out, "%s%s", waits, dependencies);
	fclose(out);
	model = model_from_text(all);
	free(waits);
	free(dependencies);
	free(all);
	return model;
}

/* A span runs as the thread of its number does. */
static void assert_runs(const struct world *world, const struct clew_model *after)
{
	for (unsigned i = 0; i < world->count; i++) {
		struct clew_range range = after->spans[i].elementary;
		uint32_t es = range.first, end = range.first + range.count;

		for (unsigned run = 0; run < world->run_count; run++) {
			if (world->runs[run].thread != i)
				continue;
			while (es < end && after->es[es].start == after->es[es].end)
				es++;
			assert_true(es < end);
			assert_int_equal(after->es[es].start, world->runs[run].from);
			while (es + 1 < end && after->es[es + 1].start == after->es[es].end)
				es++;
			assert_int_equal(after->es[es].end, world->runs[run].to);
			es++;
		}
	}
}

static void test_locks(void **state)
{
	static struct random_model m = {.seed = 161803};
	static struct world recorded, known;
	unsigned changed = 0, waited = 0;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned factor = 1 + pick(&m, 3);
		struct clew_model *model, *after;
		char text[64];

		make_world(&m, &recorded);
		model = record_world(&recorded);
		known_world(&recorded, &known, factor);
		run_world(&known);
		snprintf(text, sizeof(text), "scale spans(t0) by %u; simulate locks;", factor);
		assert_int_equal(apply(model, text, &after), 0);
		assert_consistent(after);
		assert_runs(&known, after);
		waited += model->dependency_count > 0;
		changed += after->dependency_count != model->dependency_count;
		if (factor == 1)
			assert_int_equal(after->dependency_count, model->dependency_count);
		clew_model_free(after);
		clew_model_free(model);
	}
	assert_true(waited > ROUNDS / 2 && changed > ROUNDS / 10);
}

/* ---- requests ---- */

enum { MOST_REQUESTS = 8 };

struct requests {
	unsigned count, depth;
	clew_time queued[MOST_REQUESTS], length[MOST_REQUESTS], issued[MOST_REQUESTS];
};

/* At each moment who came first is first to be issued, if there is room. */
static void serve(struct requests *r)
{
	for (unsigned i = 0; i < r->count; i++)
		r->issued[i] = -1;
	for (clew_time now = 0; now < 2000; now++) {
		for (;;) {
			unsigned busy = 0, next = MOST_REQUESTS;

			for (unsigned i = 0; i < r->count; i++) {
				busy += r->issued[i] >= 0 && r->issued[i] + r->length[i] > now;
				if (r->issued[i] < 0 && r->queued[i] <= now &&
				    (next == MOST_REQUESTS || r->queued[i] < r->queued[next]))
					next = i;
			}
			if (next == MOST_REQUESTS || busy >= r->depth)
				break;
			r->issued[next] = now;
		}
	}
}

static unsigned depth_of(const struct requests *r)
{
	unsigned depth = 1;

	for (unsigned i = 0; i < r->count; i++) {
		unsigned at_once = 0;

		for (unsigned j = 0; j < r->count; j++)
			at_once += r->issued[j] <= r->issued[i] &&
				   r->issued[j] + r->length[j] > r->issued[i];
		depth = at_once > depth ? at_once : depth;
	}
	return depth;
}

static struct clew_model *record_requests(const struct requests *r)
{
	struct clew_model *model;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fputs("hierarchy devices\nspan 8:0 [0,2000] in devices:8:0\n", out);
	for (unsigned i = 0; i < r->count; i++) {
		fprintf(out, "span 8:0/r%u [%" PRId64 ",%" PRId64 "] no-call\n", i, r->queued[i],
			r->issued[i] + r->length[i]);
		if (r->issued[i] > r->queued[i])
			fprintf(out, "wait 8:0/r%u %" PRId64 "..%" PRId64 " queued\n", i,
				r->queued[i], r->issued[i]);
	}
	fclose(out);
	model = model_from_text(text);
	free(text);
	return model;
}

static void test_devices(void **state)
{
	static struct random_model m = {.seed = 57721};
	unsigned queued = 0;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct requests r = {.count = 1 + pick(&m, MOST_REQUESTS),
				     .depth = 1 + pick(&m, 3)};
		unsigned factor = 1 + pick(&m, 4);
		struct clew_model *model, *after;
		clew_time at = 0;
		char text[64];

		for (unsigned i = 0; i < r.count; i++) {
			r.queued[i] = at += 1 + pick(&m, 8);
			r.length[i] = 1 + pick(&m, 15);
		}
		serve(&r);
		model = record_requests(&r);
		r.depth = depth_of(&r);
		r.length[0] *= factor;
		serve(&r);
		snprintf(text, sizeof(text), "scale spans(8:0/r0) by %u; simulate devices;",
			 factor);
		assert_int_equal(apply(model, text, &after), 0);
		assert_consistent(after);
		for (unsigned i = 0; i < r.count; i++) {
			struct clew_range range = after->spans[1 + i].elementary;

			assert_int_equal(after->es[range.first + range.count - 1].start,
					 r.issued[i]);
			assert_int_equal(after->spans[1 + i].end, r.issued[i] + r.length[i]);
			queued += r.issued[i] > r.queued[i];
		}
		clew_model_free(after);
		clew_model_free(model);
	}
	assert_true(queued > ROUNDS);
}

/* ---- anything ---- */

/* Whoever is said to have held what, whenever: locks and devices as they are. */
static char *anything(struct random_model *m)
{
	unsigned threads = 2 + pick(m, 4);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fputs("hierarchy devices\nspan 8:0 [0,200000] in devices:8:0\n", out);
	for (unsigned i = 0; i < threads; i++)
		fprintf(out, "span t%u [0,100000]\n", i);
	for (unsigned i = 0, at = 0; i < 10; i++) {
		unsigned thread = pick(m, threads), from, to, releaser = pick(m, threads);

		from = at + 1 + pick(m, 9000);
		to = from + 1 + pick(m, 9000);
		at = from;
		if (thread == releaser || to > 99000)
			continue;
		fprintf(out, "wait t%u %u..%u futex split-ends object=futex:%u holder=\"", thread,
			from, to, pick(m, 2));
		for (unsigned rows = 1 + pick(m, 3), row = from; rows > 0; rows--) {
			unsigned next = row + pick(m, to - row + 1);

			fprintf(out, "t%u %u %u exact%s",
				rows == 1 && pick(m, 2) ? releaser : pick(m, threads), row, next,
				rows > 1 ? "," : "\"\n");
			row = next;
			if (rows == 1)
				fprintf(out, "dep unlock t%u@%u -> t%u@%u split-gap\n", releaser,
					pick(m, 4) ? next : to, thread, to);
		}
	}
	for (unsigned i = 0; i < 6; i++) {
		unsigned queued = pick(m, 90000), issued = queued + pick(m, 2) * pick(m, 20000),
			 completed = issued + pick(m, 20000);

		fprintf(out, "span 8:0/r%u [%u,%u] no-call\n", i, queued, completed);
		if (issued > queued)
			fprintf(out, "wait 8:0/r%u %u..%u queued\n", i, queued, issued);
	}
	fclose(out);
	return text;
}

static void test_identity(void **state)
{
	static struct random_model m = {.seed = 141421};
	unsigned compared = 0;

	(void)state;
	for (unsigned round = 0; round < 2 * ROUNDS; round++) {
		char *text = anything(&m);
		struct clew_model *model = try_model_from_text(text), *after;

		if (!model) {
			free(text);
			continue;
		}
		assert_int_equal(
			apply(model, "scale spans(**) by 1; simulate locks, devices;", &after), 0);
		if (after->es_count != model->es_count ||
		    memcmp(after->es, model->es, model->es_count * sizeof(*model->es)))
			print_error("%s\n", text);
		assert_int_equal(after->es_count, model->es_count);
		assert_memory_equal(after->es, model->es, model->es_count * sizeof(*model->es));
		assert_int_equal(after->dependency_count, model->dependency_count);
		compared++;
		clew_model_free(after);
		clew_model_free(model);
		free(text);
	}
	assert_true(compared >= ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_locks),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_identity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
