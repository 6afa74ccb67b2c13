/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of functions against a model: programs that call, return, jump, throw, switch stacks and
 * end at random know what became of each of their activations.
 */
#include "builder/frame.h"
#include "synthetic.h"

#include "draw.h"

#define FUNCTIONS 6
#define DEEPEST	  60u
#define STACKS	  5u
#define MOST	  20000u

/* Sites of a function, by its number. */
#define ENTRY(function)	 ((function)*4)
#define RET(function)	 ((function)*4 + 1)
#define TAIL(function)	 ((function)*4 + 2)
#define LONGJMP		 100
#define CATCH		 101
#define THROW		 102
#define GOODBYE		 103
#define UNWIND		 104
#define BY_TRAMPOLINE	 4 /* so are returns of this function and those after it seen */
#define PUSHED(function) ((function) % 3 * 8)

struct expected {
	uint64_t start, end, called;
	uint32_t task, parent;
	uint16_t depth;
	uint8_t closed, flags;
	bool left_behind; /* on a stack that the program never came back to: how it ends is open */
	bool seen;
};

struct activation {
	uint64_t stack;
	unsigned function;
	uint32_t number;
	bool tailed; /* by trampoline: it jumped to the function above it */
};

/* The fate of all activations. */
struct model {
	struct synthetic s;
	struct expected all[MOST];
	uint32_t count;
	uint64_t now;
	uint32_t tasks;
	uint64_t lost_at; /* when records were lost last */
	bool one_stack;	  /* then parents and own times are known, too */
};

/* A program that runs in one task. */
struct program {
	struct model *m;
	uint32_t task;
	struct {
		struct activation frames[DEEPEST + 2];
		unsigned depth;
		uint64_t base;
	} stacks[STACKS];
	unsigned at;   /* the stack that it is on */
	unsigned last; /* the stack that it was on at the last record */
	bool lose;     /* the next record says that others were lost */
};

static void put_site(struct synthetic *s, unsigned site, unsigned function, unsigned roles)
{
	struct clew_site_record record = {
		.header = {.time = START, .kind = CLEW_KIND_SITE, .cpu = CLEW_STREAM_USER},
		.function = function,
		.site = (uint16_t)site,
		.roles = (uint16_t)roles,
		.below = (uint16_t)(roles == CLEW_SITE_ENTER ? PUSHED(function) : 0),
		.way = function >= BY_TRAMPOLINE && function < FUNCTIONS ? CLEW_SITE_WAY_TRAMPOLINE
									 : CLEW_SITE_WAY_EXITS,
	};

	synthetic_put(s, &record, sizeof(record));
}

static void put_sites(struct synthetic *s)
{
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		put_site(s, ENTRY(i), i, CLEW_SITE_ENTER);
		put_site(s, RET(i), i, CLEW_SITE_RET);
		put_site(s, TAIL(i), i, CLEW_SITE_TAIL);
	}
	put_site(s, LONGJMP, 50, CLEW_SITE_LONGJMP);
	put_site(s, CATCH, 51, CLEW_SITE_CATCH);
	put_site(s, THROW, 52, CLEW_SITE_THROW);
	put_site(s, GOODBYE, 53, CLEW_SITE_EXIT);
	put_site(s, UNWIND, 54, CLEW_SITE_UNWIND);
}

static void put_event(struct program *p, unsigned site, uint64_t stack, unsigned flags)
{
	struct clew_function record = {
		.header = {.time = p->m->now += 1 + draw(900),
			   .kind = CLEW_KIND_FUNCTION,
			   .flags = (uint8_t)(flags | (p->lose ? CLEW_FUNCTION_LOST : 0))},
		.stack = stack,
		.task = p->task,
		.site = (uint16_t)site,
	};

	synthetic_put(&p->m->s, &record, sizeof(record));
	p->last = p->at;
	p->lose = false;
}

/* ---- the model ---- */

static struct activation *frames_of(struct program *p)
{
	return p->stacks[p->at].frames;
}

static unsigned *depth_of(struct program *p)
{
	return &p->stacks[p->at].depth;
}

static void close_one(struct model *m, const struct activation *frame, unsigned closed,
		      unsigned flags)
{
	struct expected *e = &m->all[frame->number];

	e->end = m->now;
	e->closed = (uint8_t)closed;
	e->flags |= (uint8_t)flags;
	if (e->parent != CLEW_NO_NUMBER)
		m->all[e->parent].called += e->end - e->start;
}

