/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tasks that held a futex while another one waited for it, from the log of its
 * releases:
 *
 *  - Up to a release the releaser held it. If the waiter read another owner when it
 *    blocked, a hand-over was not recorded, and no holder is named.
 *  - A release hands over nothing, unless the wake itself is the grant: a waiter that was
 *    woken holds the futex from when it comes on a CPU. Until then it is named as coming.
 *    If it slept on the futex again without a release of its own, the owner that it then
 *    read took the futex meanwhile.
 *  - A releaser that was not woken took the futex before the woken waiter could. It is named from
 *    when another task slept for the futex again: only then does its release wake somebody.
 *  - Before any release the owner that the waiter read when it blocked holds it. The holder of
 *    a lock on a file may be the thread that took it, or its process alone.
 *
 * The holder of a word that only looks like a lock is a candidate. Evidence is exact only for an
 * owner that was read and then seen to let go, and for a woken waiter. In the kernel a woken waiter
 * may go on waiting without a sleep.
 */
#include "builder/builder.h"
#include "builder/futex.h"
#include <errno.h>
#include <stdlib.h>

/* ns: the wakes of a release follow it, and each other, this soon. A woken waiter sleeps again this
 * soon if it came too late. */
#define SOON 50000

/* Releases that are looked through for the wake of one that was overtaken after it. */
#define MOST_OVERTAKEN 64

/* True if the woken waiter slept again before it ever held the futex. */
static bool lost_race(const struct futex *futex, const struct release *release)
{
	if (release->again == 0)
		return false;
	for (const struct release *other = release + 1;
	     other < futex_releases_end(futex) && other->at <= release->again; other++)
		if (other->releaser == release->woken)
			return false;
	return true;
}

struct holders {
	const struct futex_wait *wait;
	struct futex_table *table;
	uint32_t count;
	int error;
};

/* The evidence of what the log says, `best` at best. */
static uint8_t evidence_of(const struct futex_wait *wait, uint8_t best)
{
	if (best == CLEW_EVIDENCE_CANDIDATE || (wait->word && !wait->futex->lock))
		return CLEW_EVIDENCE_CANDIDATE;
	/* Rust's RwLock passes to writers that look at it before they sleep, without a wake, though
	 * others sleep. */
	if (wait->futex->class == CLEW_FUTEX_CLASS_READERS)
		return CLEW_EVIDENCE_CANDIDATE;
	return wait->sure ? best : CLEW_EVIDENCE_OBSERVED;
}

/* The moment from which the task that releases the futex at `to` is known to have held it, after a
 * release at `from`: another one then began to sleep for it. `to`: never. */
static uint64_t held_since(const struct futex *futex, uint32_t task, uint64_t from, uint64_t to)
{
	const struct attempt *attempt = futex_attempt_after(futex, from);
	uint64_t since = to;

	for (; attempt < futex_attempts_end(futex) && attempt->at < to; attempt++) {
		if (attempt->task == task ||
		    (attempt->owner != CLEW_NO_TASK && attempt->owner != task))
			since = to;
		else if (attempt->ran_at >= from || attempt->at - from > BUILD_FALLING_ASLEEP)
			since = earlier(since, attempt->at);
	}
	return since;
}

/*
 * True if the futex may have been released between the waiter's last look at it and its sleep. A
 * task that takes it then releases it without a wake.
 */
static bool looked_before_release(const struct futex_wait *wait)
{
	const struct futex *futex = wait->futex;
	const struct release *release = futex_release_after(futex, wait->start);

	if (!wait->word || futex->class == CLEW_FUTEX_CLASS_PI || release == futex_releases(futex))
		return false;
	release--;
	return release->at >= wait->ran_at && wait->start - release->at <= BUILD_FALLING_ASLEEP;
}

/* True if the one who had a file locked as a request for it was refused released it before the
 * waiter slept. */
static bool refused_before_release(const struct futex_wait *wait)
{
	const struct futex *futex = wait->futex;
	const struct release *release = futex_release_after(futex, wait->start);

	while (wait->on_file && release > futex_releases(futex)) {
		release--;
		if (wait->start - release->at > BUILD_FALLING_ASLEEP)
			return false;
		if (release->releaser == wait->owner)
			return true;
	}
	return false;
}

/* True if a task that began to sleep for the futex between two moments found that another one had
 * it. */
static bool seen_with(const struct futex *futex, uint32_t task, uint64_t from, uint64_t to)
{
	const struct attempt *attempt = futex_attempt_after(futex, from);

	for (; attempt < futex_attempts_end(futex) && attempt->at < to; attempt++)
		if (attempt->owner == task)
			return true;
	return false;
}

static void add(struct holders *holders, struct clew_holder holder)
{
	struct futex_table *table = holders->table;

	/* Records that contradict each other may make the wait begin later than recorded. */
	holder.from = later(holder.from, holders->wait->sleep.start);
	if (holder.task == CLEW_NO_TASK || holder.from >= holder.to || holders->error < 0)
		return;
	if (holders->count == table->holder_capacity) {
		size_t capacity = table->holder_capacity ? table->holder_capacity * 2 : 64;
		struct clew_holder *larger = realloc(table->holders, capacity * sizeof(*larger));

		if (!larger) {
			holders->error = -ENOMEM;
			return;
		}
		table->holders = larger;
		table->holder_capacity = capacity;
	}
	holder.evidence = evidence_of(holders->wait, holder.evidence);
	table->holders[holders->count++] = holder;
}

