/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The choice of connections whose messages are recorded, whoever sends them. See maps.h. */
#ifndef CLEW_KERNEL_MAPS_NETWORK_H
#define CLEW_KERNEL_MAPS_NETWORK_H

#define CLEW_NETWORK_OFF     0
#define CLEW_NETWORK_OUTSIDE 1 /* those with other hosts */
#define CLEW_NETWORK_ALL     2 /* all of TCP */

/* Devices that can be named as leading to other hosts. */
#define CLEW_OUTSIDE_MOST 4

#endif
