# The front door. CMake does the work, in build*/; `make` alone lists what there is.
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
PYTHON ?= python3
MAKEFLAGS += --no-print-directory

CLANG = -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++
ASAN = $(CLANG) -DRELN_SANITIZE=address,undefined
TSAN = $(CLANG) -DRELN_SANITIZE=thread
RELEASE = -DCMAKE_BUILD_TYPE=Release -DRELN_BUILD_TESTS=OFF -DCMAKE_INSTALL_PREFIX=$(abspath $(PREFIX))

code = find include src tests examples -name '*.[ch]' -o -name '*.inc' -o -name '*.cpp'
in_parallel = xargs -P $(JOBS) -n 1

# $(call build,folder,options of cmake)
define build
cmake -S . -B $(1) $(2)
cmake --build $(1) -j $(JOBS)
endef

# $(call check,folder)
check = ctest --test-dir $(1) --output-on-failure --no-tests=error -j $(JOBS)

.PHONY: help demo test test-long test-clang test-asan test-tsan bench peers fmt fmt-check tidy includes \
	docs dist deb install clean setup setup-long

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s  %s\n", $$1, $$2 }' Makefile

demo: setup ## build, look at a dozen algebras, refused ones among them, train a first network, make a table
	$(call build,build)
	tools/demo.sh build

test: setup ## build and run every test
	$(call build,build)
	$(call check,build)

test-long: setup-long test fmt-check includes test-clang test-asan test-tsan ## test, and again with clang and sanitizers

test-clang: setup-long ## the tests, compiled by clang
	$(call build,build-clang,$(CLANG))
	$(call check,build-clang)

test-asan: setup-long ## the tests under the address and undefined-behaviour sanitizers
	$(call build,build-asan,$(ASAN))
	$(call check,build-asan)

test-tsan: setup-long ## the tests under the thread sanitizer
	$(call build,build-tsan,$(TSAN))
	$(call check,build-tsan)

bench: setup ## measure speed against the machine's own limits; the page is build-release/bench.html
	$(call build,build-release,$(RELEASE))
	build-release/reln bench --report build-release/bench.html

peers: setup ## the same networks in PyTorch and JAX, where PYTHON can import them
	$(call build,build-release,$(RELEASE))
	$(PYTHON) bench/peers/peers.py --reln build-release/reln

fmt: setup-long ## format the code
	@$(code) | $(in_parallel) clang-format -i

fmt-check: setup-long ## is the code formatted?
	@$(code) | $(in_parallel) clang-format --dry-run --Werror

tidy: setup-long ## static analysis
	$(call build,build-clang,$(CLANG))
	@find src -name '*.c' | $(in_parallel) sh -c 'clang-tidy -p build-clang --quiet --warnings-as-errors=* "$$0" 2>/dev/null'

includes: ## does every include look downwards?
	tools/check-includes

docs: setup ## the manual as HTML that needs no network: build-release/docs/index.html
	$(call build,build-release,$(RELEASE))
	tools/manual/build.sh . build-release build-release/docs

dist: ## the sources of the last commit as reln-VERSION.tar.gz
	tools/dist.sh

deb: ## Debian packages, into build-deb
	tools/deb.sh

install: setup ## install library, headers, program and man pages (PREFIX=/usr/local, DESTDIR=)
	$(call build,build-release,$(RELEASE))
	DESTDIR=$(DESTDIR) cmake --install build-release

clean: ## remove everything that was built
	rm -rf build build-deb build-clang build-asan build-tsan build-release

setup:
	@tools/setup.sh

setup-long:
	@tools/setup.sh long