static void add_holder(struct holders *holders, uint32_t task, uint64_t from, uint64_t to,
		       bool sure)
{
	add(holders,
	    (struct clew_holder){.task = task,
				 .evidence = sure ? CLEW_EVIDENCE_EXACT : CLEW_EVIDENCE_OBSERVED,
				 .from = from,
				 .to = to});
}

/* Adds a task that took the futex before the one that `wake` woke for it could. Before somebody
 * slept for it again nobody knows whether it was free. */
static void add_barged(struct holders *holders, const struct release *wake, uint32_t task,
		       uint64_t from, uint64_t to)
{
	uint64_t since = held_since(holders->wait->futex, task, from, to);

	add(holders, (struct clew_holder){.task = wake->woken,
					  .evidence = CLEW_EVIDENCE_OBSERVED,
					  .coming = true,
					  .from = from,
					  .to = earlier(wake->ran_at, since)});
	from = since;
	add(holders, (struct clew_holder){.task = task,
					  .evidence = CLEW_EVIDENCE_OBSERVED,
					  .barged = true,
					  .from = from,
					  .to = to});
}

/* True if a woken task that has the futex at `to` lost its first CPU before it can have taken it
 * for certain. */
static bool broken_off(const struct release *wake, uint64_t to)
{
	return wake->ran_at != wake->at && wake->left_at != 0 && wake->left_at < to &&
	       wake->left_at - wake->ran_at <= BUILD_TAKING;
}

/* True if a woken task that has the futex at `to` took it as soon as it came on a CPU: it kept that
 * CPU long enough for that. */
static bool took_at_once(const struct futex_wait *wait, const struct release *wake, uint64_t to)
{
	if (wake->ran_at == wake->at)
		return true;
	return wait->word && !wake->timed && wake->ran_at <= to && !broken_off(wake, to);
}

/* When a woken task that has the futex at `to` came on a CPU and took it. It may have come back
 * since without the futex. */
static uint64_t came_at(const struct release *wake, uint64_t to)
{
	uint64_t came = wake->ran_at;

	if (!broken_off(wake, to))
		return came;
	for (unsigned i = 0; i < BUILD_BACK && wake->back_at[i] && wake->back_at[i] < to; i++)
		came = wake->back_at[i];
	return came;
}

/* Adds a waiter that was woken, and its way to the CPU before. */
static void add_woken(struct holders *holders, const struct release *wake, uint64_t came,
		      uint64_t from, uint64_t to, bool sure)
{
	came = earlier(came, to);
	add(holders, (struct clew_holder){.task = wake->woken,
					  .evidence = CLEW_EVIDENCE_OBSERVED,
					  .coming = true,
					  .from = from,
					  .to = came});
	add_holder(holders, wake->woken, later(from, came), to, sure);
}

/* The same of one that releases the futex at `to`: then it was on a CPU. Where the switch was
 * hidden, it came at some time after the last moment at which another one was there. */
static void add_woken_releaser(struct holders *holders, const struct release *wake, uint64_t from,
			       uint64_t to, bool in_turn)
{
	const struct futex_wait *wait = holders->wait;
	uint64_t came = wake->earliest < to ? wake->earliest : wake->at;

	if (wake->ran_at <= to) {
		add_woken(holders, wake, came_at(wake, to), from, to,
			  in_turn && took_at_once(wait, wake, to));
		return;
	}
	came = later(from, came);
	add_woken(holders, wake, came, from, came, false);
	add_holder(holders, wake->woken, held_since(wait->futex, wake->woken, came, to), to, false);
}

/* Adds the task that took the futex after the wakes group..last of one release, of which none was
 * seen to let go. */
static void add_successor(struct holders *holders, const struct release *group,
			  const struct release *last, uint64_t to)
{
	const struct futex_wait *wait = holders->wait;

	for (const struct release *wake = group; wake <= last; wake++) {
		if (!lost_race(wait->futex, wake)) {
			/* It may still find that it came too late. */
			bool settled = wake->ran_at == wake->at ||
				       (to > wake->ran_at && to - wake->ran_at > SOON);
			uint64_t came = came_at(wake, to);

			/* The others may be queued behind another one that was woken: then nobody
			 * sees that this one lets go. */
			if (wait->on_file && !seen_with(wait->futex, wake->woken, came, to))
				to = earlier(to, came);
			add_woken(holders, wake, came, last->at, to,
				  settled && took_at_once(wait, wake, to));
			return;
		}
	}
	add_barged(holders, group, last->owner, last->at, to);
}

static bool woke(const struct release *group, const struct release *last, uint32_t task)
{
	for (; group && group <= last; group++)
		if (group->woken == task)
			return true;
	return false;
}

/* The wake before `moment` by which a task came to hold the futex that it releases at that moment;
 * NULL: it was not woken for it. */
