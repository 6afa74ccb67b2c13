/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The columns of each record kind, of which the schema chunk is made. A new
 * column is one line here: older programs skip a column that they do not know,
 * newer ones read a column that an older file lacks as 0.
 */
#include "store/schema_table.h"

#define TYPE_OF(type_, member_)                                                                    \
	_Generic(((type_ *)NULL)->member_, __u8                                                    \
		 : STORE_U8, __u16                                                                 \
		 : STORE_U16, __u32                                                                \
		 : STORE_U32, __u64                                                                \
		 : STORE_U64, __s32                                                                \
		 : STORE_I32)

#define AT_CODED(name_, type_, member_, base_, coding_, reference_, mask_)                         \
	.name = (name_), .reference = (reference_), .type = TYPE_OF(type_, member_),               \
	.coding = (coding_), .mask = (mask_), .offset = (base_) + offsetof(type_, member_)
#define AT(name, type, member, base, coding, reference, mask)                                      \
	{                                                                                          \
		AT_CODED(name, type, member, base, coding, reference, mask)                        \
	}

/*
 * A column without a member: other columns refer to the last value of the other
 * kind's column.
 */
#define LATEST(name_, type_, kind_, column_)                                                       \
	{                                                                                          \
		.name = (name_), .type = (type_), .coding = STORE_LATEST, .reference = (column_),  \
		.second = (kind_)                                                                  \
	}
/* The task that the CPU ran. */
#define RUNNING LATEST("running", STORE_U32, "switch", "next")

#define BYTES_IN(name_, type_, member_, context_)                                                  \
	{                                                                                          \
		.name = (name_), .type = STORE_BYTES, .coding = STORE_TRIMMED,                     \
		.offset = offsetof(type_, member_), .size = sizeof(((type_ *)NULL)->member_),      \
		.context = (context_)                                                              \
	}
#define BYTES(name, type, member) BYTES_IN(name, type, member, NULL)

#define TAIL_IN(name_, length_, stride_, context_)                                                 \
	{                                                                                          \
		.name = (name_), .reference = (length_), .type = STORE_BYTES,                      \
		.coding = STORE_TAIL, .offset = (stride_), .context = (context_)                   \
	}
#define TAIL(name, length, stride) TAIL_IN(name, length, stride, NULL)

static const struct table_column common_columns[] = {
	AT("kind", struct clew_header, kind, 0, STORE_PLAIN, NULL, 0),
	{AT_CODED("flags", struct clew_header, flags, 0, STORE_PLAIN, NULL, 0), .context = "kind"},
	{AT_CODED("time", struct clew_header, time, 0, STORE_TIME, NULL, 0), .context = "kind"},
	AT("lost", struct clew_header, lost, 0, STORE_PREVIOUS, "lost", 0),
	AT("cpu", struct clew_header, cpu, 0, STORE_STREAM, NULL, 0),
};

