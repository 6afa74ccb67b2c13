/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs of the block layer: bios from queueing to their request, requests
 * from issue to completion.
 */
#include "block.h"
#include "context.h"
#include "direct.h"
#include "direct_bio.h"
#include "kernel.h"
#include "kernel_fs.h"
#include "kernel_io.h"
#include "limit.h"
#include "pages.h"
#include "read.h"
#include "record.h"
#include "ring.h"
#include "state.h"
#include "unseen.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>

#define BIOS_MOST 1024

SEC("tp_btf/block_bio_queue")
int BPF_PROG(clew_block_bio_queue, struct bio *bio)
{
	struct clew_bio *record;
	struct walk walk = {};
	struct context context;
	__u32 disk, journal = 0;
	bool released;

	if (!enabled || !context_here(&context) || direct_queue(&context, bio))
		return 0;
	disk = disk_of(bio);
	released = releases_bios(&context);
	if (unlikely(released))
		limit_emit(&context, bio);
	walk.bio = (__u64)bio;
	walk.cpu = context.cpu;
	walk.left = bio->bi_iter.bi_size;
	walk.direct = is_direct(bio);
	if (walk.direct)
		direct_range(&context, bio, released ? released_offset(bio) : direct_offset(bio),
			     &walk);
	else if (walk.left && is_buffer(bio))
		journal = journal_range(number_of(bio), &walk);
	if (!walk.direct && walk.left && !journal)
		first_range(bio, &walk);
	if (page_cache && btrfs_end_io && walk.paged && !walk.range.inode)
		btrfs_range(number_of(bio), &walk);
	if (page_cache && walk.paged && !walk.direct &&
	    (bio->bi_opf & OPERATION_BITS) == OPERATION_READ &&
	    (__u32)context.task->tgid != self_pid && !released)
		walk.reader = context.task->flags & PF_IO_WORKER
				      ? submitter_of(context.task, context_serial(&context))
				      : context_serial(&context);
	range_added(&walk);
	sync_range_emit(&context, bio, &walk);
	record = bio_reserve(&context, bio, disk, CLEW_BIO_QUEUE);
	if (!record)
		return 0;
	if (unlikely(released))
		record->task = 0;
	if (unlikely(is_swap(bio)))
		record->header.flags |= CLEW_BIO_SWAP;
	record->header.flags |= journal;
	if (walk.range.inode) {
		record->inode = walk.range.inode;
		record->file_device = walk.range.device;
		record->index = walk.direct ? ~0ULL : walk.range.offset >> PAGE_SHIFT;
		if (record->index != ~0ULL && !walk.compressed &&
		    !(walk.range.offset & (PAGE_SIZE - 1)))
			record->contiguous = walk.range.bytes;
	}
	record->parent = request_above(bio);
	if (walk.range.inode && !record->contiguous && walk.range.bytes)
		walk.emit = 1;
	record_submit(record);
	if (walk.left || walk.emit)
		other_ranges(&walk);
	return 0;
}

SEC("tp_btf/block_bio_remap")
int BPF_PROG(clew_block_bio_remap, struct bio *bio, __u32 device, __u64 sector)
{
	struct clew_bio *record;
	struct context context;
	__u32 disk;

	if (!enabled)
		return 0;
	disk = disk_of(bio);
	/* Moving a partition's bio to its disk is no change of device. */
	if (disk == device || !context_here(&context))
		return 0;
	record = bio_reserve(&context, bio, disk, CLEW_BIO_REMAP);
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
	struct context context;
	__u32 disk;

	if (!enabled || direct_split(bio))
		return 0;
	disk = disk_of(bio);
	if (!context_here(&context))
		return 0;
	record = bio_reserve(&context, bio, disk, CLEW_BIO_SPLIT);
	if (!record)
		return 0;
	record->parent = (__u64)bio->bi_private;
	record_submit(record);
	return 0;
}