/* Closes all but the outermost `keep` frames of this stack. */
static void close_above(struct program *p, unsigned keep, unsigned closed)
{
	while (*depth_of(p) > keep)
		close_one(p->m, &frames_of(p)[--*depth_of(p)], closed, CLEW_FRAME_INFERRED);
}

static void note_frame(struct program *p, unsigned function, uint64_t stack, unsigned flags)
{
	unsigned depth = *depth_of(p);
	struct model *m = p->m;

	assert_true(m->count < MOST);
	m->all[m->count] = (struct expected){
		.start = m->now,
		.task = p->task,
		.closed = CLEW_FRAME_OPEN,
		.flags = (uint8_t)flags,
		.parent = depth ? frames_of(p)[depth - 1].number : CLEW_NO_NUMBER,
		.depth = (uint16_t)depth,
	};
	frames_of(p)[(*depth_of(p))++] =
		(struct activation){.stack = stack, .function = function, .number = m->count++};
}

/* Room enough below the innermost frame. */
static uint64_t next_stack(struct program *p)
{
	unsigned depth = *depth_of(p);
	uint64_t from = depth ? frames_of(p)[depth - 1].stack : p->stacks[p->at].base;

	return from - 8 * (1 + draw(20));
}

/* `dropped`: as many frames had been left without a word, and this proves it. */
static void enter(struct program *p, unsigned function, uint64_t stack, unsigned keep,
		  unsigned closed)
{
	put_event(p, ENTRY(function), stack - PUSHED(function), 0);
	close_above(p, keep, closed);
	note_frame(p, function, stack, 0);
}

static void return_top(struct program *p)
{
	struct activation *top = &frames_of(p)[*depth_of(p) - 1];

	if (top->function < BY_TRAMPOLINE)
		put_event(p, RET(top->function), top->stack, 0);
	else
		put_event(p, ENTRY(top->function), top->stack + 8, CLEW_FUNCTION_RETURNED);
	--*depth_of(p);
	close_one(p->m, top, top->tailed ? CLEW_FRAME_TAIL_CALL : CLEW_FRAME_RETURNED,
		  top->tailed ? CLEW_FRAME_INCLUSIVE : 0);
	if (*depth_of(p) && top[-1].tailed)
		return_top(p);
}

static void tail_call(struct program *p)
{
	struct activation *top = &frames_of(p)[*depth_of(p) - 1];
	uint64_t stack = top->stack;

	/* No function that returns by trampoline can call one that changes stacks. */
	if (!p->m->one_stack && top->function >= BY_TRAMPOLINE)
		return;
	if (top->function < BY_TRAMPOLINE) {
		put_event(p, TAIL(top->function), stack, 0);
		--*depth_of(p);
		close_one(p->m, top, CLEW_FRAME_TAIL_CALL, 0);
	} else {
		top->tailed = true;
	}
	enter(p, draw(FUNCTIONS), stack, *depth_of(p), 0);
}

/* A depth to come back to with no frame above that returns by trampoline, unless those may be. */
static bool choose_depth(struct program *p, bool trampolines, unsigned *ret_keep)
{
	unsigned depth = *depth_of(p), keep = draw(depth + 1);

	/* Where a jump goes to is not known of a stack that the program has only just come back to.
	 */
	if (keep == depth || p->last != p->at || (!keep && !p->m->one_stack))
		return false;
	for (unsigned i = keep; i < depth && !trampolines; i++)
		if (frames_of(p)[i].function >= BY_TRAMPOLINE)
			return false;
	/* A frame that jumped to the one above it is no place to come back to. */
	if (keep && frames_of(p)[keep - 1].tailed)
		return false;
	*ret_keep = keep;
	return true;
}

static void jump(struct program *p)
{
	unsigned keep;

	if (!choose_depth(p, true, &keep))
		return;
	put_event(p, LONGJMP, frames_of(p)[keep].stack + 8, 0);
	close_above(p, keep, CLEW_FRAME_LONGJMP);
}

/* Destructors run in some of the frames that are left. */
static void destroy(struct program *p, unsigned keep, unsigned closed)
{
	while (*depth_of(p) > keep + 1 && draw(2)) {
		unsigned place = keep + 1 + draw(*depth_of(p) - keep - 1);

		if (frames_of(p)[place - 1].tailed)
			continue;
		enter(p, draw(BY_TRAMPOLINE), frames_of(p)[place].stack, place, closed);
		return_top(p);
	}
}

