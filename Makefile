# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# make · make demo · make check · make check-all · make bench · make vm · make fuzz · make soak · make accuracy · make install · make arm64 · make deb
#
# Everything made goes to build/, but for the program itself (B and PROGRAM say
# otherwise, for builds with other flags beside the usual one: tests/run makes
# build/asan and build/tsan so). Sources are found
# by their place: bpf/ is one BPF object, user/ is libclew.a but for user/cli,
# which is the program; a test is a file tests/unit/test_*.c; a fuzzer is a file
# tests/fuzz/fuzz_*.c; a workload is a file tools/workloads/*.c; tools/*.c are
# what the benchmark measures with.

B := build
PROGRAM := clew
CC := gcc
STRIP := strip
MACHINE := $(shell $(CC) -print-multiarch)
OTHER_MACHINE := $(if $(filter aarch64-%,$(MACHINE)),x86,arm64)
CLANG := clang
BPFTOOL := $(shell command -v bpftool || echo /usr/sbin/bpftool)
CFLAGS ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
# For another machine: where the headers and libraries of its packages are.
SYSROOT :=
TARGET := $(if $(SYSROOT),--sysroot=$(SYSROOT))
ALL_CFLAGS := $(TARGET) -std=gnu11 $(WARNINGS) -D_GNU_SOURCE -Iinclude -Iuser -I$(B) -pthread $(CFLAGS) $(EXTRA_CFLAGS)
# Instructions of x86 are decoded by Zydis; those of arm64, all of one size, by clew itself.
DECODER := $(if $(filter x86_64-%,$(MACHINE)),-lZydis)
CLI_LIBS := -lncursesw -ltinfo
LIBS := -lbpf -lelf -lz -lzstd -lseccomp -lpcre2-8 $(DECODER) -liberty -ldw -lsqlite3 -lm
PREFIX ?= /usr/local
VERSION = $(shell sed -n 's/^\#define CLEW_VERSION "\(.*\)"/\1/p' user/cli/front/commands.h)
MAKE_ALL := $(MAKE) --no-print-directory -j$(shell nproc) all

