/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The block layer: bios as they are queued, requests from insertion to completion,
 * and the window in which wakes and work items are a completion's.
 *
 * Nothing is kept a request but of direct I/O (direct.h): each event is a record, joined in
 * user space by the addresses of requests and bios. Devices are told as whole disks.
 */
#ifndef CLEW_BLOCK_H
#define CLEW_BLOCK_H

#include "direct.h"
#include "pages.h"

#define BIOS_MOST 1024

const volatile __u64 direct_end_io; /* how iomap's direct I/O ends its bios; 0 unknown */
const volatile __u64 chain_end_io;  /* and how what a split sends ahead ends; 0 unknown */
const volatile __u64 loop_complete; /* how a loop device's direct I/O ends; 0 unknown */

static __always_inline __u32 disk_of(struct bio *bio)
{
	return READ_TRUSTED(bio, bi_bdev, bd_disk, part0, bd_dev);
}

static __always_inline __u32 disk_of_request(struct request *request)
{
	return READ_TRUSTED(request, q, disk, part0, bd_dev);
}

#define LOOP_MAJOR 7
#define MINOR_BITS 20

#define OPERATION_BITS 0xff
#define OPERATION_READ 0

/* How btrfs ends its bios; 0 unknown. */
const volatile __u64 btrfs_end_io;
const volatile __u64 btrfs_write_end_io;
const volatile __u64 btrfs_direct_end; /* and those of direct I/O */
/* How a buffer's bio ends, and the buffer itself if ext4's journal writes it; 0 unknown. */
const volatile __u64 buffer_end_io;
const volatile __u64 journal_end_io;
/* And how swapping does; 0 unknown. */
const volatile __u64 swap_in_end;
const volatile __u64 swap_out_end;

static __always_inline bool is_direct(struct bio *bio)
{
	return direct_end_io && (__u64)bio->bi_end_io == direct_end_io;
}

static __always_inline bool is_swap(struct bio *bio)
{
	__u64 end = (__u64)bio->bi_end_io;

	return end && (end == swap_in_end || end == swap_out_end);
}

/* The file that a bio of direct I/O is on. */
static __always_inline struct inode *direct_inode(struct bio *bio)
{
	struct iomap_dio *io = bio->bi_private;

	return (void *)READ_NUMBER(READ(io, iocb, ki_filp), f_inode);
}

/* Where in that file: what the I/O has submitted so far ends with this bio. */
static __always_inline __u64 direct_offset(struct bio *bio)
{
	struct iomap_dio *io = bio->bi_private;
	__u64 submitted = READ(io, size), bytes = bio->bi_iter.bi_size;

	return submitted < bytes ? CLEW_NO_OFFSET : READ(io, iocb, ki_pos) + submitted - bytes;
}

/* Whether nothing but the task's own file is behind a bio: no layer above its device, and none
 * below that has no requests. */
static __always_inline bool is_plain(struct place *place, struct bio *bio)
{
	struct gendisk *disk = READ_TRUSTED(bio, bi_bdev, bd_disk);

	return place->level == LEVEL_TASK && !(place->task->flags & PF_KTHREAD) &&
	       disk->major != LOOP_MAJOR && !disk->fops->submit_bio;
}

/* Who does direct I/O need not wait for it: that its file has a name is told here, for the first of
 * a row of bios. */
static __always_inline void direct_name(struct place *place, struct inode *inode)
{
	if (!page_cache || place->cpu_state->named == (__u64)inode)
		return;
	place->cpu_state->named = (__u64)inode;
	send_inode((__u64)inode, place->cpu, clock_ns());
}

/* Keeps what a bio of direct I/O is about, in place: little is left of the stack. False: its own
 * record has to tell. */
