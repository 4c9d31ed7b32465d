# Every target sets up what it needs, in virtual environments of this folder, and does again only what changed.
#
#   make demo       train a convolutional network on handwritten digits and draw what it learnt; half a minute
#   make test       the tests that need claygrad alone;   make test FAMILY=conv   those of the operations in ops/conv*.py
#   make test-all   these, the slow ones, and the comparison with PyTorch
#   make test-distributed   several processes through MPI: 1, 2 and 4 ranks, in .venv-mpi; some two minutes
#   make test-browser    the graph viewer and the flame graph in a real Chromium
#   make test-xpu   operations, models and optimizers on a second device: dpnp on the CPU, through OpenCL (docs/devices.md)
#   make test-cuda  the kernels for GPUs compiled with CuPy's NVRTC and run on the host, and CuPy's names: needs no GPU
#   make test-packages   five public packages written for PyTorch, installed without it, with PyTorch's numbers
#   make ecosystem  some hundred of them: installs all and writes docs/ecosystem.md
#   make bench      speed and memory against PyTorch, JAX and NumPy, as tables and a chart;   make scaling   as curves
#   make sanitize   the kernels' tests, some of the operations' and hostile calls, on a build that watches every access to memory
#                   and every undefined operation;   make hostile CALLS=200000   hostile calls on the usual build
#   make coverage   which of PyTorch's operations agree, as a table; writes docs/operations.md
#   make docs       the site, in build/site: pages, executed tutorials, the reference;   fails on any warning
#   make lint       ruff, cython-lint;   make types   mypy, stubtest, and programs under mypy and pyright
#   make stubs      write the types of all operations;   make wheel   dist/claygrad-….whl
#   make wheels     manylinux wheels for every Python found, and the source distribution, each tested in a clean environment
#   make first-minute    a fresh environment without a compiler: the wheel, the landing pages, the quick start, in under a minute
#   make arm        the kernels compiled for ARM and tested by an emulator;   make release VERSION=1.2.3   docs/releases.md
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

SOURCES := $(sort $(shell find claygrad -type f \( -name '*.py' -o -name '*.py[xi]' -o -name '*.pxd' -o -name '*.txt' -o -name '*.xz' -o -name 'py.typed' -o -name '*.js' -o -name '*.css' -o -name '*.cu' -o -name '*.cuh' \
  -o -name '*.[ch]' -o -name '*.[ch]pp' -o -name 'meson.build' \)))

.PHONY: help demo test test-oracle test-distributed test-packages ecosystem test-all coverage bench scaling instructions provenance sanitize hostile lint types stubs docs wheel test-browser wheels first-minute arm release test-xpu test-cuda devices clean FORCE
.DELETE_ON_ERROR:

help:
	@sed -n 's/^#   //p' Makefile

# The examples share examples/workbench.py, which is in the folder of the script.
demo: .venv/.claygrad .venv/.demo
	env -u PYTHONSAFEPATH $(BIN)/python examples/digits_cnn.py --fresh

test: .venv/.claygrad .venv/.test .venv/.demo
	$(BIN)/pytest -n $(WORKERS) --ignore=tests/oracle --ignore=tests/distributed/ranks $(if $(FAMILY),tests/ops tests/kernels tests/nn --family $(FAMILY)) $(PYTEST_ARGS)

# PyTorch on one thread each: the workers share the cores already.
ORACLE_PYTEST := CLAYGRAD_ORACLE=1 OMP_NUM_THREADS=1 $(ORACLE_BIN)/pytest

test-oracle: .venv-oracle/.claygrad
	$(ORACLE_PYTEST) -n $(WORKERS) tests/oracle $(PYTEST_ARGS)

# The ranks share the cores, so one test at a time.
test-distributed: .venv-mpi/.claygrad
	.venv-mpi/bin/pytest tests/distributed $(PYTEST_ARGS)

# The pages in a real Chromium. `make test` leaves these out where there is none; here that is a failure.
test-browser: .venv/.claygrad .venv/.test
	CLAYGRAD_BROWSER=1 $(BIN)/pytest tests/debug/test_graph_page.py tests/profiler/test_flame_graph.py $(PYTEST_ARGS)

