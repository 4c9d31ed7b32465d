# Every target sets up what it needs, in virtual environments of this folder, and does again only what changed.
#
#   make demo       train a convolutional network on handwritten digits and draw what it learnt; half a minute
#   make test       the tests that need claygrad alone;   make test FAMILY=conv   those of the operations in ops/conv*.py
#   make test-all   these, the slow ones, and the comparison with PyTorch
#   make test-browser    the graph viewer and the flame graph in a real Chromium
#   make test-packages   five public packages written for PyTorch, installed without it, with PyTorch's numbers
#   make ecosystem  eighty of them: installs all and writes docs/ecosystem.md
#   make bench      speed and memory against PyTorch, JAX and NumPy, as tables and a chart;   make scaling   as curves
#   make sanitize   the kernels' tests, some of the operations' and hostile calls, on a build that watches every access to memory
#                   and every undefined operation;   make hostile CALLS=200000   hostile calls on the usual build
#   make coverage   which of PyTorch's operations agree, as a table; writes docs/operations.md
#   make lint       ruff, cython-lint;   make types   mypy, stubtest, and programs under mypy and pyright
#   make stubs      write the types of all operations;   make wheel   dist/claygrad-….whl
#
# .venv holds claygrad and its tools, .venv-oracle has PyTorch too. Both get claygrad as a wheel built from this tree, so
# that what is tested is what a user installs. Another Python: make PYTHON=python3.13 …

PYTHON ?= python3
WORKERS ?= 2
PYTEST_ARGS ?=
FAMILY ?=

BIN := .venv/bin
ORACLE_BIN := .venv-oracle/bin
PIP_FLAGS := --quiet --disable-pip-version-check

# Python puts neither this folder nor a script's folder on its path: `import claygrad` can only find the installed one,
# and conftest.py refuses to start on any other.
export PYTHONSAFEPATH := 1
export CLAYGRAD_INSTALLED := 1

SOURCES := $(sort $(shell find claygrad -type f \( -name '*.py' -o -name '*.py[xi]' -o -name '*.pxd' -o -name '*.txt' -o -name '*.xz' -o -name 'py.typed' -o -name '*.js' -o -name '*.css' \
  -o -name '*.[ch]' -o -name '*.[ch]pp' -o -name 'meson.build' \)))

.PHONY: help demo test test-oracle test-browser test-packages ecosystem test-all coverage bench scaling instructions sanitize hostile lint types stubs wheel clean FORCE
.DELETE_ON_ERROR:

help:
	@sed -n 's/^#   //p' Makefile

# The examples share examples/workbench.py, which is in the folder of the script.
demo: .venv/.claygrad .venv/.demo
	env -u PYTHONSAFEPATH $(BIN)/python examples/digits_cnn.py --fresh

test: .venv/.claygrad .venv/.test .venv/.demo
	$(BIN)/pytest -n $(WORKERS) --ignore=tests/oracle $(if $(FAMILY),tests/ops tests/kernels tests/nn --family $(FAMILY)) $(PYTEST_ARGS)

# PyTorch on one thread each: the workers share the cores already.
ORACLE_PYTEST := CLAYGRAD_ORACLE=1 OMP_NUM_THREADS=1 $(ORACLE_BIN)/pytest

test-oracle: .venv-oracle/.claygrad
	$(ORACLE_PYTEST) -n $(WORKERS) tests/oracle $(PYTEST_ARGS)

# The pages in a real Chromium. `make test` leaves these out where there is none; here that is a failure.
test-browser: .venv/.claygrad .venv/.test
	CLAYGRAD_BROWSER=1 $(BIN)/pytest tests/debug/test_graph_page.py tests/profiler/test_flame_graph.py $(PYTEST_ARGS)

test-packages: .venv-packages/.claygrad
	.venv-packages/bin/python tests/packages/run.py compare --light

# All packages, in some ten minutes: the table of docs/ecosystem.md.
ecosystem: build/wheel.stamp
	$(PYTHON) tests/packages/run.py install
	.venv-ecosystem/bin/python tests/packages/run.py compare --jobs $(WORKERS) --write docs/ecosystem.md

test-all: .venv/.claygrad .venv/.test .venv/.demo .venv-oracle/.claygrad
	$(BIN)/pytest -n $(WORKERS) --ignore=tests/oracle -m "" $(PYTEST_ARGS)
	$(ORACLE_PYTEST) -n $(WORKERS) tests/oracle -m "" $(PYTEST_ARGS)

coverage: .venv-oracle/.claygrad
	OMP_NUM_THREADS=1 $(ORACLE_BIN)/python -c "import sys; sys.path.append('.'); from tests.oracle.opdb import coverage; \
	  coverage.main()" --write docs/operations.md $(COVERAGE_ARGS)      # last on the path: claygrad is the installed one

bench: .venv-oracle/.claygrad .venv-oracle/.bench
	$(ORACLE_BIN)/python benchmarks/run.py $(BENCH_ARGS)

# Time against size, length of the graph and number of parameters, on one thread and on two.
scaling: .venv-oracle/.claygrad .venv-oracle/.bench
	$(ORACLE_BIN)/python benchmarks/scaling.py $(BENCH_ARGS)

# Instructions per operation, counted by valgrind: the same on a busy machine as on an idle one.
instructions: .venv/.claygrad
	$(BIN)/python benchmarks/instructions.py $(BENCH_ARGS)