static __always_inline bool direct_queue(struct place *place, struct bio *bio)
{
	struct direct *direct;
	struct inode *inode;
	__u64 now, number;

	if (!is_direct(bio))
		return false;
	number = number_through(&place->cpu_state->queueing, bio);
	if (!is_plain(place, bio)) {
		direct_forget(number);
		return false;
	}
	inode = direct_inode(bio);
	direct_name(place, inode);
	now = clock_ns();
	direct = direct_claim(number, now);
	if (unlikely(!direct))
		return false;
	direct->queued = now;
	direct->issued = 0;
	direct->request = 0;
	direct->inode = READ(inode, i_ino);
	direct->offset = direct_offset(bio);
	direct->whole = 0;
	direct->file_device = READ(inode, i_sb, s_dev);
	direct->task = serial_of_current(place->cpu_state, place->task);
	place_keep(direct, number);
	return true;
}

/* What is kept of the bio at an address, which ends like this, if it is of direct I/O or was split
 * from one that is. */
static __always_inline struct direct *direct_at(__u64 bio, __u64 end)
{
	if (!end || (end != direct_end_io && end != chain_end_io))
		return NULL;
	return direct_find(bio,
			   end == chain_end_io ? READ_NUMBER((struct bio *)bio, bi_private) : 0);
}

/* What is known of the one bio of a request, if that is direct I/O. */
static __always_inline struct direct *direct_of(struct request *request)
{
	struct bio *bio = READ_TRUSTED(request, bio);

	return bio && !bio->bi_next ? direct_at(READ_NUMBER(request, bio), (__u64)bio->bi_end_io)
				    : NULL;
}

/* Keeps what the part of a bio is about that a split sends ahead; the rest is not queued anew.
 * False: its own record has to tell. */
static __always_inline bool direct_split(struct bio *bio)
{
	__u64 whole = READ_NUMBER(bio, bi_private), number;
	struct direct *rest, *front;

	/* It would not be found again. */
	if (!chain_end_io)
		return false;
	number = number_of(bio);
	rest = direct_at(whole, READ_NUMBER((struct bio *)whole, bi_end_io));
	if (!rest) {
		direct_forget(number);
		return false;
	}
	front = direct_claim(number, clock_ns());
	if (front) {
		front->queued = rest->queued;
		front->issued = 0;
		front->request = 0;
		front->inode = rest->inode;
		front->offset = rest->offset;
		front->whole = whole;
		front->file_device = rest->file_device;
		front->task = rest->task;
		place_keep(front, number);
	}
	if (rest->offset != CLEW_NO_OFFSET)
		rest->offset += bio->bi_iter.bi_size;
	return front != NULL;
}

/* The loop device's request that a bio of direct I/O is for, 0 if it is for none. */
static __always_inline __u64 request_above(struct bio *bio)
{
	struct iomap_dio *io = bio->bi_private;
	struct kiocb *iocb;

	if (!loop_complete || !is_direct(bio) || !bpf_core_type_exists(struct loop_cmd))
		return 0;
	iocb = READ(io, iocb);
	if (READ_NUMBER(iocb, ki_complete) != loop_complete)
		return 0;
	return (__u64)iocb - bpf_core_field_offset(struct loop_cmd, iocb) -
	       bpf_core_type_size(struct request);
}

/* The bio is in pages of no file: the container in which btrfs has it tells of which file it is. */
static __always_inline bool is_btrfs_direct(struct btrfs_bio *of, struct walk *walk)
{
	struct inode *inode = NULL;

	if (!btrfs_direct_end || !bpf_core_field_exists(of->end_io) ||
	    (__u64)BPF_CORE_READ(of, end_io) != btrfs_direct_end)
		return false;
	if (bpf_core_field_exists(of->inode)) {
		inode = (void *)BPF_CORE_READ(of, inode);
		inode = inode ? (void *)inode + bpf_core_field_offset(struct btrfs_inode, vfs_inode)
			      : NULL;
	} else if (bpf_core_type_exists(struct btrfs_dio_private)) {
		struct btrfs_dio_private *io = BPF_CORE_READ(of, private);

		inode = BPF_CORE_READ(io, inode);
	}
	if (!inode)
		return false;
	walk->stretch.inode = READ(inode, i_ino);
	walk->stretch.device = READ(inode, i_sb, s_dev);
	walk->stretch.offset = BPF_CORE_READ(of, file_offset);
	walk->stretch.at = 0;
	walk->direct = 1;
	walk->left = 0;
	return true;
}

