# SPDX-License-Identifier: GPL-2.0
# The part that all Makefiles of the RDS tests have in common. A Makefile names
# its programs and includes this file instead of lib.mk. In addition to the
# variables of lib.mk, it may set:
#
#   HELPERS   C files of the folder that are linked to each of its programs
#
# A Makefile may also name lists of its programs, by the guests that they need.
# The stages that run the programs (scripts/check.d, scripts/soak.d) ask for
# lists: make programs LISTS="...".
#
# In a kernel tree nothing needs to be given. Elsewhere the kselftest headers
# and lib.mk are used from the kernel source at KSRC.

lib := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
top := $(lib)/../../../../..
# If another make started this one, lib.mk does not set OUTPUT.
ifeq ($(OUTPUT),)
OUTPUT := $(CURDIR)
endif
RDS_CACHE ?= $(HOME)/.cache/rds
KSRC ?= $(if $(wildcard $(lib)/../../lib.mk),$(top),$(RDS_CACHE)/src/linux-6.1)

# The RDS header of this tree comes before any other. It is found for quoted
# includes only: a kernel tree has unsanitised headers at the same place.
CFLAGS += -O2 -g -Wall -pthread
CFLAGS += -iquote $(top)/include/uapi -iquote $(lib)
CFLAGS += -I$(KSRC)/tools/testing/selftests

# Each program is built again when a header changes.
lib_hdrs := $(wildcard $(lib)/*.h) $(top)/include/uapi/linux/rds.h
LOCAL_HDRS += $(wildcard *.h) $(lib_hdrs)

include $(KSRC)/tools/testing/selftests/lib.mk

# What all programs are linked with is compiled once.
lib_objs := $(patsubst $(lib)/%.c,$(OUTPUT)/%.o,$(wildcard $(lib)/*.c))
helper_objs := $(HELPERS:%.c=$(OUTPUT)/%.o)
EXTRA_CLEAN += $(lib_objs) $(helper_objs)
compile = $(CC) $(CFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c $< -o $@

$(lib_objs): $(OUTPUT)/%.o: $(lib)/%.c $(lib_hdrs)
	$(compile)

$(helper_objs): $(OUTPUT)/%.o: %.c $(LOCAL_HDRS)
	$(compile)

$(TEST_GEN_PROGS) $(TEST_GEN_PROGS_EXTENDED): $(helper_objs) $(lib_objs)

# A list without programs is a mistake.
LISTS ?= TEST_GEN_PROGS

.PHONY: programs
programs:
	@echo $(notdir $(foreach list,$(LISTS),$(or $($(list)),\
		$(error $(CURDIR) has no programs in the list $(list)))))
