/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs of the page cache: dirtied, written, stored to, used and dropped
 * pages.
 */
#include "pagecache.h"
#include "arch.h"
#include "dirty.h"
#include "extent.h"
#include "kernel.h"
#include "kernel_fs.h"
#include "kernel_io.h"
#include "pages.h"
#include "read.h"
#include "state.h"
#include "use.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

SEC("?tp_btf/writeback_dirty_folio")
int BPF_PROG(clew_cache_dirty_folio, struct folio *folio, struct address_space *mapping)
{
	struct touch touch, copy;
	struct actor actor;
	struct inode *inode;
	struct task_struct *task;
	bool copied, written, again = false;

	if (!mapping || !enabled)
		return 0;
	/* Pointers are followed first: after many branches that makes
	 * verification slow. */
	inode = READ_TRUSTED(mapping, host);
	if (!touch_folio(&touch, folio, inode) || !actor_here(&actor))
		return 0;
	touch.task = actor.task;
	touch_begin(actor.cpu_state);
	/* A write call has reported this range already, so the two extents
	 * become one. A store to a mapped page is no copy of a call. */
	task = bpf_get_current_task_btf();
	copied = !in_user_fault(task);
	written = copied && (extent_retract(actor.cpu_state, CLEW_EXTENT_WRITE, &touch) ||
			     extent_retract_copy(actor.cpu_state, CLEW_EXTENT_WRITE, &touch) ||
			     extent_retract_copy(actor.cpu_state, CLEW_EXTENT_DIRTY, &touch));
	if (copied && !written) {
		again = extent_retract_again(actor.cpu_state, &touch, &copy);
		if (!again)
			extent_split(actor.cpu_state, actor.cpu, &touch);
		else if (page_start(copy.offset) == touch.offset &&
			 page_end(copy.offset + copy.bytes) == touch.offset + touch.bytes)
			written = true;
		if (written)
			touch = copy;
		if (!written && !again && dirties_again(task)) {
			extent_touch(actor.cpu_state, actor.cpu, CLEW_EXTENT_REDIRTY, &touch, false,
				     (__u64)inode);
			touch_end(actor.cpu_state);
			return 0;
		}
	}
	extent_touch(actor.cpu_state, actor.cpu, CLEW_EXTENT_DIRTY, &touch, written, (__u64)inode);
	if (again && !written)
		extent_touch(actor.cpu_state, actor.cpu, CLEW_EXTENT_WRITE, &copy, false, 0);
	touch_end(actor.cpu_state);
	/* Only the call says which pages of a large folio it zeroed. */
	if (unlikely(copied && !written && touch.bytes > PAGE_SIZE))
		zero_emit(task, &actor, &touch, NULL);
	return 0;
}

/* Runs before a call zeroes these bytes of a folio, be it dirty already or not. */
SEC("?tp_btf/iomap_zero_iter")
int BPF_PROG(clew_cache_iomap_zero, struct inode *inode, __s64 offset, __u64 bytes)
{
	struct touch touch;
	struct actor actor;

	if (!inode || !enabled || !touch_range(&touch, inode, offset, bytes) || !actor_here(&actor))
		return 0;
	touch.task = actor.task;
	touch_emit(&actor, CLEW_EXTENT_ZERO, &touch, inode);
	return 0;
}

/* The address of the folio at an index of a file's page cache, 0 if there is
 * none. */
static __noinline __u64 folio_at(struct address_space *mapping, __u64 index)
{
	__u64 entry = READ_NUMBER(mapping, i_pages.xa_head);
	int level;

	/* An internal entry larger than XA_NODES is a node. A smaller one is
	 * the number of the slot in the same node that has the folio. */
	for (level = 0; level < XA_LEVELS && (entry & XA_MARK) == XA_INTERNAL && entry > XA_NODES;
	     level++) {
		struct xa_node *node = (void *)(entry - XA_INTERNAL);
		__u64 slots = (__u64)node + bpf_core_field_offset(struct xa_node, slots);

		entry = read_number(slots +
				    (index >> READ(node, shift) & (XA_SLOTS - 1)) * sizeof(entry));
		if ((entry & XA_MARK) == XA_INTERNAL && entry < XA_NODES)
			entry = read_number(slots + (entry >> 2 & (XA_SLOTS - 1)) * sizeof(entry));
	}
	return entry & XA_MARK ? 0 : entry;
}