/*
 * Of direct I/O it is what the bio holds; else it was compressed, and the stretch of the file is
 * longer. A global function, see identity.h.
 */
__noinline int contained_stretch(__u64 bio_address, struct walk *walk)
{
	struct bio *bio = (struct bio *)bio_address;
	struct btrfs_bio *of = (void *)bio_address - bpf_core_field_offset(struct btrfs_bio, bio);
	struct btrfs_bio___ordered *ordered = (void *)of;
	__u64 end = READ_NUMBER(bio, bi_end_io);
	struct btrfs_inode *inode;

	if (!walk || (end != btrfs_end_io && end != btrfs_write_end_io))
		return 0;
	if (is_btrfs_direct(of, walk)) {
		walk->stretch.bytes = READ(bio, bi_iter.bi_size);
		return 0;
	}
	if (!(walk->operation & 1) || !bpf_core_field_exists(of->inode) ||
	    !bpf_core_field_exists(ordered->ordered))
		return 0;
	inode = BPF_CORE_READ(of, inode);
	if (!inode)
		return 0;
	walk->stretch.inode = BPF_CORE_READ(inode, vfs_inode.i_ino);
	walk->stretch.device = BPF_CORE_READ(inode, vfs_inode.i_sb, s_dev);
	walk->stretch.offset = BPF_CORE_READ(of, file_offset);
	walk->stretch.bytes = BPF_CORE_READ(ordered, ordered, num_bytes);
	walk->stretch.at = 0;
	walk->compressed = 1;
	walk->left = 0;
	generation_next(walk->stretch.inode);
	return 0;
}

/*
 * A block that the next transaction wants to change goes to the journal as a copy, in pages of no
 * file: its buffer tells of which other one it is. False: not one of these. A global function, see
 * identity.h.
 */
__noinline int journal_stretch(__u64 bio_address, struct walk *walk)
{
	struct bio *bio = (struct bio *)bio_address;
	struct buffer_head *buffer = READ(bio, bi_private), *of;
	struct piece piece;
	__u64 page, data;

	if (!walk || READ_NUMBER(buffer, b_end_io) != journal_end_io)
		return 0;
	of = READ(buffer, b_private);
	/* What the journal has of its own is of no other block. */
	if (!of)
		return 0;
	page = READ_NUMBER(of, b_page);
	data = READ_NUMBER(of, b_data);
	/* A folio lies at a multiple of its size. */
	look_at(page, data & (((__u64)folio_pages((void *)page) << PAGE_SHIFT) - 1), &piece);
	walk->operation = READ(bio, bi_opf);
	walk->paged = 1;
	stretch_begin(walk, &piece, walk->left);
	walk->left = 0;
	return 1;
}

static __always_inline bool is_buffer(struct bio *bio)
{
	return page_cache && journal_end_io && buffer_end_io &&
	       (__u64)bio->bi_end_io == buffer_end_io;
}

static __always_inline void direct_stretch(struct place *place, struct bio *bio, struct walk *walk)
{
	struct inode *inode = direct_inode(bio);
	__u64 offset = direct_offset(bio);

	direct_name(place, inode);
	walk->stretch.inode = READ(inode, i_ino);
	walk->stretch.device = READ(inode, i_sb, s_dev);
	if (offset != CLEW_NO_OFFSET) {
		walk->stretch.offset = offset;
		walk->stretch.bytes = walk->left;
	}
	walk->left = 0;
}

