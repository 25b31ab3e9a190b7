# chinwag: see README.md. `make run` sets everything up and opens the chat; `make test` runs every test.

VERSION := 0.1.0
PREFIX ?= /usr/local
BUILD ?= build
CC ?= cc
PKG_CONFIG ?= pkg-config

ROOMS := engine data ui src
PACKAGES := ncursesw sqlite3 md4c libcurl jansson inih
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla -Werror
CFLAGS ?= -O3 -g
# -ffp-contract=off: the order and rounding of float operations are part of the engine's contract (engine/matmul.h).
ALL_CFLAGS = -std=gnu17 $(WARNINGS) -D_GNU_SOURCE -DCHINWAG_VERSION='"$(VERSION)"' -pthread -ffp-contract=off \
	-fno-math-errno -fno-trapping-math $(CFLAGS) $(CPPFLAGS)
DEP_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null)
LIBS = $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null) -lunistring -lm -pthread

# The target's architecture decides which kernel sets are built; a file's ending names the set it is compiled for.
ARCH := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
ifeq ($(ARCH),x86_64)
SETS := avx2 avxvnni avx512 avx512vnni
FLAGS_avx2 := -mavx2 -mfma -mf16c
FLAGS_avxvnni := $(FLAGS_avx2) -mavxvnni
FLAGS_avx512 := $(FLAGS_avx2) -mavx512f -mavx512bw -mavx512vl -mavx512dq
FLAGS_avx512vnni := $(FLAGS_avx512) -mavx512vnni
OTHER_SETS := neon neondot
else ifeq ($(ARCH),aarch64)
SETS := neon neondot
FLAGS_neon := -march=armv8-a
FLAGS_neondot := -march=armv8.2-a+dotprod
OTHER_SETS := avx2 avxvnni avx512 avx512vnni
else
OTHER_SETS := avx2 avxvnni avx512 avx512vnni neon neondot
endif

sources = $(filter-out $(foreach s,$(OTHER_SETS),%_$(s).c),$(wildcard $(1)/*.c))
objects = $(patsubst %.c,$(BUILD)/%.o,$(call sources,$(1)))
LIB_OBJECTS := $(call objects,engine)
PROGRAM_OBJECTS := $(foreach r,$(filter-out engine,$(ROOMS)),$(call objects,$(r)))
UNIT_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*/test_*.c))

.PHONY: all
all: chinwag

chinwag: $(PROGRAM_OBJECTS) $(BUILD)/libengine.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/libengine.a: $(LIB_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

set_flags = $(foreach s,$(SETS),$(if $(filter %_$(s).c,$(1)),$(FLAGS_$(s))))
$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(DEP_CFLAGS) $(call set_flags,$<) -MMD -MP -c -o $@ $<

# A room's unit tests link with that room alone; those of src with all of them.
unit_objects_engine = $(BUILD)/libengine.a
unit_objects_data = $(call objects,data)
unit_objects_ui = $(call objects,ui)
unit_objects_src = $(filter-out $(BUILD)/src/main.o,$(PROGRAM_OBJECTS)) $(BUILD)/libengine.a
define unit_rule
$(BUILD)/tests/unit/$(1)/%: tests/unit/$(1)/%.c $(unit_objects_$(1)) Makefile
	@mkdir -p $$(@D)
	$$(CC) $$(ALL_CFLAGS) $$(DEP_CFLAGS) -MMD -MP -MF $$@.d -o $$@ $$< $(unit_objects_$(1)) -lcmocka $$(LIBS)
endef
$(foreach r,$(ROOMS),$(eval $(call unit_rule,$(r))))

.PHONY: unit
unit: $(UNIT_TESTS)

.PHONY: clean
clean:
	rm -rf $(BUILD) chinwag

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