static void throw(struct program * p)
{
	unsigned keep;

	if (!choose_depth(p, false, &keep))
		return;
	put_event(p, THROW, next_stack(p), 0);
	destroy(p, keep, CLEW_FRAME_EXCEPTION);
	if (*depth_of(p) == keep)
		return;
	put_event(p, CATCH, frames_of(p)[keep].stack, 0);
	close_above(p, keep, CLEW_FRAME_EXCEPTION);
}

/* Nobody says how frames were left; a call, or the return of the one below, shows it. */
static void unwind(struct program *p)
{
	unsigned keep;

	if (!choose_depth(p, false, &keep))
		return;
	if (keep && draw(2)) {
		struct activation *top = &frames_of(p)[keep - 1];

		if (top->function >= BY_TRAMPOLINE)
			return;
		put_event(p, RET(top->function), top->stack, 0);
		close_above(p, keep, CLEW_FRAME_UNWOUND);
		--*depth_of(p);
		close_one(p->m, top, CLEW_FRAME_RETURNED, 0);
		if (keep > 1 && top[-1].tailed)
			return_top(p);
	} else {
		enter(p, draw(FUNCTIONS), frames_of(p)[keep].stack, keep, CLEW_FRAME_UNWOUND);
	}
}

static void lose(struct program *p)
{
	p->lose = true;
	p->at = 0;
	/* The next record is the first that is known again. */
	put_event(p, THROW, 0x1000, 0);
	for (p->at = 0; p->at < STACKS; p->at++) {
		for (unsigned i = 0; i < *depth_of(p); i++)
			p->m->all[frames_of(p)[i].number].left_behind = !p->m->one_stack;
		close_above(p, 0, CLEW_FRAME_LOST);
	}
	p->at = 0;
	/* So that nothing counts as thrown from here on. */
	put_event(p, CATCH, 0x1000, 0);
	p->m->lost_at = p->m->now;
}

static void run(struct program *p, unsigned actions, bool child);

static void fork_child(struct program *p)
{
	struct program *child = malloc(sizeof(*child));
	struct activation *from = frames_of(p);
	unsigned depth = *depth_of(p);

	assert_non_null(child);
	*child = (struct program){.m = p->m, .task = ++p->m->tasks};
	child->stacks[0].base = p->stacks[0].base;
	p->m->now = (p->m->now + 1000) / 128 * 128;
	identify(&p->m->s,
		 (struct identity){.task = child->task, .process = child->task, .at = p->m->now});
	life(&p->m->s, CLEW_KIND_FORK, p->m->now, p->task, child->task);
	for (unsigned i = 0; i < depth; i++) {
		note_frame(child, from[i].function, from[i].stack, CLEW_FRAME_INHERITED);
		child->stacks[0].frames[i].tailed = from[i].tailed;
	}
	run(child, 30, true);
	free(child);
}

/* All stacks of the program are gone. */
static void end_all(struct program *p, unsigned closed)
{
	unsigned current = p->at;

	for (p->at = 0; p->at < STACKS; p->at++) {
		for (unsigned i = 0; i < *depth_of(p); i++)
			p->m->all[frames_of(p)[i].number].left_behind =
				p->at != current && !p->m->one_stack;
		close_above(p, 0, closed);
	}
	p->at = current;
}

static void end(struct program *p)
{
	static const uint8_t reasons[] = {CLEW_FRAME_EXIT, CLEW_FRAME_CRASH, CLEW_FRAME_EXEC,
					  CLEW_FRAME_EXIT, CLEW_FRAME_CANCELED};
	struct clew_life record = {.header = {.kind = CLEW_KIND_EXIT}, .task = p->task};
	unsigned how = draw(5), keep;

	if (how >= 3) {
		put_event(p, how == 4 ? UNWIND : GOODBYE, next_stack(p), 0);
		if (how == 3 && draw(2))
			put_event(p, UNWIND, next_stack(p), 0);
		if (p->m->one_stack && choose_depth(p, false, &keep))
			destroy(p, keep, reasons[how]);
	}
	p->m->now += 1000;
	record.header.time = p->m->now;
	if (how == 1)
		record.value = 11;
	if (how == 2) {
		record.header.kind = CLEW_KIND_EXEC;
		record.other = p->task;
	}
	synthetic_put(&p->m->s, &record, sizeof(record));
	end_all(p, reasons[how]);
}

