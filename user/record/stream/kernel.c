/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Properties of the running kernel: privileges, BTF, offsets of per-CPU
 * variables.
 */
#include "record/stream/kernel.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "record/stream/pid_namespace.h"

#define CAPABILITY(data, number) ((data)[(number) / 32].effective & (1u << ((number) % 32)))

bool clew_kernel_privileged(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {};

	if (syscall(SYS_capget, &header, data))
		return false;
	return CAPABILITY(data, CAP_SYS_ADMIN) ||
	       (CAPABILITY(data, CAP_BPF) && CAPABILITY(data, CAP_PERFMON));
}

bool clew_kernel_is_confidential(void)
{
	FILE *file = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "";

	if (file && !fgets(line, sizeof(line), file))
		line[0] = '\0';
	if (file)
		fclose(file);
	return strstr(line, "[confidentiality]") != NULL;
}

bool clew_kernel_hides_modules(void)
{
	uint32_t id;

	return bpf_btf_get_next_id(0, &id) && errno == EPERM;
}

bool clew_kernel_jit_off(void)
{
	FILE *file = fopen("/proc/sys/net/core/bpf_jit_enable", "re");
	int first = file ? fgetc(file) : EOF;

	if (file)
		fclose(file);
	return first == '0';
}

bool clew_kernel_shows_all_tasks(void)
{
	return clew_pid_namespace() == 0;
}

/* clew says in one line of its own what is wrong. */
static void keep_libbpf_quiet(void)
{
	libbpf_set_print(NULL);
}

const char *clew_kernel_test_btf(void)
{
	return getenv("CLEW_TEST_BTF");
}

struct btf *clew_kernel_btf(struct clew_message *message)
{
	struct utsname name;
	struct btf *btf;

	keep_libbpf_quiet();
	btf = clew_kernel_test_btf() ? btf__parse_raw(clew_kernel_test_btf())
				     : btf__load_vmlinux_btf();
	if (btf)
		return btf;
	if (!access("/sys/kernel/btf/vmlinux", R_OK)) {
		clew_say(message, 0, "the kernel's BTF cannot be loaded: free some memory");
		return NULL;
	}
	uname(&name);
	clew_say(message, 0,
		 "the kernel (%s) has no BTF: a kernel built with CONFIG_DEBUG_INFO_BTF, 6.1 or "
		 "newer, is needed",
		 name.release);
	return NULL;
}

bool clew_kernel_is(unsigned major, unsigned minor)
{
	unsigned own_major = 0, own_minor = 0;
	struct utsname name;

	if (uname(&name) < 0 || sscanf(name.release, "%u.%u", &own_major, &own_minor) != 2)
		return false;
	return own_major > major || (own_major == major && own_minor >= minor);
}

static int64_t variable_offset(const struct btf *btf, const char *name)
{
	int section = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	const struct btf_type *type = section > 0 ? btf__type_by_id(btf, section) : NULL;
	const struct btf_var_secinfo *variable;

	if (!type)
		return -1;
	variable = btf_var_secinfos(type);
	for (unsigned int i = 0; i < btf_vlen(type); i++) {
		const struct btf_type *var = btf__type_by_id(btf, variable[i].type);

		if (var && !strcmp(btf__name_by_offset(btf, var->name_off), name))
			return variable[i].offset;
	}
	return -1;
}

/*
 * Offset in bytes of a member of a structure, or of an unnamed structure in it;
 * -1: there is none.
 */
static int64_t member_offset(const struct btf *btf, const struct btf_type *type, const char *name)
{
	const struct btf_member *member;

	if (!type || !btf_is_composite(type))
		return -1;
	member = btf_members(type);
	for (unsigned int i = 0; i < btf_vlen(type); i++) {
		const char *member_name = btf__name_by_offset(btf, member[i].name_off);
		int64_t at = btf_member_bit_offset(type, i) / 8, inside;

		if (!strcmp(member_name, name))
			return at;
		if (!*member_name) {
			inside = member_offset(btf, btf__type_by_id(btf, member[i].type), name);
			if (inside >= 0)
				return at + inside;
		}
	}
	return -1;
}

int64_t clew_kernel_preempt_count_offset(const struct btf *btf)
{
	int64_t queue = variable_offset(btf, "runqueues"),
		count = variable_offset(btf, "__preempt_count");

	if (queue < 0)
		return 0;
	if (count < 0) {
		/* 6.2 to 6.14 have it in struct pcpu_hot. */
		int id = btf__find_by_name_kind(btf, "pcpu_hot", BTF_KIND_STRUCT);
		int64_t hot = variable_offset(btf, "pcpu_hot"),
			member = id > 0 ? member_offset(btf, btf__type_by_id(btf, id),
							"preempt_count")
					: -1;

		if (hot < 0 || member < 0)
			return 0;
		count = hot + member;
	}
	return count - queue;
}

bool clew_kernel_knows_contexts(const struct btf *btf)
{
#ifdef __aarch64__
	(void)btf;
	return true;
#else
	return clew_kernel_preempt_count_offset(btf) != 0;
#endif
}

uint32_t clew_kernel_hardirq_bits(const struct btf *btf)
{
	/* Since 7.3 the bits below count for how often interrupts are disabled. */
	return variable_offset(btf, "local_interrupt_disable_state") < 0 ? 0x00ff0000 : 0x1f000000;
}

int64_t clew_kernel_softnet_offset(const struct btf *btf)
{
	int64_t queue = variable_offset(btf, "runqueues"),
		softnet = variable_offset(btf, "softnet_data");

	return queue < 0 || softnet < 0 ? 0 : softnet - queue;
}

bool clew_kernel_tracepoint_takes(const struct btf *btf, const char *name, unsigned argument,
				  const char *structure)
{
	const struct btf_type *type;
	char typedef_name[128];
	int id;

	snprintf(typedef_name, sizeof(typedef_name), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, typedef_name, BTF_KIND_TYPEDEF);
	type = id > 0 ? btf__type_by_id(btf, btf__type_by_id(btf, id)->type) : NULL;
	type = type && btf_is_ptr(type) ? btf__type_by_id(btf, type->type) : NULL;
	/*
	 * The first parameter is the tracepoint's context, which no argument
	 * is.
	 */
	if (!type || !btf_is_func_proto(type) || argument + 1 >= btf_vlen(type))
		return false;
	type = btf__type_by_id(btf, btf_params(type)[argument + 1].type);
	type = type && btf_is_ptr(type) ? btf__type_by_id(btf, type->type) : NULL;
	while (type && btf_is_mod(type))
		type = btf__type_by_id(btf, type->type);
	return type && btf_is_struct(type) &&
	       !strcmp(btf__name_by_offset(btf, type->name_off), structure);
}

bool clew_kernel_has_member(struct btf *btf, const char *module, const char *structure,
			    const char *member)
{
	struct btf *own = btf__load_module_btf(module, btf);
	const struct btf *all = own ? own : btf;
	int id = btf__find_by_name_kind(all, structure, BTF_KIND_STRUCT);
	bool has = id > 0 && member_offset(all, btf__type_by_id(all, id), member) >= 0;

	btf__free(own);
	return has;
}

int clew_kernel_cpus(void)
{
	keep_libbpf_quiet();
	return libbpf_num_possible_cpus();
}