static const struct release *wake_of(const struct futex *futex, uint32_t task, uint64_t moment)
{
	const struct release *first = futex_releases(futex),
			     *wake = futex_release_after(futex, moment - 1);

	for (unsigned i = 0; i < MOST_OVERTAKEN && wake > first; i++) {
		wake--;
		if (wake->woken == task)
			return !wake->again || wake->again >= moment ? wake : NULL;
		/* It held the futex, and then took it again. */
		if (wake->releaser == task)
			return NULL;
	}
	return NULL;
}

/* True if both wakes belong to one release that admits many. A holder is not fast enough to take
 * the futex again and release it. */
static bool same_release(const struct release *last, const struct release *next)
{
	return last->many && next->many && last->releaser == next->releaser &&
	       next->at - last->at <= SOON;
}

/* True if the owner was read at or after `last`, the latest release or NULL. */
static bool owner_counts(const struct futex_wait *wait, const struct release *last)
{
	return wait->owner != CLEW_NO_TASK && (!last || last->at <= wait->read_at) &&
	       !refused_before_release(wait);
}

/* True if the release happened before the wait began, and the owner that was read took the futex
 * then, but the release's wake was later. */
static bool woke_late(const struct futex_wait *wait, const struct release *release)
{
	const struct futex *futex = wait->futex;
	const struct release *next = release + 1;

	if (release->at <= wait->read_at || release->releaser == wait->owner)
		return false;
	if (release->owner == wait->owner && lost_race(futex, release))
		return true;
	if (release->at - wait->read_at > SOON)
		return false;
	while (next < futex_releases_end(futex) && same_release(next - 1, next))
		next++;
	return next < futex_releases_end(futex) && next->releaser == wait->owner;
}

/* Adds the holder up to a release. group..last: the wakes of the release before, or NULL. */
static void add_releaser(struct holders *holders, const struct release *group,
			 const struct release *last, uint32_t releaser, uint64_t from, uint64_t to)
{
	const struct futex_wait *wait = holders->wait;
	const struct release *wake = wake_of(wait->futex, releaser, to);
	bool read = to > wait->read_at && owner_counts(wait, last),
	     in_turn = woke(group, last, releaser);

	/* An owner that was read when it already had a CPU holds it by another hold. */
	if (read && releaser != wait->owner && (!wake || wake->ran_at <= wait->read_at)) {
		/* Whoever shares the open file may release a lock on it. */
		if (to - wait->read_at <= SOON || wait->on_file)
			add_holder(holders, wait->owner, from, to, false);
	} else if (wake && (in_turn || wake->ran_at > from)) {
		add_woken_releaser(holders, wake, from, to, in_turn);
	} else if (last) {
		add_barged(holders, group, releaser, from, to);
	} else if (looked_before_release(wait)) {
		add_holder(holders, releaser, held_since(wait->futex, releaser, from, to), to,
			   false);
	} else {
		add_holder(holders, releaser, from, to, releaser == wait->owner && read);
	}
}

/* Adds the holder of a wait in which nobody was seen to release the futex. */
static void add_first(struct holders *holders, uint64_t from, uint64_t to)
{
	const struct futex_wait *wait = holders->wait;

	if (owner_counts(wait, NULL))
		/* A release without a wake is not seen, unless the wait still lasts. */
		add_holder(holders, wait->owner, from, to,
			   wait->sleep.end == CLEW_TIME_OPEN && !looked_before_release(wait));
	else
		add(holders,
		    (struct clew_holder){.task = wait->process,
					 .evidence = wait->threads ? CLEW_EVIDENCE_CANDIDATE
								   : CLEW_EVIDENCE_OBSERVED,
					 .from = from,
					 .to = to});
}

int build_find_holders(struct clew_builder *builder, const struct futex_wait *wait)
{
	struct holders holders = {.wait = wait, .table = &builder->futexes};
	const struct clew_sleep *sleep = &wait->sleep;
	const struct futex *futex = wait->futex;
	const struct release *group = NULL, *last = NULL; /* the wakes of the latest release */
	uint64_t end = earlier(sleep->end, builder->now), cursor = wait->start;

	for (const struct release *next = futex_release_after(futex, wait->start);
	     next < futex_releases_end(futex) && next->at <= end; next++) {
		if (next->releaser == sleep->task ||
		    (owner_counts(wait, last) && woke_late(wait, next)))
			continue;
		if (last && same_release(last, next)) {
			struct clew_holder *holder =
				holders.count > 0 ? &holders.table->holders[holders.count - 1]
						  : NULL;

			if (holder && holder->to == last->at)
				holder->to = next->at;
			last = next;
		} else {
			add_releaser(&holders, group, last, next->releaser, cursor, next->at);
			group = last = next;
		}
		cursor = next->at;
	}
	if (sleep->edge_type == CLEW_EDGE_UNLOCK)
		add_releaser(&holders, group, last, sleep->ended_by, cursor, end);
	else if (last)
		add_successor(&holders, group, last, end);
	else
		add_first(&holders, cursor, end);
	return holders.error < 0 ? holders.error : (int)holders.count;
}