static void act(struct program *p, bool child)
{
	unsigned what = draw(1000);

	if (what < 520 && *depth_of(p) < DEEPEST)
		enter(p, draw(FUNCTIONS), next_stack(p), *depth_of(p), 0);
	else if (what >= 995 && !p->m->one_stack)
		p->at = draw(STACKS);
	else if (!*depth_of(p))
		return;
	else if (what < 800)
		return_top(p);
	else if (what < 860 && *depth_of(p) < DEEPEST)
		tail_call(p);
	else if (what < 900)
		jump(p);
	else if (what < 940)
		throw(p);
	else if (what < 970)
		unwind(p);
	else if (what < 974)
		lose(p);
	else if (what < 980 && p->m->one_stack && !child)
		fork_child(p);
	else if (what >= 985 && !p->m->one_stack)
		p->at = draw(STACKS);
}

static void run(struct program *p, unsigned actions, bool child)
{
	for (unsigned i = 0; i < actions; i++)
		act(p, child);
	if (child || draw(2))
		end(p);
}

/* ---- the comparison ---- */

static int take(void *context, struct clew_finding finding)
{
	const struct clew_frame *frame = finding.frame;
	struct model *m = context;
	struct expected *e;

	assert_true(frame->number < m->count);
	e = &m->all[frame->number];
	assert_false(e->seen);
	e->seen = true;
	assert_int_equal(frame->start, e->start);
	assert_int_equal(frame->task, e->task);
	assert_int_equal(frame->end_task, e->task);
	assert_int_equal(frame->flags & CLEW_FRAME_INHERITED, e->flags & CLEW_FRAME_INHERITED);
	/* It may have gone on, as far as anybody knows. */
	if (e->closed == CLEW_FRAME_UNWOUND && e->end < m->lost_at &&
	    frame->closed == CLEW_FRAME_LOST)
		return 0;
	/* An activation that was left without a word, or on a stack that was left, may go on one
	 * day. */
	if (e->left_behind || (!m->one_stack && e->closed > CLEW_FRAME_TAIL_CALL)) {
		assert_true(frame->closed > CLEW_FRAME_TAIL_CALL);
		return 0;
	}
	assert_int_equal(frame->closed, e->closed);
	assert_int_equal(frame->flags, e->flags);
	if (e->closed == CLEW_FRAME_OPEN)
		assert_true(frame->end == CLEW_TIME_OPEN);
	else if (m->one_stack || e->closed <= CLEW_FRAME_TAIL_CALL)
		assert_int_equal(frame->end, e->end);
	if (!m->one_stack)
		return 0;
	if (e->closed == CLEW_FRAME_OPEN)
		e->end = m->now;
	assert_int_equal(frame->parent, e->parent);
	assert_int_equal(frame->depth, e->depth);
	if (e->closed != CLEW_FRAME_OPEN)
		assert_int_equal(frame->self, e->end - e->start - e->called);
	return 0;
}

static void compare(unsigned seed, bool one_stack)
{
	struct model *m = calloc(1, sizeof(*m));
	struct clew_finding_taker taker = {
		.wants = CLEW_FINDING_BIT(CLEW_FINDING_FRAME), .take = take, .context = m};
	struct program p = {.m = m, .task = 1};

	assert_non_null(m);
	random_state = seed * 0x9e3779b97f4a7c15ull + 1;
	m->now = START + 1000;
	m->one_stack = one_stack;
	m->tasks = 1;
	threads(&m->s, 1);
	put_sites(&m->s);
	/* Stacks above and below the first one. */
	for (unsigned i = 0; i < STACKS; i++)
		p.stacks[i].base = 0x7f0000000000 + (i ^ 2) * 0x100000;
	run(&p, 3000, false);
	for (unsigned i = 0; i < STACKS; i++)
		for (unsigned k = 0; k < p.stacks[i].depth; k++)
			m->all[p.stacks[i].frames[k].number].left_behind = !one_stack && i != p.at;
	m->now += 1000;
	synthetic_feed(&m->s, m->now, 0, &taker, 1);
	for (uint32_t i = 0; i < m->count; i++)
		assert_true(m->all[i].seen);
	synthetic_done(&m->s);
	free(m);
}

static void on_one_stack(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 300; seed++)
		compare(seed, true);
}

static void on_many_stacks(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 300; seed++)
		compare(seed, false);
}

/* ---- single cases ---- */