/*
 * The end of one copy of a call. A copy is short if its source has to be read
 * in first. If the folio is not up to date then, the call discards what it
 * copied and copies it again.
 */
static __always_inline void write_end(struct inode *inode, __u64 offset, __u32 length, __u32 copied)
{
	struct touch touch;
	struct actor actor;
	__u64 folio;

	if (!enabled || !inode || !touch_range(&touch, inode, offset, copied) ||
	    !actor_here(&actor))
		return;
	if (unlikely(copied < length)) {
		folio = folio_at(READ(inode, i_mapping), offset >> PAGE_SHIFT);
		if (folio && !(read_number(folio) &
			       (1UL << bpf_core_enum_value(enum pageflags, PG_uptodate))))
			return;
	}
	touch.task = actor.task;
	touch_begin(actor.cpu_state);
	if (!wrote_again(actor.cpu_state, actor.cpu, &touch))
		extent_touch(actor.cpu_state, actor.cpu, CLEW_EXTENT_WRITE, &touch, false,
			     (__u64)inode);
	touch_end(actor.cpu_state);
}

SEC("?tp_btf/ext4_da_write_end")
int BPF_PROG(clew_cache_ext4_da_write, struct inode *inode, __s64 offset, unsigned int length,
	     unsigned int copied)
{
	write_end(inode, offset, length, copied);
	return 0;
}

SEC("?tp_btf/ext4_write_end")
int BPF_PROG(clew_cache_ext4_write, struct inode *inode, __s64 offset, unsigned int length,
	     unsigned int copied)
{
	write_end(inode, offset, length, copied);
	return 0;
}

SEC("?tp_btf/ext4_journalled_write_end")
int BPF_PROG(clew_cache_ext4_journalled_write, struct inode *inode, __s64 offset,
	     unsigned int length, unsigned int copied)
{
	write_end(inode, offset, length, copied);
	return 0;
}

/* Runs at the start of the call, see struct clew_open_call. */
SEC("?tp_btf/xfs_file_buffered_write")
int BPF_PROG(clew_cache_xfs_write, struct kiocb *call, struct iov_iter *data)
{
	struct clew_open_call *open;
	struct inode *inode;
	struct touch touch;
	struct actor actor;

	/* The verifier assumes that pointers from modules may be NULL, here and
	 * below. */
	if (!call || !data || !actor_here(&actor))
		return 0;
	inode = READ_TRUSTED(call, ki_filp, f_inode);
	if (!inode || !touch_range(&touch, inode, call->ki_pos, data->count))
		return 0;
	touch.task = actor.task;
	touch_begin(actor.cpu_state);
	extent_touch(actor.cpu_state, actor.cpu, CLEW_EXTENT_WRITE, &touch, false, (__u64)inode);
	open = &actor.cpu_state->call;
	open->call = (__u64)call;
	open->data = (__u64)data;
	open->file = READ_NUMBER(call, ki_filp);
	open->inode_address = (__u64)inode;
	open->inode = touch.inode;
	open->offset = touch.offset;
	open->bytes = touch.bytes;
	open->device = touch.device;
	open->task = touch.task;
	touch_end(actor.cpu_state);
	return 0;
}

/*
 * Fixed at load: which extent tree is that of a file's data, and the bit of an
 * extent that was written. The enumerations with these numbers have no name, so
 * CO-RE cannot find them.
 */
const volatile __u32 btrfs_inode_tree;
const volatile __u32 btrfs_written;

