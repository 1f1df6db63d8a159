# SPDX-License-Identifier: GPL-2.0
# For people.  Kbuild speaks to the kernel; this file to you.
#
#   make demo           two guests, an unmodified iperf3 between them over SDP
#   make check          the tests that a person runs before each commit
#   make check-all      all of them, part by part: see scripts/check list
#   make check-model    the models: every order in which messages can cross, and wake-ups
#   make fuzz SECONDS=n   libFuzzer over what reads hostile bytes (default 60)
#   make bench          what it costs beside TCP, rsockets and raw verbs: docs/results.md
#   make bench QUICK=1  a trial of that, in a few minutes
#   make                the module for the running kernel, and the tools
#   make KDIR=DIR       the module for the kernel whose build tree is DIR
#   make install        on a real host, as root: PREFIX, LIBDIR, MANDIR, SYSCONFDIR, DESTDIR
#   make uninstall      what install made, by the same variables
KDIR ?= /lib/modules/$(shell uname -r)/build
# As modprobe will look for it; Debian 12's kernel.release says something else.
KVER ?= $(or $(shell awk -F'"' '/UTS_RELEASE/ { print $$2 }' \
		$(KDIR)/include/generated/utsrelease.h 2>/dev/null),$(shell uname -r))
O ?= $(CURDIR)/build
PREFIX ?= /usr/local
DESTDIR ?=
SECONDS ?= 60

ifneq ($(words $(CURDIR)) $(words $(O)),1 1)
$(error make and Kbuild take no path with a blank, as one of these: "$(CURDIR)" "$(O)")
endif
# Ours alone: the kernel's make has another meaning for it.
MAKEOVERRIDES := $(filter-out O=%,$(MAKEOVERRIDES))
override O := $(abspath $(O))
override DESTDIR := $(abspath $(DESTDIR))
ifneq ($(filter $(O)/%,$(CURDIR)/),)
$(error O=$(O) is no directory for products: the sources are in it)
endif

.PHONY: all module tools install uninstall demo check check-all check-model fuzz bench clean

all: module tools

# Built in a copy: the objects of two kernels never mix, the tree stays clean.  A file
# that differs is new there, whatever its time says; one that is gone is nobody's.
module:
	@test -d $(KDIR) || { echo "No kernel build tree at $(KDIR): install linux-headers-$$(uname -r), or say make KDIR=..." >&2; exit 1; }
	mkdir -p $(O)/module/$(KVER)
	@find Kbuild kernel uapi -name Kbuild -o -name '*.awk' -o -name '*.[ch]' ! -name '*.mod.c' | while read -r f; do \
		cmp -s "$$f" "$(O)/module/$(KVER)/$$f" || \
		install -D -m 644 "$$f" "$(O)/module/$(KVER)/$$f" || exit; done
	$(MAKE) -C $(KDIR) M=$(O)/module/$(KVER) modules

tools:
	$(MAKE) -C userspace O=$(O)/userspace PREFIX=$(PREFIX)

install: all
	install -D -m 644 $(O)/module/$(KVER)/af_sdp.ko $(DESTDIR)/lib/modules/$(KVER)/updates/af_sdp.ko
	$(if $(DESTDIR),,depmod $(KVER))
	$(MAKE) -C userspace O=$(O)/userspace PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) install

uninstall:
	rm -f $(DESTDIR)/lib/modules/$(KVER)/updates/af_sdp.ko
	$(if $(DESTDIR),,depmod $(KVER))
	$(MAKE) -C userspace O=$(O)/userspace PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) uninstall

demo check check-all:
	@scripts/$@

check-model:
	@scripts/check-model

bench:
	@scripts/bench $(if $(QUICK),--quick) $(PARTS)

fuzz:
	@scripts/fuzz $(SECONDS)

clean:
	rm -rf "$(O)"