/* Where a loop device's request lies in the file behind the device. */
static __always_inline void tell_backing(struct place *place, struct request *request)
{
	struct loop_device *loop;
	struct clew_pages *record;
	struct inode *inode;

	if (!page_cache || !bpf_core_type_exists(struct loop_device) || !request->__data_len)
		return;
	loop = READ(request, q, disk, private_data);
	inode = BPF_CORE_READ(loop, lo_backing_file, f_inode);
	if (!inode)
		return;
	send_inode((__u64)inode, place->cpu, clock_ns());
	record = record_reserve(place->cpu_state, place->cpu, CLEW_KIND_PAGES, clock_ns(),
				sizeof(*record));
	if (!record)
		return;
	record->header.flags = CLEW_PAGES_BACKING;
	record->bio = (__u64)request;
	record->inode = READ(inode, i_ino);
	record->offset = BPF_CORE_READ(loop, lo_offset) + (request->__sector << 9);
	record->bytes = request->__data_len;
	record->at = 0;
	record->device = READ(inode, i_sb, s_dev);
	record->reserved = 0;
	record_submit(record);
}

#define CALL_SYNC_FILE_RANGE 277

/* No tracepoint tells of sync_file_range: a bio that such a call submits does. */
static __always_inline void tell_range(struct place *place, struct bio *bio, struct walk *walk)
{
	struct clew_writeback *record;

	if (!page_cache || !(bio->bi_opf & 1) || !walk->stretch.inode ||
	    place_call(place) != CALL_SYNC_FILE_RANGE + 1)
		return;
	record = record_reserve(place->cpu_state, place->cpu, CLEW_KIND_WRITEBACK, clock_ns(),
				sizeof(*record));
	if (!record)
		return;
	__builtin_memset((void *)record + sizeof(record->header), 0,
			 sizeof(*record) - sizeof(record->header));
	record->header.flags = CLEW_WRITEBACK_SYNC_ENTER;
	record->inode = walk->stretch.inode;
	record->device = walk->stretch.device;
	record->task = place_serial(place);
	record->sync = 1;
	record->call = CALL_SYNC_FILE_RANGE + 1;
	record_submit(record);
}

/* `disk`: disk_of it, found first of all: pointers followed behind many branches take the verifier
 * long. */