/* A fault that fills a hole reports its buffer twice. It is the same fault if
 * no fault of the task has ended since. */
static __always_inline bool stored_in_fault(struct task_struct *task, struct buffer_head *buffer)
{
	struct clew_task_state *state = task_state(task);
	__u64 faults = faults_over(task);

	if (!state)
		return false;
	if (state->stored_buffer == (__u64)buffer && state->stored_faults == faults)
		return true;
	state->stored_buffer = (__u64)buffer;
	state->stored_faults = faults;
	return false;
}

/* stores_noted: set by user space while the two programs below are attached,
 * which it does when stores_wanted is first set. */
volatile __u32 stores_noted;
volatile __u32 stores_wanted;

/* Notes where a store faults. Finding the file there costs more than most
 * faults are worth: it is done only when the file system reports a store. */
static __always_inline void note_fault(unsigned long address, unsigned long code)
{
	struct clew_cpu_state *cpu_state;
	struct task_struct *task;

	if (!enabled || !(code & FAULT_WRITES))
		return;
	cpu_state = this_cpu_state(bpf_get_smp_processor_id());
	if (!cpu_state)
		return;
	task = bpf_get_current_task_btf();
	cpu_state->fault_task = task->pid;
	cpu_state->fault_address = address;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(clew_cache_store_user, unsigned long address, struct pt_regs *regs, unsigned long code)
{
	note_fault(address, code);
	return 0;
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(clew_cache_store_kernel, unsigned long address, struct pt_regs *regs,
	     unsigned long code)
{
	note_fault(address, code);
	return 0;
}

struct store {
	__u64 address;
	__u64 inode_address;
	struct touch touch;
};

static long find_store(struct task_struct *task, struct vm_area_struct *area, struct store *store)
{
	struct file *file = READ_TRUSTED(area, vm_file);
	struct inode *inode;
	unsigned long in;

	if ((area->vm_flags & (VM_SHARED | VM_WRITE)) != (VM_SHARED | VM_WRITE) || !file)
		return 0;
	in = (store->address >> PAGE_SHIFT << PAGE_SHIFT) - area->vm_start;
	inode = READ_TRUSTED(file, f_inode);
	store->inode_address = (__u64)inode;
	touch_range(&store->touch, inode, (area->vm_pgoff << PAGE_SHIFT) + in, PAGE_SIZE);
	return 0;
}

static __always_inline void store_emit(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct clew_task_state *state;
	struct store store = {};
	struct actor actor;

	if (!actor_here(&actor))
		return;
	if (likely(actor.cpu_state->fault_task == (__u32)task->pid)) {
		store.address = actor.cpu_state->fault_address;
	} else {
		/* The task has left a CPU since its fault. */
		state = task_state(task);
		store.address = state ? state->stored_at : 0;
	}
	if (unlikely(!stores_noted || !store.address)) {
		stores_wanted = 1;
		count_atomic(&actor.cpu_state->counts[CLEW_KIND_EXTENT].seen);
		count_atomic(&actor.cpu_state->counts[CLEW_KIND_EXTENT].missed);
		return;
	}
	if (bpf_find_vma(task, store.address, find_store, &store, 0) || !store.touch.bytes)
		return;
	store.touch.task = actor.task;
	touch_emit(&actor, CLEW_EXTENT_STORE, &store.touch, (void *)store.inode_address);
}

/* A call that zeroes a part of a page makes its buffer dirty, which may be so
 * already. */
static __always_inline void buffer_zeroed(struct task_struct *task, struct buffer_head *buffer,
					  struct folio *folio, struct inode *inode)
{
	struct touch touch;
	struct actor actor;
	__u64 bytes = (__u64)folio_pages(folio) << PAGE_SHIFT;

	if (!actor_here(&actor))
		return;
	touch.inode = READ(inode, i_ino);
	touch.device = READ(inode, i_sb, s_dev);
	/* A folio is aligned to its size. */
	touch.offset = (READ(folio, index) << PAGE_SHIFT) + ((__u64)buffer->b_data & (bytes - 1));
	touch.bytes = buffer->b_size;
	touch.task = actor.task;
	zero_emit(task, &actor, &touch, inode);
}

/* The file that a buffer is of; NULL: it is metadata. */
static __always_inline struct inode *buffer_file(struct folio *folio)
{
	struct address_space *mapping = (void *)READ_NUMBER(folio, mapping);
	struct inode *inode;

	if (!mapping || ((__u64)mapping & MAPPING_FLAGS))
		return NULL;
	inode = READ(mapping, host);
	return (READ(inode, i_mode) & S_IFMT) == S_IFBLK ? NULL : inode;
}

/*
 * A buffer is dirtied in each write call, which the file system reports
 * otherwise, by calls that zero parts of pages, and in the first store to a page
 * since it was written. Such a store dirties all buffers of the folio; the first
 * one stands for them. Only the fault says which page of a large folio it was.
 */
SEC("?tp_btf/block_dirty_buffer")
int BPF_PROG(clew_cache_dirty_buffer, struct buffer_head *buffer)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode *inode;
	struct folio *folio;
	struct touch touch;
	struct actor actor;
	bool stores;

	if (!enabled)
		return 0;
	stores = in_user_fault(task);
	if (!stores && !zeroes(register_call(saved_registers(task))))
		return 0;
	folio = (void *)buffer->b_page;
	if (!folio)
		return 0;
	inode = buffer_file(folio);
	if (!inode)
		return 0;
	if (!stores) {
		buffer_zeroed(task, buffer, folio, inode);
		return 0;
	}
	if (READ(folio, private) != buffer || stored_in_fault(task, buffer))
		return 0;
	if (folio_pages(folio) > 1) {
		store_emit();
		return 0;
	}
	if (!actor_here(&actor))
		return 0;
	touch.inode = READ(inode, i_ino);
	touch.device = READ(inode, i_sb, s_dev);
	touch.offset = READ(folio, index) << PAGE_SHIFT;
	touch.bytes = PAGE_SIZE;
	touch.task = actor.task;
	touch_emit(&actor, CLEW_EXTENT_STORE, &touch, inode);
	return 0;
}

SEC("?tp_btf/xfs_write_fault")
int BPF_PROG(clew_cache_xfs_store, struct xfs_inode *inode)
{
	store_emit();
	return 0;
}

/* Before 6.14 or so. */
SEC("?tp_btf/xfs_filemap_fault")
int BPF_PROG(clew_cache_xfs_fault, struct xfs_inode *inode, unsigned int order, bool write)
{
	if (write)
		store_emit();
	return 0;
}

/* Runs at each write and at each first store, with ranges of whole blocks. */
SEC("?tp_btf/btrfs_set_extent_bit")
int BPF_PROG(clew_cache_btrfs_write, struct extent_io_tree *tree, __u64 start, __u64 length,
	     unsigned int bits)
{
	struct extent_io_tree___private *before = (void *)tree;
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode *inode;
	struct touch touch;
	struct actor actor;

	if (!enabled || !tree || !(bits & btrfs_written) ||
	    BPF_CORE_READ(tree, owner) != btrfs_inode_tree || !actor_here(&actor))
		return 0;
	if (bpf_core_field_exists(before->private_data)) {
		inode = BPF_CORE_READ(before, private_data);
	} else {
		inode = (void *)BPF_CORE_READ(tree, inode);
		inode = inode ? (void *)inode + bpf_core_field_offset(struct btrfs_inode, vfs_inode)
			      : NULL;
	}
	if (!inode)
		return 0;
	touch.inode = READ(inode, i_ino);
	touch.device = READ(inode, i_sb, s_dev);
	touch.offset = start;
	touch.bytes = length;
	touch.task = actor.task;
	/* Whole blocks do not say what was written: once is enough. */
	if (extent_covers(actor.cpu_state, &touch))
		return 0;
	touch_emit(&actor, in_user_fault(task) ? CLEW_EXTENT_STORE : CLEW_EXTENT_WRITE, &touch,
		   inode);
	return 0;
}

/*
 * Pages that reclaim takes from a file that still has a name are clean, so no
 * epoch ends with them. They matter only if they were read in for a task. A
 * machine that is short of memory reclaims many of them, scattered.
 */
static __always_inline bool is_clean_reclaim(struct inode *inode)
{
	return (bpf_get_current_task_btf()->flags & PF_MEMALLOC) && inode->i_nlink &&
	       !*(volatile __u64 *)&generation_of(inode->i_ino)->added;
}

/* Why a page leaves the page cache: 0 or a flag of DROP. A group's limit is known
 * to be the reason where one group alone has reached it. */
static __always_inline __u8 why_dropped(struct inode *inode)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct clew_task_state *state;

	if (!inode->i_nlink)
		return CLEW_EXTENT_DELETED;
	if (!(task->flags & PF_MEMALLOC))
		return 0;
	state = task_state(task);
	return state && state->reason == CLEW_REASON_GROUP_RECLAIM && state->reclaim
		       ? CLEW_EXTENT_EVICTED
		       : 0;
}

