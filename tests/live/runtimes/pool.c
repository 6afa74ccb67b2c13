/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work for libuv's pool: pool COUNT SEED. A few requests are used again and again, each for another
 * item as soon as its callback has run; some are canceled while they queue. Prints for each item
 * when it was queued, the thread and times of its run (0: it never ran), its status, and the number
 * of its request.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* As libuv has them; its headers are in another package. */
typedef struct uv_loop_s uv_loop_t;
typedef struct uv_work_s uv_work_t;
uv_loop_t *uv_default_loop(void);
int uv_queue_work(uv_loop_t *loop, uv_work_t *request, void (*work)(uv_work_t *request),
		  void (*after)(uv_work_t *request, int status));
int uv_cancel(void *request);
int uv_run(uv_loop_t *loop, int mode);
size_t uv_req_size(int type);
void *uv_req_get_data(const void *request);
void uv_req_set_data(void *request, void *data);

#define UV_WORK	 7
#define REQUESTS 24

struct item {
	int id, request, status, canceled;
	unsigned microseconds;
	uint64_t queued_from, queued_to, began, ended;
	pid_t tid;
};

static struct item *items;
static int count, next;
static uv_work_t *requests[REQUESTS];

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void work(uv_work_t *request)
{
	struct item *item = uv_req_get_data(request);

	item->tid = gettid();
	item->began = now();
	if (item->microseconds % 2)
		usleep(item->microseconds);
	else
		for (uint64_t until = item->began + item->microseconds * 1000ull; now() < until;)
			;
	item->ended = now();
}

static void queue(int request);

static void after(uv_work_t *request, int status)
{
	struct item *item = uv_req_get_data(request);

	item->status = status;
	queue(item->request);
}

static void queue(int request)
{
	struct item *item;

	if (next == count)
		return;
	item = &items[next++];
	item->request = request;
	uv_req_set_data(requests[request], item);
	item->queued_from = now();
	if (uv_queue_work(uv_default_loop(), requests[request], work, after))
		abort();
	item->queued_to = now();
	if (rand() % 6 == 0)
		item->canceled = !uv_cancel(requests[request]);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	count = atoi(argv[1]);
	srand((unsigned)atoi(argv[2]));
	items = calloc((size_t)count, sizeof(*items));
	for (int i = 0; items && i < count; i++)
		items[i] = (struct item){.id = i, .microseconds = (unsigned)rand() % 500};
	for (int i = 0; items && i < REQUESTS; i++) {
		requests[i] = calloc(1, uv_req_size(UV_WORK));
		if (!requests[i])
			return 1;
		queue(i);
	}
	uv_run(uv_default_loop(), 0);
	for (int i = 0; items && i < count; i++)
		printf("%d %llu %llu %d %llu %llu %d %d %d\n", i,
		       (unsigned long long)items[i].queued_from,
		       (unsigned long long)items[i].queued_to, (int)items[i].tid,
		       (unsigned long long)items[i].began, (unsigned long long)items[i].ended,
		       items[i].status, items[i].canceled, items[i].request);
	return 0;
}
