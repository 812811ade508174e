# git-ews: one Makefile for all; sources are found by wildcard.
#
#   make                    build/git-ews
#   make test               unit tests, shell tests
#   make unit               unit tests alone
#   make check              test, both compilers, sanitizers, valgrind, linters, format
#   make small              the shell tests where limits are small, so that a few is many
#   make breaks             each planted break of a promise is noticed by its test
#   make fuzz               each fuzz target for TIME=600 seconds, or TARGET=state alone (clang and its libFuzzer)
#   make torture            the shell tests with their long loops at full length
#                           (FUZZ_ROUNDS=10000 FUZZ_METHODS=... FUZZ_SEED=... for t9010's random rounds,
#                           SWEEP='...' for t7030: what t/sweep is to do)
#   make perf               side by side with git and cp; PERF="--quick --rows start ..." are its options
#   make perf-table JSON=<file>   the table in README.md, from what PERF="--json <file>" wrote
#   make perf-callgrind     no operation takes a tenth more instructions in NEW=HEAD than in OLD, its parent
#   make install uninstall  prefix (or PREFIX), DESTDIR
#   make format clean
#
#   T=t/t1000-start.sh      these shell tests alone
#   DEVELOPER=1             warnings are errors
#   SANITIZE=address,undefined   in a build directory of its own
#   SHARED=1                no library goes into the program itself
#   V=1                     show the compiler's command lines
#   CC, CFLAGS, LDFLAGS, BUILD   as ever
#
# SPDX-License-Identifier: MIT

VERSION = 0.1.0

CFLAGS = -O2 -g
# as in make PREFIX=..., which others read
prefix = $(if $(filter command line,$(origin PREFIX)),$(PREFIX),/usr/local)
bindir = $(prefix)/bin
mandir = $(prefix)/share/man
completiondir = $(prefix)/share/bash-completion/completions
PKG_CONFIG = pkg-config
INSTALL = install
DEVELOPER =
SANITIZE =
SHARED =
V =
quiet = $(if $(V),,@echo '  $(1) $@';)
comma = ,
BUILD = build$(if $(SANITIZE),/$(subst $(comma),-,$(SANITIZE)))
T = $(sort $(wildcard t/t[0-9]*.sh))
TIME = 600
TARGET = $(fuzz_targets)
NEW = HEAD

# an option, if the compiler has no word against it
accepted = $(if $(shell echo | $(CC) -Werror $(1) -x c -fsyntax-only - 2>&1),,$(1))

packages = libcjson yaml-0.1 nettle zlib libdeflate
# loaded when they are first needed (base/dl), with all that they need themselves: no verb waits for them in vain
lazy_packages = libgit2 libseccomp libarchive
# of which there is an archive, and whose licence lets anyone pass the program on: each costs every start 70 microseconds else
whole_libs = yaml z deflate
c_flags = -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Ilib -DEWS_VERSION='"$(VERSION)"' -pthread
ifneq ($(DEVELOPER),)
c_flags += -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wformat=2 -Wvla -Werror
# gcc does not see that ews_error() is below zero; clang, valgrind and the sanitizers look for the same
warning_flags := $(call accepted,-Wno-maybe-uninitialized)
endif
ifneq ($(SANITIZE),)
sanitize_flags = -fsanitize=$(SANITIZE) -fno-omit-frame-pointer
# gcc's libubsan.so forgets log_path when libasan.so is there, too
sanitize_libs := $(call accepted,-static-libubsan)
endif

# Asked for once, and only by a goal that compiles.
ask = $(or $(shell $(PKG_CONFIG) $(1) $(2)),$(if $(shell $(PKG_CONFIG) --exists $(2) || echo no),\
	$(error $(2): not all are installed; contrib/setup packages installs what is missing)))