#define FRAMES_KEPT 8

struct kept {
	struct clew_frame frames[FRAMES_KEPT];
	uint8_t values[FRAMES_KEPT][32];
	unsigned count; /* in all */
};

static int keep_frame(void *context, struct clew_finding finding)
{
	struct kept *kept = context;
	uint32_t number = finding.frame->number;
	size_t size = finding.frame->values_size + finding.frame->returned_size;

	kept->count++;
	if (number >= FRAMES_KEPT)
		return 0;
	kept->frames[number] = *finding.frame;
	assert_true(size <= sizeof(kept->values[number]));
	if (size)
		memcpy(kept->values[number], finding.frame->values, size);
	return 0;
}

static struct kept frames_from(struct synthetic *s, uint64_t end)
{
	struct kept kept = {};
	struct clew_finding_taker taker = {.wants = CLEW_FINDING_BIT(CLEW_FINDING_FRAME),
					   .take = keep_frame,
					   .context = &kept};

	synthetic_feed(s, end, 0, &taker, 1);
	synthetic_done(s);
	return kept;
}

static void assert_frame(const struct kept *kept, unsigned number, uint64_t start, uint64_t end,
			 unsigned closed)
{
	assert_int_equal(kept->frames[number].start, start);
	assert_true(kept->frames[number].end == end);
	assert_int_equal(kept->frames[number].closed, closed);
}

static void at_site(struct synthetic *s, uint64_t at, uint32_t task, unsigned site, uint64_t stack)
{
	struct clew_function record = {.header = {.time = at, .kind = CLEW_KIND_FUNCTION},
				       .stack = stack,
				       .task = task,
				       .site = (uint16_t)site};

	synthetic_put(s, &record, sizeof(record));
}

/*
 * A handler of signals runs on a stack above the others and jumps into main(): it ends, and the
 * function that the signal came to; main(), which had been left for the handler, goes on.
 */
static void jump_from_handler(void **state)
{
	struct synthetic s = {0};
	struct kept kept;

	(void)state;
	threads(&s, 1);
	put_sites(&s);
	at_site(&s, 2000, 1, ENTRY(0), 0x5000);
	at_site(&s, 2100, 1, ENTRY(3), 0x4000);
	at_site(&s, 2200, 1, ENTRY(0), 0x900000);
	at_site(&s, 2300, 1, LONGJMP, 0x4800);
	at_site(&s, 2400, 1, ENTRY(3), 0x4000);
	at_site(&s, 2500, 1, RET(3), 0x4000);
	at_site(&s, 2600, 1, RET(0), 0x5000);
	kept = frames_from(&s, 9000);
	assert_int_equal(kept.count, 4);
	assert_frame(&kept, 0, 2000, 2600, CLEW_FRAME_RETURNED);
	assert_frame(&kept, 1, 2100, 2300, CLEW_FRAME_LONGJMP);
	assert_frame(&kept, 2, 2200, 2300, CLEW_FRAME_LONGJMP);
	assert_frame(&kept, 3, 2400, 2500, CLEW_FRAME_RETURNED);
}

/* Another thread than the leader calls exec; a child that shares its parent's memory has none of
 * its frames. */
static void exec_and_vfork(void **state)
{
	struct synthetic s = {0};
	struct kept kept;

	(void)state;
	identify(&s, (struct identity){.task = 1, .process = 1, .memory = 7});
	identify(&s, (struct identity){.task = 2, .process = 1, .memory = 7});
	put_sites(&s);
	at_site(&s, 2000, 1, ENTRY(0), 0x5000);
	at_site(&s, 2100, 2, ENTRY(0), 0x15000);
	identify(&s, (struct identity){.task = 3, .process = 3, .memory = 7, .at = 2176});
	life(&s, CLEW_KIND_FORK, 2176, 2, 3);
	identify(&s, (struct identity){.task = 4, .process = 4, .memory = 9, .at = 2304});
	life(&s, CLEW_KIND_FORK, 2304, 2, 4);
	life(&s, CLEW_KIND_EXIT, 2432, 1, 0);
	life(&s, CLEW_KIND_EXEC, 2560, 2, 5);
	kept = frames_from(&s, 9000);
	assert_int_equal(kept.count, 3);
	assert_frame(&kept, 0, 2000, 2432, CLEW_FRAME_EXIT);
	assert_frame(&kept, 1, 2100, 2560, CLEW_FRAME_EXEC);
	assert_int_equal(kept.frames[1].task, 2);
	assert_int_equal(kept.frames[1].end_task, 5);
	assert_frame(&kept, 2, 2304, CLEW_TIME_OPEN, CLEW_FRAME_OPEN);
	assert_int_equal(kept.frames[2].flags, CLEW_FRAME_INHERITED);
	assert_int_equal(kept.frames[2].task, 4);
}

