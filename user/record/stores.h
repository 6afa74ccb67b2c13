/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs that note where stores to mapped files fault. */
#ifndef CLEW_RECORD_STORES_H
#define CLEW_RECORD_STORES_H

struct clew_bpf;
struct clew_recorder;

/*
 * Programs that note where stores to mapped files fault. Prepare:
 * before attaching.
 */
void clew_stores_prepare(struct clew_bpf *bpf);
void clew_stores_open(struct clew_recorder *recorder);
void clew_stores_tick(struct clew_recorder *recorder);
void clew_stores_close(struct clew_recorder *recorder);

#endif
