/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State that the BPF programs keep in maps, and that user space reads or writes. Unlike the records
 * it never reaches a file: both sides are always of one build.
 */
#ifndef CLEW_KERNEL_MAPS_H
#define CLEW_KERNEL_MAPS_H

#include <clew/kernel/maps/cpu.h>
#include <clew/kernel/maps/end.h>
#include <clew/kernel/maps/function.h>
#include <clew/kernel/maps/moment.h>
#include <clew/kernel/maps/network.h>
#include <clew/kernel/maps/probe.h>
#include <clew/kernel/maps/task.h>
#include <clew/kernel/maps/unseen.h>
#include <clew/kernel/maps/unwind.h>

#endif
