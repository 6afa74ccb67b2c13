/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A small machine at random: tasks on CPUs that lock, write to each other, fork,
 * sleep and die. It knows what every task did when and who held which lock, so what
 * the builder makes of its records must be that; explanations must cover every ns,
 * be the same twice, and lose exactly what hangs on a dropped edge type.
 */
#include "explain/why.h"
#include "synthetic.h"

#include "answers/why/why_tree.h"

enum { CPUS = 3, TASKS = 40, LOCKS = 4, STRETCHES = 4096 };
enum { DOES_NOT_EXIST, RUNS, READY, SLEEPS };

struct stretch {
	uint64_t start;
	uint32_t task;
	int state;
};

struct sim_task {
	int state;
	int lock;	/* waits for it, or -1 */
	bool wants;	/* was woken for `lock` and must take it or wait again */
	int held;	/* a lock it holds, or -1 */
	bool fresh;	/* never ran */
	unsigned waits; /* enum below */
	struct woken woken;
};

enum { FOR_NOTHING, FOR_LOCK, FOR_PIPE, FOR_CONDITION, FOR_TIME, FOR_DISK, FOR_CHILD, WAITS };

struct acquisition {
	uint64_t at;
	uint32_t task; /* 0: released */
};

struct machine {
	struct synthetic records;
	uint64_t seed, now;
	struct sim_task tasks[TASKS + 1];
	unsigned task_count;
	uint32_t running[CPUS];
	uint32_t owner[LOCKS];
	struct stretch *truth;
	size_t truth_count, truth_capacity;
	struct acquisition *owners[LOCKS];
	size_t owner_count[LOCKS], owner_capacity[LOCKS];
};

static unsigned pick(struct machine *m, unsigned below)
{
	m->seed ^= m->seed << 13;
	m->seed ^= m->seed >> 7;
	m->seed ^= m->seed << 17;
	return (unsigned)(m->seed >> 20) % below;
}

static void enters(struct machine *m, uint32_t task, int state)
{
	if (m->truth_count == m->truth_capacity) {
		m->truth_capacity = m->truth_capacity * 2 + STRETCHES;
		m->truth = realloc(m->truth, m->truth_capacity * sizeof(*m->truth));
		assert_non_null(m->truth);
	}
	m->truth[m->truth_count++] =
		(struct stretch){.start = m->now, .task = task, .state = state};
	m->tasks[task].state = state;
}

static void owned(struct machine *m, unsigned lock, uint32_t task)
{
	if (m->owner_count[lock] == m->owner_capacity[lock]) {
		m->owner_capacity[lock] = m->owner_capacity[lock] * 2 + 64;
		m->owners[lock] = realloc(m->owners[lock],
					  m->owner_capacity[lock] * sizeof(*m->owners[lock]));
		assert_non_null(m->owners[lock]);
	}
	m->owners[lock][m->owner_count[lock]++] = (struct acquisition){.at = m->now, .task = task};
	m->owner[lock] = task;
	if (task)
		m->tasks[task].held = (int)lock;
}

static struct clew_wait wait_for(const struct machine *m, unsigned waits, int lock)
{
	switch (waits) {
	case FOR_LOCK:
		return wait_futex(CLEW_FUTEX_CLASS_MUTEX, 0x1000 + 64 * (unsigned)lock,
				  100 + m->owner[lock]);
	case FOR_PIPE:
		return wait_on(SYS_read, CLEW_OBJECT_PIPE, 7);
	case FOR_CONDITION:
		return wait_futex(CLEW_FUTEX_CLASS_NONE, 0x9000, 0);
	case FOR_TIME:
		return wait_in(SYS_nanosleep);
	case FOR_DISK:
		return wait_on(SYS_fsync, CLEW_OBJECT_FILE, 8);
	default:
		return wait_in(SYS_wait4);
	}
}

static uint32_t any_ready(struct machine *m)
{
	unsigned first = pick(m, TASKS);

	for (unsigned i = 0; i < TASKS; i++) {
		uint32_t task = 1 + (first + i) % TASKS;

		if (m->tasks[task].state == READY)
			return task;
	}
	return IDLE;
}

