# SPDX-License-Identifier: GPL-2.0
# Reliable Datagram Sockets, built out of tree. `make help` lists the goals.

# Modules are built against the running kernel, or else the newest headers
# installed. Guests get theirs from scripts/build.
KDIR ?= $(firstword $(wildcard /lib/modules/$(shell uname -r)/build) \
	$(shell ls -d /usr/src/linux-headers-*-amd64 2>/dev/null | sort -rV))
INSTALL_MOD_DIR ?= updates
W ?= 1

all: modules tools

modules: check-kdir
	$(MAKE) -C $(KDIR) M=$(CURDIR) W=$(W) modules

modules_install: check-kdir
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_DIR=$(INSTALL_MOD_DIR) \
		modules_install
	DESTDIR=$(INSTALL_MOD_PATH) packaging/modprobe-conf install

check-kdir:
	@test -f '$(KDIR)/Module.symvers' || \
		{ echo "no kernel headers found; set KDIR=..." >&2; exit 1; }

tools:
	$(MAKE) -C tools/rds

clean:
	rm -rf build
	[ ! -f '$(KDIR)/Makefile' ] || $(MAKE) -C $(KDIR) M=$(CURDIR) clean
	$(MAKE) -C tools/rds clean
	$(MAKE) -C tools/testing/selftests/rds clean

setup:
	scripts/setup

demo:
	scripts/setup --for demo
	scripts/demo

check:
	scripts/check --setup

soak:
	scripts/setup --for soak
	scripts/soak

coverage:
	scripts/setup --for coverage
	scripts/coverage

bench:
	scripts/setup --for bench
	scripts/bench

static:
	scripts/setup --for check
	scripts/static

help:
	@echo "all              modules for KDIR, and the tools (default)"
	@echo "modules_install  install the modules under $(INSTALL_MOD_DIR)/"
	@echo "clean            remove what was built"
	@echo "demo             set up, build, and show real traffic in a guest"
	@echo "check            set up, build, and run every test"
	@echo "soak             the long forms of the tests, or with HOURS=n one"
	@echo "                 random run of n hours"
	@echo "coverage         which lines of the modules the tests run"
	@echo "bench            compare speed with the stock modules"
	@echo "static           the checks that need no guest"
	@echo "setup            packages and kernels for all of these (as root)"
	@echo
	@echo "KDIR is now '$(KDIR)'"

.PHONY: all modules modules_install check-kdir tools clean setup demo check
.PHONY: soak coverage bench static help
