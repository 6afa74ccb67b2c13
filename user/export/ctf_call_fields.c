/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The arguments of system calls that CTF has. */
#include "export/ctf.h"

#include <string.h>

/* Calls of which readers want arguments, with those. */
struct call_fields {
	const char *call;
	struct ctf_field fields[4];
};
#define FD                                                                                         \
	{                                                                                          \
		"fd", CTF_I64                                                                      \
	}
#define FLAGS                                                                                      \
	{                                                                                          \
		"flags", CTF_I64                                                                   \
	}
#define NAME                                                                                       \
	{                                                                                          \
		"filename", CTF_TEXT                                                               \
	}
#define SIZE(n)                                                                                    \
	{                                                                                          \
		(n), CTF_I64                                                                       \
	}

static const struct call_fields entries[] = {
	{"read", {FD, SIZE("count")}},
	{"pread64", {FD, SIZE("count")}},
	{"readv", {FD, SIZE("vlen")}},
	{"preadv", {FD, SIZE("vlen")}},
	{"write", {FD, SIZE("count")}},
	{"pwrite64", {FD, SIZE("count")}},
	{"writev", {FD, SIZE("vlen")}},
	{"pwritev", {FD, SIZE("vlen")}},
	{"recvfrom", {FD, SIZE("size")}},
	{"recvmsg", {FD}},
	{"sendto", {FD, SIZE("len")}},
	{"sendmsg", {FD}},
	{"splice", {{"fd_in", CTF_I64}, {"fd_out", CTF_I64}, SIZE("len")}},
	{"fsync", {FD}},
	{"fdatasync", {FD}},
	{"sync_file_range", {FD, SIZE("nbytes")}},
	{"close", {FD}},
	{"open", {NAME, FLAGS}},
	{"openat", {NAME, FLAGS}},
	{"dup", {{"fildes", CTF_I64}}},
	{"dup2", {{"oldfd", CTF_I64}, {"newfd", CTF_I64}}},
	{"dup3", {{"oldfd", CTF_I64}, {"newfd", CTF_I64}, FLAGS}},
	{"fcntl", {FD, {"cmd", CTF_I64}}},
	{},
};

const struct ctf_field *ctf_call_fields(unsigned call, bool exit)
{
	static const struct ctf_field result[] = {{"ret", CTF_I64}, {}};
	static const struct ctf_field none[] = {{}};
	const char *name = clew_call_name(call);

	if (exit)
		return result;
	for (const struct call_fields *it = entries; it->call && name; it++)
		if (!strcmp(it->call, name))
			return it->fields;
	return none;
}