/* The end of a thread that lost records, that of one without a record of it, and a damaged file. */
static void losses(void **state)
{
	struct synthetic s = {0};
	struct clew_life exits = {
		.header = {.time = 2432, .kind = CLEW_KIND_EXIT, .flags = CLEW_LIFE_LOST},
		.task = 1};
	struct kept kept;

	(void)state;
	threads(&s, 4);
	put_sites(&s);
	SWITCH(&s, .at = 1500, .cpu = 1, .prev = IDLE, .next = 4);
	for (unsigned task = 1; task <= 4; task++)
		at_site(&s, 2000 + task, task, ENTRY(0), 0x5000);
	synthetic_put(&s, &exits, sizeof(exits));
	SWITCH(&s, .at = 2500, .cpu = 0, .prev = 2, .next = IDLE, .flags = CLEW_SWITCH_DEAD);
	cut_off(&s, 0, 2600, 2800);
	at_site(&s, 2900, 3, RET(0), 0x5000);
	at_site(&s, 3000, 4, RET(0), 0x5000);
	kept = frames_from(&s, 9000);
	assert_int_equal(kept.count, 4);
	assert_frame(&kept, 0, 2001, 2432, CLEW_FRAME_LOST);
	assert_frame(&kept, 1, 2002, 2500, CLEW_FRAME_LOST);
	assert_frame(&kept, 2, 2003, 2800, CLEW_FRAME_LOST);
	/* It ran on another CPU all the time. */
	assert_frame(&kept, 3, 2004, 3000, CLEW_FRAME_RETURNED);
}

/* One function in the middle of a stack is dropped: those around it go on, and its exit, which
 * comes after, counts for nothing. A function that is called then has the others for callers. */
static void dropped(void **state)
{
	struct synthetic s = {0};
	struct clew_dropped record = {.header = {.time = 2400, .kind = CLEW_KIND_DROPPED},
				      .function = 3};
	struct kept kept;

	(void)state;
	threads(&s, 1);
	put_sites(&s);
	at_site(&s, 2000, 1, ENTRY(0), 0x5000);
	at_site(&s, 2100, 1, ENTRY(3), 0x4000);
	at_site(&s, 2200, 1, ENTRY(3), 0x3800);
	at_site(&s, 2300, 1, ENTRY(0), 0x3000);
	synthetic_put(&s, &record, sizeof(record));
	at_site(&s, 2500, 1, RET(0), 0x3000);
	at_site(&s, 2600, 1, RET(3), 0x3800);
	at_site(&s, 2700, 1, ENTRY(0), 0x3000);
	at_site(&s, 2800, 1, RET(0), 0x3000);
	at_site(&s, 2900, 1, RET(0), 0x5000);
	kept = frames_from(&s, 9000);
	assert_int_equal(kept.count, 5);
	assert_frame(&kept, 0, 2000, 2900, CLEW_FRAME_RETURNED);
	assert_frame(&kept, 1, 2100, 2400, CLEW_FRAME_LOST);
	assert_frame(&kept, 2, 2200, 2400, CLEW_FRAME_LOST);
	assert_frame(&kept, 3, 2300, 2500, CLEW_FRAME_RETURNED);
	assert_frame(&kept, 4, 2700, 2800, CLEW_FRAME_RETURNED);
	assert_int_equal(kept.frames[4].parent, 0);
	/* It ran 900 ns: 300 in the dropped functions, then 100 in each of the calls. */
	assert_int_equal(kept.frames[0].self, 900 - 300 - 100 - 100);
	assert_int_equal(kept.frames[1].self, 100);
	assert_int_equal(kept.frames[2].self, 100);
	assert_int_equal(kept.frames[3].self, 200);
}

