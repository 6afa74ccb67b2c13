/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs at timers that are armed, and at the begin and end of their
 * callbacks.
 */
#include "timer.h"
#include "call.h"
#include "kernel.h"
#include "kernel_io.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/calls.h>
#include <linux/types.h>

SEC("tp_btf/hrtimer_start")
int BPF_PROG(clew_hrtimer_start, struct hrtimer *timer)
{
	__u64 function;
	struct call call;

	if (!enabled)
		return 0;
	function = (__u64)timer->function;
	if (likely(function != timer_timerfd && function != timer_posix &&
		   function != timer_interval) ||
	    !function)
		return 0;
	/* A periodic timer is started again by the task that reads it, but was
	 * armed by the call that set it. */
	read_call(bpf_get_current_task_btf(), &call);
	if (call.class == CLEW_CALL_ARM)
		timer_arm((__u64)timer);
	return 0;
}

SEC("tp_btf/timer_start")
int BPF_PROG(clew_timer_start, struct timer_list *timer)
{
	if (enabled && timer_delayed && (__u64)timer->function == timer_delayed)
		timer_arm((__u64)timer);
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(clew_hrtimer_expire_entry, struct hrtimer *timer)
{
	__u64 function;

	if (!enabled)
		return 0;
	function = (__u64)timer->function;
	/* Timers of another clock expire in the time of that clock. */
	timer_expire((__u64)timer, function, timer->_softexpires - timer->base->offset,
		     timer->node.expires - timer->_softexpires,
		     function == timer_timerfd || function == timer_posix ||
			     function == timer_interval);
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(clew_hrtimer_expire_exit, struct hrtimer *timer)
{
	__u64 function;

	if (!enabled)
		return 0;
	function = (__u64)timer->function;
	if (unlikely(function && (function == timer_period || function == timer_slack)))
		quota_refill(timer, function == timer_period);
	timer_expired();
	return 0;
}

SEC("tp_btf/timer_expire_entry")
int BPF_PROG(clew_timer_expire_entry, struct timer_list *timer)
{
	__u64 function;

	if (!enabled)
		return 0;
	function = (__u64)timer->function;
	timer_expire((__u64)timer, function, 0, 0, timer_delayed && function == timer_delayed);
	return 0;
}

SEC("tp_btf/timer_expire_exit")
int BPF_PROG(clew_timer_expire_exit)
{
	if (enabled)
		timer_expired();
	return 0;
}