#define WAKE (CLEW_SWITCH_NEXT_SLEPT | CLEW_SWITCH_NEXT_NEW)
#define SWITCH(member, coding, reference, mask)                                                    \
	AT(#member, struct clew_switch, member, 0, coding, reference, mask)
#define WAIT(member, coding, reference)                                                            \
	AT("wait_" #member, struct clew_wait, member, sizeof(struct clew_switch), coding,          \
	   reference, CLEW_SWITCH_WAIT)
/* Two keys: the second one is used where the pair is new. */
#define SWITCH_BY(member, reference_, second_, mask_)                                              \
	{                                                                                          \
		AT_CODED(#member, struct clew_switch, member, 0, STORE_KEYED, reference_, mask_),  \
			.second = (second_)                                                        \
	}
#define WAIT_BY(member, reference_, second_)                                                       \
	{                                                                                          \
		AT_CODED("wait_" #member, struct clew_wait, member, sizeof(struct clew_switch),    \
			 STORE_KEYED, reference_, CLEW_SWITCH_WAIT),                               \
			.second = (second_)                                                        \
	}

/* A column of any kind, with two keys. */
#define BY(type_, member_, reference_, second_)                                                    \
	{                                                                                          \
		AT_CODED(#member_, type_, member_, 0, STORE_KEYED, reference_, 0),                 \
			.second = (second_)                                                        \
	}

/* A position in a file; the range that begins there has `bytes`. */
#define RANGE(type_, member_, reference_, second_)                                                 \
	{                                                                                          \
		AT_CODED(#member_, type_, member_, 0, STORE_NEXT, reference_, 0),                  \
			.second = (second_), .third = "bytes"                                      \
	}

#define CAUSE_AT(member_, base_, coding_, reference_, second_, mask_)                              \
	{                                                                                          \
		AT_CODED("cause_" #member_, struct clew_cause, member_, base_, coding_,            \
			 reference_, mask_),                                                       \
			.second = (second_)                                                        \
	}
/*
 * One task is mostly woken by the same cause. Times are close to that of its
 * last wake, and a timer is due about when it wakes.
 */
#define CAUSE_COLUMNS(base, key, when, mask)                                                       \
	CAUSE_AT(kind, base, STORE_KEYED, key, NULL, mask),                                        \
		CAUSE_AT(object, base, STORE_RECENT, "cause_object", NULL, mask),                  \
		CAUSE_AT(time, base, STORE_KEYED, key, "cause_object", mask),                      \
		{AT_CODED("cause_expires", struct clew_cause, expires, base, STORE_NEAR, when,     \
			  mask),                                                                   \
		 .context = "cause_object"},                                                       \
		CAUSE_AT(task, base, STORE_KEYED, key, "cause_kind", mask)

/* clang-format off */
#define SWITCH_COLUMNS \
	SWITCH(wake_context, STORE_PLAIN, NULL, WAKE), \
	SWITCH(next, STORE_RECENT, "next", 0), \
	SWITCH(prev, STORE_PREVIOUS, "next", 0), \
	SWITCH(waker, STORE_RECENT, "next", WAKE), \
	SWITCH(wake_time, STORE_BEFORE, "time", WAKE), \
	SWITCH(wake_flags, STORE_PLAIN, NULL, WAKE), \
	SWITCH(wake_operation, STORE_PLAIN, NULL, WAKE), \
	SWITCH_BY(wake_call, "waker", "wake_context", WAKE), \
	SWITCH(wake_object_kind, STORE_KEYED, "next", WAKE), \
	SWITCH_BY(wake_object, "next", "wake_object_kind", WAKE), \
	SWITCH_BY(wake_device, "next", "wake_object_kind", WAKE), \
	SWITCH_BY(wake_descriptor, "next", "wake_object_kind", WAKE), \
	WAIT(call, STORE_KEYED, "prev"), \
	WAIT_BY(flags, "prev", "wait_call"), \
	WAIT_BY(object_kind, "prev", "wait_call"), \
	WAIT_BY(descriptor, "prev", "wait_call"), \
	WAIT_BY(device, "prev", "wait_object_kind"), \
	LATEST("path", STORE_U64, "text", "hash"), \
	{ \
		AT_CODED("wait_object", struct clew_wait, object, sizeof(struct clew_switch), STORE_KEYED, "prev", CLEW_SWITCH_WAIT), \
			.second = "wait_object_kind", .third = "path", \
	}, \
	WAIT_BY(argument, "prev", "wait_call"), \
	WAIT_BY(futex_operation, "prev", "wait_call"), \
	WAIT_BY(futex_class, "prev", "wait_call"), \
	WAIT_BY(reason, "prev", "wait_call"), \
	WAIT(owner, STORE_RECENT, "wait_owner"), \
	WAIT(faults, STORE_KEYED, "prev"), \
	SWITCH_BY(prev_state, "prev", "wait_call", 0)
/* clang-format on */

static const struct table_column switch_columns[] = {
	SWITCH_COLUMNS,
	CAUSE_COLUMNS(sizeof(struct clew_switch) + sizeof(struct clew_wait), "next", "wake_time",
		      CLEW_SWITCH_CAUSE),
	SWITCH(flags_high, STORE_PLAIN, NULL, 0),
};
static const struct table_column state_columns[] = {
	SWITCH_COLUMNS,
	SWITCH(flags_high, STORE_PLAIN, NULL, 0),
};

#define TASK(member, coding, reference)                                                            \
	AT(#member, struct clew_task_record, member, 0, coding, reference, 0)

/* A task's later records mostly repeat its first one. */
#define TASK_AS(member, guess)                                                                     \
	{                                                                                          \
		AT_CODED(#member, struct clew_task_record, member, 0, STORE_KEYED, "task", 0),     \
			.third = (guess)                                                           \
	}

static const struct table_column task_columns[] = {
	RUNNING,
	AT("task", struct clew_task_record, task, 0, STORE_RECENT, "running", 0),
	TASK_AS(process, "task"),
	TASK_AS(parent, "running"),
	TASK(tid, STORE_OFFSET, "task"),
	TASK_AS(pid, "tid"),
	TASK_AS(start_time, "time"),
	TASK(cgroup, STORE_KEYED, "parent"),
	TASK(executable, STORE_RECENT, "executable"),
	TASK(executable_device, STORE_KEYED, "executable"),
	TASK_AS(user, NULL),
	TASK_AS(pid_namespace, NULL),
	TASK_AS(mount_namespace, NULL),
	TASK(task_flags, STORE_PLAIN, NULL),
	TASK(nspid_count, STORE_PLAIN, NULL),
	TASK(nspid[0], STORE_SAME, "tid"),
	TASK(nspid[1], STORE_PLAIN, NULL),
	TASK(nspid[2], STORE_PLAIN, NULL),
	TASK(nspid[3], STORE_PLAIN, NULL),
	TASK(nspid[4], STORE_PLAIN, NULL),
	TASK(nspid[5], STORE_PLAIN, NULL),
	TASK(nspid[6], STORE_PLAIN, NULL),
	TASK(nspid[7], STORE_PLAIN, NULL),
	TASK(memory, STORE_KEYED, "process"),
	BYTES_IN("comm", struct clew_task_record, comm, "executable"),
	{AT_CODED("command_line_size", struct clew_task_record, command_line_size, 0, STORE_PLAIN,
		  NULL, 0),
	 .context = "executable"},
	TAIL_IN("command_line", "command_line_size", sizeof(struct clew_task_record), "executable"),
};

#define LIFE(member, coding, reference)                                                            \
	AT(#member, struct clew_life, member, 0, coding, reference, 0)

static const struct table_column fork_columns[] = {
	RUNNING,
	LATEST("child", STORE_U32, "task", "task"),
	LIFE(task, STORE_SAME, "running"),
	LIFE(other, STORE_SAME, "child"),
	LIFE(value, STORE_PLAIN, NULL),
};

static const struct table_column exec_columns[] = {
	RUNNING,
	LIFE(task, STORE_SAME, "running"),
	LIFE(other, STORE_SAME, "task"),
	LIFE(value, STORE_PLAIN, NULL),
};

static const struct table_column exit_columns[] = {
	RUNNING,
	LIFE(task, STORE_SAME, "running"),
	LIFE(other, STORE_PLAIN, NULL),
	LIFE(value, STORE_PLAIN, NULL),
};

static const struct table_column rename_columns[] = {
	AT("task", struct clew_rename, task, 0, STORE_PREVIOUS, "task", 0),
	BYTES("comm", struct clew_rename, comm),
};

static const struct table_column priority_columns[] = {
	AT("task", struct clew_priority, task, 0, STORE_PREVIOUS, "task", 0),
	AT("policy", struct clew_priority, policy, 0, STORE_KEYED, "task", 0),
	AT("value", struct clew_priority, value, 0, STORE_KEYED, "task", 0),
};

static const struct table_column file_columns[] = {
	AT("inode", struct clew_file_record, inode, 0, STORE_PREVIOUS, "inode", 0),
	AT("device", struct clew_file_record, device, 0, STORE_PREVIOUS, "device", 0),
	AT("mount_namespace", struct clew_file_record, mount_namespace, 0, STORE_PREVIOUS,
	   "mount_namespace", 0),
	AT("generation", struct clew_file_record, generation, 0, STORE_KEYED, "inode", 0),
	AT("path_size", struct clew_file_record, path_size, 0, STORE_PLAIN, NULL, 0),
	TAIL("path", "path_size", sizeof(struct clew_file_record)),
};

#define SOCKET(member, coding, reference)                                                          \
	AT(#member, struct clew_socket_record, member, 0, coding, reference, 0)

static const struct table_column socket_columns[] = {
	SOCKET(inode, STORE_PREVIOUS, "inode"),
	SOCKET(peer, STORE_PREVIOUS, "peer"),
	SOCKET(family, STORE_PLAIN, NULL),
	SOCKET(type, STORE_PLAIN, NULL),
	SOCKET(local_port, STORE_PLAIN, NULL),
	SOCKET(peer_port, STORE_PLAIN, NULL),
	BYTES("local", struct clew_socket_record, local),
	BYTES("remote", struct clew_socket_record, remote),
	BYTES("local_path", struct clew_socket_record, local_path),
	BYTES("peer_path", struct clew_socket_record, peer_path),
	SOCKET(sent_first, STORE_PLAIN, NULL),
	SOCKET(received_first, STORE_PLAIN, NULL),
};

static const struct table_column cgroup_columns[] = {
	AT("id", struct clew_cgroup_record, id, 0, STORE_PREVIOUS, "id", 0),
	AT("hierarchy", struct clew_cgroup_record, hierarchy, 0, STORE_PLAIN, NULL, 0),
	AT("path_size", struct clew_cgroup_record, path_size, 0, STORE_PLAIN, NULL, 0),
	TAIL("path", "path_size", sizeof(struct clew_cgroup_record)),
};

#define END(member, coding, reference) AT(#member, struct clew_end, member, 0, coding, reference, 0)

static const struct table_column end_columns[] = {
	END(task, STORE_PREVIOUS, "task"),
	END(object_kind, STORE_PLAIN, NULL),
	END(call, STORE_PLAIN, NULL),
	END(function, STORE_KEYED, "call"),
	END(end, STORE_PREVIOUS, "end"),
	END(object, STORE_KEYED, "end"),
	END(listener, STORE_KEYED, "end"),
	END(device, STORE_KEYED, "object_kind"),
	END(descriptor, STORE_KEYED, "object_kind"),
	END(pass, STORE_PLAIN, NULL),
};

static const struct table_column text_columns[] = {
	AT("text_size", struct clew_text_record, text_size, 0, STORE_PLAIN, NULL, 0),
	TAIL("text", "text_size", sizeof(struct clew_text_record)),
	AT("hash", struct clew_text_record, hash, 0, STORE_SAME, "text", 0),
};

static const struct table_column gap_columns[] = {
	AT("from", struct clew_gap, from, 0, STORE_BEFORE, "time", 0),
	AT("count", struct clew_gap, count, 0, STORE_PLAIN, NULL, 0),
};

#define WORK(member, coding, reference)                                                            \
	AT(#member, struct clew_work, member, 0, coding, reference, 0)

/* clang-format off */
static const struct table_column work_columns[] = {
	WORK(function, STORE_RECENT, "function"),
	WORK(work, STORE_KEYED, "function"),
	WORK(queued, STORE_BEFORE, "time"),
	WORK(worker, STORE_RECENT, "worker"),
	WORK(queuer, STORE_RECENT, "worker"),
	CAUSE_COLUMNS(offsetof(struct clew_work, cause), "function", "queued", 0),
	WORK(context, STORE_KEYED, "function"),
};

#define BIO(member, coding, reference) AT(#member, struct clew_bio, member, 0, coding, reference, 0)
#define BIO_BY(member, key, second)    BY(struct clew_bio, member, key, second)

static const struct table_column bio_columns[] = {
	BIO(bio, STORE_RECENT, "bio"),
	BIO(device, STORE_KEYED, "flags"),
	BIO(task, STORE_RECENT, "task"),
	BIO_BY(operation, "device", "flags"),
	BIO_BY(sector, "device", "flags"),
	BIO(bytes, STORE_PLAIN, NULL),
	BIO_BY(from_device, "device", "flags"),
	BIO_BY(from_sector, "device", "flags"),
	BIO(inode, STORE_RECENT, "inode"),
	BIO(file_device, STORE_KEYED, "inode"),
	BIO(index, STORE_KEYED, "inode"),
	BIO(parent, STORE_PLAIN, NULL),
	BIO(contiguous, STORE_SAME, "bytes"),
	BIO_BY(call, "task", "flags"),
};

#define REQUEST(member, coding, reference) AT(#member, struct clew_request, member, 0, coding, reference, 0)
/*
 * A request's later records mostly repeat its first one, which mostly repeats
 * the last bio.
 */
#define REQUEST_BY(member, key, second) BY(struct clew_request, member, key, second)

static const struct table_column request_columns[] = {
	REQUEST(request, STORE_RECENT, "request"),
	REQUEST(device, STORE_KEYED, "request"),
	LATEST("last_sector", STORE_U64, "bio", "sector"),
	{AT_CODED("sector", struct clew_request, sector, 0, STORE_NEAR, "last_sector", 0), .second = "request"},
	LATEST("last_bytes", STORE_U32, "bio", "bytes"),
	{AT_CODED("bytes", struct clew_request, bytes, 0, STORE_KEYED, "request", 0), .third = "last_bytes"},
	LATEST("last_operation", STORE_U32, "bio", "operation"),
	{AT_CODED("operation", struct clew_request, operation, 0, STORE_KEYED, "request", 0), .third = "last_operation"},
	LATEST("last_bio", STORE_U64, "bio", "bio"),
	REQUEST(bio, STORE_RECENT, "last_bio"),
	{AT_CODED("allocated", struct clew_request, allocated, 0, STORE_NEAR, "time", 0), .second = "request"},
	REQUEST(task, STORE_RECENT, "task"),
	REQUEST(error, STORE_PLAIN, NULL),
	REQUEST_BY(context, "device", "flags"),
	REQUEST_BY(bio_count, "device", "flags"),
	AT("queued", struct clew_request, queued, 0, STORE_SAME, "allocated", CLEW_REQUEST_WHOLE),
	AT("issued", struct clew_request, issued, 0, STORE_SAME, "queued", CLEW_REQUEST_WHOLE),
	AT("inode", struct clew_request, inode, 0, STORE_KEYED, "task", CLEW_REQUEST_WHOLE),
	AT("file_device", struct clew_request, file_device, 0, STORE_KEYED, "task", CLEW_REQUEST_WHOLE),
	AT("offset", struct clew_request, offset, 0, STORE_KEYED, "inode", CLEW_REQUEST_WHOLE),
};

static const struct table_column lock_columns[] = {
	AT("begin", struct clew_lock, begin, 0, STORE_BEFORE, "time", 0),
	AT("lock", struct clew_lock, lock, 0, STORE_RECENT, "lock", 0),
	AT("task", struct clew_lock, task, 0, STORE_RECENT, "task", 0),
	AT("owner", struct clew_lock, owner, 0, STORE_RECENT, "owner", 0),
	AT("type", struct clew_lock, type, 0, STORE_KEYED, "lock", 0),
};

static const struct table_column ring_columns[] = {
	AT("task", struct clew_ring, task, 0, STORE_RECENT, "task", 0),
	AT("ring", struct clew_ring, ring, 0, STORE_KEYED, "task", 0),
	AT("request", struct clew_ring, request, 0, STORE_RECENT, "request", 0),
	AT("user_data", struct clew_ring, user_data, 0, STORE_KEYED, "request", 0),
	AT("operation", struct clew_ring, operation, 0, STORE_KEYED, "ring", 0),
};

static const struct table_column refill_columns[] = {
	AT("cgroup", struct clew_refill, cgroup, 0, STORE_RECENT, "cgroup", 0),
};

static const struct table_column limit_columns[] = {
	AT("bio", struct clew_limit, bio, 0, STORE_RECENT, "bio", 0),
	AT("cgroup", struct clew_limit, cgroup, 0, STORE_RECENT, "cgroup", 0),
	AT("limited", struct clew_limit, limited, 0, STORE_KEYED, "cgroup", 0),
	AT("submitter", struct clew_limit, submitter, 0, STORE_KEYED, "cgroup", 0),
};

#define EXTENT(member, coding, reference) AT(#member, struct clew_extent, member, 0, coding, reference, 0)

/*
 * Sizes recur in all files; and where one touch ends, one of another kind often
 * begins.
 */
static const struct table_column extent_columns[] = {
	EXTENT(bytes, STORE_PLAIN, NULL),
	EXTENT(inode, STORE_RECENT, "inode"),
	EXTENT(device, STORE_KEYED, "inode"),
	EXTENT(task, STORE_RECENT, "task"),
	{AT_CODED("begin", struct clew_extent, begin, 0, STORE_NEAR, "time", 0), .second = "flags", .third = "time"},
	RANGE(struct clew_extent, offset, "inode", NULL),
};

#define PAGES(member, coding, reference) AT(#member, struct clew_pages, member, 0, coding, reference, 0)

static const struct table_column pages_columns[] = {
	LATEST("last_bio", STORE_U64, "bio", "bio"),
	PAGES(bio, STORE_SAME, "last_bio"),
	PAGES(inode, STORE_RECENT, "inode"),
	PAGES(device, STORE_KEYED, "inode"),
	PAGES(bytes, STORE_KEYED, "inode"),
	RANGE(struct clew_pages, offset, "inode", "flags"),
	PAGES(at, STORE_PREVIOUS, "at"),
};

#define WRITEBACK(member, coding, reference) AT(#member, struct clew_writeback, member, 0, coding, reference, 0)

static const struct table_column writeback_columns[] = {
	WRITEBACK(work, STORE_RECENT, "work"),
	WRITEBACK(task, STORE_RECENT, "task"),
	WRITEBACK(inode, STORE_RECENT, "inode"),
	WRITEBACK(device, STORE_KEYED, "inode"),
	BY(struct clew_writeback, pages, "work", "flags"),
	BY(struct clew_writeback, reason, "task", "flags"),
	BY(struct clew_writeback, sync, "task", "flags"),
	BY(struct clew_writeback, for_sync, "task", "flags"),
	BY(struct clew_writeback, call, "task", "flags"),
};

#define JOURNAL(member, coding, reference) AT(#member, struct clew_journal, member, 0, coding, reference, 0)

static const struct table_column journal_columns[] = {
	JOURNAL(device, STORE_RECENT, "device"),
	JOURNAL(task, STORE_RECENT, "task"),
	JOURNAL(transaction, STORE_KEYED, "device"),
	JOURNAL(inode, STORE_RECENT, "inode"),
	BY(struct clew_journal, block, "device", "flags"),
	BY(struct clew_journal, value, "device", "flags"),
};

#define ANNOUNCE(member, coding, reference) AT(#member, struct clew_announce, member, 0, coding, reference, 0)

static const struct table_column announce_columns[] = {
	ANNOUNCE(task, STORE_RECENT, "task"),
	ANNOUNCE(event, STORE_PLAIN, NULL),
	BY(struct clew_announce, token, "task", "event"),
	ANNOUNCE(size, STORE_KEYED, "task"),
	TAIL("text", "size", sizeof(struct clew_announce)),
};

#define FUNCTION(member, coding, reference) AT(#member, struct clew_function, member, 0, coding, reference, 0)

/* A task mostly goes from a site to the one that it went to last time. */
static const struct table_column function_columns[] = {
	RUNNING,
	FUNCTION(task, STORE_SAME, "running"),
	FUNCTION(site, STORE_PREVIOUS, "site"),
	BY(struct clew_function, stack, "task", "site"),
	FUNCTION(size, STORE_KEYED, "site"),
	TAIL("values", "size", sizeof(struct clew_function)),
};

#define SITE(member, coding, reference) AT(#member, struct clew_site_record, member, 0, coding, reference, 0)

static const struct table_column site_columns[] = {
	SITE(site, STORE_PREVIOUS, "site"),
	SITE(function, STORE_PREVIOUS, "function"),
	SITE(start, STORE_KEYED, "function"),
	SITE(offset, STORE_SAME, "start"),
	SITE(length, STORE_KEYED, "function"),
	SITE(roles, STORE_PLAIN, NULL),
	SITE(below, STORE_PLAIN, NULL),
	SITE(class, STORE_PLAIN, NULL),
	SITE(way, STORE_PLAIN, NULL),
	SITE(build_id_size, STORE_PREVIOUS, "build_id_size"),
	BYTES("build_id", struct clew_site_record, build_id),
	SITE(size, STORE_KEYED, "function"),
	TAIL("words", "size", sizeof(struct clew_site_record)),
};

#define FAILED(member, coding, reference) AT(#member, struct clew_failed, member, 0, coding, reference, 0)

static const struct table_column failed_columns[] = {
	FAILED(task, STORE_PREVIOUS, "task"),
	FAILED(object, STORE_KEYED, "task"),
	FAILED(device, STORE_KEYED, "task"),
	FAILED(listener, STORE_KEYED, "task"),
	FAILED(owner, STORE_KEYED, "task"),
	FAILED(queued, STORE_KEYED, "task"),
	FAILED(call, STORE_KEYED, "task"),
};

#define MESSAGE(member, coding, reference) AT(#member, struct clew_message_record, member, 0, coding, reference, 0)

/* A message begins where the one before in its direction ended. */
#define PLACED(member_, coding_, third_, flags_)                                                   \
	{                                                                                          \
		AT_CODED(#member_, struct clew_message_record, member_, 0, coding_, "socket",      \
			 flags_),                                                                  \
			.second = "flags", .third = (third_)                                       \
	}

static const struct table_column message_columns[] = {
	RUNNING,
	MESSAGE(task, STORE_SAME, "running"),
	MESSAGE(socket, STORE_RECENT, "socket"),
	BY(struct clew_message_record, bytes, "socket", "flags"),
	AT("at", struct clew_message_record, at, 0, STORE_BEFORE, "time", CLEW_MESSAGE_TIMED),
	PLACED(position, STORE_NEXT, "bytes", CLEW_MESSAGE_PLACED | CLEW_MESSAGE_QUERY),
	PLACED(round_trip, STORE_KEYED, NULL, CLEW_MESSAGE_PLACED),
	PLACED(resent, STORE_KEYED, NULL, CLEW_MESSAGE_PLACED),
};

#define MOMENT(member, coding, reference) AT(#member, struct clew_moment, member, 0, coding, reference, 0)

static const struct table_column moment_columns[] = {
	RUNNING,
	MOMENT(task, STORE_SAME, "running"),
	MOMENT(point, STORE_PREVIOUS, "point"),
	BY(struct clew_moment, stack, "task", "point"),
	MOMENT(size, STORE_KEYED, "point"),
	TAIL("values", "size", sizeof(struct clew_moment)),
};

#define LOCK_NAME(member, coding, reference) AT(#member, struct clew_lock_name, member, 0, coding, reference, 0)

static const struct table_column lock_name_columns[] = {
	LOCK_NAME(lock, STORE_RECENT, "lock"),
	LOCK_NAME(inode, STORE_RECENT, "inode"),
	LOCK_NAME(device, STORE_KEYED, "inode"),
	LOCK_NAME(owner, STORE_RECENT, "owner"),
};

#define WHERE(member, coding, reference) AT(#member, struct clew_where, member, 0, coding, reference, 0)

static const struct table_column where_columns[] = {
	RUNNING,
	WHERE(task, STORE_SAME, "running"),
	WHERE(call, STORE_KEYED, "task"),
	WHERE(reason, STORE_KEYED, "task"),
	WHERE(identity, STORE_KEYED, "task"),
	WHERE(faults, STORE_KEYED, "task"),
	AT("begin", struct clew_where, begin, 0, STORE_BEFORE, "time", CLEW_WHERE_SPAN),
	AT("faults_before", struct clew_where, faults_before, 0, STORE_KEYED, "task", CLEW_WHERE_SPAN),
};

#define STACK(member, coding, reference) AT(#member, struct clew_stack, member, 0, coding, reference, 0)

static const struct table_column stack_columns[] = {
	STACK(hash, STORE_PLAIN, NULL),
	STACK(end, STORE_PLAIN, NULL),
	STACK(size, STORE_PLAIN, NULL),
	TAIL("frames", "size", sizeof(struct clew_stack)),
};

#define STACKS(member, coding, reference) AT(#member, struct clew_task_stacks, member, 0, coding, reference, 0)
#define TASK_STACKS                                                                                \
	STACKS(task, STORE_RECENT, "task"), STACKS(user, STORE_KEYED, "task"),                     \
		STACKS(kernel, STORE_KEYED, "task"), STACKS(end, STORE_KEYED, "task")

static const struct table_column waited_columns[] = {TASK_STACKS};
static const struct table_column sample_columns[] = {TASK_STACKS};
static const struct table_column waker_columns[] = {TASK_STACKS};

#define IMAGE(member, coding, reference) AT(#member, struct clew_image_record, member, 0, coding, reference, 0)

static const struct table_column image_columns[] = {
	IMAGE(image, STORE_PREVIOUS, "image"),
	IMAGE(inode, STORE_PREVIOUS, "inode"),
	IMAGE(device, STORE_PREVIOUS, "device"),
	IMAGE(build_id_size, STORE_PLAIN, NULL),
	BYTES("build_id", struct clew_image_record, build_id),
	IMAGE(bias, STORE_PLAIN, NULL),
	IMAGE(size, STORE_PLAIN, NULL),
	TAIL("path", "size", sizeof(struct clew_image_record)),
};

#define SYMBOL(member, coding, reference) AT(#member, struct clew_symbol_record, member, 0, coding, reference, 0)

static const struct table_column symbol_columns[] = {
	SYMBOL(image, STORE_PREVIOUS, "image"),
	SYMBOL(start, STORE_PREVIOUS, "start"),
	SYMBOL(length, STORE_PLAIN, NULL),
	SYMBOL(size, STORE_PLAIN, NULL),
	TAIL("name", "size", sizeof(struct clew_symbol_record)),
};

#define ADDRESS(member, coding, reference) AT(#member, struct clew_address, member, 0, coding, reference, 0)

static const struct table_column address_columns[] = {
	ADDRESS(task, STORE_RECENT, "task"),
	ADDRESS(address, STORE_PREVIOUS, "address"),
	ADDRESS(offset, STORE_PREVIOUS, "offset"),
	ADDRESS(size, STORE_PLAIN, NULL),
	TAIL("words", "size", sizeof(struct clew_address)),
};

#define DROPPED(member) AT(#member, struct clew_dropped, member, 0, STORE_PLAIN, NULL, 0)

static const struct table_column dropped_columns[] = {
	DROPPED(function), DROPPED(calls), DROPPED(cost), DROPPED(period),
};
/* clang-format on */

#define COLUMNS(columns_) .columns = (columns_), .count = sizeof(columns_) / sizeof((columns_)[0])
#define CLEW_RECORD_KIND(NAME, name_, number, ...)                                                 \
	{.name = #name_, .id = (number), COLUMNS(name_##_columns)},
#define CLEW_LEDGER_KIND(NAME, name_, number)

const struct table_kind store_table[] = {
	{.name = "common", .id = 0, COLUMNS(common_columns)},
#include <clew/kernel/kinds.def>
};

const size_t store_table_count = sizeof(store_table) / sizeof(store_table[0]);