/* More calls inside each other than are kept: the innermost are lost, the others are not. */
static void too_deep(void **state)
{
	const unsigned calls = FRAMES_MOST + 10;
	struct synthetic s = {0};
	struct kept kept;

	(void)state;
	threads(&s, 1);
	put_sites(&s);
	for (unsigned i = 0; i < calls; i++)
		at_site(&s, 2000 + i, 1, ENTRY(0), 0x7f0000000000 - 16ull * i);
	for (unsigned i = calls; i-- > 0;)
		at_site(&s, 2000 + 2 * calls - i, 1, RET(0), 0x7f0000000000 - 16ull * i);
	kept = frames_from(&s, 900000);
	assert_int_equal(kept.count, calls);
	assert_frame(&kept, 0, 2000, 2000 + 2 * calls, CLEW_FRAME_RETURNED);
	assert_int_equal(kept.frames[1].parent, 0);
	assert_int_equal(kept.frames[0].self, 2);
}

/* The values that were read at the entry and at the return, and those that could not be. */
static void values(void **state)
{
	struct {
		struct clew_function function;
		uint64_t values[2];
	} in = {.function = {.header = {.time = 2000, .kind = CLEW_KIND_FUNCTION, .flags = 2},
			     .stack = 0x5000,
			     .task = 1,
			     .site = ENTRY(0),
			     .size = 16},
		.values = {17, 18}},
	  out = {.function = {.header = {.time = 2100, .kind = CLEW_KIND_FUNCTION, .flags = 1},
			      .stack = 0x5000,
			      .task = 1,
			      .site = RET(0),
			      .size = 8},
		 .values = {99}};
	const uint64_t expected[] = {17, 18, 99};
	struct synthetic s = {0};
	struct kept kept;

	(void)state;
	threads(&s, 1);
	put_sites(&s);
	synthetic_put(&s, &in, sizeof(in.function) + 16);
	synthetic_put(&s, &out, sizeof(out.function) + 8);
	kept = frames_from(&s, 9000);
	assert_int_equal(kept.count, 1);
	assert_int_equal(kept.frames[0].values_size, 16);
	assert_int_equal(kept.frames[0].returned_size, 8);
	assert_int_equal(kept.frames[0].unread, 1u << 15 | 2);
	assert_memory_equal(kept.values[0], expected, sizeof(expected));
}

/* A call at `time` whose argument 1 is unread or not, and its return with a text of it. */
static void put_call(struct synthetic *s, uint64_t time, bool unread)
{
	struct {
		struct clew_function function;
		uint64_t value;
	} in = {.function = {.header = {.time = time,
					.kind = CLEW_KIND_FUNCTION,
					.flags = unread ? 2 : 0},
			     .stack = 0x5000,
			     .task = 1,
			     .site = ENTRY(0),
			     .size = 8},
		.value = 17};
	struct {
		struct clew_function function;
		char bytes[13];
	} out = {.function = {.header = {.time = time + 100,
					 .kind = CLEW_KIND_FUNCTION,
					 .flags = CLEW_FUNCTION_RETURNED | 4},
			      .stack = 0x5008,
			      .task = 1,
			      .site = ENTRY(0),
			      .size = sizeof(out.bytes)},
		 .bytes = "late\0result"};

	synthetic_put(s, &in, sizeof(in.function) + 8);
	synthetic_put(s, &out, sizeof(out.function) + sizeof(out.bytes));
}

/* A text that was not in memory at the entry and is at the return, and one of an earlier call. */
static void values_again(void **state)
{
	struct synthetic s = {0};
	struct kept kept;

	(void)state;
	threads(&s, 1);
	put_sites(&s);
	put_call(&s, 2000, true);
	put_call(&s, 3000, false);
	kept = frames_from(&s, 9000);
	assert_int_equal(kept.count, 2);
	assert_int_equal(kept.frames[0].unread, CLEW_FRAME_AGAIN & 1u << 7);
	assert_int_equal(kept.frames[0].values_size, 8 + 5);
	assert_int_equal(kept.frames[0].returned_size, 8);
	assert_memory_equal(kept.values[0] + 8, "late\0result", 12);
	assert_int_equal(kept.frames[1].unread, 0);
	assert_int_equal(kept.frames[1].values_size, 8);
	assert_int_equal(kept.frames[1].returned_size, 8);
	assert_memory_equal(kept.values[1] + 8, "result", 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_one_stack),
		cmocka_unit_test(on_many_stacks),
		cmocka_unit_test(jump_from_handler),
		cmocka_unit_test(exec_and_vfork),
		cmocka_unit_test(losses),
		cmocka_unit_test(dropped),
		cmocka_unit_test(too_deep),
		cmocka_unit_test(values),
		cmocka_unit_test(values_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
