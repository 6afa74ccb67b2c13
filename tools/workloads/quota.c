/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A limit of the group a task is in. Variants: cpu (20 % of a CPU: how long the group
 * was kept off it is in its own cpu.stat), memory (memory.high: what is over it is
 * paid for with sleep).
 */
#include "group.h"
#include "spend.h"

#define TRIES 50

static int spender;
static struct spent spent;
static uint64_t kept_off;
static long kept_off_count, over_high;

/* A number in one of the group's files. */
static uint64_t group_number(const char *file, const char *word)
{
	unsigned long long value = 0, found = 0;
	char path[64], line[128], name[64];
	FILE *input;

	snprintf(path, sizeof(path), "%.16s/%.40s", wl->variant, file);
	input = fopen(wl_place(path), "re");
	while (input && fgets(line, sizeof(line), input))
		if (sscanf(line, "%63s %llu", name, &value) == 2 && strcmp(name, word) == 0)
			found = value;
	if (input)
		fclose(input);
	return found;
}

static uint64_t kept_off_time(void)
{
	uint64_t ns = group_number("cpu.stat", "throttled_time");

	return ns ? ns : group_number("cpu.stat", "throttled_usec") * 1000;
}

static void spend_time(int self)
{
	uint64_t enough = wl_random(18, 30) * 1000000;

	(void)self;
	kept_off = kept_off_time();
	kept_off_count = group_number("cpu.stat", "nr_throttled");
	spent = wl_spend(enough);
	/* The group's own numbers are brought up to date when it may run again. */
	kept_off = kept_off_time() - kept_off;
	kept_off_count = group_number("cpu.stat", "nr_throttled") - kept_off_count;
}

static void spend_memory(int self)
{
	size_t size = 24 << 20;
	char *memory;

	(void)self;
	over_high = group_number("memory.events", "high");
	spent.from = wl_now();
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		wl_die("mmap: %s", strerror(errno));
	/* Until it was over the limit some times: from there each page is slow. */
	for (size_t at = 0; at < size && wl_now() - spent.from < 300000000; at += 4096)
		((volatile char *)memory)[at] = 1;
	spent.to = wl_now();
	over_high = group_number("memory.events", "high") - over_high;
}

/* The task that is in the group: it logs what it met, for the others see nothing of it. */
static void spend(int self)
{
	struct wl_fact *fact;
	uint64_t off;

	wl_enter_group(wl->variant);
	if (strcmp(wl->variant, "memory") == 0) {
		spend_memory(self);
		if (over_high == 0)
			wl_die("memory.high was never met");
		wl_rule("\"rule\":\"waits\",\"tid\":%d,\"from\":%llu,\"to\":%llu,\"count\":[1,"
			"100000],\"calls\":\"*\","
			"\"kinds\":\"throttle|memory\",\"must\":\"throttle\",\"edge\":\"\","
			"\"object\":\"\"",
			wl->tasks[self].tid, (unsigned long long)spent.from,
			(unsigned long long)spent.to);
		return;
	}
	/* Beside many others it need not get as much of a CPU as the quota allows. */
	for (int i = 0; i < TRIES && kept_off_count == 0; i++)
		spend_time(self);
	if (kept_off_count == 0)
		wl_die("the quota was never met");
	wl_rule("\"rule\":\"waits\",\"tid\":%d,\"from\":%llu,\"to\":%llu,\"count\":[1,%ld],"
		"\"calls\":\"*\",\"kinds\":\"throttle\",\"edge\":"
		"\"\","
		"\"object\":\"cgroup\"",
		wl->tasks[self].tid, (unsigned long long)spent.from, (unsigned long long)spent.to,
		kept_off_count + 1);
	fact = wl_fact(self, spent.from, spent.to);
	wl_charge(fact, self, "running", spent.worked * 9 / 10 - 1000000, spent.ran_most);
	/* The group's own count is of each CPU; what the task was off besides it waited in queues.
	 */
	wl_charge(fact, self, "throttle", kept_off * 4 / 10,
		  spent.to - spent.from - spent.worked + 1000000);
	off = (spent.to - spent.from - spent.worked) * 9 / 10 - 1000000;
	off = MIN(off > spent.stolen ? off - spent.stolen : 0,
		  spent.to - spent.from - spent.ran_most);
	wl_charge(fact, self, "throttle|runqueue", off,
		  spent.to - spent.from - spent.worked + 1000000);
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "quota");
	char path[64];

	snprintf(path, sizeof(path), "%s/cgroup.procs", wl->variant);
	wl_place(path);
	spender = wl_fork(self, spend);
	wl_reap(self, spender);
	wl_print();
	return 0;
}