/* The CPU's task goes off (flags, wait), another comes on. */
static void switches(struct machine *m, unsigned cpu, unsigned flags, const struct clew_wait *wait)
{
	uint32_t prev = m->running[cpu], next = any_ready(m);
	struct switched w = {
		.at = m->now, .cpu = cpu, .prev = prev, .next = next, .flags = flags, .wait = wait};

	if (prev != IDLE)
		enters(m, prev, flags & CLEW_SWITCH_DEAD ? DOES_NOT_EXIST : wait ? SLEEPS : READY);
	if (next != IDLE) {
		struct sim_task *task = &m->tasks[next];

		w.woken = task->woken;
		if (task->fresh)
			w.flags |= CLEW_SWITCH_NEXT_NEW;
		task->fresh = false;
		task->woken = (struct woken){0};
		enters(m, next, RUNS);
	}
	m->running[cpu] = next;
	SWITCH(&m->records, .at = w.at, .cpu = cpu, .prev = prev, .next = next, .flags = w.flags,
	       .wait = wait, .woken = w.woken);
}

static void wakes(struct machine *m, uint32_t sleeper, struct woken woken)
{
	woken.at = m->now;
	m->tasks[sleeper].woken = woken;
	m->tasks[sleeper].wants = m->tasks[sleeper].waits == FOR_LOCK;
	m->tasks[sleeper].waits = FOR_NOTHING;
	enters(m, sleeper, READY);
}

static uint32_t any_sleeper(struct machine *m, unsigned waits, int lock)
{
	for (uint32_t task = 1; task <= TASKS; task++)
		if (m->tasks[task].state == SLEEPS && m->tasks[task].waits == waits &&
		    (lock < 0 || m->tasks[task].lock == lock))
			return task;
	return 0;
}

static void sleeps_for(struct machine *m, unsigned cpu, unsigned waits, int lock)
{
	struct sim_task *task = &m->tasks[m->running[cpu]];
	struct clew_wait wait = wait_for(m, waits, lock);

	task->waits = waits;
	task->lock = lock;
	task->wants = false;
	switches(m, cpu, 0, &wait);
}

static void locks_or_waits(struct machine *m, unsigned cpu, int lock)
{
	uint32_t serial = m->running[cpu];

	if (m->owner[lock] == 0) {
		m->tasks[serial].wants = false;
		owned(m, (unsigned)lock, serial);
	} else {
		sleeps_for(m, cpu, FOR_LOCK, lock);
	}
}

static void unlocks(struct machine *m, uint32_t serial)
{
	int lock = m->tasks[serial].held;
	uint32_t waiter = any_sleeper(m, FOR_LOCK, lock);

	m->tasks[serial].held = -1;
	owned(m, (unsigned)lock, 0);
	if (waiter)
		wakes(m, waiter,
		      (struct woken){.by = serial,
				     .operation = CLEW_FUTEX_WAKE_ONE,
				     .flags = CLEW_WAKE_PRIVATE});
}

static void forks(struct machine *m, uint32_t parent)
{
	uint32_t child = ++m->task_count;

	identify(&m->records, (struct identity){.task = child,
						.process = 1,
						.at = m->now,
						.start_time = m->now,
						.parent = parent});
	life(&m->records, CLEW_KIND_FORK, m->now, parent, child);
	m->tasks[child] = (struct sim_task){
		.lock = -1, .held = -1, .fresh = true, .woken = {.at = m->now, .by = parent}};
	enters(m, child, READY);
}