static __always_inline struct clew_bio *bio_reserve(struct place *place, struct bio *bio,
						    __u32 disk, __u8 event)
{
	struct clew_bio *record;

	record = record_reserve(place->cpu_state, place->cpu, CLEW_KIND_BIO, clock_ns(),
				sizeof(*record));
	if (!record)
		return NULL;
	record->header.flags = event;
	record->bio = (__u64)bio;
	record->sector = bio->bi_iter.bi_sector;
	record->bytes = bio->bi_iter.bi_size;
	record->operation = bio->bi_opf;
	record->device = disk;
	record->task = place_serial(place);
	record->from_sector = 0;
	record->inode = 0;
	record->index = 0;
	record->parent = 0;
	record->from_device = 0;
	record->file_device = 0;
	record->contiguous = 0;
	record->call = event == CLEW_BIO_QUEUE ? place_call(place) : 0;
	return record;
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(clew_block_bio_queue, struct bio *bio)
{
	struct clew_bio *record;
	struct walk walk = {};
	struct place place;
	__u32 disk;

	if (!enabled || !place_here(&place) || direct_queue(&place, bio))
		return 0;
	disk = disk_of(bio);
	walk.bio = (__u64)bio;
	walk.cpu = place.cpu;
	walk.left = bio->bi_iter.bi_size;
	walk.direct = is_direct(bio);
	if (walk.direct)
		direct_stretch(&place, bio, &walk);
	else if (walk.left && !(is_buffer(bio) && journal_stretch(number_of(bio), &walk)))
		first_stretch(bio, &walk);
	if (page_cache && btrfs_end_io && walk.paged && !walk.stretch.inode)
		contained_stretch(number_of(bio), &walk);
	if (page_cache && walk.paged && !walk.direct &&
	    (bio->bi_opf & OPERATION_BITS) == OPERATION_READ && (__u32)place.task->tgid != self_pid)
		walk.reader = place.task->flags & PF_IO_WORKER
				      ? submitter_of(place.task, place_serial(&place))
				      : place_serial(&place);
	stretch_added(&walk);
	tell_range(&place, bio, &walk);
	record = bio_reserve(&place, bio, disk, CLEW_BIO_QUEUE);
	if (!record)
		return 0;
	if (unlikely(is_swap(bio)))
		record->header.flags |= CLEW_BIO_SWAP;
	if (walk.stretch.inode) {
		record->inode = walk.stretch.inode;
		record->file_device = walk.stretch.device;
		record->index = walk.direct ? ~0ULL : walk.stretch.offset >> PAGE_SHIFT;
		if (record->index != ~0ULL && !walk.compressed &&
		    !(walk.stretch.offset & (PAGE_SIZE - 1)))
			record->contiguous = walk.stretch.bytes;
	}
	record->parent = request_above(bio);
	if (walk.stretch.inode && !record->contiguous && walk.stretch.bytes)
		walk.tell = 1;
	record_submit(record);
	if (walk.left || walk.tell)
		other_stretches(&walk);
	return 0;
}

SEC("tp_btf/block_bio_remap")
int BPF_PROG(clew_block_bio_remap, struct bio *bio, __u32 device, __u64 sector)
{
	struct clew_bio *record;
	struct place place;
	__u32 disk;

	if (!enabled)
		return 0;
	disk = disk_of(bio);
	/* A partition's bio is moved within its disk: that is no other device. */
	if (disk == device || !place_here(&place))
		return 0;
	record = bio_reserve(&place, bio, disk, CLEW_BIO_REMAP);
	if (!record)
		return 0;
	record->from_device = device;
	record->from_sector = sector;
	record_submit(record);
	return 0;
}

SEC("tp_btf/block_split")
int BPF_PROG(clew_block_split, struct bio *bio)
{
	struct clew_bio *record;
	struct place place;
	__u32 disk;

	if (!enabled || direct_split(bio))
		return 0;
	disk = disk_of(bio);
	if (!place_here(&place))
		return 0;
	record = bio_reserve(&place, bio, disk, CLEW_BIO_SPLIT);
	if (!record)
		return 0;
	record->parent = (__u64)bio->bi_private;
	record_submit(record);
	return 0;
}

static __always_inline void bio_merged(struct bio *bio)
{
	struct clew_bio *record;
	struct place place;
	__u32 disk;

	if (!enabled)
		return;
	disk = disk_of(bio);
	if (!place_here(&place))
		return;
	record = bio_reserve(&place, bio, disk, CLEW_BIO_MERGE);
	if (record)
		record_submit(record);
}

SEC("tp_btf/block_bio_backmerge")
int BPF_PROG(clew_block_bio_backmerge, struct bio *bio)
{
	bio_merged(bio);
	return 0;
}

SEC("tp_btf/block_bio_frontmerge")
int BPF_PROG(clew_block_bio_frontmerge, struct bio *bio)
{
	bio_merged(bio);
	return 0;
}

static __always_inline void window_open(struct clew_cpu_state *cpu_state, enum level level,
					__u64 request)
{
	if (level <= LEVEL_SOFT) {
		cpu_state->levels[level & 1].request = request;
		cpu_state->interrupted = 1;
	} else if (level == LEVEL_TASK) {
		struct clew_task_state *state = task_state(bpf_get_current_task_btf());

		if (state)
			state->request = request;
	}
}

static __always_inline struct clew_request *
request_reserve(struct place *place, struct request *request, __u32 disk, __u8 event)
{
	struct clew_request *record = record_reserve(
		place->cpu_state, place->cpu, CLEW_KIND_REQUEST, clock_ns(), sizeof(*record));

	if (!record)
		return NULL;
	record->header.flags = event;
	record->request = (__u64)request;
	record->sector = request->__sector;
	record->bio = (__u64)READ_TRUSTED(request, bio);
	record->allocated = CLEW_CLOCK(request->start_time_ns);
	record->bytes = request->__data_len;
	record->device = disk;
	record->operation = request->cmd_flags;
	record->task = place_serial(place);
	record->error = 0;
	record->context = place_context(place);
	record->bio_count = 0;
	record->queued = 0;
	record->issued = 0;
	record->inode = 0;
	record->offset = 0;
	record->file_device = 0;
	return record;
}

static __always_inline void request_event(struct request *request, __u8 event)
{
	struct clew_request *record;
	struct place place;
	__u32 disk;

	if (!enabled)
		return;
	disk = disk_of_request(request);
	if (!place_here(&place))
		return;
	record = request_reserve(&place, request, disk, event);
	if (record)
		record_submit(record);
}

/*
 * A WHOLE record in the ring of switches, which is cheaper: in an interrupt no switch comes
 * between. A softirq may be interrupted by another completion: `telling` sends that to the other
 * ring.
 */
static __always_inline void tell_whole(struct clew_cpu_state *cpu_state, __u32 cpu,
				       enum level level, struct request *request, __u32 disk,
				       const struct direct *direct, __u32 bytes)
{
	struct clew_switch_slot *slot = slot_next(cpu_state, cpu);
	struct clew_whole *whole;

	count_atomic(&cpu_state->counts[CLEW_KIND_REQUEST].seen);
	account(cpu_state, CLEW_KIND_REQUEST, slot != NULL);
	if (unlikely(!slot))
		return;
	whole = &slot->whole;
	whole->header.time = clock_ns();
	whole->header.lost = cpu_state->lost;
	whole->header.cpu = cpu;
	whole->header.kind = CLEW_KIND_REQUEST;
	whole->header.flags =
		level == LEVEL_SOFT ? CLEW_REQUEST_WHOLE | CLEW_WHOLE_SOFT : CLEW_REQUEST_WHOLE;
	whole->request = (__u64)request;
	whole->sector = request->__sector;
	whole->bio = (__u64)READ_TRUSTED(request, bio);
	whole->allocated = CLEW_CLOCK(request->start_time_ns);
	whole->queued = direct->queued;
	whole->issued = direct->issued;
	whole->inode = direct->inode;
	whole->offset = direct->offset;
	whole->bytes = bytes;
	whole->device = disk;
	whole->operation = request->cmd_flags;
	whole->task = direct->task;
	whole->file_device = direct->file_device;
	slots_give(cpu_state, 1);
}

/* A request's bios, one after the other. */
struct bio_walk {
	__u64 bio;
	__u64 request;
	__u32 disk;
	__u32 cpu;
	__u32 count;
	__u32 reserved;
};

/* What the record of a bio of direct I/O would have told, had it not been kept. */
static __always_inline void tell_part(const struct bio_walk *walk, struct bio *bio,
				      const struct direct *direct)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(walk->cpu);
	struct clew_request *record;

	if (!cpu_state)
		return;
	record = record_reserve(cpu_state, walk->cpu, CLEW_KIND_REQUEST, clock_ns(),
				sizeof(*record));
	if (!record)
		return;
	__builtin_memset((void *)record + sizeof(record->header), 0,
			 sizeof(*record) - sizeof(record->header));
	record->header.flags = CLEW_REQUEST_PART;
	record->request = walk->request;
	record->sector = READ(bio, bi_iter.bi_sector);
	record->bio = walk->bio;
	record->bytes = READ(bio, bi_iter.bi_size);
	record->device = walk->disk;
	record->operation = READ(bio, bi_opf);
	record->task = direct->task;
	/* As one, these take little room. */
	record->allocated = record->queued = record->issued = direct->queued;
	record->inode = direct->inode;
	record->offset = direct->offset;
	record->file_device = direct->file_device;
	record_submit(record);
}