# A real second device without a GPU: SYCL on the CPU. Its libraries must be found before the process starts, and the kernels that
# it compiles as they are met are kept for the next run.
XPU := $(CURDIR)/.venv-xpu
WITH_XPU := OCL_ICD_FILENAMES=$(XPU)/lib/libintelocl.so LD_LIBRARY_PATH=$(XPU)/lib \
  SYCL_CACHE_PERSISTENT=1 SYCL_CACHE_DIR=$(CURDIR)/build/sycl

test-xpu: .venv-xpu/.claygrad
	$(WITH_XPU) $(XPU)/bin/pytest tests/devices $(PYTEST_ARGS)

# No GPU is needed: CuPy's compiler runs without one, and the kernels' arithmetic is that of the host (tests/devices/host_cuda.hpp).
test-cuda: .venv-cuda/.claygrad
	.venv-cuda/bin/pytest tests/devices/test_cupy.py tests/devices/test_cuda.py tests/devices/test_cuda_kernels.py $(PYTEST_ARGS)

# The table of docs/devices.md: every declared operation, with all its samples.
devices: .venv-xpu/.claygrad
	$(WITH_XPU) $(XPU)/bin/python -c "import sys; sys.path.append('.'); from tests.devices.coverage import main; \
	  main(['xpu', '--write', 'docs/devices.md'])"

test-packages: .venv-packages/.claygrad
	.venv-packages/bin/python tests/packages/run.py compare --light

# All packages, in some ten minutes: the table of docs/ecosystem.md.
ecosystem: build/wheel.stamp
	$(PYTHON) tests/packages/run.py install
	.venv-ecosystem/bin/python tests/packages/run.py compare --jobs $(WORKERS) --write docs/ecosystem.md

test-all: .venv/.claygrad .venv/.test .venv/.demo .venv-oracle/.claygrad
	$(BIN)/pytest -n $(WORKERS) --ignore=tests/oracle --ignore=tests/distributed/ranks -m "" $(PYTEST_ARGS)
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
# The files that users get have no names of inner functions, by which the columns are told apart: so a build of its own.
SYMBOLS_SITE := $(CURDIR)/build/with-symbols/usr/lib

# The second build leaves provenance out: what the first one has more is what lines and modules cost.
BARE_SITE := $(CURDIR)/build/without-provenance/usr/lib
MESON_INSTALLED := --prefix=/usr --buildtype=release -Dpython.install_env=prefix -Dpython.purelibdir=lib -Dpython.platlibdir=lib \
  -Db_ndebug=if-release -Dkeep_symbols=true

build/with-symbols.done: .venv/.build FORCE
	@test -f build/symbols/build.ninja || PATH="$(CURDIR)/$(BIN):$$PATH" meson setup build/symbols $(MESON_INSTALLED)
	PATH="$(CURDIR)/$(BIN):$$PATH" ninja -C build/symbols
	PATH="$(CURDIR)/$(BIN):$$PATH" meson install -C build/symbols --no-rebuild --quiet --destdir "$(CURDIR)/build/with-symbols"

instructions: build/with-symbols.done
	PYTHONPATH="$(SYMBOLS_SITE)" $(BIN)/python benchmarks/instructions.py $(BENCH_ARGS)

provenance: build/with-symbols.done
	@test -f build/bare/build.ninja || PATH="$(CURDIR)/$(BIN):$$PATH" meson setup build/bare $(MESON_INSTALLED) -Dprovenance=false
	PATH="$(CURDIR)/$(BIN):$$PATH" ninja -C build/bare
	PATH="$(CURDIR)/$(BIN):$$PATH" meson install -C build/bare --no-rebuild --quiet --destdir "$(CURDIR)/build/without-provenance"
	PYTHONPATH="$(SYMBOLS_SITE)" $(BIN)/python benchmarks/instructions.py --against "$(BARE_SITE)" $(BENCH_ARGS)

# Everything compiled, built again with the compiler's sanitizers, in a folder of its own that comes before .venv on the path.
# Leaks are not counted: Python leaves much to the end. Masked loads and stores pass unseen: the base instruction set has none,
# and the tests keep guards around results. SANITIZE=-Dbase_only=true builds the kernels of that set alone, in a third of the time.
WATCHED := $(addprefix tests/ops/test_,orders.py narrow_types.py gaps.py native_moves.py views_in_place.py overflows.py)
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

# The reference comes from the declarations, and the tutorials are executed: both need the installed claygrad.
docs: .venv/.claygrad .venv/.docs
	$(BIN)/python tools/docs/build.py $(DOCS_ARGS)