static void acts(struct machine *m, unsigned cpu)
{
	uint32_t serial = m->running[cpu], other;
	struct sim_task *task = &m->tasks[serial];

	if (task->wants) {
		locks_or_waits(m, cpu, task->lock);
		return;
	}
	switch (pick(m, 12)) {
	case 0:
	case 1:
	case 2:
		if (task->held >= 0)
			unlocks(m, serial);
		else
			locks_or_waits(m, cpu, (int)pick(m, LOCKS));
		break;
	case 3:
		sleeps_for(m, cpu, FOR_PIPE + pick(m, WAITS - FOR_PIPE), -1);
		break;
	case 4:
	case 5:
		other = any_sleeper(m, FOR_PIPE + pick(m, 2), -1);
		if (other)
			wakes(m, other,
			      (struct woken){.by = serial,
					     .operation = pick(m, 2) ? CLEW_FUTEX_WAKE_ONE
								     : CLEW_FUTEX_NOT});
		break;
	case 6:
		other = any_sleeper(m, FOR_PIPE + pick(m, WAITS - FOR_PIPE), -1);
		if (other)
			wakes(m, other, (struct woken){.by = serial, .flags = CLEW_WAKE_SIGNAL});
		break;
	case 7:
		if (m->task_count < TASKS)
			forks(m, serial);
		break;
	case 8:
		if (task->held >= 0 || m->task_count < TASKS / 2 || pick(m, 4))
			break;
		life(&m->records, CLEW_KIND_EXIT, m->now, serial, 0);
		other = any_sleeper(m, FOR_CHILD, -1);
		if (other)
			wakes(m, other,
			      (struct woken){.by = serial,
					     .flags = CLEW_WAKE_EXITING | CLEW_WAKE_SIGNAL});
		m->now += 1 + pick(m, 20);
		switches(m, cpu, CLEW_SWITCH_DEAD, NULL);
		break;
	case 9:
		switches(m, cpu, CLEW_SWITCH_PREEMPT, NULL);
		break;
	default:
		other = any_sleeper(m, FOR_TIME + pick(m, 2), -1);
		if (other)
			wakes(m, other, (struct woken){.by = serial, .context = CLEW_WAKE_IRQ});
		break;
	}
}

static void simulate(struct machine *m, uint64_t seed, unsigned steps)
{
	*m = (struct machine){.seed = seed * 0x9e3779b97f4a7c15ull | 1, .now = START};
	m->task_count = TASKS / 4;
	threads(&m->records, m->task_count);
	for (uint32_t task = 1; task <= TASKS; task++)
		m->tasks[task] = (struct sim_task){.lock = -1, .held = -1};
	for (uint32_t task = 1; task <= m->task_count; task++) {
		enters(m, task, task <= CPUS ? RUNS : READY);
		if (task <= CPUS)
			m->running[task - 1] = task;
	}
	for (unsigned i = 0; i < steps; i++) {
		unsigned cpu = pick(m, CPUS);

		m->now += 1 + pick(m, 100);
		if (m->running[cpu] != IDLE)
			acts(m, cpu);
		else if (any_ready(m) != IDLE)
			switches(m, cpu, 0, NULL);
		else if (i % 7 == 0 && any_sleeper(m, FOR_TIME, -1))
			wakes(m, any_sleeper(m, FOR_TIME, -1),
			      (struct woken){.by = 1, .context = CLEW_WAKE_TIMER});
	}
	m->now += 100;
	for (uint32_t task = 1; task <= m->task_count; task++)
		if (m->tasks[task].state == READY && m->tasks[task].woken.at &&
		    !m->tasks[task].fresh)
			stop_asleep(&m->records, m->now, task, wait_in(SYS_pause),
				    m->tasks[task].woken);
}

static void machine_done(struct machine *m)
{
	synthetic_done(&m->records);
	free(m->truth);
	for (unsigned lock = 0; lock < LOCKS; lock++)
		free(m->owners[lock]);
}

/* Every stretch of the truth that is over, whole and of the right kind. */
static void assert_truth(const struct machine *m, const struct clew_trace *t)
{
	static const int kinds[] = {[RUNS] = CLEW_PIECE_RUNNING,
				    [READY] = CLEW_PIECE_RUNQUEUE,
				    [SLEEPS] = CLEW_PIECE_SLEEP};
	size_t next[TASKS + 1] = {0};

	for (size_t i = m->truth_count; i-- > 0;) {
		const struct stretch *is = &m->truth[i];
		uint64_t end = next[is->task] ? m->truth[next[is->task]].start : CLEW_TIME_OPEN;
		struct clew_piece piece;
		bool ever_on = false;

		next[is->task] = i;
		if (is->state == DOES_NOT_EXIST || end == is->start)
			continue;
		for (size_t k = i; k < m->truth_count && !ever_on; k++)
			ever_on = m->truth[k].task == is->task && m->truth[k].state == RUNS;
		/* A wait that began and that no switch has shown since cannot be known. */
		if (!ever_on)
			continue;
		piece = piece_of(t, is->task, is->start);
		assert_int_equal(piece.start, is->start);
		assert_int_equal(piece.kind, kinds[is->state]);
		if (end != CLEW_TIME_OPEN)
			assert_int_equal(piece.end, end);
	}
}

/* The holder of a lock at a moment: while it is free, who takes it next. */
static uint32_t holder_at(const struct machine *m, unsigned lock, uint64_t at)
{
	uint32_t task = 0;

	for (size_t i = 0; i < m->owner_count[lock]; i++) {
		if (m->owners[lock][i].at > at && task)
			break;
		task = m->owners[lock][i].task;
	}
	return task;
}

/* True if a task was awake all the time: it had no CPU, or lost it at once. */
static bool was_awake(const struct machine *m, uint32_t task, uint64_t from, uint64_t to)
{
	int state = DOES_NOT_EXIST;

	for (size_t i = 0; i < m->truth_count && m->truth[i].start < to; i++) {
		bool awake = m->truth[i].state == READY || m->truth[i].state == RUNS;

		if (m->truth[i].task == task && m->truth[i].start > from && !awake)
			return false;
		if (m->truth[i].task == task && m->truth[i].start <= from)
			state = m->truth[i].state;
	}
	return state == READY;
}

struct told {
	size_t holders, coming;
	uint64_t ns, nobody; /* waited, and of it without either */
};

static void assert_holders(const struct machine *m, const struct clew_trace *t, struct told *told)
{
	size_t count;
	const struct clew_sleep *all = clew_trace_sleeps(t, &count);

	for (size_t i = 0; i < count; i++) {
		uint64_t at = all[i].start;

		if (all[i].edge_type != CLEW_EDGE_UNLOCK)
			continue;
		for (unsigned h = 0; h < all[i].holder_count; h++) {
			const struct clew_holder *holder = &all[i].holders[h];
			unsigned lock = (unsigned)(all[i].object.number - 0x1000) / 64;

			assert_true(holder->from >= at);
			told->nobody += holder->from - at;
			at = holder->to;
			told->holders += !holder->coming;
			told->coming += holder->coming;
			/* Another one may take it before one that is coming. */
			if (holder->coming) {
				assert_true(was_awake(m, holder->task, holder->from, holder->to));
				continue;
			}
			assert_int_equal(holder->task, holder_at(m, lock, holder->from));
			assert_int_equal(holder->task, holder_at(m, lock, holder->to - 1));
		}
		assert_true(at <= all[i].end);
		told->nobody += all[i].end - at;
		told->ns += all[i].end - all[i].start;
	}
}

static bool same(const struct clew_segment *a, const struct clew_segment *b)
{
	return a->task == b->task && a->kind == b->kind && a->unknown_kind == b->unknown_kind &&
	       a->cycle == b->cycle && a->via_type == b->via_type &&
	       a->via_evidence == b->via_evidence && a->by == b->by &&
	       a->chain_length == b->chain_length &&
	       (!a->chain_length ||
		!memcmp(a->chain, b->chain, a->chain_length * sizeof(*a->chain)));
}

static void assert_cover(const struct clew_why *why)
{
	uint64_t at = why->from;

	for (size_t i = 0; i < why->segment_count; i++) {
		assert_int_equal(why->segments[i].start, at);
		assert_true(why->segments[i].end > at);
		at = why->segments[i].end;
	}
	assert_int_equal(at, why->to);
}

/* `less` is `whole` but for unknown segments, each a whole part of a wait that hung on the dropped
 * type. */
