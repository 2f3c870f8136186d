# The words people type; each does its own set-up. The build itself is CMake's.
#   make            build the library and the tools into build/
#   make demo       a short tour on 4 ranks
#   make test       every test; T=regex or L=label for some; SANITIZE=address (undefined, thread)
#   make test-tcp   the MPI tests over TCP alone, and with ranks on three pretended hosts
#   make test-ucx   the same by UCX, over its TCP; UCX_TLS=... for another way of UCX
#   make test-check the MPI tests under mpiexec --check, which must find nothing in them; T=regex for some
#   make test-hosts every MPI test with its ranks on 3 virtual hosts (root), by mpiexec and under a
#                   Slurm of its own; T=regex for some
#   make test-impi-corpus MPICH=folder   MPICH's tests, of its sources in that folder, over one world of this
#                   MPI, MPICH and Open MPI; T=regex for some
#   make test-upc-plain   C programs from Debian's sources through gcc and upcc (network)
#   make test-abi-world   programs of Debian packages on this MPI and on their own; installs them (root,
#                   network; INSTALL=no does not), takes half an hour; T=names for some, WORK=folder is kept,
#                   DOCS=1 writes the rows that ran into the table of docs/abi.md
#   make test-apps   applications from Debian's sources (network), built with this MPI and with the two
#                   others; some minutes. T=names, WORK=folder, INSTALL=no, DOCS=1 as above
#   make test-io-world   HDF5, PnetCDF and MPICH's tests of files from Debian's sources, with this
#                   library (network); IOR=folder adds IOR and mdtest, WORK=folder is kept, P=parts (hdf5
#                   pnetcdf mpich ior) and T=pattern for some; lines of docs/io.md that were not run stay
#   make test-tools-world   EZTrace from Debian's packages (network) on this MPI and on its own; WORK=folder is kept
#   make test-nfs   the tests of files on NFS, in a virtual machine with Debian's kernel (network; aarch64, x86_64);
#                   some minutes. WORK=folder is kept, V=3 for NFS 3
#   make test-fortran-world   MPICH's Fortran tests, ScaLAPACK's testers, MUMPS' examples, HDF5's parallel Fortran tests and
#                   OpenCoarrays' tests from Debian's sources, with mpifort (network); WORK=folder is kept,
#                   and may hold sources, such as NPB3.4-MPI for the NAS benchmarks; P=part for some
#   make test-fortran-abi LIB=folder   the Fortran tests over another MPI's libmpi_abi in that folder
#   make fuzz       feed every parser mutated inputs for SECONDS (60) each, with the address sanitizer;
#                   T=regex for some, RUNS=n instead of SECONDS, AT_ONCE=n processes for each; findings are left in build-fuzz
#   make soak       a changing mix of jobs, faults and settings on virtual hosts for MINUTES (10) (root);
#                   SEED=n for the same mix again
#   make test-hosts-many   100 virtual hosts start, run a barrier and end (root)
#   make test-ranks-many   2000 ranks over TCP and 600 under the launchers of others, beside a rank that is busy (root for Slurm)
#   make bench      measure against Debian's MPICH and Open MPI; B=names for some, QUICK=1 for a glance,
#                   BEFORE=dir for an earlier build in place of the peers
#                   B=busy: beside 0 to 20 processes that compute; B=observe: what --profile, --timeline and --check cost
#   make bench-check  fails when a line got slower beside the peers than bench/ratios.json has it; STORE=1 writes that
#   make bench-startup   time and memory of start-up over the number of ranks, with plots
#   make bench-upc    UPC flat and in groups, triad, barrier, single gets and puts, with plots
#   make bench-hosts  the part of make bench that runs between virtual hosts (root)
#   make bench-elastic   spawning, growing, forking, checkpoints: how long it takes, with plots
#   make bench-impi  messages between two jobs that IMPI joins, beside TCP itself
#   make doc        the manual as one site to read in a browser: build/doc/index.html
#   make test-doc   every page of it in headless Chromium, as wide as a desktop and as a phone; some minutes
#   make style      judge the rules of the house
#   make install    into PREFIX (/usr/local); make uninstall removes that again
#   make deb        Debian packages, into build-deb/; make test-deb tries them in a Debian of their own (root, network)
#   make tarball    a binary tarball that runs from any folder, into build-tarball/ (root, network); ARCH=x86_64 or aarch64 for the other one
#   make clean      remove the build folders

WERROR ?= OFF
SANITIZE ?=
T ?=
L ?=
B ?=
QUICK ?=
UCX_TLS ?= tcp,self
PREFIX ?= /usr/local
# Where a shell has left it as it is.
override PREFIX := $(if $(filter ~/%,$(firstword $(PREFIX))),$(patsubst ~/%,$(HOME)/%,$(PREFIX)),$(PREFIX))
JOBS ?= $(shell nproc)
# A comma in the name would split the linker's options.
comma := ,
BUILD := build$(if $(SANITIZE),-$(subst $(comma),+,$(SANITIZE)))
CONFIGURE := cmake -S . -B $(BUILD) -G Ninja -DPLIANT_SANITIZE=$(SANITIZE) -DPLIANT_WERROR=$(WERROR)

