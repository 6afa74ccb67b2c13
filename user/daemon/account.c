/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds findings to the daemon's sums. */
#include "daemon/account.h"

#include "explain/spent.h"
#include "live/charged.h"
#include "store/capture.h"

static struct account_task *find_task(const struct account *account, uint32_t serial)
{
	return (struct account_task *)known_find(account->known, serial);
}

static uint32_t group_of(struct account *account, struct account_task *task)
{
	if (!task)
		return SUMS_OTHER;
	/* The record of the group may come after the task's. */
	if (task->group == SUMS_OTHER)
		task->group = sums_group_of(&account->sums, task->known.cgroup,
					    known_path(account->known, task->known.cgroup));
	return task->group;
}

/* Charges the holders of a lock with the time that they had it meanwhile. */
static void blame(struct account *account, const struct clew_sleep *sleep, uint32_t victim)
{
	for (uint32_t i = 0; i < sleep->holder_count; i++) {
		const struct clew_holder *holder = &sleep->holders[i];
		uint64_t from = holder->from > sleep->start ? holder->from : sleep->start,
			 to = holder->to < sleep->end ? holder->to : sleep->end;

		if (from >= to || !charged_holder(holder))
			continue;
		sums_blame(&account->sums,
			   &(struct sums_pair){.victim = victim,
					       .antagonist = group_of(
						       account, find_task(account, holder->task)),
					       .kind = sleep->kind,
					       .ns = to - from,
					       .grown = sleep->end});
	}
}

/*
 * Charges the group whose limit a wait is for: of CPU time, or of memory. Its path is known once a
 * task of it or of a group above was seen.
 */
static void blame_limit(struct account *account, const struct clew_sleep *sleep, uint32_t victim)
{
	const uint64_t group = sleep->object.number;

	if (!charged_limit(sleep))
		return;
	sums_blame(&account->sums, &(struct sums_pair){.victim = victim,
						       .antagonist = sums_group_of(
							       &account->sums, group,
							       known_path(account->known, group)),
						       .kind = sleep->kind,
						       .ns = sleep->end - sleep->start,
						       .grown = sleep->end});
}