static size_t assert_dropped(const struct clew_trace *t, const struct clew_why *whole,
			     const struct clew_why *less, unsigned type)
{
	const struct clew_segment *last = NULL;
	size_t w = 0, changed = 0;

	for (size_t i = 0; i < less->segment_count; i++) {
		const struct clew_segment *segment = &less->segments[i];

		while (whole->segments[w].end <= segment->start)
			w++;
		if (same(&whole->segments[w], segment) &&
		    whole->segments[w].start == segment->start &&
		    whole->segments[w].end == segment->end) {
			last = segment;
			continue;
		}
		changed++;
		assert_int_equal(segment->kind, CLEW_WAIT_UNKNOWN);
		if (segment->sleep) {
			struct clew_piece piece = piece_of(t, segment->task, segment->start);

			assert_int_equal(piece.kind, CLEW_PIECE_SLEEP);
			assert_true(piece.sleep->edge_type == (int)type ||
				    (type == CLEW_EDGE_UNLOCK && piece.sleep->holder_count));
			/* Two causes of a wait may lead to the same wait. */
			assert_false(last && last->sleep == segment->sleep &&
				     last->end == segment->start && same(last, segment));
		} else {
			assert_int_equal(type, CLEW_EDGE_FORK);
			assert_true(segment->end <= clew_trace_task(t, segment->task)->birth);
		}
		/* The segment that it replaces begins and ends with it, and went through its task.
		 */
		assert_int_equal(whole->segments[w].start, segment->start);
		for (size_t k = w;
		     k < whole->segment_count && whole->segments[k].start < segment->end; k++) {
			assert_true(whole->segments[k].end <= segment->end);
			assert_true(whole->segments[k].chain_length >= segment->chain_length);
			assert_memory_equal(whole->segments[k].chain ? whole->segments[k].chain
								     : (const uint32_t *)"",
					    segment->chain ? segment->chain : (const uint32_t *)"",
					    segment->chain_length * sizeof(uint32_t));
		}
		last = segment;
	}
	return changed;
}

static void random_machines(void **state)
{
	static const unsigned types[] = {CLEW_EDGE_FORK, CLEW_EDGE_EXIT,   CLEW_EDGE_UNLOCK,
					 CLEW_EDGE_PIPE, CLEW_EDGE_SIGNAL, CLEW_EDGE_WAKE};
	size_t changed[CLEW_EDGE_TYPE_COUNT] = {0};
	struct told told = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct clew_trace *t, *dropped;
		struct machine m;

		simulate(&m, seed, 1500);
		t = synthetic_trace(&m.records, m.now, 0);
		assert_sane(t);
		assert_truth(&m, t);
		assert_holders(&m, t, &told);
		for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
			unsigned type = types[i];

			dropped = synthetic_trace(&m.records, m.now, 1u << type);
			assert_sane(dropped);
			for (uint32_t task = 1; task <= m.task_count; task++) {
				struct clew_why whole, less, again;

				assert_int_equal(
					clew_why_explain(t, NULL, task, START, m.now, &whole), 0);
				assert_int_equal(
					clew_why_explain(t, NULL, task, START, m.now, &again), 0);
				assert_int_equal(
					clew_why_explain(dropped, NULL, task, START, m.now, &less),
					0);
				assert_cover(&whole);
				assert_cover(&less);
				assert_int_equal(whole.segment_count, again.segment_count);
				for (size_t k = 0; k < whole.segment_count; k++)
					assert_true(same(&whole.segments[k], &again.segments[k]));
				changed[type] += assert_dropped(t, &whole, &less, type);
				clew_why_done(&whole);
				clew_why_done(&less);
				clew_why_done(&again);
			}
			clew_trace_free(dropped);
		}
		clew_trace_free(t);
		machine_done(&m);
	}
	/* The machines did do what this is about. */
	assert_true(told.holders > 1000 && told.coming > 100);
	assert_true(told.nobody < told.ns / 20);
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		assert_true(changed[types[i]] > 20);
}

/* Each ns is in one leaf and in all nodes above it, and siblings differ in their words. */
static void assert_tree(const struct clew_trace *t, const struct clew_why *why,
			enum clew_tree_detail detail)
{
	struct clew_tree tree;
	uint64_t leaves = 0, left, shown = 0;
	size_t lines = 0, left_count;