static __always_inline void bio_merged(struct bio *bio)
{
	struct clew_bio *record;
	struct context context;
	__u32 disk;

	if (!enabled)
		return;
	disk = disk_of(bio);
	if (!context_here(&context))
		return;
	record = bio_reserve(&context, bio, disk, CLEW_BIO_MERGE);
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

/* True if the end of what completes a request is seen: else the request would be taken for the
 * cause of later wakes, too. */
static __always_inline bool end_is_seen(enum level level)
{
	if (level == LEVEL_TASK)
		return !is_unseen(CLEW_UNSEEN_WORK) ||
		       !(bpf_get_current_task_btf()->flags & PF_WQ_WORKER);
	return !is_unseen(level == LEVEL_HARD ? CLEW_UNSEEN_INTERRUPTS : CLEW_UNSEEN_SOFTIRQS);
}

static __always_inline void window_open(struct clew_cpu_state *cpu_state, enum level level,
					__u64 request)
{
	if (level <= LEVEL_SOFT) {
		cpu_state->levels[level & 1].request = request;
		cpu_state->interrupted = 1;
	} else if (level == LEVEL_TASK) {
		struct clew_task_state *state = task_state(bpf_get_current_task_btf());

		if (state) {
			state->request = request;
			state->completes = request != 0;
		}
	}
}

static __always_inline void request_event(struct request *request, __u8 event)
{
	struct clew_request *record;
	struct context context;
	__u32 disk;

	if (!enabled)
		return;
	disk = disk_of_request(request);
	if (!context_here(&context))
		return;
	record = request_reserve(&context, request, disk, event);
	if (record)
		record_submit(record);
}

/*
 * Writes a WHOLE record to the slots of switches, which is cheaper: in an
 * interrupt no switch can come in between. Another completion can interrupt a
 * softirq; `slot_busy` makes it use the ring buffer.
 */
static __always_inline void whole_emit(struct clew_cpu_state *cpu_state, __u32 cpu,
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
	slots_publish(cpu_state, 1);
}

/* A walk over the bios of a request. */
struct bio_walk {
	__u64 bio;
	__u64 request;
	__u32 disk;
	__u32 cpu;
	__u32 over; /* the last step found no bio */
	__u32 reserved;
};

/* Emits what the record of a bio of direct I/O would have said, had the bio not
 * been kept in a slot. */
static __always_inline void part_emit(const struct bio_walk *walk, struct bio *bio,
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
	/* Equal values take little room. */
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

	if (!bio) {
		walk->over = 1;
		return 1;
	}
	direct = direct_at(walk->bio, READ_NUMBER(bio, bi_end_io));
	if (direct) {
		part_emit(walk, bio, direct);
		direct_free(direct);
	}
	walk->bio = READ_NUMBER(bio, bi_next);
	return 0;
}

/* Emits the parts of a request that were kept in slots, and returns how many bios it has. A global
 * function, see identity.h. The verifier would try every value of a counter in the walk. */
__noinline __u32 emit_parts(__u64 bio, __u64 request, __u32 disk, __u32 cpu)
{
	struct bio_walk walk = {.bio = bio, .request = request, .disk = disk, .cpu = cpu};
	__u32 steps = bpf_loop(BIOS_MOST, request_bio, &walk, 0);

	return steps - walk.over;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(clew_block_rq_issue, struct request *request)
{
	struct clew_request *record;
	struct direct *direct;
	struct context context;
	__u32 disk, bios;

	if (!enabled)
		return 0;
	direct = direct_of(request);
	if (direct) {
		direct->issued = clock_ns();
		direct->request = (__u64)request;
		return 0;
	}
	disk = disk_of_request(request);
	if (!context_here(&context))
		return 0;
	if (unlikely(disk >> MINOR_BITS == LOOP_MAJOR))
		backing_emit(&context, request);
	bios = emit_parts(READ_NUMBER(request, bio), number_of(request), disk, context.cpu);
	record = request_reserve(&context, request, disk, CLEW_REQUEST_ISSUE);
	if (!record)
		return 0;
	record->bio_count = bios;
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

/* Runs before the bios end: the wakes that follow are made by their ends. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(clew_block_rq_complete, struct request *request, int error, unsigned int bytes)
{
	__u32 cpu = bpf_get_smp_processor_id(), disk;
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	struct clew_request *record;
	struct direct *direct;
	struct context context;
	enum level level;

	if (!enabled || !cpu_state)
		return 0;
	disk = disk_of_request(request);
	direct = direct_of(request);
	if (direct && (direct->request != (__u64)request || !direct->issued))
		direct = NULL;
	level = level_of(cpu_state);
	if (end_is_seen(level))
		window_open(cpu_state, level, (__u64)request);
	if (likely(direct && !error && level <= LEVEL_SOFT &&
		   !*(volatile __u32 *)&cpu_state->slot_busy)) {
		*(volatile __u32 *)&cpu_state->slot_busy = 1;
		barrier();
		whole_emit(cpu_state, cpu, level, request, disk, direct, bytes);
		barrier();
		*(volatile __u32 *)&cpu_state->slot_busy = 0;
		direct_free(direct);
		return 0;
	}
	if (!context_here(&context))
		return 0;
	record = request_reserve(&context, request, disk,
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
		direct_free(direct);
	}
	record->error = error & 0xff;
	record->bytes = bytes;
	record_submit(record);
	return 0;
}

/*
 * Runs after the bios have ended; not in every kernel, and not for every
 * request. A task that the same interrupt wakes from here on may have waited
 * for the room in the queue that this request leaves.
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
	if (level <= LEVEL_SOFT && end_is_seen(level))
		cpu_state->levels[level & 1].outer.last_request = (__u64)request;
	return 0;
}

/* A bio that ends without having been in a request, as those of mapped devices
 * do. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(clew_block_bio_complete, struct request_queue *queue, struct bio *bio)
{
	struct clew_bio *record;
	struct context context;
	__u32 disk;

	if (!enabled)
		return 0;
	disk = READ_TRUSTED(queue, disk, part0, bd_dev);
	if (!context_here(&context))
		return 0;
	record = bio_reserve(&context, bio, disk, CLEW_BIO_COMPLETE);
	if (record)
		record_submit(record);
	return 0;
}