static long request_bio(__u32 turn, struct bio_walk *walk)
{
	struct bio *bio = (void *)walk->bio;
	struct direct *direct;

	if (!bio)
		return 1;
	direct = direct_at(walk->bio, READ_NUMBER(bio, bi_end_io));
	if (direct) {
		tell_part(walk, bio, direct);
		place_free(direct);
	}
	walk->bio = READ_NUMBER(bio, bi_next);
	walk->count++;
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(clew_block_rq_issue, struct request *request)
{
	struct bio_walk walk = {.request = (__u64)request};
	struct clew_request *record;
	struct direct *direct;
	struct place place;

	if (!enabled)
		return 0;
	direct = direct_of(request);
	if (direct) {
		direct->issued = clock_ns();
		direct->request = (__u64)request;
		return 0;
	}
	walk.bio = READ_NUMBER(request, bio);
	walk.disk = disk_of_request(request);
	if (!place_here(&place))
		return 0;
	walk.cpu = place.cpu;
	if (unlikely(walk.disk >> MINOR_BITS == LOOP_MAJOR))
		tell_backing(&place, request);
	bpf_loop(BIOS_MOST, request_bio, &walk, 0);
	record = request_reserve(&place, request, walk.disk, CLEW_REQUEST_ISSUE);
	if (!record)
		return 0;
	record->bio_count = walk.count;
	record_submit(record);
	return 0;
}

SEC("tp_btf/block_rq_requeue")
int BPF_PROG(clew_block_rq_requeue, struct request *request)
{
	request_event(request, CLEW_REQUEST_REQUEUE);
	return 0;
}

SEC("tp_btf/block_rq_merge")
int BPF_PROG(clew_block_rq_merge, struct request *request)
{
	request_event(request, CLEW_REQUEST_MERGE);
	return 0;
}

/* Comes before the bios end: what is woken from here on is woken by them. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(clew_block_rq_complete, struct request *request, int error, unsigned int bytes)
{
	__u32 cpu = bpf_get_smp_processor_id(), disk;
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	struct clew_request *record;
	struct direct *direct;
	struct place place;
	enum level level;

	if (!enabled || !cpu_state)
		return 0;
	disk = disk_of_request(request);
	direct = direct_of(request);
	if (direct && (direct->request != (__u64)request || !direct->issued))
		direct = NULL;
	level = level_of(cpu_state);
	window_open(cpu_state, level, (__u64)request);
	if (likely(direct && !error && level <= LEVEL_SOFT &&
		   !*(volatile __u32 *)&cpu_state->telling)) {
		*(volatile __u32 *)&cpu_state->telling = 1;
		barrier();
		tell_whole(cpu_state, cpu, level, request, disk, direct, bytes);
		barrier();
		*(volatile __u32 *)&cpu_state->telling = 0;
		place_free(direct);
		return 0;
	}
	if (!place_here(&place))
		return 0;
	record = request_reserve(&place, request, disk,
				 direct ? CLEW_REQUEST_WHOLE : CLEW_REQUEST_COMPLETE);
	if (!record)
		return 0;
	if (direct) {
		record->task = direct->task;
		record->queued = direct->queued;
		record->issued = direct->issued;
		record->inode = direct->inode;
		record->offset = direct->offset;
		record->file_device = direct->file_device;
		place_free(direct);
	}
	record->error = error & 0xff;
	record->bytes = bytes;
	record_submit(record);
	return 0;
}

/*
 * After the bios; not every kernel tells, and not of every request. Who is woken from
 * here on by the same interrupt may have waited for the place that this one leaves.
 */
SEC("?tp_btf/block_io_done")
int BPF_PROG(clew_block_io_done, struct request *request)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	enum level level;

	if (!enabled || !cpu_state)
		return 0;
	level = level_of(cpu_state);
	window_open(cpu_state, level, 0);
	if (level <= LEVEL_SOFT)
		cpu_state->levels[level & 1].outer.expires = (__u64)request;
	return 0;
}

/* A bio that ends without having been in a request, as those of mapped devices do. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(clew_block_bio_complete, struct request_queue *queue, struct bio *bio)
{
	struct clew_bio *record;
	struct place place;
	__u32 disk;

	if (!enabled)
		return 0;
	disk = READ_TRUSTED(queue, disk, part0, bd_dev);
	if (!place_here(&place))
		return 0;
	record = bio_reserve(&place, bio, disk, CLEW_BIO_COMPLETE);
	if (record)
		record_submit(record);
	return 0;
}

#endif