# Everything compiled, built again with the compiler's sanitizers, in a folder of its own that comes before .venv on the path.
# Leaks are not counted: Python leaves much to the end. Masked loads and stores pass unseen: the base instruction set has none,
# and the tests keep guards around results. SANITIZE=-Dbase_only=true builds the kernels of that set alone, in a third of the time.
WATCHED := $(addprefix tests/ops/test_,orders.py narrow_types.py gaps.py native_moves.py views_in_place.py)
SANITIZE ?=
SANITIZED_SITE := $(CURDIR)/build/sanitized/usr/lib
SANITIZERS = $(foreach name,asan ubsan stdc++,$(shell $${CC:-cc} -print-file-name=lib$(name).so))
WATCH = LD_PRELOAD="$(SANITIZERS)" ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=3000 \
  UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONPATH="$(SANITIZED_SITE)" CLAYGRAD_SANITIZED=1

sanitize: .venv/.build .venv/.test
	@test -f build/sanitize/build.ninja || PATH="$(CURDIR)/$(BIN):$$PATH" meson setup build/sanitize --prefix=/usr \
	  -Dpython.install_env=prefix -Dpython.purelibdir=lib -Dpython.platlibdir=lib \
	  -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1 -Ddebug=true $(SANITIZE)
	PATH="$(CURDIR)/$(BIN):$$PATH" ninja -C build/sanitize
	PATH="$(CURDIR)/$(BIN):$$PATH" meson install -C build/sanitize --no-rebuild --quiet --destdir "$(CURDIR)/build/sanitized"
	$(WATCH) CLAYGRAD_KERNELS="$(SANITIZED_SITE)/claygrad/core/libclay_kernels.so" \
	  $(BIN)/pytest -s tests/kernels $(WATCHED) $(PYTEST_ARGS)
	$(WATCH) CLAYGRAD_PLAIN_MEMORY=1 PYTHONMALLOC=malloc $(HOSTILE)

# Hostile calls, as many as wanted: make hostile CALLS=200000 SEED=7. What they are: tests/survival/hostile/run.py
CALLS ?= 4000
SEED ?= 0
HOSTILE = $(BIN)/python -c "import sys, claygrad; sys.path.append('.'); from tests.survival.hostile.run import main; \
  sys.exit(main())" --calls $(CALLS) --seed $(SEED) $(HOSTILE_ARGS)

hostile: .venv/.claygrad .venv/.test
	$(HOSTILE)

lint: .venv/.lint
	@bad=0; $(BIN)/ruff check . || bad=1; \
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cython-lint claygrad || bad=1; exit $$bad      # it calls pycodestyle

# Compiled modules that Python code imports have a stub; the others have nothing for Python in them.
STUBBED := $(filter-out claygrad.core._operations,$(subst /,.,$(basename $(wildcard claygrad/core/*.pyi claygrad/core/*/*.pyi claygrad/native/*.pyi))))

types: .venv/.claygrad .venv/.lint
	@bad=0; $(BIN)/mypy || bad=1; \
	$(BIN)/python -m mypy.stubtest $(STUBBED) --mypy-config-file pyproject.toml --allowlist tools/stubtest_allowlist.txt \
	  || bad=1; \
	$(BIN)/python tests/typing/check.py || bad=1; exit $$bad

# The types of all operations, from their declarations; tests/test_stubs.py says when they are out of date.
stubs: .venv/.claygrad
	$(BIN)/python tools/make_stubs.py

wheel: build/wheel.stamp
	@mkdir -p dist && cp build/wheel/*.whl dist/ && ls dist/*.whl

clean:
	rm -rf build dist out .venv .venv-oracle .venv-packages .venv-ecosystem .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The environments. A stamp is newer than what it was made from.

.venv/.made .venv-oracle/.made .venv-packages/.made:
	@$(PYTHON) tools/preflight.py
	@rm -rf build/meson        # it may have been set up for another Python
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install $(PIP_FLAGS) --upgrade 'pip>=25.1'
	@touch $@

.venv/.build .venv/.test .venv/.lint .venv/.demo: .venv/.%: .venv/.made pyproject.toml
	$(BIN)/python -m pip install $(PIP_FLAGS) --group $*
	@touch $@

.venv-oracle/.oracle .venv-oracle/.bench: .venv-oracle/.%: .venv-oracle/.made pyproject.toml
	$(ORACLE_BIN)/python -m pip install $(PIP_FLAGS) --group $*
	@touch $@

# Without dependencies: nothing may bring torch. What the packages need is in the list too.
.venv-packages/.light: .venv-packages/.made tests/packages/light.txt
	.venv-packages/bin/python -m pip install $(PIP_FLAGS) --no-deps -r tests/packages/light.txt
	@touch $@

.venv/.claygrad: .venv/.made build/wheel.stamp
.venv-packages/.claygrad: .venv-packages/.light build/wheel.stamp
.venv-oracle/.claygrad: .venv-oracle/.oracle build/wheel.stamp
.venv/.claygrad .venv-oracle/.claygrad .venv-packages/.claygrad:
	$(@D)/bin/python -m pip install $(PIP_FLAGS) build/wheel/*.whl
	$(@D)/bin/python -m pip install $(PIP_FLAGS) --force-reinstall --no-deps build/wheel/*.whl
	@touch $@

# The wheel. Its build folder stays, so that only what changed is compiled again. The list of sources is a file of its own
# that changes when one is added or removed, which the time of no remaining file would tell.

build/sources.txt: FORCE
	@mkdir -p build
	@printf '%s\n' $(SOURCES) > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

build/wheel.stamp: .venv/.build build/sources.txt $(SOURCES) meson.build meson.options pyproject.toml README.md LICENSE tools/not_shipped.py
	rm -rf build/wheel
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip wheel $(PIP_FLAGS) . --no-build-isolation --no-deps \
	  --wheel-dir build/wheel --config-settings build-dir=build/meson
	@touch $@
