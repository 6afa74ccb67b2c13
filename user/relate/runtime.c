/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words of events, and their values and points by name and number.
 */
#include "relate/runtime.h"

#include <string.h>

#include "relate/layer.h"

static const char *const verb_words[CLEW_VERBS] = {
	[CLEW_VERB_SUBMIT] = "submit", [CLEW_VERB_START] = "start",
	[CLEW_VERB_END] = "end",       [CLEW_VERB_SUSPEND] = "suspend",
	[CLEW_VERB_RESUME] = "resume", [CLEW_VERB_READY] = "ready",
	[CLEW_VERB_CANCEL] = "cancel", [CLEW_VERB_WAIT] = "wait",
	[CLEW_VERB_WAITED] = "waited", [CLEW_VERB_WAKE] = "wake",
	[CLEW_VERB_NAME] = "name",     [CLEW_VERB_AFTER] = "after",
	[CLEW_VERB_STATE] = "state",   [CLEW_VERB_WANT] = "want",
};

/* By IORING_OP_*. */
static const char *const operations[] = {
	"nop",
	"readv",
	"writev",
	"fsync",
	"read_fixed",
	"write_fixed",
	"poll_add",
	"poll_remove",
	"sync_file_range",
	"sendmsg",
	"recvmsg",
	"timeout",
	"timeout_remove",
	"accept",
	"async_cancel",
	"link_timeout",
	"connect",
	"fallocate",
	"openat",
	"close",
	"files_update",
	"statx",
	"read",
	"write",
	"fadvise",
	"madvise",
	"send",
	"recv",
	"openat2",
	"epoll_ctl",
	"splice",
	"provide_buffers",
	"remove_buffers",
	"tee",
	"shutdown",
	"renameat",
	"unlinkat",
	"mkdirat",
	"symlinkat",
	"linkat",
	"msg_ring",
	"fsetxattr",
	"setxattr",
	"fgetxattr",
	"getxattr",
	"socket",
	"uring_cmd",
	"send_zc",
	"sendmsg_zc",
};

const char *clew_ring_operation(uint64_t operation)
{
	return operation < sizeof(operations) / sizeof(operations[0]) ? operations[operation]
								      : NULL;
}

const char *clew_event_verb_word(unsigned verb)
{
	return verb < CLEW_VERBS ? verb_words[verb] : "?";
}

const struct clew_runtime_value *clew_event_value(const struct clew_runtime_event *event,
						  const char *name)
{
	for (uint32_t i = 0; i < event->value_count; i++)
		if (!strcmp(event->values[i].name, name))
			return &event->values[i];
	return NULL;
}

const struct clew_runtime_point *clew_runtime_point(const struct clew_layers *layers, size_t number,
						    const struct clew_runtime **ret_runtime)
{
	for (size_t i = 0; i < layers->runtime_count; i++) {
		const struct clew_runtime *runtime = &layers->runtimes[i];

		if (runtime->point_count &&
		    number - runtime->points[0].number < runtime->point_count) {
			if (ret_runtime)
				*ret_runtime = runtime;
			return &runtime->points[number - runtime->points[0].number];
		}
	}
	return NULL;
}
