/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two tasks play ping-pong by message queues and semaphores. Variants: messages,
 * semaphores (System V), queue (POSIX).
 */
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

#include "workload.h"

struct message {
	long type;
	char text[8];
};

static int members[2], ids[2], laps;
static mqd_t queues[2];
static bool messages, semaphores;

static void receive(int me)
{
	struct sembuf take = {.sem_op = -1};
	struct message message;
	char text[64];

	wl->tasks[members[me]].before = wl_now();
	if (messages)
		WL_CHECK(msgrcv(ids[me], &message, sizeof(message.text), 0, 0));
	else if (semaphores)
		WL_CHECK(semop(ids[me], &take, 1));
	else
		WL_CHECK(mq_receive(queues[me], text, sizeof(text), NULL));
}

static bool waits(int me)
{
	int tid = wl->tasks[members[me]].tid;

	if (messages)
		return wl_is_blocked(tid, SYS_msgrcv, ids[me]);
	if (semaphores)
		return wl_is_blocked(tid, SYS_semop, ids[me]) ||
		       wl_is_blocked(tid, SYS_semtimedop, ids[me]);
	return wl_is_blocked(tid, SYS_mq_timedreceive, queues[me]);
}

static void send_to(int me)
{
	struct message message = {.type = 1, .text = "ball"};
	struct sembuf give = {.sem_op = 1};
	uint64_t deadline = 0;
	struct wl_act act;

	while (!waits(!me))
		wl_nap(&deadline, "the other player");
	wl_sleep(wl_random(1000, 200000));
	act = wl_act(members[me], members[!me]);
	if (messages)
		WL_CHECK(msgsnd(ids[!me], &message, sizeof(message.text), 0));
	else if (semaphores)
		WL_CHECK(semop(ids[!me], &give, 1));
	else
		WL_CHECK(mq_send(queues[!me], "ball", 4, 0));
	wl_acted(&act, "ipc", "ipc",
		 messages     ? "msgrcv"
		 : semaphores ? "semop|semtimedop"
			      : "mq_timedreceive",
		 "");
}

static void play(int self)
{
	int me = self - members[0];

	for (int lap = 0; lap < laps; lap++) {
		if (me == 0) {
			send_to(me);
			receive(me);
		} else {
			receive(me);
			send_to(me);
		}
	}
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "ipc");

	messages = strcmp(wl->variant, "messages") == 0;
	semaphores = strcmp(wl->variant, "semaphores") == 0;
	laps = wl_random(5, 15);
	for (int i = 0; i < 2; i++) {
		struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 64};
		char name[32];

		members[i] = self + 1 + i;
		snprintf(name, sizeof(name), "/workload-%d-%d", getpid(), i);
		if (messages)
			ids[i] = msgget(IPC_PRIVATE, 0600);
		else if (semaphores)
			ids[i] = semget(IPC_PRIVATE, 1, 0600);
		else
			ids[i] = queues[i] = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
		if (ids[i] < 0 && (errno == ENOSYS || errno == EACCES))
			wl_skip("this kernel has no such queue");
		WL_CHECK(ids[i]);
		if (!messages && !semaphores)
			mq_unlink(name);
	}
	for (int i = 0; i < 2; i++)
		wl_fork(self, play);
	for (int i = 0; i < 2; i++)
		wl_reap(self, members[i]);
	for (int i = 0; i < 2; i++) {
		if (messages)
			msgctl(ids[i], IPC_RMID, NULL);
		else if (semaphores)
			semctl(ids[i], 0, IPC_RMID);
	}
	wl_print();
	return 0;
}