# NAME_MACHINE.c is for that machine alone.
LIB_SOURCES := $(sort $(shell find user -name '*.c' -not -name '*_$(OTHER_MACHINE).c' -not -path 'user/cli/*'))
CLI_SOURCES := $(sort $(shell find user/cli -name '*.c'))
LIB_OBJECTS := $(LIB_SOURCES:%.c=$(B)/%.o)
CLI_OBJECTS := $(CLI_SOURCES:%.c=$(B)/%.o)
UNIT_TESTS := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/test_*.c))
UNIT_OBJECTS := $(patsubst tests/unit/objects/%.s,$(B)/tests/objects/%.so,$(wildcard tests/unit/objects/*.s))
UNIT_OBJECTS += $(patsubst %,$(B)/tests/objects/arguments-%.so,O0 O2)
UNIT_OBJECTS += $(patsubst %,$(B)/tests/objects/switches-%,O0.so O2.so packed.so clang.so fixed)
TOOLS := $(patsubst tools/%.c,$(B)/tools/%,$(wildcard tools/*.c))
WORKLOADS := $(patsubst tools/workloads/%.c,$(B)/workloads/%,$(wildcard tools/workloads/*.c))
WORKLOADS += $(if $(filter x86_64-%,$(MACHINE)),$(patsubst %,$(B)/workloads/%-32,mutex pipe signal sleep))
WORKLOADS += $(patsubst %,$(B)/workloads/stack-%,stripped static)
WORKLOADS += $(patsubst %,$(B)/workloads/addresses-%,stripped static)
WORKLOADS += $(B)/workloads/holds-static
USDT := $(patsubst %,$(B)/workloads/usdt-%,O0 O2)

.DELETE_ON_ERROR:
.PHONY: all program deps demo check check-all bench vm fuzz soak accuracy install arm64 arm64-program arm64-install deb clean unit workloads tools print-libraries

all: program workloads

program: $(PROGRAM)

deps:
	@tools/deps

$(PROGRAM): $(CLI_OBJECTS) $(B)/libclew.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(CLI_OBJECTS) $(B)/libclew.a $(LIBS) $(CLI_LIBS)

$(B)/libclew.a: $(LIB_OBJECTS)
	@rm -f $@
	ar rcs $@ $^

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Files of one machine are optimised in each build: the compiler then warns of more, and no build
# for another machine has it look at them.
$(B)/%_arm64.o: ALL_CFLAGS += -O2

# The kernel side: one object, relocated at load for the kernel it meets.
BPF_MACHINE := $(if $(filter aarch64-%,$(MACHINE)),arm64,x86)
BPF_CFLAGS = -g -O2 -Wall -Wextra -Wno-unused-parameter -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_MACHINE) -Iinclude -Ibpf -I$(SYSROOT)/usr/include/$(MACHINE)

$(B)/clew.bpf.o: bpf/clew.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

# The same for arm64, which a golden test holds against its kernels.
$(B)/clew-arm64.bpf.o: bpf/clew.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS:-D__TARGET_ARCH_%=-D__TARGET_ARCH_arm64) -MMD -MP -c -o $@ $<

$(B)/clew.skel.h: $(B)/clew.bpf.o
	$(BPFTOOL) gen skeleton $< name clew_bpf > $@

# Not known from .d files in a first build.
$(filter $(B)/user/record/%,$(LIB_OBJECTS)): $(B)/clew.skel.h

# Delays of functions, an object that is loaded without the recorder.
$(B)/delay.bpf.o: bpf/delay/delay.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/delay.skel.h: $(B)/delay.bpf.o
	$(BPFTOOL) gen skeleton $< name delay_bpf > $@

$(filter $(B)/user/delay/%,$(LIB_OBJECTS)): $(B)/delay.skel.h

# The other reader of unwind information that ours is compared with.
$(B)/tests/test_unwind: LIBS += -ldw

$(B)/tests/%: tests/unit/%.c $(B)/libclew.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(B)/libclew.a $(LIBS) -lcmocka

# Libraries that unit tests look into, and nothing runs.
$(B)/tests/objects/%.so: tests/unit/objects/%.s tests/unit/objects/%.map
	@mkdir -p $(@D)
	$(CC) -shared -nostdlib -Wl,-Bsymbolic -Wl,--build-id=0x0123456789abcdef -Wl,--version-script=$(word 2,$^) -o $@ $<

$(B)/tests/objects/%-O0.so: tests/unit/objects/%.c
	@mkdir -p $(@D)
	$(CC) $(WARNINGS) -g -O0 -fPIC -shared -o $@ $<

$(B)/tests/objects/%-O2.so: tests/unit/objects/%.c
	@mkdir -p $(@D)
	$(CC) $(WARNINGS) -g -O2 -fPIC -shared -o $@ $<

# Its pointers are in DT_RELR.
$(B)/tests/objects/%-packed.so: tests/unit/objects/%.c
	@mkdir -p $(@D)
	$(CC) $(WARNINGS) -g -O2 -fPIC -shared -Wl,-z,pack-relative-relocs -o $@ $<

$(B)/tests/objects/%-clang.so: tests/unit/objects/%.c
	@mkdir -p $(@D)
	$(CLANG) -g -O2 -fPIC -shared -o $@ $<

# Not position-independent: tables have addresses, and nothing is relocated.
$(B)/tests/objects/%-fixed: tests/unit/objects/%.c
	@mkdir -p $(@D)
	$(CC) $(WARNINGS) -g -O2 -fno-pie -no-pie -nostdlib -Wl,-e,interpret -Wl,--unresolved-symbols=ignore-all -o $@ $<

$(B)/tests/test_encodings: tests/unit/objects/encodings.inc

# Captures with known answers, for the golden tests.
$(B)/make_capture: tests/golden/make_capture.c $(B)/libclew.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(B)/libclew.a $(LIBS)

# What a kernel lacks, by its BTF, for a golden test.
$(B)/missing_fields: tests/golden/missing_fields.c $(B)/libclew.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(B)/libclew.a $(LIBS)

# A recorder with a live builder beside the capture file, for a live test.
$(B)/record_both: tests/live/record_both.c $(B)/libclew.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(B)/libclew.a $(LIBS)

# Two unwinders side by side, for a live test.
$(B)/unwind_compare.bpf.o: tests/live/unwind_compare.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/unwind_compare.skel.h: $(B)/unwind_compare.bpf.o
	$(BPFTOOL) gen skeleton $< name unwind_compare > $@

$(B)/unwind_compare: tests/live/unwind_compare.c $(B)/unwind_compare.skel.h $(B)/libclew.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(B)/libclew.a $(LIBS) -ldw

# The ways to see functions of the kernel, for a live test.
$(B)/tiers.bpf.o: tests/live/tiers.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/tiers.skel.h: $(B)/tiers.bpf.o
	$(BPFTOOL) gen skeleton $< name tiers > $@

$(B)/tiers: tests/live/tiers.c $(B)/tiers.skel.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(LIBS)

# The HTML page's style and scripts as C strings.
PAGE_SCRIPTS := $(addprefix user/page/script/,data.js levels.js draw.js why.js help.js flame.js page.js)
$(B)/page_text.h: tools/text-to-c user/page/script/page.css $(PAGE_SCRIPTS)
	@mkdir -p $(@D)
	tools/text-to-c page_style_text user/page/script/page.css > $@
	tools/text-to-c page_script_text $(PAGE_SCRIPTS) >> $@

$(filter $(B)/user/page/%,$(LIB_OBJECTS)): $(B)/page_text.h

# The descriptions of runtimes as C strings.
RUNTIMES := $(sort $(wildcard layers/*.runtime))
$(B)/runtime_text.h: tools/text-to-c $(RUNTIMES)
	@mkdir -p $(@D)
	for file in $(RUNTIMES); do tools/text-to-c runtime_text_$$(basename $$file .runtime) $$file; done > $@
	(echo 'static const struct {'; echo '	const char *name, *text;'; echo '} runtime_texts[] = {'; \
	 for file in $(RUNTIMES); do name=$$(basename $$file .runtime); echo "	{\"$$name\", runtime_text_$$name},"; done; \
	 echo '};') >> $@

$(B)/user/cli/operand/runtimes.o: $(B)/runtime_text.h

unit: $(UNIT_TESTS) $(UNIT_OBJECTS) $(B)/make_capture $(B)/missing_fields $(B)/clew-arm64.bpf.o $(B)/record_both $(B)/unwind_compare $(B)/tiers $(B)/tools/many_cpus $(B)/tools/storm $(USDT)

print-libraries:
	@echo $(LIBS)

# Workloads share nothing with clew but the compiler.
$(B)/workloads/%: tools/workloads/%.c $(wildcard tools/workloads/*.h)
	@mkdir -p $(@D)
	$(CC) $(TARGET) -std=gnu11 $(WARNINGS) -D_GNU_SOURCE -O1 -g -pthread -o $@ $<

# The 32-bit ones bring their libraries along. Headers of the machine are found without the link
# that gcc-multilib makes, a package that excludes every cross compiler.
$(B)/workloads/%-32: tools/workloads/%.c $(wildcard tools/workloads/*.h)
	@mkdir -p $(@D)
	$(CC) $(TARGET) -m32 -idirafter /usr/include/$(shell $(CC) -print-multiarch) -static -std=gnu11 $(WARNINGS) -Wno-psabi -D_GNU_SOURCE -O1 -g -pthread -o $@ $<

# Optimised, as what stacks are taken of is.
$(B)/workloads/stack: tools/workloads/stack.c
	@mkdir -p $(@D)
	$(CC) $(TARGET) -std=gnu11 $(WARNINGS) -D_GNU_SOURCE -O2 -g -pthread -o $@ $<
$(B)/workloads/stack-static: tools/workloads/stack.c
	@mkdir -p $(@D)
	$(CC) $(TARGET) -static -std=gnu11 $(WARNINGS) -D_GNU_SOURCE -O2 -g -pthread -o $@ $<
$(B)/workloads/%-stripped: $(B)/workloads/%
	$(STRIP) -o $@ $<
$(B)/workloads/%-static: tools/workloads/%.c
	@mkdir -p $(@D)
	$(CC) $(TARGET) -static -std=gnu11 $(WARNINGS) -D_GNU_SOURCE -O1 -g -pthread -o $@ $<

# Probes of <sys/sdt.h>, a header that is the same for all machines.
$(B)/workloads/usdt-%: tests/live/usdt.c
	@mkdir -p $(@D)
	$(CC) $(TARGET) -idirafter /usr/include/$(shell gcc -print-multiarch) $(WARNINGS) -$* -o $@ $<

workloads: $(WORKLOADS)

# Its rings are its own memory.
$(B)/tools/many_cpus: LDFLAGS += -Wl,--wrap=bpf_map_create,--wrap=bpf_map_update_batch,--wrap=ring_buffer__new,--wrap=ring_buffer__consume,--wrap=ring_buffer__free
$(B)/tools/many_cpus: $(B)/clew.skel.h

# What the benchmark measures with.
$(B)/tools/%: tools/%.c $(B)/libclew.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(B)/libclew.a $(LIBS)

tools: $(TOOLS)

demo: deps
	@$(MAKE_ALL)
	@tools/demo

check: deps
	@tests/run

check-all:
	@tools/deps --all
	@tests/run --all

bench: deps
	@$(MAKE_ALL) tools
	@tools/bench

vm: deps
	@$(MAKE_ALL)
	@tests/vm/run
	@tests/vm/service

fuzz: deps
	@tests/fuzz/run 600

soak: deps
	@$(MAKE_ALL) tools
	@tests/live/soak
	@for system in ext4 xfs btrfs; do tests/live/real.py --system $$system --seconds 20 || exit 1; done

# How often clew is right: docs/accuracy.md.
accuracy: deps
	@tools/deps --accuracy
	@$(MAKE_ALL) unit
	@tools/accuracy

install: all
	install -D -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/clew
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include/clew include/clew/*.h include/clew/*.def
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib $(B)/libclew.a
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	sed -e 's,@PREFIX@,$(PREFIX),' -e 's,@LIBS@,$(LIBS),' -e 's,@VERSION@,$(VERSION),' tools/clew.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/clew.pc
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/clew/layers layers/*.layer layers/*.runtime
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/clew docs/clew.proto
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/clew/fleet fleet/*
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 docs/man/*.1
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed -e 's,@PREFIX@,$(PREFIX),' tools/clew.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/clew.service
	install -D -m 644 completions/clew.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/clew
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/zsh/site-functions completions/_clew

# The same for arm64, in build/arm64, by Debian's compiler and its packages for that machine.
ARM64 = $(MAKE) --no-print-directory B=$(B)/arm64 PROGRAM=$(B)/arm64/clew CC='$(patsubst gcc,aarch64-linux-gnu-gcc,$(CC))' STRIP=aarch64-linux-gnu-strip
arm64 arm64-program arm64-install:
	+@root=$$(tests/vm/sysroot.py) || { echo "$$root" >&2; exit 3; }; $(ARM64) SYSROOT=$$root $(if $(filter arm64,$@),all $(B)/arm64/unwind_compare $(B)/arm64/record_both $(B)/arm64/tiers $(USDT:$(B)/%=$(B)/arm64/%),$(@:arm64-%=%))

# Debian packages, in build/.
deb: deps
	@$(MAKE_ALL)
	@tools/make-deb $(B)
	+@tools/make-deb $(B) arm64

clean:
	rm -rf $(B) $(PROGRAM)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