SEC("?tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(clew_cache_drop, struct folio *folio)
{
	struct address_space *mapping = folio->mapping;
	struct touch touch;
	struct actor actor;

	if (!mapping || !enabled || !touch_folio(&touch, folio, mapping->host) ||
	    is_clean_reclaim(mapping->host) || !actor_here(&actor))
		return 0;
	touch.task = actor.task;
	touch_begin(actor.cpu_state);
	extent_touch(actor.cpu_state, actor.cpu, CLEW_EXTENT_DROP, &touch,
		     why_dropped(mapping->host), 0);
	touch_end(actor.cpu_state);
	return 0;
}

/* A hole that ends within a folio neither dirties nor drops the folio. */
static __always_inline void clear_emit(struct folio *folio, __u64 from, __u64 bytes)
{
	struct address_space *mapping;
	struct touch touch;
	struct actor actor;
	__u64 end;

	if (!enabled || !folio || bytes < PAGE_SIZE)
		return;
	mapping = folio->mapping;
	if (!mapping || !touch_folio(&touch, folio, mapping->host) || bytes >= touch.bytes ||
	    !actor_here(&actor))
		return;
	end = (from + bytes) & ~(PAGE_SIZE - 1ULL);
	from = (from + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1ULL);
	if (end <= from)
		return;
	touch.task = actor.task;
	touch.offset += from;
	touch.bytes = end - from;
	touch_emit(&actor, CLEW_EXTENT_CLEAR, &touch, NULL);
}

SEC("?tp_btf/ext4_invalidate_folio")
int BPF_PROG(clew_cache_ext4_clear, struct folio *folio, unsigned long from, unsigned long bytes)
{
	clear_emit(folio, from, bytes);
	return 0;
}

SEC("?tp_btf/ext4_journalled_invalidate_folio")
int BPF_PROG(clew_cache_ext4_journalled_clear, struct folio *folio, unsigned long from,
	     unsigned long bytes)
{
	clear_emit(folio, from, bytes);
	return 0;
}

SEC("?tp_btf/mm_filemap_get_pages")
int BPF_PROG(clew_cache_get_pages, struct address_space *mapping, unsigned long first,
	     unsigned long last)
{
	use_emit(mapping, first, last, true);
	return 0;
}

SEC("?tp_btf/mm_filemap_map_pages")
int BPF_PROG(clew_cache_map_pages, struct address_space *mapping, unsigned long first,
	     unsigned long last)
{
	use_emit(mapping, first, last, false);
	return 0;
}

SEC("?tp_btf/mm_filemap_fault")
int BPF_PROG(clew_cache_fault, struct address_space *mapping, unsigned long index)
{
	use_emit(mapping, index, index, false);
	return 0;
}
