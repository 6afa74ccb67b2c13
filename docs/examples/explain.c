/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An example of a program with libclew: the slowest operation of a capture and where its time went,
 * as a tree, and in how many steps.
 *
 * gcc -o explain explain.c $(pkg-config --cflags --libs clew)
 */
#include <clew/tokens.h>
#include <clew/why.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_tree(const struct clew_explanation *why)
{
	struct clew_why_node node;

	for (size_t i = 0; clew_explanation_node(why, i, &node) == 0; i++) {
		char *words = clew_explanation_node_words(why, i);

		printf("%12llu ns %*s%s\n", (unsigned long long)node.ns, 2 * (int)node.depth, "",
		       words ? words : "?");
		free(words);
	}
}

/* How long the operation waited through how many tasks. */
static void print_depths(const struct clew_explanation *why)
{
	enum { DEEPEST = 8 };
	struct clew_why_segment segment;
	uint64_t ns[DEEPEST + 1] = {0};
	size_t count = 0;

	for (; clew_explanation_segment(why, count, &segment) == 0; count++)
		ns[segment.hops < DEEPEST ? segment.hops : DEEPEST] += segment.end - segment.start;
	printf("%zu segments\n", count);
	for (size_t i = 0; i <= DEEPEST; i++)
		if (ns[i])
			printf("%12llu ns behind %zu tasks\n", (unsigned long long)ns[i], i);
}

static int explain_slowest(const struct clew_capture *capture)
{
	struct clew_why_operation *operations;
	struct clew_explanation *why = NULL;
	size_t count;
	char *task;
	int r = clew_why_slowest(capture, NULL, 1, &operations, &count);

	if (r < 0)
		return r;
	if (count)
		r = clew_explain(capture, operations->task, operations->from, operations->to, &why);
	else
		r = -ENOENT;
	if (r == 0) {
		task = clew_capture_task_words(capture, operations->task, operations->to);
		printf("%s: %llu ns\n", task ? task : "?",
		       (unsigned long long)(operations->to - operations->from));
		free(task);
		print_tree(why);
		print_depths(why);
	}
	clew_explanation_free(why);
	free(operations);
	return r;
}

int main(int argc, char **argv)
{
	struct clew_capture *capture;
	char message[300];
	int r;

	if (argc != 2) {
		fputs("usage: explain CAPTURE\n", stderr);
		return 2;
	}
	r = clew_capture_open(argv[1], NULL, &capture, message, sizeof(message));
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], message[0] ? message : strerror(-r));
		return 2;
	}
	r = explain_slowest(capture);
	clew_capture_close(capture);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", argv[1],
			r == -ENOENT ? "no operation in it" : strerror(-r));
	return r < 0;
}