	assert_int_equal(clew_tree_make(t, NULL, why, detail, &tree), 0);
	for (size_t i = 0; i < tree.count; i++) {
		const struct clew_tree_node *node = &tree.nodes[i];
		uint64_t below = 0, last = UINT64_MAX;

		assert_true(node->ns > 0);
		assert_true(node->parent == CLEW_TREE_ROOT ? !node->depth : node->parent < i);
		if (node->leaf)
			leaves += node->ns;
		for (size_t k = i + 1; k < tree.count; k++) {
			if (tree.nodes[k].parent == i) {
				assert_int_equal(tree.nodes[k].depth, node->depth + 1);
				assert_true(tree.nodes[k].ns <= last);
				last = tree.nodes[k].ns;
				below += last;
			}
			assert_false(tree.nodes[k].parent == node->parent &&
				     tree.nodes[k].leaf == node->leaf &&
				     tree.nodes[k].phrase.task == node->phrase.task &&
				     !strcmp(tree.nodes[k].phrase.before, node->phrase.before) &&
				     !strcmp(tree.nodes[k].phrase.after, node->phrase.after));
		}
		assert_int_equal(below, node->leaf ? 0 : node->ns);
	}
	assert_int_equal(leaves, why->to - why->from);
	left = clew_tree_choose(t, &tree, 10, 80, &left_count);
	for (size_t i = 0; i < tree.count; i++) {
		const struct clew_tree_node *node = &tree.nodes[i];

		lines += node->shown;
		shown += node->shown && node->leaf ? node->ns : 0;
		if (node->shown && node->parent != CLEW_TREE_ROOT)
			assert_true(tree.nodes[node->parent].shown);
	}
	assert_true(lines <= 10);
	assert_int_equal(left + shown, leaves);
	clew_tree_done(&tree);
}

static void trees_add_up(void **state)
{
	struct machine m;

	(void)state;
	for (unsigned round = 1; round <= 6; round++) {
		struct clew_trace *t;

		simulate(&m, round * 7919, 600);
		t = synthetic_trace(&m.records, m.now, 0);
		for (uint32_t task = 1; task <= m.task_count; task++) {
			struct clew_why why;

			assert_int_equal(clew_why_explain(t, NULL, task, START, m.now, &why), 0);
			assert_tree(t, &why, CLEW_TREE_EACH);
			assert_tree(t, &why, CLEW_TREE_TASKS);
			assert_tree(t, &why, CLEW_TREE_BROAD);
			clew_why_done(&why);
		}
		clew_trace_free(t);
		machine_done(&m);
	}
}

/* Machines with a stretch of one CPU's records missing: still every ns once, and nothing outside is
 * wrong. */
static void with_records_missing(void **state)
{
	(void)state;
	for (uint64_t seed = 100; seed < 160; seed++) {
		struct synthetic kept = {0};
		uint64_t from = 0, to = 0, last = START;
		struct clew_trace *t;
		struct machine m;
		unsigned number = 0;

		simulate(&m, seed, 1500);
		for (size_t at = 0; at < m.records.size;) {
			const struct clew_header *record =
				(const struct clew_header *)(m.records.bytes + at);

			at += record_size(record);
			if (record->kind == CLEW_KIND_SWITCH && record->cpu == 0) {
				number++;
				if (number >= 50 && number < 60) {
					from = from ? from : last;
					continue;
				}
				if (number == 60) {
					to = record->time;
					gap(&kept, 0, from, to);
				}
				last = record->time;
			}
			synthetic_put(&kept, record, record_size(record));
		}
		if (from && !to)
			gap(&kept, 0, from, m.now);
		t = synthetic_trace(&kept, m.now, 0);
		assert_sane(t);
		for (size_t i = 0; i < m.truth_count; i++) {
			const struct stretch *is = &m.truth[i];
			struct clew_piece piece;

			if (is->state == RUNS &&
			    clew_trace_piece(t, is->task, is->start, false, &piece) &&
			    piece.kind == CLEW_PIECE_SLEEP)
				assert_true(piece.sleep->blind);
			if (is->state == SLEEPS &&
			    clew_trace_piece(t, is->task, is->start, false, &piece) &&
			    piece.start < piece.end)
				assert_true(piece.kind != CLEW_PIECE_RUNNING);
		}
		for (uint32_t task = 1; task <= m.task_count; task++) {
			struct clew_why why;

			assert_int_equal(clew_why_explain(t, NULL, task, START, m.now, &why), 0);
			assert_cover(&why);
			clew_why_done(&why);
		}
		clew_trace_free(t);
		synthetic_done(&kept);
		machine_done(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_machines),
		cmocka_unit_test(trees_add_up),
		cmocka_unit_test(with_records_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
