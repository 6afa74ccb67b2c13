/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the steps of a recording: waiting, ending early, and saying what failed. */
#include "record/stream/steps.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/ending.h"
#include "record/stream/kernel.h"
#include "record/stream/recorder_state.h"
#include "store/target.h"

/* All CPUs pass a grace period. */
void clew_wait_for_programs(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0)) {
		struct timespec time = {.tv_nsec = 50000000};

		nanosleep(&time, NULL);
	}
}

int clew_recorder_check_ending(struct clew_message *message)
{
	return ending_since() ? clew_say(message, -EINTR,
					 "nothing was recorded: the interrupt came while clew was "
					 "loading: let it record first")
			      : 0;
}

int clew_say_refused(struct clew_message *message, const char *what, int error)
{
	int number = error == -EMFILE || error == -ENOMEM
			     ? error
			     : -ENOTSUP; /* -EINVAL says that an argument is wrong */

	if (error == -EMFILE)
		return clew_say(message, number,
				"%s: too many open files: raise their limit (ulimit -Hn)", what);
	if (error == -ENOMEM)
		return clew_say(message, number,
				"%s: out of memory: free some, or give a smaller --ring-size",
				what);
	if (clew_kernel_jit_off())
		return clew_say(
			message, number,
			"%s: BPF's JIT is off: turn it on (sysctl net.core.bpf_jit_enable=1)",
			what);
	return clew_say(message, number, "%s: %s: see `clew doctor`", what, strerror(-error));
}

int clew_say_unwritable(const struct clew_recorder *recorder, struct clew_message *message,
			const char *what, int error)
{
	const char *elsewhere = recorder->options.elsewhere ?: CLEW_ELSEWHERE;
	const char *refusal = store_target_refusal(error);

	if (refusal)
		return clew_say(message, -EINVAL, "%s cannot be written: %s: %s", what, refusal,
				elsewhere);
	switch (error) {
	case -ENOMEM:
	case -EAGAIN:
		return clew_say(message, error, "no memory or threads to write %s with: free some",
				what);
	case -EBUSY:
		return clew_say(message, error, "%s is being written by another recording: %s",
				what, elsewhere);
	case -EFBIG:
		return clew_say(message, error,
				"%s cannot be written: no file may become larger: raise that limit "
				"(ulimit -f), or %s",
				what, elsewhere);
	case -ENOSPC:
	case -EDQUOT:
		return clew_say(message, error, "%s cannot be written: %s: make room, or %s", what,
				strerror(-error), elsewhere);
	default:
		return clew_say(message, error, "%s cannot be written: %s: %s", what,
				strerror(-error), elsewhere);
	}
}