static uint64_t later(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

/* Has those charged whose requests were ahead of the one that ended a wait. */
static void blame_disk(struct account *account, const struct clew_sleep *sleep, uint32_t victim)
{
	const struct clew_link *last = charged_request(sleep);
	uint64_t queued;

	if (!last)
		return;
	queued = charged_from(last->at, last->released);
	served_await(&account->served, last->device,
		     &(struct served_wait){.from = later(sleep->start, queued),
					   .to = sleep->end,
					   .queued = queued,
					   .task = sleep->task,
					   .group = victim});
}

static void charge_disk(void *context, const struct served_wait *wait, uint32_t group, uint64_t ns)
{
	struct account *account = context;

	sums_blame(&account->sums, &(struct sums_pair){.victim = wait->group,
						       .antagonist = group,
						       .kind = SUMS_DISK,
						       .ns = ns,
						       .grown = wait->to});
}

static int take_served(struct account *account, const struct clew_block_request *request)
{
	struct account_task *task = find_task(account, request->submitter);

	answers_add(&account->answers, request);
	if (!request->queued)
		return 0;
	return served_add(
		&account->served, request->device,
		&(struct served_request){.queued = charged_from(request->queued, request->released),
					 .end = request->completed,
					 .task = request->submitter,
					 .group = group_of(account, task)});
}

/* A wait for a CPU that is being charged. */
struct charge {
	struct account *account;
	uint32_t victim;
	uint64_t time;
};

static void charge_run(void *context, uint32_t group, uint64_t ns)
{
	const struct charge *charge = context;

	sums_blame(&charge->account->sums, &(struct sums_pair){.victim = charge->victim,
							       .antagonist = group,
							       .kind = CLEW_SEGMENT_RUNQUEUE,
							       .ns = ns,
							       .grown = charge->time});
}

/*
 * Charges what ran on the CPU that a task then got. When it became ready and where it then ran are
 * two findings, which come in any order.
 */
static void blame_runs(struct account *account, struct account_task *task)
{
	struct charge charge = {.account = account, .time = task->ran};

	if (task->ready == task->runs || task->runs != task->ran)
		return;
	charge.victim = group_of(account, task);
	turns_between(&account->turns, task->cpu, task->ready, task->runs, charge_run, &charge);
	task->ready = task->runs;
}

/* A wait, or a time without a CPU, has ended. */
static void add_wait(struct account *account, uint32_t group, unsigned kind, uint64_t ns)
{
	sums_add(&account->sums, group, kind, ns);
	lengths_add(&account->lengths, kind, ns);
}

static void was_ready(struct account *account, struct account_task *task, uint64_t from,
		      uint64_t to)
{
	add_wait(account, group_of(account, task), CLEW_SEGMENT_RUNQUEUE, to - from);
	if (!task)
		return;
	task->ready = from;
	task->runs = to;
	blame_runs(account, task);
}

static int take_run(struct account *account, const struct clew_run *run)
{
	struct account_task *task = find_task(account, run->task);

	/* An idle CPU keeps nobody waiting. */
	if (!run->task || run->end == CLEW_TIME_OPEN || run->end <= run->start)
		return 0;
	if (task && !run->open_start) {
		task->ran = run->start;
		task->cpu = run->cpu;
		blame_runs(account, task);
	}
	return turns_add(&account->turns, run->cpu,
			 (struct turn){run->start, run->end, group_of(account, task)});
}

static bool is_own(const struct account_task *task)
{
	return task && task->known.flags & CLEW_TASK_SELF;
}

static void take_sleep(struct account *account, const struct clew_sleep *sleep)
{
	struct account_task *task = find_task(account, sleep->task);
	uint32_t group;

	if (is_own(task) || sleep->end == CLEW_TIME_OPEN)
		return;
	group = group_of(account, task);
	add_wait(account, group, sleep->kind, sleep->end - sleep->start);
	if (clew_is_quota(sleep))
		account->sums.groups[group].quota_ns += sleep->end - sleep->start;
	if (sleep->switch_in != CLEW_TIME_OPEN && sleep->switch_in > sleep->end)
		was_ready(account, task, sleep->end, sleep->switch_in);
	blame(account, sleep, group);
	blame_limit(account, sleep, group);
	blame_disk(account, sleep, group);
}

static void take_ready(struct account *account, const struct clew_ready *ready)
{
	struct account_task *task = find_task(account, ready->task);

	if (!is_own(task) && ready->end != CLEW_TIME_OPEN)
		was_ready(account, task, ready->start, ready->end);
}

/* The task may be in another group now. */
static void take_task(struct account *account, const struct clew_task_record *record)
{
	struct account_task *task = find_task(account, record->task);

	if (task)
		task->group = sums_group_of(&account->sums, task->known.cgroup,
					    known_path(account->known, task->known.cgroup));
}

static int take_identity(struct account *account, const struct clew_header *record)
{
	switch (record->kind) {
	case CLEW_KIND_TASK:
		take_task(account, (const struct clew_task_record *)record);
		return 0;
	case CLEW_KIND_SOCKET:
		return peers_take_socket(&account->peers,
					 (const struct clew_socket_record *)record);
	case CLEW_KIND_MESSAGE:
		/* A question that is stated again was counted. */
		if (record->cpu != CLEW_STREAM_USER)
			peers_take_message(&account->peers,
					   (const struct clew_message_record *)record);
		return 0;
	default:
		return 0;
	}
}

int account_take(struct account *account, struct clew_finding finding)
{
	switch (finding.tag) {
	case CLEW_FINDING_SLEEP:
		take_sleep(account, finding.sleep);
		return 0;
	case CLEW_FINDING_READY:
		take_ready(account, finding.ready);
		return 0;
	case CLEW_FINDING_RUN:
		return take_run(account, finding.run);
	case CLEW_FINDING_SERVED:
		return take_served(account, finding.request);
	case CLEW_FINDING_IDENTITY:
		return take_identity(account, finding.identity);
	default:
		return 0;
	}
}

static int take_open(void *context, struct clew_finding finding)
{
	struct account *account = context;
	const bool sleeps = finding.tag == CLEW_FINDING_SLEEP;

	if (!is_own(find_task(account, sleeps ? finding.sleep->task : finding.ready->task)))
		ongoing_add(&account->ongoing, sleeps ? finding.sleep->kind : CLEW_SEGMENT_RUNQUEUE,
			    sleeps ? finding.sleep->start : finding.ready->start);
	return 0;
}

int account_step(struct account *account, const struct clew_builder *builder, uint64_t now)
{
	served_step(&account->served, now);
	return ongoing_begin(&account->ongoing, now)
		       ? clew_builder_open(builder, take_open, account)
		       : 0;
}

int account_init(struct account *account, const struct known *known)
{
	*account = (struct account){.known = known,
				    .served = {.charge = charge_disk, .context = account}};
	return sums_init(&account->sums);
}

void account_done(struct account *account)
{
	sums_done(&account->sums);
	turns_done(&account->turns);
	served_done(&account->served);
	peers_done(&account->peers);
}
