/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The records that clew's BPF programs send and that a capture file stores.
 *
 * Every record begins with struct clew_header; its kind says which structure it is (kinds.def). All
 * integers are little-endian, all times CLOCK_MONOTONIC nanoseconds. A task is named by its serial,
 * a number that clew gives it and never reuses. Serial 0 is the idle task of a CPU, or "unknown"
 * where no idle task can be meant. Identities (task, file, socket, cgroup, text) are sent once and
 * referred to afterwards.
 *
 * Where a member's meaning depends on another one (the kind of a cause, the reason of a wait), it
 * is a union: the first name is the one of the column in a file.
 *
 * BPF programs and user space include these headers: they use only __u types.
 */
#ifndef CLEW_KERNEL_RECORDS_H
#define CLEW_KERNEL_RECORDS_H

#include <clew/kernel/records/address.h>
#include <clew/kernel/records/announce.h>
#include <clew/kernel/records/block.h>
#include <clew/kernel/records/end.h>
#include <clew/kernel/records/failed.h>
#include <clew/kernel/records/function.h>
#include <clew/kernel/records/header.h>
#include <clew/kernel/records/identity.h>
#include <clew/kernel/records/journal.h>
#include <clew/kernel/records/lock_name.h>
#include <clew/kernel/records/message.h>
#include <clew/kernel/records/moment.h>
#include <clew/kernel/records/pages.h>
#include <clew/kernel/records/sched.h>
#include <clew/kernel/records/stack.h>
#include <clew/kernel/records/wait.h>
#include <clew/kernel/records/wake.h>
#include <clew/kernel/records/where.h>
#include <clew/kernel/records/work.h>

#endif
