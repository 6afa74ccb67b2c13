/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes at functions of the kernel: many in one link where the kernel has that (CONFIG_FPROBE),
 * else a probe each, which takes some milliseconds. A link of such a probe keeps its event.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/functions/probe.h"

#define PMU_TYPE   "/sys/bus/event_source/devices/kprobe/type"
#define PMU_RETURN "/sys/bus/event_source/devices/kprobe/format/retprobe"

static int create_many(int program, bool returns, const uint64_t *addresses,
		       const uint64_t *cookies, size_t count)
{
	LIBBPF_OPTS(bpf_link_create_opts, options,
		    .kprobe_multi = {.flags = returns ? BPF_F_KPROBE_MULTI_RETURN : 0,
				     .cnt = (uint32_t)count,
				     .addrs = addresses,
				     .cookies = (const __u64 *)cookies});
	int link = bpf_link_create(program, 0, BPF_TRACE_KPROBE_MULTI, &options);

	return link < 0 ? -errno : link;
}

static int create_one(int program, bool returns, uint64_t address, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = cookie);
	int type = clew_probe_read_number(PMU_TYPE), bit = clew_probe_read_number(PMU_RETURN);
	struct perf_event_attr attributes = {
		.type = (uint32_t)type,
		.size = sizeof(attributes),
		.config = returns && bit >= 0 ? 1ull << bit : 0,
		.kprobe_addr = address,
	};
	int event, link;

	if (type < 0 || bit < 0)
		return -EOPNOTSUPP;
	event = (int)syscall(SYS_perf_event_open, &attributes, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return -errno;
	link = bpf_link_create(program, event, BPF_PERF_EVENT, &options);
	if (link < 0)
		link = -errno;
	close(event);
	return link;
}

int clew_probe_link_kernel(int program, bool multi, uint64_t address, bool returns)
{
	return multi ? create_many(program, returns, &address, NULL, 1)
		     : create_one(program, returns, address, 0);
}

/* A kernel that has the link finds no function at such an address. */
bool clew_probe_kernel_multi(void)
{
	int program = clew_probe_load_empty_kernel(true), link;

	if (program < 0)
		return false;
	link = clew_probe_link_kernel(program, true, 1, false);
	close(program);
	if (link >= 0)
		close(link);
	return link >= 0 || link != -EOPNOTSUPP;
}

bool clew_probe_kernel_singly(void)
{
	return !access(PMU_TYPE, R_OK);
}

void clew_probe_prepare_singly(struct bpf_program *program)
{
	bpf_program__set_expected_attach_type(program, 0);
}

static int attach_singly(int program, bool returns, const struct clew_probe_place *places,
			 size_t count, struct clew_probe_links *ret)
{
	ret->singles = calloc(count, sizeof(*ret->singles));
	if (!ret->singles)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		int link = create_one(program, returns, places[i].offset, places[i].cookie);

		if (link < 0)
			return link;
		ret->singles[ret->single_count++] = link;
	}
	return 0;
}

static int attach_many(int program, bool returns, const struct clew_probe_place *places,
		       size_t count, struct clew_probe_links *ret)
{
	uint64_t *numbers = calloc(2 * count, sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		numbers[i] = places[i].offset;
		numbers[count + i] = places[i].cookie;
	}
	ret->multi = create_many(program, returns, numbers, numbers + count, count);
	free(numbers);
	return ret->multi < 0 ? ret->multi : 0;
}

int clew_probe_attach_kernel(const struct bpf_program *program, bool returns,
			     const struct clew_probe_place *places, size_t count,
			     struct clew_probe_links *ret)
{
	int descriptor = bpf_program__fd(program), r;

	*ret = (struct clew_probe_links){.multi = -1};
	if (bpf_program__expected_attach_type(program) == BPF_TRACE_KPROBE_MULTI)
		r = attach_many(descriptor, returns, places, count, ret);
	else
		r = attach_singly(descriptor, returns, places, count, ret);
	if (r < 0)
		clew_probe_detach(ret, 1);
	return r;
}
