/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls functions in children that vfork made, on their parent's stack: half of them execute a
 * program, the others end. The status is 0 if the parent counted each call.
 */
#include <sys/wait.h>
#include <unistd.h>

#define KEPT __attribute__((noipa))

KEPT void g_leaf(void);
KEPT void g_child(int replaced);
KEPT int g_spawn(int replaced);

static volatile int count;

void g_leaf(void)
{
	count++;
}

void g_child(int replaced)
{
	g_leaf();
	if (replaced)
		execl("/bin/true", "true", (char *)0);
	_exit(0);
}

int g_spawn(int replaced)
{
	int pid = vfork();

	if (!pid)
		g_child(replaced);
	g_leaf();
	return pid;
}

int main(void)
{
	for (int i = 0; i < 20; i++)
		if (waitpid(g_spawn(i % 2), 0, 0) < 0)
			return 1;
	return count != 40;
}
