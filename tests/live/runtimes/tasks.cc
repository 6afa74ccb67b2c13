/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads of the C++ library, by std::thread and std::async: tasks COUNT SEED. They compute or
 * sleep; some make a thread of their own. Prints for each its id, its maker's, when it was made, its
 * tid, when its function began and ended, and 1 if it was std::async.
 */
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <future>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

struct item {
	int id, parent;
	unsigned microseconds;
	bool sleeps, async, has_child;
	uint64_t from, to, began, ended;
	int tid;
};

static std::vector<item> items;
static std::mutex making;

static uint64_t now()
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void make(item *made, int parent, std::vector<std::thread> &threads,
		 std::vector<std::future<void>> &results);

static void run(item *at)
{
	std::vector<std::thread> threads;
	std::vector<std::future<void>> results;

	at->tid = gettid();
	at->began = now();
	if (at->sleeps)
		usleep(at->microseconds);
	while (!at->sleeps && now() < at->began + at->microseconds * 1000ull)
		;
	if (at->has_child)
		make(at + 1, at->id, threads, results);
	for (auto &thread : threads)
		thread.join();
	results.clear();
	at->ended = now();
}

/* One at a time, so that no two intervals of the log overlap. */
static void make(item *made, int parent, std::vector<std::thread> &threads,
		 std::vector<std::future<void>> &results)
{
	std::lock_guard<std::mutex> lock(making);

	made->parent = parent;
	made->from = now();
	if (made->async)
		results.push_back(std::async(std::launch::async, run, made));
	else
		threads.emplace_back(run, made);
	made->to = now();
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 100;

	srand(argc > 2 ? (unsigned)atoi(argv[2]) : 1);
	items.resize((size_t)count);
	for (int i = 0; i < count; i++) {
		items[(size_t)i].id = i;
		items[(size_t)i].microseconds = (unsigned)rand() % 400;
		items[(size_t)i].sleeps = rand() % 2;
		items[(size_t)i].async = rand() % 2;
	}
	for (int i = 0; i < count;) {
		std::vector<std::thread> threads;
		std::vector<std::future<void>> results;

		for (int k = 0; k < 4 && i < count; k++) {
			item *one = &items[(size_t)i++];

			if (i < count && rand() % 4 == 0) {
				one->has_child = true;
				i++;
			}
			make(one, -1, threads, results);
		}
		for (auto &thread : threads)
			thread.join();
	}
	for (const auto &i : items)
		printf("%d %d %llu %llu %d %llu %llu %d\n", i.id, i.parent,
		       (unsigned long long)i.from, (unsigned long long)i.to, i.tid,
		       (unsigned long long)i.began, (unsigned long long)i.ended, i.async);
	return 0;
}