# Each word names a thing to do, not a file.
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)

# CMake would take its own one for it.
ifneq ($(filter install uninstall,$(MAKECMDGOALS)),)
ifeq ($(strip $(PREFIX)),)
$(error PREFIX is empty; name a folder, as in make install PREFIX=/opt/pliant, or leave it out for /usr/local)
endif
endif

all: $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) -j$(JOBS)

help:
	@sed -n 's/^#   //p' Makefile

# A configuration that failed half way must not count as done.
$(BUILD)/CMakeCache.txt:
	@tools/setup/need build
	@tools/setup/need ucx || echo "building without UCX: fast networks will be used over TCP"
	@tools/setup/need uring || echo "building without liburing: files will be accessed without io_uring"
	@tools/setup/need fortran || echo "building without Fortran: mpifort will say what to install"
	@$(CONFIGURE) >$(BUILD).log 2>&1 || { cat $(BUILD).log; rm -rf $(BUILD) $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log

# Other MPIs are looked for when the build is configured: again, for they may have come just now.
test: $(BUILD)/CMakeCache.txt
	@tools/setup/need build test
	@tools/setup/need fortran || echo "tests of Fortran are skipped"
	@tools/setup/need peers || echo "tests that need other MPIs or launchers are skipped"
	@$(CONFIGURE) >/dev/null
	@cmake --build $(BUILD) -j$(JOBS) $(if $(filter threads,$(L)),--target tests_of_threads)
	@cd $(BUILD) && ctest --output-on-failure --no-label-summary -j$(JOBS) $(if $(T),-R '$(T)') $(if $(L),-L '$(L)')

# Tests of what jobs without shared memory refuse: clones.
NEED_SHM = ^mpi\.fork_world

test-tcp: $(BUILD)/CMakeCache.txt
	@tools/setup/need build test
	@cmake --build $(BUILD) -j$(JOBS)
	@cd $(BUILD) && PLIANT_NET=tcp ctest --output-on-failure --no-label-summary -j$(JOBS) -L mpi -E '$(NEED_SHM)' $(if $(T),-R '$(T)')
	@cd $(BUILD) && PLIANT_FAKE_HOSTS=3 ctest --output-on-failure --no-label-summary -j$(JOBS) -L mpi -LE onehost $(if $(T),-R '$(T)')

test-check: $(BUILD)/CMakeCache.txt
	@tools/setup/need build test
	@cmake --build $(BUILD) -j$(JOBS)
	@cd $(BUILD) && BUILD_DIR=. SOURCE_DIR=.. python3 ../tests/tool/check_own.py '$(or $(T),.)'

test-ucx: $(BUILD)/CMakeCache.txt
	@tools/setup/need build test
	@cmake --build $(BUILD) -j$(JOBS)
	@cd $(BUILD) && UCX_TLS=$(UCX_TLS) PLIANT_NET=ucx ctest --output-on-failure --no-label-summary -j$(JOBS) -L mpi $(if $(T),-R '$(T)')
	@cd $(BUILD) && UCX_TLS=$(UCX_TLS) PLIANT_NET=shm+ucx PLIANT_FAKE_HOSTS=3 ctest --output-on-failure --no-label-summary -j$(JOBS) -L mpi -LE onehost $(if $(T),-R '$(T)')

test-hosts: $(BUILD)/CMakeCache.txt
	@tools/setup/need build test
	@cmake --build $(BUILD) -j$(JOBS)
	@python3 tests/vcluster/corpus.py --build $(BUILD) $(if $(T),-k '$(T)')
	@python3 tests/vcluster/corpus.py --build $(BUILD) --cyclic $(if $(T),-k '$(T)')
	@python3 tests/vcluster/corpus.py --build $(BUILD) --srun pmi2 $(if $(T),-k '$(T)')
	@python3 tests/vcluster/corpus.py --build $(BUILD) --srun pmix --cyclic $(if $(T),-k '$(T)')

test-impi-corpus: all
	@python3 tests/impi/corpus.py --build $(BUILD) --source '$(MPICH)' $(if $(T),-k '$(T)')

test-upc-plain: all
	@tests/upc/plain.sh $(if $(TIME),--time) $(CURDIR)/$(BUILD)/bin $(WORK)

test-abi-world: all
	@python3 tests/world/abi_world.py --build $(BUILD) $(if $(WORK),--work $(WORK)) $(if $(filter no,$(INSTALL)),--no-install) $(if $(DOCS),--docs docs/abi.md) $(T)

test-apps: $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) -j$(JOBS) --target product
	@python3 tests/world/apps_world.py --build $(BUILD) $(if $(WORK),--work $(WORK)) $(if $(filter no,$(INSTALL)),--no-install) $(if $(DOCS),--docs docs/applications.md) $(T)

