/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The files that stacks lead through, by numbers. A file that is met for the
 * first time gets its number at once, and user space is asked for its table.
 */
#ifndef CLEW_BPF_IMAGE_H
#define CLEW_BPF_IMAGE_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps/unwind.h>
#include <linux/types.h>

/* Messages to the thread that opens files: struct clew_image_news. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} clew_image_news SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CLEW_IMAGES_MOST);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct clew_image_key);
	__type(value, struct clew_image);
} clew_images SEC(".maps");

__u32 last_image;

/* Gives a file a number and asks for its table. NULL: there is no room. */
static __always_inline struct clew_image *image_ask(const struct clew_image_key *key, __u32 pid,
						    __u64 start, __u64 end)
{
	struct clew_image image = {.id = __sync_fetch_and_add(&last_image, 1) + 1};
	struct clew_image_news *news;

	news = bpf_ringbuf_reserve(&clew_image_news, sizeof(*news), 0);
	if (!news)
		return NULL;
	/* Another CPU may have asked meanwhile: then user space gets both. */
	bpf_map_update_elem(&clew_images, key, &image, BPF_NOEXIST);
	news->pid = pid;
	news->start = start;
	news->end = end;
	news->key = *key;
	news->image = image.id;
	bpf_ringbuf_submit(news, 0);
	return bpf_map_lookup_elem(&clew_images, key);
}

/* The file's table as far as it is known. `pid` maps it from `start` to `end`. */
static __always_inline struct clew_image *image_of(const struct clew_image_key *key, __u32 pid,
						   __u64 start, __u64 end)
{
	struct clew_image *image = bpf_map_lookup_elem(&clew_images, key);

	return image ?: image_ask(key, pid, start, end);
}

#endif