wheel: build/wheel.stamp
	@mkdir -p dist && cp build/wheel/*.whl dist/ && ls dist/*.whl

# Another choice of Pythons: make wheels WHEELS_ARGS="--python python3.13 --no-sdist"
wheels:
	@$(PYTHON) tools/preflight.py
	$(PYTHON) tools/wheels.py $(WHEELS_ARGS)

first-minute: build/wheel.stamp
	$(PYTHON) tools/first_minute.py build/wheel/*.whl --source

# Needs Debian's g++-aarch64-linux-gnu and qemu-user.
arm: .venv/.build
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/arm.py $(ARM_ARGS)

release: .venv/.release
	$(BIN)/python tools/release.py $(VERSION) $(RELEASE_ARGS)

clean:
	rm -rf build dist out .venv .venv-oracle .venv-packages .venv-ecosystem .venv-mpi .venv-xpu .venv-cuda .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The environments. A stamp is newer than what it was made from.

.venv/.made .venv-oracle/.made .venv-packages/.made .venv-mpi/.made .venv-xpu/.made .venv-cuda/.made:
	@$(PYTHON) tools/preflight.py
	@$(if $(filter .venv/%,$@),rm -rf build/meson)        # the wheel is built by this one: it may have been another Python
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install $(PIP_FLAGS) --upgrade 'pip>=25.1'
	@touch $@

.venv/.build .venv/.test .venv/.lint .venv/.demo .venv/.docs .venv/.release: .venv/.%: .venv/.made pyproject.toml
	$(BIN)/python -m pip install $(PIP_FLAGS) --group $*
	@touch $@

.venv-oracle/.oracle .venv-oracle/.bench: .venv-oracle/.%: .venv-oracle/.made pyproject.toml
	$(ORACLE_BIN)/python -m pip install $(PIP_FLAGS) --group $*
	@touch $@

.venv-mpi/.mpi: .venv-mpi/.made pyproject.toml
	.venv-mpi/bin/python -m pip install $(PIP_FLAGS) --group mpi
	@touch $@

.venv-cuda/.cuda: .venv-cuda/.made pyproject.toml
	.venv-cuda/bin/python -m pip install $(PIP_FLAGS) --group cuda
	@touch $@

.venv-xpu/.xpu: .venv-xpu/.made pyproject.toml
	.venv-xpu/bin/python -m pip install $(PIP_FLAGS) --group xpu
	@touch $@

# Without dependencies: nothing may bring torch. What the packages need is in the list too.
.venv-packages/.light: .venv-packages/.made tests/packages/light.txt
	.venv-packages/bin/python -m pip install $(PIP_FLAGS) --no-deps -r tests/packages/light.txt
	@touch $@

.venv/.claygrad: .venv/.made build/wheel.stamp
.venv-packages/.claygrad: .venv-packages/.light build/wheel.stamp
.venv-oracle/.claygrad: .venv-oracle/.oracle build/wheel.stamp
.venv-mpi/.claygrad: .venv-mpi/.mpi build/wheel.stamp
.venv-xpu/.claygrad: .venv-xpu/.xpu build/wheel.stamp
.venv-cuda/.claygrad: .venv-cuda/.cuda build/wheel.stamp
.venv/.claygrad .venv-oracle/.claygrad .venv-packages/.claygrad .venv-mpi/.claygrad .venv-xpu/.claygrad .venv-cuda/.claygrad:
	$(@D)/bin/python -m pip install $(PIP_FLAGS) build/wheel/*.whl
	$(@D)/bin/python -m pip install $(PIP_FLAGS) --force-reinstall --no-deps build/wheel/*.whl
	@touch $@

# The wheel. Its build folder stays, so that only what changed is compiled again. The list of sources is a file of its own
# that changes when one is added or removed, which the time of no remaining file would tell.

build/sources.txt: FORCE
	@mkdir -p build
	@printf '%s\n' $(SOURCES) > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

build/wheel.stamp: .venv/.build build/sources.txt $(SOURCES) meson.build meson.options pyproject.toml README.md LICENSE $(wildcard LICENSES/*) tools/not_shipped.py
	@rm -rf build/wheel && touch $@.begun      # what is edited while it is built is built the next time
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip wheel $(PIP_FLAGS) . --no-build-isolation --no-deps \
	  --wheel-dir build/wheel --config-settings build-dir=build/meson
	@mv $@.begun $@