test-io-world: all
	@python3 tests/world/io_world.py --build $(BUILD) --docs docs/io.md $(if $(IOR),--ior $(IOR)) $(if $(WORK),--work $(WORK)) $(if $(T),--only '$(T)') $(P)

test-tools-world: all
	@python3 tests/world/tools_world.py --build $(BUILD) $(if $(WORK),--work $(WORK))

test-nfs: all
	@python3 tests/world/nfs_world.py --build $(BUILD) $(if $(WORK),--work $(WORK)) $(if $(V),--version $(V))

test-fortran-world: all
	@python3 tests/world/fortran_world.py --build $(BUILD) --docs docs/fortran.md $(if $(WORK),--work $(WORK)) $(P)

test-fortran-abi: all
	@$(if $(LIB),,echo "name the folder of another MPI's libmpi_abi.so: make test-fortran-abi LIB=folder" >&2; exit 2)
	@python3 tests/world/fortran_abi.py --build $(BUILD) --lib $(LIB)

fuzz:
	@tools/setup/need build test
	@cmake -S . -B build-fuzz -G Ninja -DPLIANT_SANITIZE=address -DPLIANT_COVERAGE=ON -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="-O1 -g1" >/dev/null
	@cmake --build build-fuzz -j$(JOBS) --target fuzz
	@python3 tests/fuzz/run.py --build build-fuzz --seconds $(or $(SECONDS),60) $(if $(RUNS),--runs $(RUNS)) $(if $(AT_ONCE),--jobs $(AT_ONCE)) $(if $(T),'$(T)')

deb:
	@tools/setup/need build ucx uring fortran deb
	@packaging/deb

test-deb: deb
	@tools/setup/need bootstrap
	@packaging/try-deb

tarball:
	@tools/setup/need bootstrap
	@packaging/tarball

soak: all
	@python3 tests/soak/soak.py --build $(BUILD) --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED))

test-hosts-many: all
	@python3 tests/soak/hosts_many.py --build $(BUILD) $(if $(HOSTS),--hosts $(HOSTS))

test-ranks-many: all
	@tools/setup/need peers
	@python3 tests/soak/ranks_many.py --build $(BUILD) $(if $(RANKS),--ranks $(RANKS))

demo: $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) -j$(JOBS) --target product
	@examples/tour $(BUILD)

bench: all
	@tools/setup/need bench
	@python3 bench/$(or $(filter abi observe,$(B)),run).py --build $(BUILD) $(if $(QUICK),--quick) $(if $(BEFORE),--before $(BEFORE)) $(filter-out abi observe,$(subst $(comma), ,$(B)))

bench-check: all
	@tools/setup/need bench
	@python3 bench/check.py --build $(BUILD) $(if $(STORE),--store) $(B)

bench-startup: all
	@tools/setup/need bench
	@python3 bench/startup.py --build $(BUILD) $(if $(QUICK),--quick) --docs $(BUILD)/bench/startup.md

bench-hosts: all
	@tools/setup/need bench
	@python3 bench/run.py --build $(BUILD) $(if $(QUICK),--quick) hosts_

bench-upc: all
	@python3 bench/upc.py --build $(BUILD) $(if $(QUICK),--quick)

bench-elastic: all
	@tools/setup/need bench
	@python3 bench/elastic.py --build $(BUILD) $(if $(QUICK),--quick)
	@python3 bench/elastic_images.py --build $(BUILD) $(if $(QUICK),--quick)
	@python3 bench/elastic_resize.py --build $(BUILD) $(if $(QUICK),--quick)

bench-impi: all
	@python3 bench/impi.py --build $(BUILD) $(if $(QUICK),--quick)

doc: $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) -j$(JOBS) --target man --target gen >/dev/null
	@python3 -B docs/site/build.py . $(BUILD) $(BUILD)/doc

test-doc: doc
	@tools/setup/need browser
	@python3 -B docs/site/look.py $(BUILD)/doc

style: $(BUILD)/CMakeCache.txt
	@tools/setup/need build style
	@cmake --build $(BUILD) -j$(JOBS)
	@python3 tools/style/style.py --build $(BUILD)

install: $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) -j$(JOBS) --target product
	@cmake --install $(BUILD) --prefix '$(PREFIX)' >$(BUILD)/install.log || { tail -n 5 $(BUILD)/install.log; exit 1; }
	@sed 's|^$(PREFIX)/*||' $(BUILD)/install_manifest.txt >'$(DESTDIR)$(PREFIX)/share/pliant/installed'
	@echo 'installed into $(DESTDIR)$(PREFIX): its bin belongs into PATH; make uninstall removes it'

uninstall:
	@tools/setup/uninstall '$(DESTDIR)$(PREFIX)'

clean:
	@rm -rf build build-*