package_cflags = $(eval package_cflags := $$(call ask,--cflags,$(packages) $(lazy_packages)) $$(sonames))$(package_cflags)
package_libs = $(eval package_libs := $$(call ask,--libs,$(packages)))$(package_libs)
archive = $(filter /%,$(shell $(CC) -print-file-name=lib$(1).a))
whole = $(if $(SHARED),,$(foreach lib,$(whole_libs),$(if $(call archive,$(lib)),-l$(lib))))
program_libs = $(eval program_libs := $$(foreach lib,$$(package_libs),$$(if $$(filter $$(lib),$$(whole)),-l:lib$$(lib:-l%=%).a,$$(lib))))$(program_libs)
unit_cflags = $(eval unit_cflags := $$(call ask,--cflags,criterion))$(unit_cflags)
lazy_libs = $(eval lazy_libs := -Wl,--as-needed $$(call ask,--libs,$(lazy_packages)))$(lazy_libs)
fuzz_libs = $(eval fuzz_libs := $$(call ask,--libs,libcjson nettle))$(fuzz_libs)
unit_libs = $(eval unit_libs := $$(call ask,--libs,criterion))$(unit_libs)

# -DEWS_LIBGIT2='"libgit2.so.1.5"' and so on: what the linker would have asked for
soname = $(shell readelf -d "$$($(PKG_CONFIG) --variable=libdir $(1))/$(1).so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
sonames = $(foreach lib,$(lazy_packages),-DEWS_$(shell echo $(lib) | tr a-z A-Z)='"$(call soname,$(lib))"')

compile = $(CC) $(c_flags) $(warning_flags) $(package_cflags) $(sanitize_flags) $(CPPFLAGS) $(CFLAGS)
# what store/odb_libgit2_config.c has in the place of a library's own must be seen by that library
link = $(CC) -pthread -Wl,--export-dynamic-symbol=mbedtls_x509_crt_parse_file $(sanitize_flags) $(sanitize_libs) $(CFLAGS) $(LDFLAGS)

lib_objects = $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard lib/*/*.c)))
unit_objects = $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard t/unit/*.c)))
helpers = $(patsubst t/helper/%.c,$(BUILD)/t/%,$(sort $(wildcard t/helper/*.c)))
# a checkout that was cut down to what a test needs has none
fuzz = $(if $(wildcard t/fuzz/*.c),$(BUILD)/t/fuzz/fuzz)
fuzz_objects = $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard t/fuzz/*.c)))
perf = $(if $(wildcard t/perf/*.c),$(BUILD)/t/perf/perf)
perf_objects = $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard t/perf/*.c)))
fuzz_targets = $(patsubst t/fuzz-targets/%.c,%,$(sort $(filter-out %/replay.c,$(wildcard t/fuzz-targets/*.c))))
replays = $(fuzz_targets:%=$(BUILD)/t/fuzz-targets/replay-%)
pages = $(sort $(wildcard man/*.1))

all: $(BUILD)/git-ews

test-programs: $(BUILD)/git-ews $(BUILD)/t/unit-tests $(helpers) $(fuzz) $(perf) $(replays)

test: test-programs
	EWS_BUILD="$(abspath $(BUILD))" t/run-tests $(if $(findstring command,$(origin T)),,--unit) $(T)

unit: test-programs
	EWS_BUILD="$(abspath $(BUILD))" t/run-tests --unit

torture: test-programs
	EWS_BUILD="$(abspath $(BUILD))" TEST_LONG=t TEST_LOOKS=all t/run-tests $(T)

perf: test-programs
	EWS_BIN="$(abspath $(BUILD))" $(perf) $(PERF)

perf-table: $(perf)
	$(perf) table "$(JSON)" README.md

perf-callgrind:
	MAKE="$(MAKE)" t/run-callgrind $(NEW) $(OLD)

check:
	MAKE="$(MAKE)" t/run-check

fuzz:
	MAKE="$(MAKE)" t/run-fuzz $(TIME) $(TARGET)

fuzz-programs: $(fuzz_targets:%=$(BUILD)/t/fuzz-targets/fuzz-%)

breaks:
	MAKE="$(MAKE)" t/run-breaks

small:
	MAKE="$(MAKE)" t/run-small $(if $(findstring command,$(origin T)),'T=$(T)') $(if $(SANITIZE),SANITIZE=$(SANITIZE))

install: $(BUILD)/git-ews
	$(INSTALL) -d "$(DESTDIR)$(bindir)" "$(DESTDIR)$(mandir)/man1" "$(DESTDIR)$(completiondir)"
	$(INSTALL) -m 755 $(BUILD)/git-ews "$(DESTDIR)$(bindir)/git-ews"
	$(INSTALL) -m 644 contrib/completion/git-ews "$(DESTDIR)$(completiondir)"
	$(if $(pages),$(INSTALL) -m 644 $(pages) "$(DESTDIR)$(mandir)/man1")

uninstall:
	rm -f "$(DESTDIR)$(bindir)/git-ews" "$(DESTDIR)$(completiondir)/git-ews" $(foreach p,$(notdir $(pages)),"$(DESTDIR)$(mandir)/man1/$(p)")

format:
	t/format $(wildcard *.c lib/*/*.[ch] t/unit/*.[ch] t/helper/*.c t/fuzz/*.[ch] t/perf/*.[ch] t/fuzz-targets/*.[ch])

clean:
	rm -rf build

$(BUILD)/git-ews: $(BUILD)/git-ews.o $(BUILD)/libews.a
	$(call quiet,LINK)$(link) -o $@ $^ $(program_libs)

# Made afresh, so that an object whose source went away is not kept in it.
$(BUILD)/libews.a: $(lib_objects)
	$(call quiet,AR)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/t/unit-tests: $(unit_objects) $(BUILD)/libews.a
	$(call quiet,LINK)$(link) -o $@ $^ $(package_libs) $(unit_libs) $(lazy_libs)

$(helpers): $(BUILD)/t/%: $(BUILD)/t/helper/%.o $(BUILD)/libews.a
	$(call quiet,LINK)$(link) -o $@ $^ $(package_libs) $(lazy_libs)

# The driver has nothing of lib/ in it: what it compares with must be its own.
$(BUILD)/t/fuzz/fuzz: $(fuzz_objects)
	$(call quiet,LINK)$(link) -o $@ $^ $(fuzz_libs)

# It measures from outside, too.
$(BUILD)/t/perf/perf: $(perf_objects)
	$(call quiet,LINK)$(link) -o $@ $^ $(fuzz_libs) -lm

# What asks git for its config is put in by the target itself.
$(BUILD)/t/fuzz-targets/%-config: target_flags = -Wl,--wrap=ews_gitconfig_read

$(replays): $(BUILD)/t/fuzz-targets/replay-%: $(BUILD)/t/fuzz-targets/%.o $(BUILD)/t/fuzz-targets/replay.o $(BUILD)/libews.a
	$(call quiet,LINK)$(link) $(target_flags) -o $@ $^ $(package_libs)

# Only in the build directory of t/run-fuzz, whose compiler has it.
$(BUILD)/t/fuzz-targets/fuzz-%: $(BUILD)/t/fuzz-targets/%.o $(BUILD)/libews.a
	$(call quiet,LINK)$(link) -fsanitize=fuzzer $(target_flags) -o $@ $^ $(package_libs)

# private: the file of flags must not see them.
$(unit_objects): private c_flags += $(unit_cflags)

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC)$(compile) -MMD -MP -c -o $@ $<

# Changes only when the flags do: another compiler or option builds all again.
$(BUILD)/flags: always
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(compile) $(link) $(SHARED))' >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

-include $(wildcard $(BUILD)/*.d $(BUILD)/lib/*/*.d $(BUILD)/t/*/*.d)

.PHONY: all test-programs test unit fuzz fuzz-programs torture perf perf-table perf-callgrind check small breaks install uninstall format clean always
.DELETE_ON_ERROR:
.SECONDARY:
